# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``vmtouch``: how much of files is in the page cache. Decide by pages; the sizes beside them are rounded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional

from ..errors import ParseError
from .text import number, unprefixed

__all__ = ["VmtouchReport", "parse_vmtouch", "reading"]

TOOL = "vmtouch"

_LINE = re.compile(
    r"\s*(?:(Files|Directories|Elapsed): *([\d.e+-]+)(?: seconds)?"
    r"|(Resident|Touched|Evicted|Locked) Pages: *(\d+)(?:/(\d+))?(?:\s+\S+?)?(?:\s+([\d.e+]+)%)?(?:\s+\(\S+\))?)\s*$"
)
_KNOWN = re.compile(r"\s*(?:(?:Files|Directories|Elapsed|(?:Resident|Touched|Evicted|Locked) Pages):|vmtouch: )")
_ERROR = re.compile(r"\s*vmtouch: (?:WARNING: |FATAL: )?(.*)")


@dataclass(frozen=True)
class VmtouchReport:
    """``percent`` is left out by the tool when there are no pages."""

    files: Optional[int]
    directories: Optional[int]
    resident_pages: Optional[int]
    total_pages: Optional[int]
    percent: Optional[float]
    elapsed_s: Optional[float]
    touched_pages: Optional[int]
    evicted_pages: Optional[int]
    errors: int
    first_error: Optional[str]

    @property
    def failure(self) -> Optional[str]:
        if self.first_error is not None:
            return "error: %s" % self.first_error
        counted = (self.resident_pages, self.touched_pages, self.evicted_pages) != (None, None, None)
        if self.files is None or not counted or self.elapsed_s is None:
            return "partial_output"
        return None

    @property
    def ok(self) -> bool:
        return self.failure is None


def parse_vmtouch(lines: Iterable[str]) -> VmtouchReport:
    values: Dict[str, float] = {}
    errors: List[str] = []
    count = 0
    for _line_number, _label, text in unprefixed(lines, _KNOWN):
        error, match = _ERROR.match(text), _LINE.match(text)
        if error:
            count += 1
            errors = errors or [error.group(1).strip()]
        elif match:
            _take(match.groups(), values)
    if not values and not errors:
        raise ParseError(TOOL, 0, "no line 'Resident Pages:' or 'Files:' in it: give the output of vmtouch")

    def whole(key: str) -> Optional[int]:
        return int(values[key]) if key in values else None

    return VmtouchReport(
        files=whole("Files"),
        directories=whole("Directories"),
        resident_pages=whole("Resident"),
        total_pages=whole("total"),
        percent=values.get("percent"),
        elapsed_s=values.get("Elapsed"),
        touched_pages=whole("Touched"),
        evicted_pages=whole("Evicted"),
        errors=count,
        first_error=errors[0] if errors else None,
    )


def _take(groups: Any, values: Dict[str, float]) -> None:
    key, value, kind, pages, total, percent = groups
    for name, token in ((key, value), (kind, pages), ("total", total), ("percent", percent)):
        figure = number(token) if name and token else None
        if figure is not None:
            values[name] = figure


def reading(report: VmtouchReport) -> Dict[str, Any]:
    result = {
        "tool": TOOL,
        "files": report.files,
        "directories": report.directories,
        "resident_pages": report.resident_pages,
        "total_pages": report.total_pages,
        "percent": report.percent,
        "elapsed_s": report.elapsed_s,
        "ok": report.ok,
        "failure": report.failure,
    }
    for key in ("touched_pages", "evicted_pages"):
        if getattr(report, key) is not None:
            result[key] = getattr(report, key)
    return result
