# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was read from a log or report of NCCL tests (and RCCL tests)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

__all__ = ["NcclReport", "Point", "RunReport", "reading"]

TOOL = "nccl-tests"


@dataclass(frozen=True)
class Point:
    """Bus bandwidth (GB/s) of one message size; a placement that was not run or does not count is None."""

    size_bytes: int
    type: str
    redop: Optional[str]
    busbw_out_of_place: Optional[float]
    busbw_in_place: Optional[float]

    @property
    def busbw(self) -> Optional[float]:
        """Out of place counts for every collective; in place does not for alltoall and sendrecv."""
        return self.busbw_in_place if self.busbw_out_of_place is None else self.busbw_out_of_place


@dataclass(frozen=True)
class RunReport:
    """One start of a test program. The figures are over the whole rows that it printed."""

    layout: Optional[str] = None
    collective: Optional[str] = None
    processes: int = 1
    rows: int = 0
    damaged_rows: int = 0
    points: Tuple[Point, ...] = ()
    last_size_bytes: Optional[int] = None
    max_busbw_out_of_place: Optional[float] = None
    max_busbw_in_place: Optional[float] = None
    wrong_total: Optional[int] = None
    max_error: Optional[float] = None
    checked: Optional[bool] = None
    avg_busbw: Optional[float] = None
    out_of_bounds: Optional[int] = None
    complete: bool = False
    failure: Optional[str] = None
    failure_site: Optional[str] = None
    cause: Optional[str] = None
    failed_hosts: Tuple[str, ...] = ()
    exit_code: Optional[int] = None
    ranks: Optional[int] = None
    redops: Tuple[str, ...] = ()
    notes: Tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.complete and self.rows > 0 and self.failure is None


@dataclass(frozen=True)
class NcclReport:
    """``runs`` are in the order in which they started; ``runs_left_out`` of them were too many to keep."""

    runs: Tuple[RunReport, ...]
    runs_left_out: int = 0
    left_out_failure: Optional[str] = None
    hosts: Tuple[str, ...] = ()
    nccl_version: Optional[str] = None
    nccl_tests_version: Optional[str] = None

    @property
    def main(self) -> RunReport:
        """The last run that has rows; if none has, the last one."""
        return next((run for run in reversed(self.runs) if run.rows), self.runs[-1])

    @property
    def run_count(self) -> int:
        return sum(run.processes for run in self.runs) + self.runs_left_out

    @property
    def ok(self) -> bool:
        return self.left_out_failure is None and all(run.ok for run in self.runs)

    @property
    def complete(self) -> bool:
        return self.left_out_failure is None and all(run.complete for run in self.runs)

    @property
    def failed(self) -> Optional[RunReport]:
        return next((run for run in self.runs if run.failure), None)

    @property
    def failure(self) -> Optional[str]:
        """That of the first run that failed; a later run that just stops is named as such."""
        first = self.failed
        if first is None:
            return self.left_out_failure
        position = self.runs.index(first)
        if position and _just_stops(first):
            return "second_run_incomplete: run %d of %d: %s" % (position + 1, len(self.runs), first.failure)
        return first.failure


def _just_stops(run: RunReport) -> bool:
    return (run.failure or "").split(":")[0] in ("no_footer", "hang_or_killed_before_rows", "truncated_last_row")


def reading(report: NcclReport) -> Dict[str, Any]:
    main, failed = report.main, report.failed or report.main
    result: Dict[str, Any] = {
        "tool": TOOL,
        "layout": main.layout,
        "collective": main.collective,
        "runs": report.run_count,
        "rows": main.rows,
        "damaged_rows": main.damaged_rows,
        "last_size_bytes": main.last_size_bytes,
        "max_busbw_out_of_place": main.max_busbw_out_of_place,
        "max_busbw_in_place": main.max_busbw_in_place,
        "wrong_total": main.wrong_total,
        "checked": main.checked,
        "avg_busbw": main.avg_busbw,
        "out_of_bounds": main.out_of_bounds,
        "complete": report.complete,
        "ok": report.ok,
        "failure": report.failure,
        "nccl_version": report.nccl_version,
        "nccl_tests_version": report.nccl_tests_version,
        "ranks": main.ranks,
        "hosts": list(report.hosts),
        "valid_bandwidth": main.ranks != 1 if main.rows else None,
    }
    optional = {
        "max_error": main.max_error,
        "failure_site": failed.failure_site,
        "cause": failed.cause,
        "failed_hosts": list(failed.failed_hosts),
        "exit_code": failed.exit_code,
        "redops": list(main.redops) if len(main.redops) > 1 else None,
        "notes": list(dict.fromkeys(note for run in report.runs for note in run.notes)),
        "runs_left_out": report.runs_left_out,
        "per_run": [_run_reading(run) for run in report.runs] if len(report.runs) > 1 else None,
        "points": [_point_reading(point) for point in main.points],
    }
    result.update((key, value) for key, value in optional.items() if value)
    return result


def _run_reading(run: RunReport) -> Dict[str, Any]:
    return {
        "layout": run.layout,
        "collective": run.collective,
        "ranks": run.ranks,
        "rows": run.rows,
        "last_size_bytes": run.last_size_bytes,
        "max_busbw_out_of_place": run.max_busbw_out_of_place,
        "max_busbw_in_place": run.max_busbw_in_place,
        "wrong_total": run.wrong_total,
        "checked": run.checked,
        "avg_busbw": run.avg_busbw,
        "out_of_bounds": run.out_of_bounds,
        "complete": run.complete,
        "ok": run.ok,
        "failure": run.failure,
    }


def _point_reading(point: Point) -> Dict[str, Any]:
    return {
        "size_bytes": point.size_bytes,
        "type": point.type,
        "redop": point.redop,
        "busbw_out_of_place": point.busbw_out_of_place,
        "busbw_in_place": point.busbw_in_place,
    }
