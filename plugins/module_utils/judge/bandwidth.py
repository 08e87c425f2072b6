# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge a measured bandwidth or latency against limits that name their scope.

A bare number is no limit: the same healthy machines give 122 and 330 GB/s, depending on the sizes that were run. So a
limit is a row of a table (``limits/bandwidth.json``), and it judges only what was measured in the same way: the same
hardware, scope, collective, number of ranks and nodes, size, and statistic. Where no row fits, the answer is UNKNOWN.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ..errors import ConfigError
from ..finding import Finding, Severity, Subject
from ..parse.nccl import NcclReport
from ..parse.perftest import PerftestReport
from .measured import Measured, measured_by_nccl, measured_by_perftest, not_measured

__all__ = [
    "CHECK",
    "SCOPES",
    "STATISTICS",
    "Context",
    "Limit",
    "as_rows",
    "compare",
    "fitting_limits",
    "judge_bandwidth",
    "judge_coverage",
    "load_limits",
    "no_limit",
]

CHECK = "bandwidth"
SCOPES = ("single_node", "nvlink_domain", "cross_domain", "mixed", "loopback")
STATISTICS = ("row_at_size", "average")
_BOUNDS = ("at_least", "at_most")
_NEAREST = 3


@dataclass(frozen=True)
class Limit:
    """``ranks``, ``nodes``, ``size_bytes`` are (least, most), None: any. ``tolerance_percent`` is for baselines."""

    sku: str
    scope: str
    collective: str
    statistic: str
    value: float
    unit: str
    source: str
    date: str
    bound: str = "at_least"
    ranks: Optional[Tuple[int, Optional[int]]] = None
    nodes: Optional[Tuple[int, Optional[int]]] = None
    size_bytes: Optional[Tuple[int, Optional[int]]] = None
    memory: Optional[str] = None
    bidirectional: bool = False
    tolerance_percent: float = 0.0

    @property
    def threshold(self) -> float:
        share = self.tolerance_percent / 100
        return self.value * (1 + share if self.bound == "at_most" else 1 - share)

    def met_by(self, value: float) -> bool:
        return value <= self.threshold if self.bound == "at_most" else value >= self.threshold

    @property
    def words(self) -> str:
        parts = [self.sku, self.scope, self.collective, self.statistic]
        parts += [
            "%s %s" % (key, _span(getattr(self, key))) for key in ("ranks", "nodes", "size_bytes") if getattr(self, key)
        ]
        return " ".join(parts)


@dataclass(frozen=True)
class Context:
    """What the text does not tell: whose measurement it is, on what, and how far apart the ends were."""

    host: str
    sku: Optional[str] = None
    scope: Optional[str] = None
    nodes: Optional[int] = None
    network: Optional[str] = None
    peer: Optional[str] = None
    require_checked: bool = False


def load_limits(rows: Iterable[Mapping[str, Any]]) -> List[Limit]:
    """Raises ConfigError that names the row and what is allowed."""
    return [_limit(position, row) for position, row in enumerate(rows, 1)]


def _limit(position: int, row: Mapping[str, Any]) -> Limit:
    known = {field.name for field in fields(Limit)}
    unknown, missing = set(row) - known, {field.name for field in fields(Limit)[:8]} - set(row)
    if unknown or missing:
        words = ["unknown: %s" % ", ".join(sorted(unknown))] if unknown else []
        words += ["missing: %s" % ", ".join(sorted(missing))] if missing else []
        raise ConfigError("limit %d: %s; keys are %s" % (position, "; ".join(words), ", ".join(sorted(known))))
    for key, allowed in (("scope", SCOPES), ("statistic", STATISTICS), ("bound", _BOUNDS)):
        if row.get(key, allowed[0]) not in allowed:
            raise ConfigError("limit %d: %s is %r; allowed: %s" % (position, key, row[key], ", ".join(allowed)))
    values = dict(row)
    for key in ("ranks", "nodes", "size_bytes"):
        values[key] = _pair(position, key, row.get(key))
    return Limit(**values)


def _pair(position: int, key: str, value: Any) -> Optional[Tuple[int, Optional[int]]]:
    if value is None:
        return None
    pair = [value, value] if isinstance(value, int) else value
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], int):
        raise ConfigError(
            "limit %d: %s is %r; allowed: a number, or [least, most] with null for no end" % (position, key, value)
        )
    return pair[0], pair[1]


def judge_bandwidth(
    report: Union[NcclReport, PerftestReport], limits: Sequence[Limit], context: Context
) -> List[Finding]:
    """One finding for each limit that fits; one UNKNOWN where none does; the run's own failure instead of both."""
    nccl = isinstance(report, NcclReport)
    subject = _subject(report, context)
    failed = not_measured(report)
    if failed is not None:
        severity, message, remedy = failed
        return [Finding(CHECK, severity, subject, message, remedy=remedy)]
    measured = measured_by_nccl(report) if isinstance(report, NcclReport) else measured_by_perftest(report)
    if not measured:
        message = "neither unit nor size of the figure is known, so it was not judged"
        return [
            Finding(CHECK, Severity.UNKNOWN, subject, message, remedy="Keep the table; do not use --output=bandwidth.")
        ]
    fitting = fitting_limits(measured, limits, context)
    if not fitting:
        return [no_limit(measured, limits, context, subject)]
    findings = [compare(limit, found, subject) for limit, found in fitting]
    if nccl and context.require_checked and not report.main.checked:  # type: ignore[union-attr]
        findings.append(_unchecked(subject))
    return findings


def fitting_limits(
    measured: Sequence[Measured], limits: Sequence[Limit], context: Context
) -> List[Tuple[Limit, Measured]]:
    """Each limit that judges one of the figures, with that figure."""
    return [(limit, found) for limit in limits for found in [_fitting(limit, measured, context)] if found is not None]


