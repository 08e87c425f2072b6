# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's part in a run: a key that lives as long as the run, an entry for the launchers' keys, and their removal.

Every trace has three ways to go: ``close`` at the end of the run; a timer of systemd if the controller is gone by
then; and the expiry time in the entry itself, after which sshd refuses the key and the next run removes the line.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence

from ..errors import ClusterError, MeasureError
from ..host.files import Root
from ..runner import Runner
from .processes import end_marked
from .program import inspect_program
from .trust import authorize, check_id, entry, revoke

__all__ = ["Session"]

_HOST_KEYS = "/etc/ssh"
_SYSTEMD = "/run/systemd/system"
_STAMP = "%Y%m%d%H%M%S"


@dataclass
class Session:
    """``folder`` is the one for all runs, best on a tmpfs; ``home`` is that of the user that MPI runs as."""

    run_id: str
    runner: Runner
    folder: str = "/run/gpufleet"
    home: str = ""
    now: float = 0.0
    systemd: str = _SYSTEMD

    def __post_init__(self) -> None:
        check_id(self.run_id)
        self.home = self.home or pwd.getpwuid(os.geteuid()).pw_dir
        self.now = self.now or time.time()

    @property
    def directory(self) -> str:
        return os.path.join(self.folder, self.run_id)

    @property
    def authorized_keys(self) -> str:
        return os.path.join(self.home, ".ssh", "authorized_keys")

    # open

    def open(self, programs: Sequence[str], launcher: bool) -> Dict[str, Any]:
        """What the others must know of this host. A launcher gets a key of its own, which never leaves it."""
        return {
            "host_keys": self._host_keys(),
            "programs": {path: inspect_program(path, self.runner) for path in programs},
            "public_key": self._public_key() if launcher else None,
            "directory": self.directory,
            "user": pwd.getpwuid(os.geteuid()).pw_name,
            "hostname": os.uname().nodename,
        }

    def _host_keys(self) -> List[str]:
        root = Root()
        names = [name for name in root.names(_HOST_KEYS, "_key.pub") if name.startswith("ssh_host_")]
        texts = [root.read("%s/%s" % (_HOST_KEYS, name)) for name in names]
        return [" ".join(text.split()[:2]) for text in texts if text]

    def _public_key(self) -> str:
        path = os.path.join(self.directory, "id_ed25519")
        os.makedirs(self.folder, mode=0o711, exist_ok=True)
        os.makedirs(self.directory, mode=0o700, exist_ok=True)
        if not os.path.exists(path):
            made = self.runner.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.run_id, "-f", path], timeout=60
            )
            if made.rc != 0:
                raise MeasureError("making the run's SSH key: %s" % (made.stderr or made.stdout).strip())
        with open(path + ".pub", encoding="ascii") as stream:
            return " ".join(stream.read().split()[:2])

    # authorize

    def authorize(self, public_keys: Sequence[str], sources: Sequence[str], lifetime: int) -> bool:
        """Let the launchers in for ``lifetime`` seconds. True if the file was changed."""
        # The expiry time is read in the host's own time zone: all versions of sshd agree on that.
        expiry = self._stamp(self.now + lifetime)
        old = Root().read(self.authorized_keys) or ""
        entries = [entry(key, self.run_id, expiry, sources) for key in public_keys]
        self._timer(lifetime)
        self._write(old, authorize(old, entries, self.run_id, self._stamp(self.now)))
        return True

    def _stamp(self, moment: float) -> str:
        return time.strftime(_STAMP, time.localtime(moment))

    def _write(self, old: str, new: str) -> None:
        if new == old:
            return
        os.makedirs(os.path.dirname(self.authorized_keys), mode=0o700, exist_ok=True)
        Root().write(self.authorized_keys, new, mode=0o600)

    @property
    def _unit(self) -> str:
        return "gpufleet-run-" + re.sub(r"[^A-Za-z0-9]+", "-", self.run_id)

    def _timer(self, lifetime: int) -> None:
        """Without systemd (a container) the expiry time has to do."""
        if not os.path.isdir(self.systemd):
            return
        argv = ["systemd-run", "--quiet", "--collect", "--unit=" + self._unit, "--on-active=%ds" % lifetime]
        argv += ["--property=ExecStartPre=/bin/rm -rf %s" % self.directory]
        argv += ["sed", "-i", "-e", "/ gpufleet:%s$/d" % re.escape(self.run_id), self.authorized_keys]
        self.runner.run(argv, timeout=60)

    # close

    def close(self) -> Dict[str, Any]:
        """Take everything away; whatever still runs for the run on this host is ended. Doing it again does nothing."""
        killed = end_marked(self.run_id)
        old = Root().read(self.authorized_keys) or ""
        new = revoke(old, self.run_id, self._stamp(self.now))
        self._write(old, new)
        had_directory = os.path.isdir(self.directory)
        try:
            if had_directory:
                shutil.rmtree(self.directory)
        except OSError as exc:
            raise ClusterError("removing %s with the run's SSH key: %s" % (self.directory, exc.strerror)) from exc
        if os.path.isdir(self.systemd):
            self.runner.run(["systemctl", "stop", self._unit + ".timer"], timeout=60)
        return {"killed": killed, "changed": bool(killed) or old != new or had_directory}
