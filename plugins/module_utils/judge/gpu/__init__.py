# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge the GPUs of one machine by what was read of them. Pure."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ...finding import Finding
from .base import ITEMS, Difference, GpuExpected, Judge
from .clocks import judge_clocks
from .domain import judge_domain
from .inventory import judge_count, judge_driver, judge_inforom, judge_product, judge_recovery
from .memory import judge_ecc, judge_remapped_rows
from .nvlink import judge_fabric, judge_nvlink, judge_nvlink_errors
from .pcie import judge_aer, judge_pcie
from .topology import judge_topology
from .xid import judge_xid

__all__ = ["ITEMS", "GpuExpected", "judge_gpus"]

_ByState = Callable[[str, Dict[str, Any], GpuExpected], List[Finding]]
_ByChange = Callable[[str, Dict[str, Any], GpuExpected, Difference], List[Finding]]

# Item, the part of the reading that it needs, the judge.
_STATE: Tuple[Tuple[str, str, _ByState], ...] = (
    ("count", "query", judge_count),
    ("product", "query", judge_product),
    ("driver", "query", judge_driver),
    ("recovery", "query", judge_recovery),
    ("inforom", "query", judge_inforom),
    ("remapped_rows", "remapped_rows", judge_remapped_rows),
    ("pcie", "query", judge_pcie),
    ("nvlink", "nvlink", judge_nvlink),
    ("fabric", "fabric", judge_fabric),
    ("topology", "topology", judge_topology),
    ("xid", "kernel_log", judge_xid),
)
_CHANGE: Tuple[Tuple[str, str, _ByChange], ...] = (
    ("ecc", "query", judge_ecc),
    ("aer", "aer", judge_aer),
    ("clocks", "query", judge_clocks),
    ("nvlink_errors", "nvlink_errors", judge_nvlink_errors),
)
_REMEDY = "run it by hand on the host; is the NVIDIA driver loaded?"


def judge_gpus(
    host: str,
    reading: Dict[str, Any],
    expected: GpuExpected,
    before: Optional[Mapping[str, Any]] = None,
    members: Optional[Mapping[str, Sequence[str]]] = None,
) -> List[Finding]:
    """``before``: an earlier reading of the same machine; without it counters are judged by what stands there.
    ``members``: the NVLink domains of each machine that should be in one with this one.
    """
    change = Difference.between(before, reading)
    found: List[Finding] = []
    missing: Dict[str, List[str]] = {}
    for item, part, judge in _STATE:
        if _readable(item, part, expected, reading, missing):
            found.extend(judge(host, reading, expected))
    for item, part, compare in _CHANGE:
        if _readable(item, part, expected, reading, missing):
            found.extend(compare(host, reading, expected, change))
    if members and "domain" not in expected.skip and expected.fabric != "none":
        found.extend(judge_domain(host, reading, members))
    for reason, items in missing.items():
        message = "%s: not measured: %s" % (", ".join(items), reason)
        found.append(Judge(host, items[0]).unknown(message, _REMEDY))
    return found


def _readable(
    item: str, part: str, expected: GpuExpected, reading: Mapping[str, Any], missing: Dict[str, List[str]]
) -> bool:
    """One finding for each reason: a missing nvidia-smi is told once. What nobody expects may stay unread."""
    unread: Mapping[str, str] = reading["unread"]
    if item in expected.skip:
        return False
    optional = (item == "topology" and expected.gpu_link is None and expected.nic_link is None) or (
        item == "fabric" and expected.fabric == "none"
    )
    if part not in unread:
        return item in ("count", "xid") or bool(reading["gpus"])
    if not optional:
        missing.setdefault(unread[part], []).append(item)
    return False
