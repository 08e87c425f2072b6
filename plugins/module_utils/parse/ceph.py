# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ceph status --format json``, of all ages, also through wrappers that make every value a string."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple

from ..errors import ParseError
from .document import integer, mapping, read_document, sequence, words

__all__ = ["CephReport", "parse_ceph_status", "reading"]

TOOL = "ceph"


@dataclass(frozen=True)
class CephReport:
    health: Optional[str]
    num_osds: Optional[int]
    up: Optional[int]
    inside: Optional[int]
    pgs: Optional[int]
    pgs_active_clean: Optional[int]
    checks: Tuple[str, ...]
    complete: bool

    @property
    def failure(self) -> Optional[str]:
        """Ceph's own verdict. HEALTH_OK in a text that is cut off is no verdict."""
        if self.health is None:
            return "no_health: the status has no verdict" if self.complete else "truncated_json"
        if self.health != "HEALTH_OK":
            return "%s: %s" % (self.health, ", ".join(self.checks)) if self.checks else self.health
        return None if self.complete else "truncated_json"

    @property
    def ok(self) -> bool:
        return self.failure is None


def parse_ceph_status(lines: Iterable[str]) -> CephReport:
    document = read_document(lines, TOOL)
    data = document.data
    if not isinstance(data, dict) or not {"health", "osdmap", "pgmap"} & set(data):
        raise ParseError(TOOL, 1, "JSON, but no status: give the output of 'ceph status --format json'")
    health = mapping(data.get("health"))
    osds = mapping(data.get("osdmap"))
    if "num_osds" not in osds:
        osds = mapping(osds.get("osdmap"))
    pgs = mapping(data.get("pgmap"))
    return CephReport(
        health=words(health.get("status")) or words(health.get("overall_status")),
        num_osds=integer(osds.get("num_osds")),
        up=integer(osds.get("num_up_osds")),
        inside=integer(osds.get("num_in_osds")),
        pgs=integer(pgs.get("num_pgs")),
        pgs_active_clean=_clean(pgs),
        checks=_checks(health),
        complete=document.complete,
    )


def _clean(pgs: Dict[str, Any]) -> Optional[int]:
    """Scrubbing groups are clean too: active+clean+scrubbing+deep."""
    if "pgs_by_state" not in pgs:
        return None
    states = (mapping(state) for state in sequence(pgs["pgs_by_state"]))
    return sum(
        integer(state.get("count")) or 0
        for state in states
        if {"active", "clean"} <= set(str(state.get("state_name", "")).split("+"))
    )


def _checks(health: Dict[str, Any]) -> Tuple[str, ...]:
    """Names of the checks; before Luminous sentences stood in their place."""
    if health.get("checks"):
        return tuple(mapping(health["checks"]))
    summary = (mapping(item) for item in sequence(health.get("summary")))
    return tuple(str(item["summary"]) for item in summary if item.get("summary"))


def reading(report: CephReport) -> Dict[str, Any]:
    return {
        "tool": TOOL,
        "health": report.health,
        "num_osds": report.num_osds,
        "up": report.up,
        "in": report.inside,
        "pgs": report.pgs,
        "pgs_active_clean": report.pgs_active_clean,
        "checks": list(report.checks),
        "ok": report.ok,
        "failure": report.failure,
    }
