# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the lab keeps its files. Nothing lies in the checkout."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .errors import LabError

# A unix socket's path has room for 107 bytes (unix(7)); the longest of ours is FOLDER/machines/worker-20/control.sock.
SOCKET_PATH_MAX = 107


@dataclass(frozen=True)
class Paths:
    """``root`` holds the images, which stay, and the state of the one lab, which ``down`` removes."""

    root: Path

    @classmethod
    def of_user(cls) -> Paths:
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        paths = cls(Path(cache).absolute() / "gpufleet")
        longest = len(os.fsencode(paths.machine("worker-20") / "control.sock"))
        if longest > SOCKET_PATH_MAX:
            raise LabError(
                f"the cache folder's path is {longest - SOCKET_PATH_MAX} bytes too long for unix sockets: "
                f"{paths.root}. Set XDG_CACHE_HOME to a shorter one."
            )
        return paths

    @property
    def images(self) -> Path:
        return self.root / "images"

    @property
    def bare(self) -> Path:
        """Saved bare machines: memory and disk, ready to be loaded instead of booted."""
        return self.root / "bare"

    @property
    def lab(self) -> Path:
        return self.root / "lab"

    @property
    def state(self) -> Path:
        return self.lab / "state.json"

    @property
    def user_key(self) -> Path:
        return self.lab / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        return self.lab / "known_hosts"

    @property
    def lock(self) -> Path:
        return self.root / "lab.lock"

    def host_key(self, name: str) -> Path:
        return self.lab / "keys" / name

    @property
    def machines(self) -> Path:
        return self.lab / "machines"

    def machine(self, name: str) -> Path:
        return self.machines / name
