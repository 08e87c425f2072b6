# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The result table: its header names the columns, with blanks inside the names, so they are found by name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..text import number
from .report import GBPS_PER_UNIT, PerftestRow

__all__ = ["Columns", "infer_unit", "read_columns", "read_row"]

# Longest first where one name begins another.
_COLUMN = re.compile(
    r"""(?P<size_bytes>\#?bytes\b) | (?P<iterations>\#iterations) | (?P<service_level>\#sl\b)
      | BW\ peak\[(?P<peak_unit>[^\]]+)\] | BW\ average\[(?P<unit>[^\]]+)\] | (?P<msg_rate_mpps>MsgRate\[Mpps\])
      | (?P<port>(?:BW|MsgRate)\ Port\d\S*) | (?P<cpu_util>CPU_Util\[%\])
      | (?P<t_min>t_min\[usec\]) | (?P<t_max>t_max\[usec\]) | (?P<t_typical>t_typical\[usec\])
      | (?P<t_avg>t_avg\[usec\]) | (?P<t_stdev>t_stdev\[usec\])
      | (?P<p99_9>99\.9%\ percentile\[usec\]) | (?P<p99>99%\ percentile\[usec\]) | (?P<tps_average>tps\ average)
    """,
    re.VERBOSE,
)
_LATENCY = {"t_min", "t_avg", "tps_average"}


@dataclass(frozen=True)
class Columns:
    names: Tuple[str, ...]
    unit: Optional[str]

    @property
    def kind(self) -> str:
        return "lat" if _LATENCY & set(self.names) else "bw"


def read_columns(text: str) -> Optional[Columns]:
    names: List[str] = []
    unit = None
    for match in _COLUMN.finditer(text):
        name = match.lastgroup or ""
        if name == "unit":
            unit, name = match.group("unit"), "bw_average"
        names.append("bw_peak" if name == "peak_unit" else name)
    if names[:1] != ["size_bytes"] or "iterations" not in names or len(names) < 3:
        return None
    if "t_avg" in names or "t_min" in names:
        unit = "usec"
    return Columns(tuple(names), unit)


def read_row(tokens: Sequence[str], columns: Columns) -> Optional[PerftestRow]:
    """None if the line has not exactly the header's columns, or a cell is no number."""
    if len(tokens) != len(columns.names):
        return None
    values: Dict[str, Any] = {}
    for name, token in zip(columns.names, tokens):  # noqa: B905  (Python 3.9)
        value = number(token)
        if value is None:
            return None
        if name in ("size_bytes", "iterations"):
            if not token.isdigit():
                return None
            value = int(token)
        if name not in ("port", "service_level"):
            values[name] = value
    if values.get("bw_peak") == 0:
        values["bw_peak"] = None
    return PerftestRow(**values)


def infer_unit(row: PerftestRow) -> Optional[str]:
    """MsgRate times size is the average, in one unit only."""
    if not row.bw_average or not row.msg_rate_mpps or not row.size_bytes:
        return None
    gbps = row.msg_rate_mpps * 1e6 * row.size_bytes * 8 / 1e9
    for unit in ("Gb/sec", "MiB/sec"):
        if abs(row.bw_average * GBPS_PER_UNIT[unit] / gbps - 1) < 0.03:
            return unit
    return None
