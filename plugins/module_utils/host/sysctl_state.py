# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring sysctls to the wanted state: our file, the files that override it, and the running kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Mapping, Tuple

from ..errors import ClusterError, ConfigError
from .files import Root
from .sysctl import OUR_FILE, Override, disable_overrides, dotted, find_overrides, live_value, render

__all__ = ["OVERRIDES", "SysctlPlan", "apply_sysctls", "plan_sysctls"]

OVERRIDES = ("fail", "comment", "report")


@dataclass(frozen=True)
class SysctlPlan:
    """``texts``: files to write; ``live``: keys whose running value differs; ``missing``: unknown keys."""

    texts: Dict[str, str]
    live: Dict[str, Tuple[str, str]]
    missing: Tuple[str, ...]
    overrides: Tuple[Override, ...]

    @property
    def changed(self) -> bool:
        return bool(self.texts or self.live or self.missing)

    def diff(self, root: Root) -> List[Dict[str, str]]:
        """Before and after, file by file, then the running values."""
        rows = [
            {"before_header": path, "after_header": path, "before": root.read(path) or "", "after": text}
            for path, text in self.texts.items()
        ]
        before = "".join("%s = %s\n" % (dotted(key), now) for key, (now, _wanted) in self.live.items())
        after = "".join("%s = %s\n" % (dotted(key), wanted) for key, (_now, wanted) in self.live.items())
        return rows + [{"before_header": "/proc/sys", "after_header": "/proc/sys", "before": before, "after": after}]


def plan_sysctls(root: Root, wanted: Mapping[str, str], overrides: str) -> SysctlPlan:
    """Raises ConfigError when another file would undo ours and ``overrides`` is ``fail``."""
    texts = {OUR_FILE: render(wanted)}
    found = find_overrides(root, wanted, texts)
    if found and overrides == "fail":
        raise ConfigError(
            "write %s: %s. Correct those lines, or set overrides to comment (they are commented out) or report"
            % (OUR_FILE, "; ".join(str(override) for override in found))
        )
    if overrides == "comment":
        texts.update(disable_overrides(root, found))
    values = {key: live_value(root, key) for key in wanted}
    return SysctlPlan(
        texts={path: text for path, text in texts.items() if root.read(path) != text},
        live={key: (now, wanted[key]) for key, now in values.items() if now is not None and now != wanted[key]},
        missing=tuple(sorted(dotted(key) for key, now in values.items() if now is None)),
        overrides=tuple(found),
    )


def apply_sysctls(root: Root, plan: SysctlPlan) -> None:
    """Files first, so that a reboot is right whatever happens then. The kernel's values are read back."""
    if plan.missing:
        raise ClusterError(
            "set sysctls: the running kernel does not know %s; load the module that brings it (net.bridge.* needs "
            "br_netfilter) or correct the name" % ", ".join(plan.missing)
        )
    for path, text in plan.texts.items():
        root.write(path, text)
    refused: List[str] = []
    for key, (_before, value) in plan.live.items():
        refused += _set(root, key, value)
    if refused:
        raise ClusterError("set sysctls: %s; give a value that this kernel takes" % "; ".join(refused))


def _set(root: Root, key: str, value: str) -> List[str]:
    try:
        with open(root.path("/proc/sys/" + key), "w", encoding="utf-8") as stream:
            stream.write(value)
    except OSError as exc:
        return ["the kernel refuses %s = %s (%s)" % (dotted(key), value, exc.strerror)]
    kept = live_value(root, key)
    return [] if kept == value else ["the kernel keeps %s = %s, not %s" % (dotted(key), kept, value)]
