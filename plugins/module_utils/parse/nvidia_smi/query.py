# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi --query-gpu=... --format=csv``: a line for each GPU; units in header and cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from ..text import number

__all__ = ["QUERY_HEADER", "QueryReport", "QueryText", "reading"]

QUERY_HEADER = (
    r"\s*(?:index|name|uuid|gpu_name|gpu_uuid|gpu_bus_id|timestamp|count|driver_version|serial|compute_cap|pci\.\w[\w.]*"
    r"|(?:memory|utilization|temperature|power|clocks|ecc|pcie|fabric|mig|persistence|pstate|vbios|fan)[\w.]*)"
    r"(?: \[[^\]]+\])?(?:, [a-z][\w.]*(?: \[[^\]]+\])?)*\s*$"
)
_COLUMN = re.compile(r"([a-z][\w.]*)(?: \[([^\]]+)\])?$")
_UNIT = {"%": "percent"}
# Digits that are names, not numbers.
_TEXT = re.compile(
    r"(?:name|serial|uuid|version|compute_cap|bus_id|device_id|sub_device_id|timestamp|bus|domain|device)$"
)
_PLACEHOLDERS = ("[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "[GPU is lost]", "[Insufficient Permissions]")


@dataclass(frozen=True)
class QueryReport:
    gpus: Tuple[Dict[str, Any], ...]
    lost: Tuple[str, ...]
    unknown: Tuple[str, ...]
    damaged: int
    command: str = "--query-gpu csv"

    @property
    def failure(self) -> Optional[str]:
        if self.lost:
            return "gpu_lost: %s" % ", ".join(self.lost)
        if self.unknown:
            return "gpu_error: %s" % ", ".join(self.unknown)
        if self.damaged:
            return "partial_output: %d lines with another number of columns" % self.damaged
        return None if self.gpus else "no_gpu"

    @property
    def ok(self) -> bool:
        return self.failure is None


class QueryText:
    def __init__(self, header: str) -> None:
        self._columns: List[Tuple[str, bool]] = []  # key, has a unit
        for cell in header.strip().split(", "):
            match = _COLUMN.match(cell.strip())
            name, unit = match.groups() if match else (cell, None)
            key = name.replace(".", "_")
            self._columns.append(("%s_%s" % (key, _UNIT.get(unit, unit.lower())) if unit else key, unit is not None))
        self._gpus: List[Dict[str, Any]] = []
        self._lost: List[str] = []
        self._unknown: List[str] = []
        self._damaged = 0

    def take(self, text: str) -> None:
        cells = [cell.strip() for cell in text.strip().split(", ")]
        if len(cells) != len(self._columns):
            self._damaged += 1
            return
        pairs = zip(self._columns, cells)  # noqa: B905  (Python 3.9)
        row = {key: _value(key, cell, unit) for (key, unit), cell in pairs}
        name = "GPU %s" % row.get("index", len(self._gpus))
        if "[GPU is lost]" in cells:
            self._lost.append(name)
        if "[Unknown Error]" in cells:
            self._unknown.append(name)
        self._gpus.append(row)

    def report(self) -> QueryReport:
        return QueryReport(tuple(self._gpus), tuple(self._lost), tuple(self._unknown), self._damaged)


def _value(key: str, cell: str, has_unit: bool) -> Any:
    if cell in _PLACEHOLDERS or not cell:
        return None
    if _TEXT.search(key):
        return cell
    token = cell.split(" ", 1)[0] if has_unit else cell
    figure = number(token)
    if figure is None:
        return cell
    return int(token) if token.lstrip("-").isdigit() else figure


def reading(report: QueryReport) -> Dict[str, Any]:
    return {"command": report.command, "gpus": list(report.gpus), "ok": report.ok, "failure": report.failure}
