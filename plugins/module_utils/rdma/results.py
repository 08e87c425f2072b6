# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the agent's outcomes to check_rdma's report and this host's findings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..errors import MeasureError
from ..finding import Finding, Severity, Subject
from ..judge.bandwidth import Limit
from ..judge.rdma import CHECK, judge_outcomes
from .devices import Device, Endpoint, PortDownError
from .fleet import Endpoints, Wanted
from .outcome import Outcome
from .perftest import Settings
from .plan import Plan

__all__ = ["judge", "make_report", "pair_rows"]

# Raw output of so many of the slowest measurements of each rail and test goes with the result; the log has all.
_RAW_ROWS = 4
_MOST_RAW = 4000


def make_report(
    plan: Plan, wanted: Wanted, settings: Settings, found: Endpoints, devices: Sequence[Device]
) -> Dict[str, Any]:
    """What is known before anything is measured; the figures are added to it."""
    rates = {(device.name, port.port): port.rate_gbps for device in devices for port in device.ports}
    rails: List[Dict[str, Any]] = []
    for network in sorted(found):
        endpoint = found[network]
        row: Dict[str, Any] = {"network": network, "device": None, "port": None, "gid_index": None, "rate_gbps": None}
        if isinstance(endpoint, Endpoint):
            row.update(device=endpoint.device, port=endpoint.port, gid_index=endpoint.gid_index)
            row.update(rate_gbps=rates.get((endpoint.device, endpoint.port)), problem="")
        else:
            row["problem"] = str(endpoint)
        rails.append(row)
    return {
        "plan": {
            "pairs": wanted.pairs,
            "rounds": len(plan.rounds),
            "hosts": len(plan.addresses),
            "tests": list(plan.tests),
            "directions": plan.directions,
            "together": plan.together,
            "memory": settings.memory,
            "expected_s": round(plan.seconds({test: settings.seconds(test) for test in plan.tests}), 1),
            "deadline_s": round(plan.deadline, 1),
            "tolerances": dict(wanted.tolerances),
        },
        "rails": rails,
        "pairs": [],
        "counters": [],
        "cabling": [],
        "seconds": 0.0,
        "log": None,
    }


def pair_rows(outcomes: Sequence[Outcome]) -> List[Dict[str, Any]]:
    """Rows of the report; the raw text only of those that somebody will want to read."""
    groups: Dict[Tuple[str, str], List[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.network, outcome.step.test), []).append(outcome)
    rows = []
    for _key, group in sorted(groups.items()):
        telling = {outcome.step for outcome in _telling(group)}
        for outcome in sorted(group, key=lambda each: (each.step.server, each.step.client)):
            raw = outcome.raw[-_MOST_RAW:] if outcome.step in telling else ""
            rows.append(replace(outcome, raw=raw).as_dict())
    return rows


def _telling(group: Sequence[Outcome]) -> List[Outcome]:
    """All without a figure, and the slowest."""
    good = sorted((each for each in group if each.reading.state == "ok"), key=lambda each: each.reading.value or 0.0)
    if group[0].step.test.endswith("_lat"):
        good.reverse()
    return [each for each in group if each.reading.state != "ok"] + good[:_RAW_ROWS]


def judge(
    plan: Plan, found: Endpoints, outcomes: Sequence[Outcome], limits: Sequence[Limit], sku: Optional[str]
) -> List[Finding]:
    """This host's own findings. A host without a rail has none."""
    if not found:
        return []
    findings = [_unusable(plan.host, network, why) for network, why in found.items() if isinstance(why, MeasureError)]
    bad = {network for network, why in found.items() if isinstance(why, MeasureError)}
    told = [each for each in outcomes if not (each.network in bad and each.reading.state == "unknown")]
    skus = {network: sku or each.speed for network, each in found.items() if isinstance(each, Endpoint)}
    findings += judge_outcomes(plan.host, told, limits, skus, "cross_domain")
    if not plan.meetings():
        message = "no other host of this run has a rail that %s has: nothing was measured" % plan.host
        remedy = "Measure two hosts at least (--limit), and give their networks the same names and a rail."
        findings.append(Finding(CHECK, Severity.UNKNOWN, Subject(plan.host), message, remedy=remedy))
    return findings


def _unusable(host: str, network: str, why: MeasureError) -> Finding:
    severity = Severity.FAIL if isinstance(why, PortDownError) else Severity.UNKNOWN
    remedy = "Look at the NIC with rdma_info, at its driver, its cable, and at the addresses of the rail."
    return Finding(CHECK, severity, Subject(host, network=network), "%s: %s" % (network, why), remedy=remedy)
