# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge the runs of collectives that were launched on a host: did they run, how fast, and which way went the data.

All findings are about the host that launched the run, with the run's name as the item; the message names the hosts.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Dict, Iterable, List, Mapping, Sequence, Tuple

from ..finding import Finding, Severity, Subject, verdict
from ..nccl.attempt import STAND_IN, Attempt
from ..nccl.baseline import Reference, reference_for
from ..parse.nccl.transport import reading as transport_reading
from .bandwidth import Context, Limit, compare, fitting_limits, no_limit
from .measured import Measured, measured_by_nccl, not_measured
from .transport import judge_bootstrap, judge_settings, judge_transport

__all__ = ["CHECK", "Measure", "judge_missing", "judge_run", "judge_start"]

CHECK = "nccl"
_AGAIN = "Read the log; run it again with debug on. Nothing is concluded about the bandwidth."
_MODE = "NCCL_MNNVL_ENABLE"


@dataclass(frozen=True)
class Measure:
    """What readings are held against. ``baseline`` takes the place of ``limits`` where it knows the kind of run."""

    limits: Sequence[Limit] = ()
    baseline: Mapping[str, Any] = field(default_factory=dict)
    tolerance_percent: float = 10.0


def judge_missing(host: str, names: Iterable[str], wanted: Iterable[str]) -> List[Finding]:
    return [
        Finding(CHECK, Severity.UNKNOWN, Subject(host, item=name), "%s left no record on this host" % name)
        for name in sorted(set(wanted) - set(names))
    ]


def judge_start(host: str, record: Mapping[str, Any]) -> List[Finding]:
    """Before any table is read: the attempts that did not come to their end."""
    subject = Subject(host, item=record["name"])
    return [
        Finding(CHECK, Severity.UNKNOWN, subject, "%s: %s" % (record["name"], each["problem"]), remedy=_AGAIN)
        for each in record["attempts"]
        if each["problem"]
    ]


def judge_run(
    host: str, record: Mapping[str, Any], attempts: Sequence[Attempt], measure: Measure
) -> Tuple[Dict[str, Any], List[Finding]]:
    """The run's part of the report, and its findings. Several attempts: the median of each figure is judged."""
    subject = Subject(host, item=record["name"])
    names = [each["name"] for each in record["hosts"]]
    broken = [finding for attempt in attempts for finding in _broken(record, attempt, subject)]
    shown: Dict[str, Any] = {
        **{key: record[key] for key in ("name", "scope", "collective", "sku", "mnnvl", "ranks", "nodes", "attempts")},
        "launched_by": host,
        "hosts": names,
        "stand_in": any(attempt.stand_in for attempt in attempts),
        "healthy": not broken,
        "points": _points(attempts),
        "average": None,
        "limit": None,
        "baseline": None,
        "transport": None,
    }
    findings = list(broken)
    if not broken:
        findings += _bandwidth(record, attempts, measure, subject, shown)
        findings += _transport(host, record, attempts[-1], shown)
    shown["verdict"] = verdict(findings).name
    return shown, [replace(finding, check=CHECK) for finding in findings]


def _broken(record: Mapping[str, Any], attempt: Attempt, subject: Subject) -> List[Finding]:
    """Why an attempt measured nothing that may be judged. A good table does not outweigh a bad exit status."""

    def unknown(message: str, severity: Severity = Severity.UNKNOWN) -> List[Finding]:
        hosts = ", ".join(each["name"] for each in record["hosts"])
        return [Finding(CHECK, severity, subject, "%s on %s: %s" % (record["name"], hosts, message), remedy=_AGAIN)]

    report = attempt.report
    if attempt.state == "planned":
        return unknown("not run in check mode; it would run: %s" % " ".join(record["attempts"][0]["command"]))
    failed = not_measured(report) if report is not None else None
    if failed is not None and (failed[0] is Severity.FAIL or attempt.problem is None):
        return unknown(failed[1], failed[0])
    if attempt.problem is not None or report is None:
        return unknown(attempt.problem or "nothing was printed")
    main = report.main
    if main.collective != record["collective"]:
        return unknown("the table is of %s, not of %s" % (main.collective, record["collective"]))
    if main.ranks != record["ranks"]:
        return unknown("the table is of %s ranks, not of %d" % (main.ranks, record["ranks"]))
    if attempt.stand_in != (record["sku"] == STAND_IN):
        said = "a stand-in" if attempt.stand_in else "nccl-tests"
        return unknown("%s was run for sku %s: the figures are of something else" % (said, record["sku"]))
    if record["checked"] and not main.checked:
        return unknown("the data was not checked, although it was asked for")
    return []


def _points(attempts: Sequence[Attempt]) -> List[Dict[str, Any]]:
    values: Dict[int, Dict[str, List[float]]] = {}
    for attempt in attempts:
        for point in attempt.report.main.points if attempt.report is not None else ():
            cells = values.setdefault(point.size_bytes, {"busbw": [], "out_of_place": [], "in_place": []})
            for key, value in (
                ("busbw", point.busbw),
                ("out_of_place", point.busbw_out_of_place),
                ("in_place", point.busbw_in_place),
            ):
                if value is not None:
                    cells[key].append(value)
    return [
        {"size_bytes": size, **{key: median(found) if found else None for key, found in cells.items()}}
        for size, cells in sorted(values.items())
        if cells["busbw"]
    ]


