# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Swap, in every form in which it comes back: fstab, units, zram, partitions that systemd finds by itself, services.

What keeps it off over a reboot:

- fstab lines of type swap are commented out, all else stays byte for byte;
- ``swap.target`` is masked. systemd's generators (fstab, gpt-auto, zram) only ever hook their units into that target,
  so whatever they make of a partition that nobody named is not started;
- each swap unit found is masked as well, as an administrator's own can be wanted by another target;
- an empty zram-generator.conf in /etc, which keeps the device from being made at all;
- the services of the usual swap makers are masked where they are installed.

Nothing is deleted: a file that has to go is kept beside its place with the suffix ``.gpufleet-disabled``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import List, Tuple

from ..errors import ClusterError
from ..runner import Runner
from .files import Root

__all__ = ["TARGET", "SwapState", "disable_fstab_swap", "parse_proc_swaps", "read_swap", "turn_swap_off"]

FSTAB = "/etc/fstab"
MARK = "# gpufleet, swap is off: "
TARGET = "swap.target"
UNIT_DIRECTORY = "/etc/systemd/system"
# systemd.unit(5), "unit file load path", without the ones for single runs.
_GENERATED = ("/run/systemd/generator.early", "/run/systemd/generator", "/run/systemd/generator.late")
_UNIT_DIRECTORIES = (
    UNIT_DIRECTORY,
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
)
# systemd writes it in a container, where /proc/swaps shows the swap of the host: not ours to turn off.
_CONTAINER = "/run/systemd/container"
# Packages zram-tools, zram-config (Ubuntu), dphys-swapfile, swapspace.
_SWAP_SERVICES = ("dphys-swapfile.service", "swapspace.service", "zram-config.service", "zramswap.service")
_ZRAM_CONFIG = "/etc/systemd/zram-generator.conf"
_ZRAM_TRACES = tuple(
    "%s/systemd/%s" % (prefix, name)
    for prefix in ("/usr/local/lib", "/usr/lib")
    for name in ("zram-generator.conf", "system-generators/zram-generator")
) + ("/run/systemd/zram-generator.conf",)
_ZRAM_DROP_INS = tuple(
    "%s/systemd/zram-generator.conf.d" % prefix for prefix in ("/etc", "/run", "/usr/local/lib", "/usr/lib")
)


@dataclass(frozen=True)
class SwapState:
    """All that gives the machine swap, now (``active``) and after a boot (the rest). All empty: swap is off."""

    active: Tuple[str, ...] = ()
    fstab: Tuple[str, ...] = ()
    units: Tuple[str, ...] = ()
    zram: Tuple[str, ...] = ()

    @property
    def off(self) -> bool:
        return self == SwapState()

    @property
    def configured(self) -> Tuple[str, ...]:
        """What would bring swap back at the next boot (an unmasked swap.target alone names no swap)."""
        return self.fstab + tuple(name for name in self.units if name != TARGET) + self.zram

    def describe(self) -> str:
        """For a diff: one line each."""
        rows = (("active", self.active), ("fstab", self.fstab), ("unit", self.units), ("zram", self.zram))
        return "".join("%s: %s\n" % (kind, value) for kind, values in rows for value in values)


def parse_proc_swaps(text: str) -> Tuple[str, ...]:
    """The devices and files of /proc/swaps; the kernel writes blanks in names as ``\\040``."""
    rows = [line.split()[0] for line in text.splitlines()[1:] if line.strip()]
    return tuple(re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), row) for row in rows)


def _is_swap_entry(line: str) -> bool:
    fields = line.split()
    return len(fields) > 2 and not fields[0].startswith("#") and fields[2] == "swap"


def disable_fstab_swap(text: str) -> str:
    """Comment out each entry of type swap (also ``noauto``: a unit is made of it); other lines stay as they are."""
    return "".join(MARK + line if _is_swap_entry(line) else line for line in text.splitlines(keepends=True))


