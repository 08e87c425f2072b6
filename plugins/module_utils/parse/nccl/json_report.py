# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON report of "-J FILE", versions 1 to 4.

``env`` in it is the whole environment of the job and is never taken over. Booleans are the words "true" and "false";
``root`` is padded; the average was spelt "bandwidith" until February 2026.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ...errors import ParseError
from ..document import Document, integer, mapping, read_document, sequence, words
from .comments import version_of
from .figures import Figures
from .infer import infer_collective, infer_ranks
from .report import TOOL, NcclReport, RunReport
from .rows import Row
from .words import COLLECTIVE, TYPE_BYTES

__all__ = ["read_json_report"]

_KEYS = {"results", "config", "nccl_version", "args"}


def read_json_report(lines: Iterable[str]) -> NcclReport:
    document = read_document(lines, TOOL)
    data = document.data
    if not isinstance(data, dict) or not _KEYS & set(data):
        raise ParseError(TOOL, 1, "JSON, but no report of NCCL tests: none of %s in it" % ", ".join(sorted(_KEYS)))
    devices = [mapping(device) for device in sequence(mapping(data.get("config")).get("devices"))]
    code = integer(data.get("nccl_version"))
    hosts = {str(device["hostname"]) for device in devices if device.get("hostname")}
    return NcclReport(
        runs=(_run(document, len(devices)),),
        hosts=tuple(sorted(hosts)),
        nccl_version=version_of(code) if code else None,
    )


def _run(document: Document, processes: int) -> RunReport:
    data = document.data
    rows, torn = _rows(data)
    figures = Figures()
    for row in rows:
        figures.add(row)
    bounds, average = mapping(data.get("out_of_bounds")), _average(data)
    complete = document.complete and bool(data.get("end_time")) and bool(average)
    run = RunReport(
        layout="json-v%s" % data["version"] if "version" in data else None,
        collective=_collective(data) or infer_collective(figures, None),
        rows=len(rows),
        damaged_rows=torn,
        points=figures.points,
        last_size_bytes=figures.last_size,
        max_busbw_out_of_place=figures.max_out,
        max_busbw_in_place=figures.max_in,
        wrong_total=int(figures.wrong_sum) if figures.checked else None,
        checked=figures.checked,
        avg_busbw=_figure(average.get("bandwidth", average.get("bandwidith"))),
        out_of_bounds=integer(bounds.get("count")),
        complete=complete,
        ranks=_ranks(data, processes) or infer_ranks(figures, None),
        redops=tuple(figures.redops),
    )
    return replace(run, failure=_failure(document, run, bounds, average))


def _failure(document: Document, run: RunReport, bounds: Dict[str, Any], average: Dict[str, Any]) -> Optional[str]:
    errors = [text for text in map(words, sequence(document.data.get("errors"))) if text]
    if errors:
        return "nccl_error: %s" % errors[0]
    if run.out_of_bounds or bounds.get("okay") == "false":
        return "data_corruption: %s out-of-bounds" % run.out_of_bounds
    if run.wrong_total:
        return "data_corruption: %d wrong values" % run.wrong_total
    if not document.complete:
        return "truncated_json"
    if average.get("okay") == "false":
        return "below_min_bw: the tool's own limit NCCL_TESTS_MIN_BW was not met"
    if not run.complete:
        return "no_footer" if run.rows else "hang_or_killed_before_rows"
    if run.damaged_rows:
        return "unparsable_values: %d results without figures" % run.damaged_rows
    return None if run.rows else "no_result_rows: a footer and nothing measured"


def _average(data: Dict[str, Any]) -> Dict[str, Any]:
    return mapping(data.get("average_bus_bandwidth", data.get("average_bus_bandwidith")))


def _rows(data: Dict[str, Any]) -> Tuple[List[Row], int]:
    """The results that can be read, and the number of those that cannot."""
    rows: List[Row] = []
    torn = 0
    for result in sequence(data.get("results")):
        row = _row(result) if isinstance(result, dict) else None
        if row is None:
            torn += 1
        else:
            rows.append(row)
    return rows, torn


def _row(result: Dict[str, Any]) -> Optional[Row]:
    size, count = integer(result.get("size")), integer(result.get("count"))
    out, inside = mapping(result.get("out_of_place")), mapping(result.get("in_place"))
    word = words(result.get("type"))
    if size is None or count is None or word not in TYPE_BYTES or not out:
        return None
    busbw, busbw_in = _figure(out.get("bus_bw")), _figure(inside.get("bus_bw"))
    if busbw is None and busbw_in is None:
        return None
    root = words(result.get("root"))
    return Row(
        size=size,
        elements=count,
        type=word,
        redop=words(result.get("redop")),
        root=integer(root) if root else integer(result.get("root")),
        time="",
        algbw=_figure(out.get("alg_bw")),
        busbw=busbw,
        wrong=_figure(out.get("nwrong")),
        algbw_in_place=_figure(inside.get("alg_bw")),
        busbw_in_place=busbw_in,
        wrong_in_place=_figure(inside.get("nwrong")),
        odd=False,
    )


def _figure(value: Any) -> Optional[float]:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _collective(data: Dict[str, Any]) -> Optional[str]:
    args = sequence(data.get("args"))
    match = COLLECTIVE.search(re.sub(r".*/", "", str(args[0]))) if args else None
    return match.group(1) if match else None


def _ranks(data: Dict[str, Any], processes: int) -> Optional[int]:
    config = mapping(data.get("config"))
    threads, gpus = integer(config.get("nthreads")), integer(config.get("ngpus"))
    return threads * gpus * processes if threads and gpus and processes else None
