# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What reports of NCCL tests and perftest have measured, in one form; or why they have measured nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Tuple, Union

from ..finding import Severity
from ..parse.nccl import NcclReport, Point, RunReport
from ..parse.perftest import PerftestReport, PerftestRow

__all__ = ["Measured", "measured_by_nccl", "measured_by_perftest", "not_measured"]

# The tool found a fault. All other words (no footer, launcher, arguments) mean that nothing was measured.
_FAULTS = {
    "data_corruption",
    "nccl_error",
    "cuda_error",
    "timeout",
    "below_min_bw",
    "below_bw_limit",
    "completion_error",
    "qp_to_rtr_failed",
    "port_down",
    "gpu_memory_registration_failed",
    "data_validation_failed",
}


@dataclass(frozen=True)
class Measured:
    """``size_bytes`` is (least, most): the same number twice for a row, the range of the sweep for an average."""

    collective: str
    statistic: str
    size_bytes: Tuple[int, int]
    value: float
    unit: str
    ranks: Optional[int] = None
    nodes: Optional[int] = None
    memory: Optional[str] = None
    bidirectional: bool = False

    @property
    def words(self) -> str:
        least, most = self.size_bytes
        size = "%d bytes" % most if least == most else "%d to %d bytes" % (least, most)
        who = " on %d ranks" % self.ranks if self.ranks else ""
        return "%s%s, %s of %s" % (self.collective, who, self.statistic, size)


def not_measured(report: Union[NcclReport, PerftestReport]) -> Optional[Tuple[Severity, str, str]]:
    """(severity, message, remedy) for a run that is not healthy: its figures are not judged."""
    if report.failure is not None:
        word = report.failure.split(":", 1)[0]
        severity = Severity.FAIL if word in _FAULTS else Severity.UNKNOWN
        return severity, "the run is not healthy: %s" % report.failure, "Look into the log, repair, and run it again."
    if not report.ok:
        return Severity.UNKNOWN, "the run did not come to its end", "Run it again and keep the whole output."
    if isinstance(report, NcclReport) and report.main.ranks == 1:
        return (
            Severity.UNKNOWN,
            "one rank moves nothing between GPUs",
            "Run it with two ranks or more (-g, or mpirun -np).",
        )
    if isinstance(report, NcclReport) and report.main.collective is None:
        return (
            Severity.UNKNOWN,
            "the text does not tell which collective was run",
            "Keep the command line with the output.",
        )
    return None


def measured_by_nccl(report: NcclReport) -> List[Measured]:
    """Bus bandwidth, which can be compared between numbers of ranks; algbw cannot."""
    run = report.main
    nodes = len(report.hosts) or None
    found = [_row(run, point, nodes) for point in run.points if point.busbw is not None]
    if run.avg_busbw is not None and run.points and len(run.redops) <= 1:
        sizes = [point.size_bytes for point in run.points]
        span = (min(sizes), max(sizes))
        found.append(Measured(run.collective or "", "average", span, run.avg_busbw, "GB/s", run.ranks, nodes))
    return found


def _row(run: RunReport, point: Point, nodes: Optional[int]) -> Measured:
    size = (point.size_bytes, point.size_bytes)
    return Measured(run.collective or "", "row_at_size", size, point.busbw or 0.0, "GB/s", run.ranks, nodes)


def measured_by_perftest(report: PerftestReport) -> List[Measured]:
    return [found for row in report.rows for found in [_perftest_row(report, row)] if found is not None]


def _perftest_row(report: PerftestReport, row: PerftestRow) -> Optional[Measured]:
    value = report.gbps(row) if report.kind == "bw" else (row.t_typical if row.t_typical is not None else row.t_avg)
    if value is None or row.size_bytes is None:
        return None
    return Measured(
        collective=report.test,
        statistic="row_at_size",
        size_bytes=(row.size_bytes, row.size_bytes),
        value=value,
        unit="Gb/s" if report.kind == "bw" else "us",
        nodes=2,
        memory="gpu" if report.cuda else "host",
        bidirectional=bool(report.bidirectional),
    )
