# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as a few lines for the terminal: worst hosts first, never more than fits on a screen."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

from ...module_utils.finding import Finding, Severity
from .grouping import FindingGroup, finding_groups
from .model import FLEET, FleetReport, HostReport, natural

__all__ = ["count_text", "headline", "table"]

ROWS = 20
WIDTH = 118


def count_text(counts: Mapping[str, int]) -> str:
    """``1 FAIL, 2 UNKNOWN``: what is there, worst first."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count) or "none"


def headline(report: FleetReport) -> str:
    """One sentence: the verdict, what was asked, what was found."""
    mode = " (check mode)" if report.run.check_mode else ""
    checks = ", ".join(check.name for check in report.checks)
    hosts, findings = count_text(report.host_counts()), count_text(report.finding_counts())
    return f"Verdict {report.verdict.name}{mode}. Checks: {checks}. Hosts: {hosts}. Findings: {findings}."


def table(report: FleetReport) -> list[str]:
    """A line for each host while all fit on a screen, else a line for each kind of finding; worst first."""
    hosts = [host for host in report.hosts if host.selected]
    lines = _hosts(hosts, report.findings) if len(hosts) <= ROWS else _kinds(report.findings)
    return [finding.message for finding in report.findings if finding.subject.host == FLEET] + lines


def _hosts(hosts: Sequence[HostReport], findings: Sequence[Finding]) -> list[str]:
    own: dict[str, list[Finding]] = {}
    for finding in findings:
        own.setdefault(finding.subject.host, []).append(finding)
    told = [(host, own.get(host.name, [])) for host in sorted(hosts, key=_worst_first)]
    return _lines([(_word(host), host.name, _summary(mine)) for host, mine in told])


def _summary(findings: Sequence[Finding]) -> str:
    """The host's worst finding (they are sorted), and how many more there are."""
    counts = Counter(finding.severity.name for finding in findings[1:] if finding.severity is not Severity.OK)
    more = f"[{count_text(counts)} more] " if counts else ""
    return more + _message(findings[0]) if findings else "no check applies"


def _kinds(findings: Sequence[Finding]) -> list[str]:
    groups = finding_groups([finding for finding in findings if finding.severity is not Severity.OK])
    rows = [(group.first.severity.name, _where(group), _message(group.first)) for group in groups[:ROWS]]
    more = [f"and {len(groups) - ROWS} more kinds of findings"] if len(groups) > ROWS else []
    return _lines(rows) + more


def _where(group: FindingGroup) -> str:
    if len(group.findings) == 1:
        return group.places[0]
    return f"{len(group.findings)} " + (f"pairs, all with {group.common}" if group.common else "hosts")


def _lines(rows: Sequence[tuple[str, str, str]]) -> list[str]:
    width = max((len(name) for _, name, _ in rows), default=0)
    room = max(WIDTH - width - 11, 40)
    return [
        f"{word:<7}  {name:<{width}}  {textwrap.shorten(text, room, placeholder=' ...')}".rstrip()
        for word, name, text in rows
    ]


def _message(finding: Finding) -> str:
    return "" if finding.severity is Severity.OK else f"{finding.check}: {finding.message}"


def _word(host: HostReport) -> str:
    return "-" if host.verdict is None else host.verdict.name


def _worst_first(host: HostReport) -> tuple[int, list[tuple[int, int, str]]]:
    return (-1 if host.verdict is None else -host.verdict.value - 1, natural(host.name))
