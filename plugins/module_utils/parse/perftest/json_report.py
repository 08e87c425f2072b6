# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file of ``--out_json``: today's valid JSON, and the three kinds that no JSON reader takes.

Before January 2024 nothing was quoted and every object ended in a comma; ``--output=bandwidth`` still ends in one;
raw Ethernet leaves ``sl`` unquoted. So it is read key by key. The unit stands nowhere in it.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Optional

from ...errors import ParseError
from ..text import Prefixes, clean, number
from .report import TOOL, PerftestReport, PerftestRow, Setup
from .table import infer_unit
from .words import test_name

__all__ = ["read_json_report"]

_MOST_CHARACTERS = 1024 * 1024
_PAIR = re.compile(r"""["']?([A-Za-z_][\w. %]*?)["']?\s*:\s*(?:"([^"]*)"|([^\s,{}"\[\]]+))""")
_JSON_LINE = re.compile(r"""\s*(?:[{}]|["']?[A-Za-z_][\w. %]*["']?\s*:(?!//))""")
_OPEN_RESULTS = re.compile(r"""["']?results["']?\s*:\s*\{""")

_COLUMNS = {
    "MsgSize": "size_bytes",
    "n_iterations": "iterations",
    "BW_peak": "bw_peak",
    "BW_average": "bw_average",
    "bw_avg": "bw_average",
    "MsgRate": "msg_rate_mpps",
    "msg_rate": "msg_rate_mpps",
    "CPU_util": "cpu_util",
    "t_min": "t_min",
    "t_max": "t_max",
    "t_typical": "t_typical",
    "t_avg": "t_avg",
    "avg_lat": "t_avg",
    "t_stdev": "t_stdev",
    "percentile_99": "p99",
    "percentile_99.9": "p99_9",
    "tps_average": "tps_average",
}
_WHOLE = ("size_bytes", "iterations")


def read_json_report(lines: Iterable[str]) -> PerftestReport:
    text = _text(lines)
    values = {key.strip(): (quoted or plain).strip() for key, quoted, plain in _PAIR.findall(text)}
    opened = _OPEN_RESULTS.search(text)
    if "test" not in values and opened is None:
        raise ParseError(TOOL, 1, "JSON, but no report of perftest: neither test_info nor results in it")
    row = _row(values) if opened else None
    closed = opened is not None and text.count("{") == text.count("}") and text.count("{") > 0
    if row is not None and not closed:
        row = None  # its last number may be cut
    name, kind, both = test_name(values.get("test", "").replace("_", " ").replace("RDMA ", "RDMA_"))
    kind = kind or ("lat" if row is not None and row.t_avg is not None else "bw")
    unit = "usec" if kind == "lat" else (infer_unit(row) if row else None)
    return PerftestReport(
        test=name or "unknown",
        kind=kind,
        setup=_setup(values),
        rows=(row,) if row else (),
        row_count=1 if row else 0,
        damaged_rows=0,
        max_bw_average=row.bw_average if row else None,
        unit=unit if row else None,
        unit_source=("inferred" if unit else "unknown") if row and kind == "bw" else None,
        form="json",
        bidirectional=both,
        role="client",
        duration_mode=number(values.get("BW_peak", "")) == 0 or "tps_average" in values,
        cuda="cuda_device" in values,
        complete=closed,
        failure=None if row else ("no_result_rows" if closed else "no_footer: the JSON is not closed"),
    )


def _text(lines: Iterable[str]) -> str:
    kept: List[str] = []
    size = 0
    prefixes = Prefixes(_JSON_LINE)
    for line_number, raw in enumerate(lines, 1):
        line = clean(raw)
        text = prefixes.strip(line)
        size += len(line)
        if size > _MOST_CHARACTERS:
            raise ParseError(TOOL, line_number, "more than 1 MiB of JSON is no report of perftest")
        kept.append(line if text is None else text)
        if sum(piece.count("{") - piece.count("}") for piece in kept[-1:]) < 0 and _balanced(kept):
            break
    return "\n".join(kept)


def _balanced(kept: List[str]) -> bool:
    return sum(piece.count("{") - piece.count("}") for piece in kept) == 0


def _row(values: Dict[str, str]) -> Optional[PerftestRow]:
    cells: Dict[str, Any] = {}
    for key, name in _COLUMNS.items():
        if key not in values:
            continue
        value = number(values[key])
        if value is None:
            return None
        cells[name] = int(value) if name in _WHOLE else value
    if cells.get("bw_peak") == 0:
        cells["bw_peak"] = None
    return PerftestRow(**cells) if "bw_average" in cells or "t_avg" in cells or "msg_rate_mpps" in cells else None


def _setup(values: Dict[str, str]) -> Setup:
    def whole(key: str) -> Optional[int]:
        value = values.get(key, "")
        return int(value) if value.isdigit() else None

    return Setup(
        device=values.get("Device"),
        mtu=whole("Mtu"),
        link_type=values.get("Link_type"),
        connection=values.get("Connection_type"),
        transport=values.get("Transport_type"),
        num_qps=whole("Number_of_qps"),
        gid_index=whole("GID_index"),
        post_list=whole("Post_List"),
    )
