# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collect what check_baseline judges. Reads only; what cannot be read is given as the reason why."""

from __future__ import annotations

import platform
from typing import Dict, List, Mapping, Sequence, Tuple, Union

from ..errors import ClusterError
from ..judge.baseline import BaselineReading, BaselineWanted, SysctlReading
from ..parse.chrony import ChronyTracking, parse_chronyc_tracking
from ..runner import Runner
from .files import Root
from .holds import read_holds
from .identity import resolves_to
from .kernel_modules import loaded_modules, persistent_modules
from .limits import Limit, manager_limits
from .os_family import identify
from .swap import SwapState, read_swap
from .sysctl import boot_assignments, dotted, effective, find_overrides, live_value

__all__ = ["read_baseline"]


def read_baseline(
    root: Root, runner: Runner, wanted: BaselineWanted, paths: Mapping[str, str], limits: Sequence[Limit]
) -> BaselineReading:
    """``paths``: the wanted sysctls with keys as paths, as `wanted_paths` gives them."""
    static = (root.read("/etc/hostname") or "").strip()
    return BaselineReading(
        hostname=platform.node(),
        static_hostname=static,
        addresses=tuple(resolves_to(root.read("/etc/hosts") or "", wanted.hostname or static)),
        swap=_swap(root),
        modules_loaded=tuple(loaded_modules(root, platform.release())),
        modules_persistent=tuple(persistent_modules(root)),
        sysctls=_sysctls(root, paths),
        limits=_limits(runner, limits),
        clock=_clock(runner) if wanted.clock else None,
        holds=_holds(root, runner) if wanted.holds else (),
    )


def _swap(root: Root) -> Union[SwapState, str]:
    return read_swap(root) if root.exists("/proc/swaps") else "there is no /proc/swaps"


def _sysctls(root: Root, paths: Mapping[str, str]) -> Dict[str, SysctlReading]:
    boot = boot_assignments(root)
    overrides = find_overrides(root, paths, {})
    readings = {}
    for key in paths:
        decides = effective(boot, key)
        undoing: List[str] = [str(o) for o in overrides if o.key == key]
        readings[dotted(key)] = SysctlReading(
            live=live_value(root, key),
            boot=decides.value if decides else None,
            place="%s line %d" % (decides.file, decides.line) if decides else "",
            undoing=tuple(undoing),
        )
    return readings


def _limits(runner: Runner, limits: Sequence[Limit]) -> Union[Dict[str, str], str]:
    try:
        return manager_limits(runner, limits)
    except ClusterError as exc:
        return str(exc)


def _clock(runner: Runner) -> Union[ChronyTracking, str]:
    result = runner.run(["chronyc", "-c", "tracking"], timeout=15)
    if result.missing:
        return "chronyc is not installed"
    if result.rc != 0:
        return "chronyc -c tracking: %s" % (result.stderr.strip() or result.stdout.strip() or "rc %d" % result.rc)
    try:
        return parse_chronyc_tracking(result.stdout)
    except ClusterError as exc:
        return str(exc)


def _holds(root: Root, runner: Runner) -> Union[Tuple[str, ...], str]:
    try:
        manager = identify(root.read("/etc/os-release"), root.exists).package_manager
        return tuple(sorted(read_holds(runner, manager)))
    except ClusterError as exc:
        return str(exc)
