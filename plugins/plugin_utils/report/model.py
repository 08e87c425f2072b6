# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as values: what was measured in a run, on which hosts, and what it comes to.

``FleetReport.as_dict`` is the content of ``findings.json``; docs/report.md describes it for readers.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...module_utils.finding import PASSING, Finding, Severity

__all__ = ["FLEET", "SCHEMA_VERSION", "Cell", "Check", "FleetReport", "HostReport", "Run", "Status", "natural", "rows"]

SCHEMA_VERSION = 1
# The subject of a finding that is about no single host. No inventory can have a host of this name.
FLEET = "(fleet)"


class Status(enum.StrEnum):
    """What became of one check on one host. Only the first two are answers; all others are UNKNOWN."""

    MEASURED = "measured"
    NOT_APPLICABLE = "not_applicable"
    UNREACHABLE = "unreachable"
    DROPPED = "dropped"  # the host failed or got lost earlier in this run
    FAILED = "failed"  # the check itself broke
    SKIPPED = "skipped"
    MISSING = "missing"
    STALE = "stale"  # a result of another run
    MALFORMED = "malformed"


ANSWERED = (Status.MEASURED, Status.NOT_APPLICABLE)
# A host that was lost gives nothing else; the first two say how it was lost.
SILENT = (Status.UNREACHABLE, Status.DROPPED, Status.MISSING, Status.SKIPPED)


def natural(name: str) -> list[tuple[int, int, str]]:
    """Sort key under which worker-2 comes before worker-10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name) if part]


@dataclass(frozen=True)
class Check:
    """A check of the collection: its name, the tag that selects it, the variable its result is registered in.

    ``group``: it is for hosts of this group only. ``on_request``: its task has the tag ``never``, so it runs only when
    its own tag is asked for.
    """

    name: str
    tag: str
    variable: str
    group: str | None = None
    on_request: bool = False


@dataclass(frozen=True)
class Run:
    """What identifies a run. Times are ISO 8601 in UTC."""

    id: str
    started: str
    finished: str
    inventory: str
    check_mode: bool
    ansible_version: str
    collection_version: str

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


@dataclass(frozen=True)
class Cell:
    """One check on one host. ``reason`` says why there is no answer (empty if there is one).

    ``asked`` is False where the check is for other hosts, so that nothing can be known from it about this one.
    """

    status: Status
    reason: str = ""
    findings: tuple[Finding, ...] = ()
    report: dict[str, Any] | None = None
    asked: bool = True

    @property
    def verdict(self) -> Severity | None:
        if self.status is Status.NOT_APPLICABLE:
            return None
        if self.status is Status.MEASURED:
            return max(finding.severity for finding in self.findings)
        return Severity.UNKNOWN


@dataclass(frozen=True)
class HostReport:
    """One host of the fleet; ``selected`` is False outside --limit, then there are no cells."""

    name: str
    groups: tuple[str, ...]
    selected: bool
    cells: dict[str, Cell]

    @property
    def verdict(self) -> Severity | None:
        return max((cell.verdict for cell in self.cells.values() if cell.verdict is not None), default=None)

    @property
    def lost(self) -> Cell | None:
        """The cell that tells how the host got lost, if nothing was heard of it in this run."""
        if any(cell.asked and cell.status not in SILENT for cell in self.cells.values()):
            return None
        told = (cell for status in SILENT[:2] for cell in self.cells.values() if cell.status is status)
        return next(told, None)

    @property
    def state(self) -> str:
        """not_selected, measured, partly_measured, unreachable or not_measured."""
        asked = [cell for cell in self.cells.values() if cell.asked] or self.cells.values()
        answers = [cell.status in ANSWERED for cell in asked]
        if not self.selected:
            return "not_selected"
        if any(answers):
            return "measured" if all(answers) else "partly_measured"
        return "unreachable" if self.lost and self.lost.status is Status.UNREACHABLE else "not_measured"

    def as_dict(self) -> dict[str, Any]:
        return {
            "groups": list(self.groups),
            "state": self.state,
            "verdict": _name(self.verdict),
            "checks": {
                name: {"status": cell.status.value, "verdict": _name(cell.verdict), "reason": cell.reason}
                for name, cell in self.cells.items()
            },
        }


@dataclass(frozen=True)
class FleetReport:
    """Everything the writers need. ``findings`` are sorted worst first, ``hosts`` by name."""

    run: Run
    checks: tuple[Check, ...]
    hosts: tuple[HostReport, ...]
    findings: tuple[Finding, ...]
    # The content of an earlier run's findings.json, for comparison; empty if none was given.
    earlier: Mapping[str, Any] = field(default_factory=dict)

    @property
    def earlier_run(self) -> str | None:
        return (self.earlier.get("run") or {}).get("id")

    def earlier_reports(self, check: str) -> dict[str, dict[str, Any]]:
        found = (self.earlier.get("reports") or {}).get(check) or {}
        return {host: data for host, data in found.items() if isinstance(data, dict)}

    @property
    def verdict(self) -> Severity:
        """The worst finding; UNKNOWN when nothing was measured at all."""
        return max((finding.severity for finding in self.findings), default=Severity.UNKNOWN)

    @property
    def passed(self) -> bool:
        return self.verdict in PASSING

    def finding_counts(self) -> dict[str, int]:
        counted = Counter(finding.severity for finding in self.findings)
        return {severity.name: counted[severity] for severity in reversed(Severity)}

    def host_counts(self) -> dict[str, int]:
        """Hosts by verdict; NONE: no check applies to the host, NOT_SELECTED: outside --limit."""
        counted = Counter(_name(host.verdict) or "NONE" for host in self.hosts if host.selected)
        counts = {severity.name: counted[severity.name] for severity in reversed(Severity)}
        return counts | {"NONE": counted["NONE"], "NOT_SELECTED": sum(not host.selected for host in self.hosts)}

    def reports(self, check: str) -> dict[str, dict[str, Any]]:
        """host -> the check's own report, for the hosts that gave one."""
        pairs = ((host.name, host.cells.get(check)) for host in self.hosts)
        return {name: cell.report for name, cell in pairs if cell is not None and cell.report is not None}

    def as_dict(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "run": self.run.as_dict(),
            "compared_with": self.earlier_run,
            "verdict": self.verdict.name,
            "passed": self.passed,
            "counts": {"findings": self.finding_counts(), "hosts": self.host_counts()},
            "checks": [check.name for check in self.checks],
            "hosts": {host.name: host.as_dict() for host in self.hosts},
            "findings": [finding.as_dict() for finding in self.findings],
            "reports": {check.name: self.reports(check.name) for check in self.checks},
        }


def rows(data: Any, key: str) -> list[dict[str, Any]]:
    """The list of mappings under ``key`` of a check's report; what has another form is left out, not an error."""
    found = data.get(key) if isinstance(data, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _name(severity: Severity | None) -> str | None:
    return None if severity is None else severity.name
