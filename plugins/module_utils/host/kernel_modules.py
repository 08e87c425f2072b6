# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel modules: loaded now, and at each boot."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Iterable, List, Sequence, Set, Tuple

from ..errors import ClusterError, ConfigError
from ..runner import Runner
from .files import Root

__all__ = [
    "MODULES_FILE",
    "ModulesState",
    "load_modules",
    "loaded_modules",
    "persistent_modules",
    "read_modules",
    "render_modules",
]

MODULES_FILE = "/etc/modules-load.d/gpufleet.conf"
_DIRECTORIES = (
    "/etc/modules-load.d",
    "/run/modules-load.d",
    "/usr/local/lib/modules-load.d",
    "/usr/lib/modules-load.d",
)
_HEADER = "# Written by the role node_baseline of gpufleet.cluster. Changes here are lost.\n"


@dataclass(frozen=True)
class ModulesState:
    """``loaded``: those of the wanted ones that are in the kernel; ``text``: our file ("" when there is none)."""

    loaded: Tuple[str, ...]
    text: str

    def describe(self) -> str:
        return self.text + "".join("loaded: %s\n" % name for name in self.loaded)


def render_modules(names: Sequence[str]) -> str:
    """One name a line. systemd takes the whole line for the name: a comment behind it would become part of it."""
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise ConfigError("kernel module %r: only the name, of letters, digits, - and _" % name)
    return _HEADER + "".join("%s\n" % name for name in names)


def _normal(name: str) -> str:
    return name.replace("-", "_")


def loaded_modules(root: Root, release: str) -> List[str]:
    """Loaded or built in (a kernel that has the code needs no module file)."""
    names = {line.split()[0] for line in (root.read("/proc/modules") or "").splitlines() if line.strip()}
    builtin = root.read("/lib/modules/%s/modules.builtin" % release) or ""
    names.update(re.findall(r"([^/\s]+)\.ko\S*\s*$", builtin, re.MULTILINE))
    # Built-in modules that have parameters; all that a machine without /lib/modules can show.
    names.update(root.names("/sys/module"))
    return sorted({_normal(name) for name in names})


def persistent_modules(root: Root) -> List[str]:
    """What the machine loads at boot by any modules-load.d file."""
    names: Set[str] = set()
    seen: Set[str] = set()
    for directory in _DIRECTORIES:
        for file in root.names(directory, ".conf"):
            if file not in seen:
                seen.add(file)
                rows = (root.read("%s/%s" % (directory, file)) or "").splitlines()
                names.update(_normal(row.strip()) for row in rows if row.strip() and row.strip()[0] not in "#;")
    return sorted(names)


def read_modules(root: Root, release: str, wanted: Iterable[str]) -> ModulesState:
    present = loaded_modules(root, release)
    return ModulesState(tuple(n for n in wanted if _normal(n) in present), root.read(MODULES_FILE) or "")


def load_modules(root: Root, runner: Runner, current: ModulesState, desired: ModulesState) -> None:
    if current.text != desired.text:
        root.write(MODULES_FILE, desired.text)
    for name in desired.loaded:
        if name not in current.loaded:
            result = runner.run(["modprobe", name], timeout=60)
            if result.rc != 0:
                raise ClusterError(
                    "load the kernel module %s (modprobe %s): %s; install the package that has it for the running "
                    "kernel, or take it off the list" % (name, name, result.stderr.strip() or result.rc)
                )