def _subject(report: Union[NcclReport, PerftestReport], context: Context) -> Subject:
    device = report.setup.device if isinstance(report, PerftestReport) else None
    item = report.main.collective if isinstance(report, NcclReport) else report.test
    return Subject(context.host, network=context.network, peer=context.peer, port=device, item=item)


def _fitting(limit: Limit, measured: Sequence[Measured], context: Context) -> Optional[Measured]:
    """What this limit judges: of several sizes in its range the largest one."""
    if not (limit.sku == context.sku and limit.scope == context.scope):
        return None
    fits = [found for found in measured if not _differences(limit, found, context)]
    return max(fits, key=lambda found: found.size_bytes[1]) if fits else None


def _differences(limit: Limit, found: Measured, context: Context) -> List[str]:
    nodes = context.nodes or found.nodes
    return [
        key
        for key, same in (
            ("sku", limit.sku == context.sku),
            ("scope", limit.scope == context.scope),
            ("collective", limit.collective == found.collective),
            ("statistic", limit.statistic == found.statistic),
            ("ranks", _within(limit.ranks, found.ranks)),
            ("nodes", _within(limit.nodes, nodes)),
            ("size_bytes", _size_fits(limit, found)),
            ("memory", limit.memory is None or limit.memory == found.memory),
            ("bidirectional", limit.bidirectional is found.bidirectional),
            ("unit", limit.unit == found.unit),
        )
        if not same
    ]


def _within(span: Optional[Tuple[int, Optional[int]]], value: Optional[int]) -> bool:
    if span is None:
        return True
    return value is not None and span[0] <= value and (span[1] is None or value <= span[1])


def _size_fits(limit: Limit, found: Measured) -> bool:
    """A row's size lies in the range. An average is over a sweep of exactly this range."""
    if limit.size_bytes is None:
        return limit.statistic == "row_at_size"
    least, most = limit.size_bytes
    small, large = found.size_bytes
    if limit.statistic == "average":
        return _about(small, least) and most is not None and _about(large, most)
    return small >= least - _rounding(least) and (most is None or large <= most + _rounding(most))


def _about(size: int, wanted: int) -> bool:
    return abs(size - wanted) <= _rounding(wanted)


def _rounding(size: int) -> int:
    """Sizes are rounded down to a multiple of ranks and type: 17179869120 stands for 16G."""
    return size // 10000


def compare(limit: Limit, found: Measured, subject: Subject) -> Finding:
    good = limit.met_by(found.value)
    words = "%s %s" % (found.words, limit.bound.replace("_", " "))
    return Finding(
        CHECK,
        Severity.OK if good else Severity.FAIL,
        subject,
        "%s %g %s: measured %g (limit: %s, %s)"
        % (words, limit.threshold, limit.unit, found.value, limit.words, limit.source),
        measured=found.value,
        expected=limit.threshold,
        unit=limit.unit,
        remedy="" if good else _remedy(found),
    )


def _remedy(found: Measured) -> str:
    if found.collective.startswith(("ib_", "raw_")):
        return "Measure again with -q 2 and 1 MiB, on the NIC's NUMA node; then see link width, MTU and error counters."
    return (
        "Prove the transport from NCCL's INFO lines (P2P/MNNVL or NET/IB); then measure pairs of nodes by themselves."
    )


def no_limit(measured: Sequence[Measured], limits: Sequence[Limit], context: Context, subject: Subject) -> Finding:
    ranked = sorted(
        ((min(len(_differences(limit, found, context)) for found in measured), limit) for limit in limits),
        key=lambda pair: pair[0],
    )
    nearest = [limit.words for _distance, limit in ranked[:_NEAREST]]
    best = max(measured, key=lambda found: (found.statistic == "row_at_size", found.size_bytes[1]))
    return Finding(
        CHECK,
        Severity.UNKNOWN,
        subject,
        "no limit fits %s %s %s, so it was not judged; nearest: %s"
        % (
            context.sku or "unknown hardware",
            context.scope or "unknown scope",
            best.words,
            "; ".join(nearest) or "none",
        ),
        measured=best.value,
        unit=best.unit,
        remedy="Name sku and scope, run a size for which a limit is there, or record a baseline of this fleet.",
    )


def _unchecked(subject: Subject) -> Finding:
    message = "the results were not checked (-c 0): the bandwidth is real, the data may be wrong"
    return Finding(CHECK, Severity.WARN, subject, message, remedy="Run once with the check on (-c 1).")


def judge_coverage(devices: Iterable[str], reports: Iterable[PerftestReport], context: Context) -> List[Finding]:
    """UNKNOWN for each NIC that no report is about: four runs on mlx5_0 say nothing about the other three."""
    seen = {report.setup.device for report in reports}
    return [
        Finding(
            CHECK,
            Severity.UNKNOWN,
            Subject(context.host, network=context.network, peer=context.peer, port=device),
            "%s was not measured: no output names it" % device,
            remedy="Run ib_write_bw with -d %s." % device,
        )
        for device in devices
        if device not in seen
    ]


def as_rows(limits: Iterable[Limit]) -> List[Dict[str, Any]]:
    """The inverse of load_limits, for a baseline that is written to a file."""
    defaults = {field.name: field.default for field in fields(Limit)}
    return [
        {key: value for key, value in vars(limit).items() if value != defaults.get(key)}  # defaults say nothing new
        for limit in limits
    ]


def _span(pair: Tuple[int, Optional[int]]) -> str:
    least, most = pair
    if most is None:
        return "%d and up" % least
    return str(least) if least == most else "%d to %d" % (least, most)
