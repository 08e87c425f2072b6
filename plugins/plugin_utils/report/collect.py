# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the registered results of all hosts to a FleetReport. What cannot be read is UNKNOWN, never a crash."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...module_utils.finding import Finding, Severity, Subject
from .compare import compare_hosts
from .model import FLEET, Cell, Check, FleetReport, HostReport, Run, Status, natural

__all__ = ["HostInput", "collect", "plain", "selected_checks"]

# A reason is for reading; a module's traceback can be endless.
REASON_LENGTH = 2000


@dataclass(frozen=True)
class HostInput:
    """What the controller knows of a host: ``results`` holds its registered results by check name.

    ``reach`` is the result of the playbook's first word to it. One that did not answer was asked nothing else.
    """

    name: str
    groups: Sequence[str]
    selected: bool
    dropped: bool
    results: Mapping[str, Any]
    reach: Any = None


def selected_checks(
    checks: Iterable[Check], run_tags: Iterable[str], skip_tags: Iterable[str], seen: Iterable[str] = ()
) -> tuple[Check, ...]:
    """The checks that --tags and --skip-tags leave, by Ansible's rules for a task with one tag, and with ``never``.

    A check in ``seen`` left a result, so it was selected, whatever tag did it (a play's own tag, for instance).
    """
    run, skip, found = set(run_tags), set(skip_tags), set(seen)

    def selected(check: Check) -> bool:
        asked = {check.tag, "never"} if check.on_request else {"all", "tagged", check.tag}
        return bool(run & asked) and not skip & {"all", "tagged", check.tag}

    return tuple(check for check in checks if check.name in found or selected(check))


def collect(checks: Sequence[Check], hosts: Iterable[HostInput], run: Run) -> FleetReport:
    reports = []
    for host in sorted(hosts, key=lambda each: natural(each.name)):
        cells = {check.name: _cell(check, host, run.id) for check in checks} if host.selected else {}
        reports.append(HostReport(host.name, tuple(host.groups), host.selected, cells))
    reports, findings = compare_hosts(checks, reports)
    findings += [finding for report in reports for finding in _findings(report)]
    findings += _nothing_measured(findings, reports)
    findings.sort(key=lambda each: (-each.severity, natural(each.subject.host)))
    asked = [check for check in checks if any(host.cells[check.name].asked for host in reports if host.selected)]
    return FleetReport(run, tuple(asked or checks), tuple(reports), tuple(findings))


def _cell(check: Check, host: HostInput, run_id: str) -> Cell:
    """Judge the form of one registered result."""
    result = host.results.get(check.name)
    if check.group is not None and check.group not in host.groups and _absent(result):
        return Cell(Status.NOT_APPLICABLE, asked=False)
    if result is None and isinstance(host.reach, Mapping) and host.reach.get("unreachable"):
        result = host.reach
    if result is None:
        return _no_result(check, host)
    if not isinstance(result, Mapping):
        return Cell(Status.MALFORMED, f"The result of check {check.name} is not a mapping.")
    message = _message(result)
    if result.get("unreachable"):
        return Cell(Status.UNREACHABLE, f"{host.name} could not be reached. {message}".rstrip())
    if result.get("failed"):
        return Cell(Status.FAILED, f"Check {check.name} broke on {host.name}. {message}".rstrip())
    if result.get("skipped"):
        condition = plain(result.get("false_condition", message or "no reason given"))
        return Cell(Status.SKIPPED, f"Check {check.name} was skipped on {host.name}, by its condition: {condition}")
    if result.get("run_id") != run_id:
        other = plain(result.get("run_id"))
        return Cell(
            Status.STALE, f"The result of check {check.name} on {host.name} is of run {other}, not of this one."
        )
    return _answer(check, host.name, result)


def _absent(result: Any) -> bool:
    """The task of a check that is for other hosts was not reached, or skipped by its condition."""
    return result is None or (isinstance(result, Mapping) and bool(result.get("skipped")))


def _no_result(check: Check, host: HostInput) -> Cell:
    if host.dropped:
        return Cell(Status.DROPPED, f"{host.name} failed or got lost earlier in this run; it was not measured.")
    return Cell(Status.MISSING, f"Check {check.name} left no result for {host.name}.")