def _measured(record: Mapping[str, Any], attempts: Sequence[Attempt]) -> List[Measured]:
    """The median over the attempts of each figure."""
    found: Dict[Tuple[str, Tuple[int, int]], List[Measured]] = {}
    for attempt in attempts:
        for one in measured_by_nccl(attempt.report) if attempt.report is not None else ():
            found.setdefault((one.statistic, one.size_bytes), []).append(one)
    return [
        replace(same[0], value=median(one.value for one in same), ranks=record["ranks"], nodes=record["nodes"])
        for same in found.values()
    ]


def _bandwidth(
    record: Mapping[str, Any], attempts: Sequence[Attempt], measure: Measure, subject: Subject, shown: Dict[str, Any]
) -> List[Finding]:
    measured = _measured(record, attempts)
    shown["average"] = next((one.value for one in measured if one.statistic == "average"), None)
    reference = reference_for(shown, measure.baseline)
    if reference is not None:
        shown["baseline"] = {"points": [list(pair) for pair in sorted(reference.points.items())], "of": reference.words}
        return [_against(reference, measured, measure.tolerance_percent, subject, shown)]
    context = Context(subject.host, sku=record["sku"], scope=_limit_scope(record), nodes=record["nodes"])
    fitting = fitting_limits(measured, measure.limits, context)
    if not fitting:
        return [no_limit(measured, measure.limits, context, subject)]
    limit = max((limit for limit, _found in fitting), key=lambda one: one.statistic == "row_at_size")
    shown["limit"] = {"value": limit.threshold, "statistic": limit.statistic, "size_bytes": limit.size_bytes}
    shown["limit"]["source"] = limit.source
    return [_named(compare(limit, found, subject), shown) for limit, found in fitting]


def _limit_scope(record: Mapping[str, Any]) -> str:
    """With MNNVL off the data goes over RDMA, also inside a domain: the limits call that cross_domain."""
    inside = record["scope"] == "nvlink_domain" and record["mnnvl"] is False
    return "cross_domain" if inside else str(record["scope"])


def _named(finding: Finding, shown: Mapping[str, Any]) -> Finding:
    what = STAND_IN + ", " if shown["stand_in"] else ""
    return replace(finding, message="%s%s: %s" % (what, ", ".join(shown["hosts"]), finding.message))


def _against(
    reference: Reference,
    measured: Sequence[Measured],
    tolerance: float,
    subject: Subject,
    shown: Mapping[str, Any],
) -> Finding:
    """The largest size that both have: small ones say more about the moment than about the machines."""
    rows = {one.size_bytes[1]: one for one in measured if one.statistic == "row_at_size"}
    common = sorted(set(rows) & set(reference.points))
    if not common:
        message = "no size of this run is in %s, so it was not judged" % reference.words
        return _named(Finding(CHECK, Severity.UNKNOWN, subject, message, remedy="Record the baseline again."), shown)
    found, usual = rows[common[-1]], reference.points[common[-1]]
    drop = 100 * (1 - found.value / usual) if usual else 0.0
    good = drop <= tolerance
    way = "%.0f %% below" % drop if drop > 0 else "%.0f %% above" % -drop
    message = "%s: %g GB/s, %s %g, %s (%g %% below is allowed)" % (
        found.words,
        found.value,
        way,
        usual,
        reference.words,
        tolerance,
    )
    remedy = "" if good else "Measure pairs of these hosts by themselves (rdma_check); look at link speed and errors."
    severity = Severity.OK if good else Severity.FAIL
    return _named(Finding(CHECK, severity, subject, message, found.value, usual, "GB/s", remedy), shown)


def _transport(host: str, record: Mapping[str, Any], attempt: Attempt, shown: Dict[str, Any]) -> List[Finding]:
    """From NCCL's own lines, pair by pair. The stand-in has no NCCL in it, and one node has no pair."""
    if attempt.stand_in or record["nodes"] < 2:
        return []
    report = attempt.transport
    subject = Subject(host, item=record["name"])
    if report is None:
        message = "no line of NCCL tells which way the data took (NCCL_DEBUG=INFO did not reach the ranks)"
        return [Finding(CHECK, Severity.UNKNOWN, subject, message, remedy="Forward NCCL_DEBUG; keep the whole output.")]
    shown["transport"] = transport_reading(report)
    domains = {each["name"]: each["domain"] or each["name"] for each in record["hosts"]}
    found = judge_transport(report, domains, record["mnnvl"] is not False, host)
    if record["mnnvl"] is not None:
        found += judge_settings(report, {_MODE: "1" if record["mnnvl"] else "0"}, host)
    if record.get("interface"):
        found += judge_bootstrap(report, [record["interface"]])
    return [_about_run(host, record["name"], finding) for finding in found]


def _about_run(host: str, name: str, finding: Finding) -> Finding:
    about = finding.subject
    pair = "%s - %s" % (about.host, about.peer) if about.peer else about.host
    where = "" if pair == host else pair + ": "
    subject = Subject(host, interface=about.interface, peer=about.peer if about.host == host else None, item=name)
    return replace(finding, subject=subject, message=where + finding.message)
