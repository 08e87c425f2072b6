# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi``: ``topo -m``, the Fabric block of ``-q``, and ``--query-gpu`` as CSV. The text tells which it is."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, List, Optional, Union

from ...errors import ParseError
from ..text import Prefixes, clean
from . import fabric, query, topology
from .fabric import FabricGpu, FabricReport
from .query import QueryReport
from .topology import TopologyReport

__all__ = [
    "FabricGpu",
    "FabricReport",
    "NvidiaSmiReport",
    "QueryReport",
    "TopologyReport",
    "parse_nvidia_smi",
    "reading",
]

TOOL = "nvidia-smi"

NvidiaSmiReport = Union[TopologyReport, FabricReport, QueryReport]

_TOPOLOGY = re.compile(topology.TOPOLOGY_LINE)
_QUERY = re.compile(query.QUERY_HEADER)
_FABRIC = re.compile(fabric.FABRIC_LINE)
_KNOWN = re.compile("%s|%s|%s" % (_TOPOLOGY.pattern, _FABRIC.pattern, _QUERY.pattern))
# Unable to determine the device handle for GPU 0000:85:00.0: GPU is lost.  Reboot the system to recover this GPU
_LOST = re.compile(r".*Unable to determine the device handle for (?:GPU|gpu) ?([0-9A-Fa-f:.]*\d): (.*)")
_NESTED = re.compile(r"\s+[A-Z][\w ()/.-]*(?::.*)?$")
_MOST_GPUS = 4096


def parse_nvidia_smi(lines: Iterable[str]) -> NvidiaSmiReport:
    prefixes = Prefixes(_KNOWN)
    matrix, blocks = topology.TopologyText(), fabric.FabricText()
    table: Optional[query.QueryText] = None
    row_prefixes = Prefixes(re.compile(r"\S"))
    lost: List[str] = []
    for raw in lines:
        line = clean(raw)
        text = prefixes.strip(line)
        gone = _LOST.match(line) if "device handle" in line else None
        if gone is not None and len(lost) < _MOST_GPUS:
            lost.append(gone.group(1))
        elif table is not None:
            if line.strip() and ", " in line:
                table.take(_row(line, row_prefixes))
        elif text is None:
            if blocks.gpus and _NESTED.match(line):
                blocks.take(line, "")
        elif _TOPOLOGY.match(text):
            matrix.take(text)
        elif _FABRIC.match(text):
            if len(blocks.gpus) < _MOST_GPUS:
                blocks.take(text, _host(prefixes.label))
        elif "," in text or text.strip():
            table = query.QueryText(text)
            row_prefixes = _row_prefixes(text)
    if lost:
        return QueryReport((), tuple(lost), (), 0, command="nvidia-smi")
    return _report(matrix, blocks, table)


def _host(label: str) -> str:
    """Labels of pdsh and the journal name hosts; those of launchers count processes."""
    kind, _colon, name = label.partition(":")
    return name if kind in ("pdsh", "journal") else ""


def _row_prefixes(header: str) -> Prefixes:
    """What a row starts with, by the header's first column: enough to find where a prefix ends."""
    first = re.split(r"[ ,]", header.strip(), maxsplit=1)[0]
    starts = {
        "index": r"\s*\d+,",
        "count": r"\s*\d+,",
        "uuid": r"\s*GPU-",
        "gpu_uuid": r"\s*GPU-",
        "timestamp": r"\s*\d{4}/",
    }
    return Prefixes(re.compile(starts.get(first, r"\s*[A-Z0-9\[][^:]*(?:,|$)")))


def _row(line: str, prefixes: Prefixes) -> str:
    text = prefixes.strip(line)
    return line if text is None else text


def _report(
    matrix: topology.TopologyText, blocks: fabric.FabricText, table: Optional[query.QueryText]
) -> NvidiaSmiReport:
    if table is not None:
        return table.report()
    if matrix.columns:
        return matrix.report()
    if blocks.gpus:
        return blocks.report()
    raise ParseError(TOOL, 0, "neither 'topo -m', nor '-q' with a Fabric block, nor '--query-gpu' with a header in it")


def reading(report: NvidiaSmiReport) -> Dict[str, Any]:
    result: Dict[str, Any] = {"tool": TOOL}
    if isinstance(report, TopologyReport):
        result.update(topology.reading(report))
    elif isinstance(report, FabricReport):
        result.update(fabric.reading(report))
    else:
        result.update(query.reading(report))
    return result