def _answer(check: Check, host: str, result: Mapping[str, Any]) -> Cell:
    """The findings of a result that arrived. One unreadable finding spoils the cell, but the readable ones are kept."""
    given, report = result.get("findings"), result.get("report")
    if not isinstance(given, Sequence) or isinstance(given, str) or not isinstance(report, Mapping):
        return Cell(Status.MALFORMED, f"The result of check {check.name} on {host} lacks its findings or its report.")
    findings, problems = [], []
    for item in given:
        try:
            findings.append(_finding(check, host, item))
        except (KeyError, TypeError, ValueError) as exc:
            problems.append(f"{type(exc).__name__}: {exc}")
    kept = plain(report)
    if problems:
        reason = (
            f"The result of check {check.name} on {host} has {len(problems)} unreadable findings. First: {problems[0]}"
        )
        return Cell(Status.MALFORMED, plain(reason), tuple(findings), kept)
    if not findings and result.get("verdict") is not None:
        return Cell(Status.MALFORMED, f"The result of check {check.name} on {host} has a verdict without findings.")
    return Cell(Status.MEASURED if findings else Status.NOT_APPLICABLE, "", tuple(findings), kept if findings else None)


def _finding(check: Check, host: str, item: Any) -> Finding:
    if not isinstance(item, Mapping):
        raise TypeError("a finding is not a mapping")
    finding = Finding.from_dict(plain(item))
    if finding.check != check.name or finding.subject.host != host:
        raise ValueError(f"it names check {finding.check} and host {finding.subject.host}")
    if not all(isinstance(text, str) for text in (finding.message, finding.unit, finding.remedy)):
        raise TypeError("message, unit and remedy must be text")
    places = vars(finding.subject).items()
    if wrong := [
        key for key, value in places if value is not None and not isinstance(value, int if key == "gpu" else str)
    ]:
        raise TypeError(f"{', '.join(wrong)} of its subject must be text, gpu a number")
    return finding


REMEDIES = {
    Status.UNREACHABLE: "Look at power and console of {host}, then at its management network and SSH.",
    Status.DROPPED: "Find the first failed task of {host} in the output of this run.",
    Status.FAILED: "Read the message; run the check alone with --limit {host} -vvv.",
    Status.SKIPPED: "Remove the condition, or leave the check out with --skip-tags.",
    Status.MISSING: "See that the play of this check runs on {host}.",
    Status.STALE: "Give the check the run_id of this run.",
    Status.MALFORMED: "The check and the report are of different versions, or the check has a fault: report it.",
}


def _findings(host: HostReport) -> list[Finding]:
    """The host's own findings, and one UNKNOWN for each check without an answer.

    Being out of reach is about the host, so if it befell every check it is said once, under check ``host``.
    """
    findings = [finding for cell in host.cells.values() for finding in cell.findings]
    unanswered = {name: cell for name, cell in host.cells.items() if cell.status in REMEDIES}
    if host.lost:
        unanswered = {"host": host.lost}
    for name, cell in unanswered.items():
        remedy = REMEDIES[cell.status].format(host=host.name)
        subject = Subject(host=host.name)
        findings.append(
            Finding(name, Severity.UNKNOWN, subject, cell.reason, cell.status.value, "measured", "", remedy)
        )
    return findings


def _nothing_measured(findings: Sequence[Finding], hosts: Sequence[HostReport]) -> list[Finding]:
    """A run that measured nothing must say so instead of passing in silence."""
    if findings:
        return []
    if any(host.selected for host in hosts):
        message, remedy = "No selected check applies to any host.", "Select other checks, or none."
    else:
        message, remedy = "No host of the fleet was selected.", "Look at --limit and at the groups of the inventory."
    return [Finding("host", Severity.UNKNOWN, Subject(host=FLEET), message, remedy=remedy)]


def _message(result: Mapping[str, Any]) -> str:
    message = result.get("msg", "")
    text = "\n".join(map(str, message)) if isinstance(message, list | tuple) else str(message)
    return str(plain(text.strip().removeprefix("Task failed: ")[:REASON_LENGTH]))


def plain(value: Any) -> Any:
    """The value as JSON data that any writer can encode: no subclasses, no lone surrogates, no NaN."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(plain(str(key))): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value).encode("utf-8", "replace").decode("utf-8")
