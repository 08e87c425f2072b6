# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages that an upgrade must not touch: apt's holds, dnf's version locks."""

from __future__ import annotations

from typing import Dict, List, Sequence, Set, Tuple

from ..errors import MeasureError
from ..runner import Runner

__all__ = ["MANAGERS", "hold_packages", "read_holds"]

MANAGERS = ("apt", "dnf")
_LIST: Dict[str, Tuple[str, ...]] = {
    "apt": ("apt-mark", "showhold"),
    # -C: from the cache; a list of locks needs no network.
    "dnf": ("dnf", "-q", "-C", "versionlock", "list"),
}
_HOLD: Dict[str, Tuple[str, ...]] = {"apt": ("apt-mark", "hold"), "dnf": ("dnf", "-q", "-y", "versionlock", "add")}
_NEEDS = {"apt": "the package apt", "dnf": "the package python3-dnf-plugin-versionlock"}


def read_holds(runner: Runner, manager: str) -> Set[str]:
    """Names of the packages that are held. Raises MeasureError when the package manager cannot say."""
    return _names(manager, _run(runner, manager, _LIST[manager]))


def _names(manager: str, text: str) -> Set[str]:
    lines = [line.strip() for line in text.splitlines()]
    if manager == "apt":
        return {line.partition(":")[0] for line in lines if line}
    # "kernel-core-0:5.14.0-427.el9.*"; a lock that excludes a version starts with "!".
    return {line.rsplit("-", 2)[0] for line in lines if line.count("-") > 1 and not line.startswith("!")}


def hold_packages(runner: Runner, manager: str, names: Sequence[str]) -> None:
    """Hold each of ``names``. Raises MeasureError when one is not held then."""
    _run(runner, manager, (*_HOLD[manager], *names))
    missing: List[str] = sorted(set(names) - read_holds(runner, manager))
    if missing:
        raise MeasureError("hold packages: %s still not held; are they installed?" % ", ".join(missing))


def _run(runner: Runner, manager: str, argv: Tuple[str, ...]) -> str:
    result = runner.run(argv, timeout=300)
    if result.rc != 0:
        reason = (result.stderr.strip() or result.stdout.strip() or "rc %d" % result.rc).splitlines()[-1]
        raise MeasureError("%s: %s; it needs %s" % (" ".join(argv), reason, _NEEDS[manager]))
    return result.stdout
