# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges what one host has measured with its partners. How pairs compare with each other: ``rdma_pairs``."""

from __future__ import annotations

from dataclasses import replace
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import ParseError
from ..finding import Finding, Severity, Subject
from ..parse.perftest import parse_perftest
from ..rdma.outcome import Outcome
from .bandwidth import Context, Limit, judge_bandwidth

__all__ = ["CHECK", "judge_outcomes"]

CHECK = "rdma"
_NAMED = 8
_SEVERITY = {"fault": Severity.FAIL}
_REMEDIES = {
    "fault": "read the raw log of the pair; look at link, MTU and addresses of the rail on both hosts (rdma_info)",
    "no_answer": "look whether the partner is on and was asked in the same run, and whether TCP from the check's port"
    " on passes between the hosts",
    "unknown": "read the message and the raw log, repair, and run the check again",
    "no_time": "raise the time limit, or measure fewer pairs",
}


def judge_outcomes(
    host: str, outcomes: Sequence[Outcome], limits: Sequence[Limit], skus: Mapping[str, Optional[str]], scope: str
) -> List[Finding]:
    """``skus``: network -> what the limits call its links. Alike findings are told once, with the partners' names."""
    measured: Dict[Tuple[str, str, Severity], List[Tuple[Outcome, Finding]]] = {}
    lost: Dict[Tuple[str, ...], List[Outcome]] = {}
    for outcome in outcomes:
        if outcome.reading.state == "ok":
            finding = _by_limit(host, outcome, limits, skus.get(outcome.network), scope)
            key = (outcome.network, outcome.step.test, finding.severity)
            measured.setdefault(key, []).append((outcome, finding))
        else:
            lost.setdefault(_lost_key(host, outcome), []).append(outcome)
    findings = [_together(host, rows) for rows in measured.values()]
    return findings + [_not_measured(host, rows) for rows in lost.values()]


def _lost_key(host: str, outcome: Outcome) -> Tuple[str, ...]:
    """A silent partner is one fact, on all rails; a fault belongs to a rail and a pair."""
    reading, partner = outcome.reading, _partner(host, outcome)
    if reading.state in ("no_answer", "no_time"):
        return (reading.state, partner)
    return (reading.state, outcome.network, outcome.step.test, reading.detail)


def _by_limit(host: str, outcome: Outcome, limits: Sequence[Limit], sku: Optional[str], scope: str) -> Finding:
    context = Context(host, sku=sku, scope=scope, nodes=2, network=outcome.network, peer=_partner(host, outcome))
    try:
        report = parse_perftest(outcome.raw.splitlines(keepends=True))
    except ParseError as exc:
        return Finding(CHECK, Severity.UNKNOWN, Subject(host, network=outcome.network), str(exc))
    return max(judge_bandwidth(report, limits, context), key=lambda finding: finding.severity)


def _together(host: str, rows: Sequence[Tuple[Outcome, Finding]]) -> Finding:
    """One for a rail, a test and a severity: the worst figure speaks for all."""
    pick = max if rows[0][0].step.test.endswith("_lat") else min
    worst, finding = pick(rows, key=lambda row: row[0].reading.value or 0.0)
    partners = sorted({_partner(host, outcome) for outcome, _finding in rows})
    message = "%s: %s to %s: %s" % (worst.network, worst.step.test, _names(partners), finding.message)
    subject = Subject(
        host,
        network=worst.network,
        peer=partners[0] if len(partners) == 1 else None,
        port=worst.device,
        item=worst.step.test,
    )
    return replace(finding, check=CHECK, subject=subject, message=message)


def _not_measured(host: str, rows: Sequence[Outcome]) -> Finding:
    first = rows[0]
    state = first.reading.state
    networks = sorted({outcome.network for outcome in rows})
    partners = sorted({_partner(host, outcome) for outcome in rows})
    subject = Subject(
        host,
        network=networks[0] if len(networks) == 1 else None,
        peer=partners[0] if len(partners) == 1 else None,
        port=first.device if len(networks) == 1 else None,
    )
    message = "%s: with %s: %s" % (", ".join(networks), _names(partners), first.reading.detail)
    return Finding(
        CHECK, _SEVERITY.get(state, Severity.UNKNOWN), subject, message, state, "measured", "", _REMEDIES[state]
    )


def _partner(host: str, outcome: Outcome) -> str:
    return outcome.step.server if outcome.step.client == host else outcome.step.client


def _names(partners: Sequence[str]) -> str:
    more = len(partners) - _NAMED
    return ", ".join(partners[:_NAMED]) + (" and %d more" % more if more > 0 else "")
