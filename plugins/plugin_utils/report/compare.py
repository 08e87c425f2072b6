# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What shows only where all hosts' results are together: a host that is slow with everybody, a rail that is slow as a
whole. Each check that has such a judgement is in the registry; its findings go to the hosts that they name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...module_utils.finding import Finding
from ...module_utils.judge.rdma_pairs import compare_pairs, merge_rows
from .model import Check, HostReport, Status

__all__ = ["COMPARISONS", "compare_hosts", "rdma_tolerances"]

Reports = Mapping[str, Mapping[str, Any]]


def rdma_tolerances(reports: Reports) -> dict[str, float]:
    """As the hosts were told; they were all told the same."""
    found = {"bw": 10.0, "lat": 100.0}
    for report in reports.values():
        plan = report.get("plan")
        told = plan.get("tolerances") if isinstance(plan, Mapping) else None
        if isinstance(told, Mapping):
            found |= {key: float(told[key]) for key in found if isinstance(told.get(key), int | float)}
    return found


def _rdma(reports: Reports) -> list[Finding]:
    return compare_pairs(merge_rows(reports), rdma_tolerances(reports))


# check -> its judgement over the reports of all hosts
COMPARISONS: dict[str, Callable[[Reports], list[Finding]]] = {"rdma": _rdma}


def compare_hosts(checks: Sequence[Check], hosts: Sequence[HostReport]) -> tuple[list[HostReport], list[Finding]]:
    """The hosts with what was found about them, and the findings that belong to no single host."""
    judged, others = list(hosts), []
    for name in (check.name for check in checks if check.name in COMPARISONS):
        measured = {host.name: host for host in judged if name in host.cells and host.cells[name].report is not None}
        found = COMPARISONS[name]({key: host.cells[name].report or {} for key, host in measured.items()})
        mine = {host: [each for each in found if each.subject.host == host] for host in measured}
        others += [each for each in found if each.subject.host not in measured]
        judged = [_with(host, name, mine.get(host.name, [])) for host in judged]
    return judged, others


def _with(host: HostReport, check: str, findings: Sequence[Finding]) -> HostReport:
    if not findings:
        return host
    cell = host.cells[check]
    status = Status.MEASURED if cell.status is Status.NOT_APPLICABLE else cell.status
    return replace(
        host, cells={**host.cells, check: replace(cell, status=status, findings=(*cell.findings, *findings))}
    )
