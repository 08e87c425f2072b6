# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was read from one start of a program of linux-rdma/perftest (ib_write_bw, ib_send_lat and so on)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple

__all__ = ["GBPS_PER_UNIT", "PerftestReport", "PerftestRow", "Setup", "reading"]

TOOL = "perftest"

# "MB/sec" (before March 2024) is 2^20 bytes as well.
GBPS_PER_UNIT = {"Gb/sec": 1.0, "MiB/sec": 0.008388608, "MB/sec": 0.008388608}


@dataclass(frozen=True)
class PerftestRow:
    """One line of the table. What the table does not have is None; a printed peak of 0.00 was not measured."""

    size_bytes: Optional[int] = None
    iterations: Optional[int] = None
    bw_peak: Optional[float] = None
    bw_average: Optional[float] = None
    msg_rate_mpps: Optional[float] = None
    cpu_util: Optional[float] = None
    t_min: Optional[float] = None
    t_max: Optional[float] = None
    t_typical: Optional[float] = None
    t_avg: Optional[float] = None
    t_stdev: Optional[float] = None
    p99: Optional[float] = None
    p99_9: Optional[float] = None
    tps_average: Optional[float] = None


@dataclass(frozen=True)
class Setup:
    """The block above the table. None: not printed."""

    device: Optional[str] = None
    mtu: Optional[int] = None
    link_type: Optional[str] = None
    connection: Optional[str] = None
    transport: Optional[str] = None
    num_qps: Optional[int] = None
    gid_index: Optional[int] = None
    post_list: Optional[int] = None


@dataclass(frozen=True)
class PerftestReport:
    test: str
    kind: str
    setup: Setup
    rows: Tuple[PerftestRow, ...]
    row_count: int
    damaged_rows: int
    max_bw_average: Optional[float]
    unit: Optional[str]
    unit_source: Optional[str]
    form: str
    bidirectional: Optional[bool]
    role: Optional[str]
    duration_mode: bool
    cuda: bool
    complete: Optional[bool]
    failure: Optional[str]
    completion_status: Optional[int] = None
    completion_status_name: Optional[str] = None
    vendor_syndrome: Optional[str] = None
    peer: Optional[str] = None
    port: Optional[int] = None
    detail: Optional[str] = None
    warnings: Tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.failure is None and self.row_count > 0 and self.complete is not False

    @property
    def last(self) -> PerftestRow:
        return self.rows[-1] if self.rows else PerftestRow()

    def gbps(self, row: PerftestRow) -> Optional[float]:
        """The average in Gb/s, whatever unit was printed; None when the unit is not known."""
        factor = GBPS_PER_UNIT.get(self.unit or "")
        if factor is None or row.bw_average is None:
            return None
        return row.bw_average if factor == 1.0 else round(row.bw_average * factor, 2)


_OPTIONAL = (
    "completion_status", "completion_status_name", "vendor_syndrome", "peer", "port", "detail", "duration_mode", "cuda",
    "unit_source", "damaged_rows",
)  # fmt: skip


def reading(report: PerftestReport) -> Dict[str, Any]:
    row, setup = report.last, report.setup
    result: Dict[str, Any] = {
        "tool": TOOL,
        "test": report.test,
        "kind": report.kind,
        "rows": report.row_count,
        "bytes": row.size_bytes,
        "iterations": row.iterations,
        "unit": report.unit,
        "mtu": setup.mtu,
        "link_type": setup.link_type,
        "connection": setup.connection,
        "transport": setup.transport,
        "num_qps": setup.num_qps,
        "device": setup.device,
        "gid_index": setup.gid_index,
        "bidirectional": report.bidirectional,
        "role": report.role,
        "complete": report.complete,
        "ok": report.ok,
        "failure": report.failure,
        "format": report.form,
    }
    result.update(_bandwidth(report, row) if report.kind == "bw" else _latency(row))
    for key in _OPTIONAL:
        if getattr(report, key) not in (None, False, 0):
            result[key] = getattr(report, key)
    if setup.post_list:
        result["post_list"] = setup.post_list
    if report.warnings:
        result["warnings"] = list(report.warnings)
    return result


def _bandwidth(report: PerftestReport, row: PerftestRow) -> Dict[str, Any]:
    return {
        "bw_peak": row.bw_peak,
        "bw_average": row.bw_average,
        "bw_average_gbps": report.gbps(row),
        "msg_rate_mpps": row.msg_rate_mpps,
        "max_bw_average": report.max_bw_average,
    }


def _latency(row: PerftestRow) -> Dict[str, Any]:
    keys = ("t_min", "t_max", "t_typical", "t_avg", "t_stdev", "p99", "p99_9", "tps_average")
    return {key: getattr(row, key) for key in keys}