def read_swap(root: Root) -> SwapState:
    fstab = root.read(FSTAB) or ""
    return SwapState(
        active=() if root.exists(_CONTAINER) else parse_proc_swaps(root.read("/proc/swaps") or ""),
        fstab=tuple(line.strip() for line in fstab.splitlines() if _is_swap_entry(line)),
        units=tuple(name for name in _swap_units(root) if not root.is_masked("%s/%s" % (UNIT_DIRECTORY, name))),
        zram=tuple(_zram_configs(root)),
    )


def _swap_units(root: Root) -> List[str]:
    names = {TARGET}
    for directory in _UNIT_DIRECTORIES:
        names.update(root.names(directory, ".swap"))
        names.update(name for name in _SWAP_SERVICES if root.exists("%s/%s" % (directory, name)))
    return sorted(names.union(_generated_units(root)))


def _generated_units(root: Root) -> List[str]:
    """What generators made at this boot. Names can change from boot to boot, so they count only if they can be started.

    gpt-auto makes its unit once fstab has no swap any more: then swap.target is masked already, and nothing wants it.
    """
    target_is_masked = root.is_masked("%s/%s" % (UNIT_DIRECTORY, TARGET))
    wanted = {name for path in _wants(root) for name in root.names(path, ".swap")}
    found = []
    for directory in _GENERATED:
        for name in root.names(directory, ".swap"):
            # Made of fstab: gone with the line.
            of_fstab = "SourcePath=/etc/fstab" in (root.read("%s/%s" % (directory, name)) or "")
            if not of_fstab and (not target_is_masked or name in wanted):
                found.append(name)
    return found


def _wants(root: Root) -> List[str]:
    """Directories with what units want, but for swap.target's."""
    return [
        "%s/%s" % (directory, name)
        for directory in _GENERATED + _UNIT_DIRECTORIES
        for suffix in (".wants", ".requires", ".upholds")
        for name in root.names(directory, suffix)
        if not name.startswith(TARGET + ".")
    ]


def _zram_configs(root: Root) -> List[str]:
    found = []
    own = root.read(_ZRAM_CONFIG)
    if own or (own is None and any(root.exists(path) for path in _ZRAM_TRACES)):
        found.append(_ZRAM_CONFIG)
    own_drop_ins = _ZRAM_DROP_INS[0]
    names = {name for directory in _ZRAM_DROP_INS for name in root.names(directory, ".conf")}
    paths = ["%s/%s" % (own_drop_ins, name) for name in sorted(names)]
    return found + [path for path in paths if not root.is_masked(path)]


def turn_swap_off(root: Root, runner: Runner, state: SwapState) -> None:
    """First what a boot would bring back, then what is active. Killed in between, the next run does the rest."""
    fstab = root.read(FSTAB)
    if state.fstab and fstab is not None:
        root.write(FSTAB, disable_fstab_swap(fstab))
    for path in state.zram:
        _empty(root, path) if path == _ZRAM_CONFIG else root.mask(path)
    for name in state.units:
        root.mask("%s/%s" % (UNIT_DIRECTORY, name))
    if root.exists("/run/systemd/system"):
        _run(runner, ["systemctl", "daemon-reload"], "tell systemd about the masked swap units", "see the message")
    for path in state.active:
        _run(
            runner,
            ["swapoff", path],
            "turn swap on %s off" % path,
            "what is swapped out may not fit into memory: stop workloads, or reboot (it will not come back)",
        )


def _empty(root: Root, path: str) -> None:
    if root.exists(path):
        root.set_aside(path)
    root.write(path, "")


def _run(runner: Runner, argv: List[str], doing: str, advice: str) -> None:
    # Reading a few GiB back from a slow disk takes minutes.
    result = runner.run(argv, timeout=600)
    if result.rc != 0:
        raise ClusterError("%s (%s): %s; %s" % (doing, " ".join(argv), result.stderr.strip() or result.rc, advice))
