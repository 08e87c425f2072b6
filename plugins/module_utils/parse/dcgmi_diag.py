# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``dcgmi diag``: the table, and the JSON of DCGM 3.x and 4.x.

"Successfully ran diagnostic" only says that it ran. Skip and Not Run are no pass.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..errors import ParseError
from .document import integer, mapping, read_document, sequence, words
from .text import unprefixed

__all__ = ["DiagReport", "DiagTest", "parse_dcgmi_diag", "reading"]

TOOL = "dcgmi"

# The worst of a test's results stands for it; a GPU on which it was skipped does not hide that others passed.
_WORST_FIRST = ("fail", "warn", "pass", "skip", "not run")
_OPENS = re.compile(r"\s*\{")
_BORDER = re.compile(r"\s*\+[-=]+\+[-=]+\+\s*$")
_SECTION = re.compile(r"\s*\|-+\s+(\S.*?)\s+-+\+?-*\|?\s*$")
_ROW = re.compile(r"\s*\|(.{27})\|(.*?)\|?\s*$")
_KNOWN = re.compile(r"\s*(?:\+[-=]{5,}\+|\|[- ]|\{|Successfully ran diagnostic|Error: )")
_RESULT = re.compile(r"(Pass|Fail|Warn|Skip|Not Run)\b(.*)", re.IGNORECASE)
_DETAIL_ROWS = ("Warning", "Error", "Info")
_METADATA = {"DCGM Version": "version", "Driver Version Detected": "driver"}


@dataclass(frozen=True)
class DiagTest:
    """``status`` as printed: "Pass" in the table and in 3.x, "pass" in 4.x."""

    name: str
    status: str
    failed_gpus: Tuple[int, ...] = ()
    details: Tuple[str, ...] = ()

    @property
    def word(self) -> str:
        return self.status.lower()


@dataclass(frozen=True)
class DiagReport:
    version: Optional[str]
    driver: Optional[str]
    tests: Tuple[DiagTest, ...]
    complete: bool

    @property
    def failed(self) -> Tuple[DiagTest, ...]:
        return tuple(test for test in self.tests if test.word == "fail")

    @property
    def failed_gpus(self) -> Tuple[int, ...]:
        return tuple(sorted({gpu for test in self.failed for gpu in test.failed_gpus}))

    @property
    def failure(self) -> Optional[str]:
        if self.failed:
            return "failed: %s" % ", ".join(_failed_words(test) for test in self.failed)
        if not self.complete:
            return "truncated"
        return None if any(test.word == "pass" for test in self.tests) else "nothing_passed: every test was skipped"

    @property
    def ok(self) -> bool:
        return self.failure is None


def _failed_words(test: DiagTest) -> str:
    gpus = ", ".join(str(gpu) for gpu in test.failed_gpus)
    return "%s (GPU %s)" % (test.name, gpus) if gpus else test.name


def parse_dcgmi_diag(lines: Iterable[str]) -> DiagReport:
    """The table row by row; from the first "{" on it is JSON."""
    table = _Table()
    rest = iter(lines)
    for line in rest:
        for _line_number, _label, text in unprefixed([line], _KNOWN):
            if _OPENS.match(text):
                return _from_json(_joined(line, rest))
            table.take(text)
    return table.report()


def _joined(line: str, rest: Iterable[str]) -> Iterable[str]:
    yield line
    yield from rest


class _Table:
    def __init__(self) -> None:
        self._seen = False
        self._section = ""
        self._rows: List[Tuple[str, List[str]]] = []
        self._closed = False
        self._metadata: Dict[str, str] = {}

    def take(self, text: str) -> None:
        section, row = _SECTION.match(text), _ROW.match(text)
        if _BORDER.match(text):
            self._seen, self._closed = True, True
        elif section:
            self._section, self._closed = section.group(1), False
        elif row:
            self._closed = False
            self._row(row.group(1).strip(), row.group(2))

    def _row(self, name: str, value: str) -> None:
        if name in _METADATA and self._section in ("Metadata", ""):
            self._metadata[_METADATA[name]] = value.strip()
        elif not name and self._rows:
            self._rows[-1][1].append(value)
        elif self._section != "Metadata" and name != "Diagnostic":
            self._rows.append((name, [value]))

    def report(self) -> DiagReport:
        if not self._seen:
            raise ParseError(TOOL, 0, "no result table and no JSON in it: give the output of 'dcgmi diag'")
        tests: List[DiagTest] = []
        for name, parts in self._rows:
            value = "".join(part[1:] if part.startswith(" ") else part for part in parts).strip()
            result = _RESULT.match(value)
            if name in _DETAIL_ROWS and tests:
                last = tests.pop()
                tests.append(DiagTest(last.name, last.status, last.failed_gpus, last.details + (value,)))
            elif result:
                gpus = tuple(int(gpu) for gpu in re.findall(r"\d+", result.group(2)))
                tests.append(DiagTest(name, result.group(1), gpus if result.group(1).lower() == "fail" else ()))
        return DiagReport(self._metadata.get("version"), self._metadata.get("driver"), tuple(tests), self._closed)


def _from_json(lines: Iterable[str]) -> DiagReport:
    document = read_document(lines, TOOL)
    data = mapping(document.data)
    inner = next((value for key, value in data.items() if key.startswith("DCGM") and isinstance(value, dict)), data)
    if not {"tests", "test_categories"} & set(inner):
        raise ParseError(TOOL, 1, "JSON without tests: give the output of 'dcgmi diag -j'")
    categories = [mapping(category) for category in sequence(inner.get("test_categories"))]
    tests = sequence(inner.get("tests")) + [test for category in categories for test in sequence(category.get("tests"))]
    metadata = dict(mapping(inner.get("metadata")), **inner)
    return DiagReport(
        version=_first(metadata, "version", "dcgm_version", "DCGM Version"),
        driver=_first(metadata, "driver_version", "driver_version_detected", "Driver Version Detected"),
        tests=tuple(_test(mapping(test)) for test in tests if mapping(test).get("name")),
        complete=document.complete,
    )


def _first(values: Dict[str, Any], *keys: str) -> Optional[str]:
    return next((text for text in (words(values.get(key)) for key in keys) if text), None)


def _test(test: Dict[str, Any]) -> DiagTest:
    results = [mapping(result) for result in sequence(test.get("results"))] or [mapping(test.get("test_summary"))]
    statuses = [str(result.get("status", "not run")) for result in results]
    status = min(statuses, key=lambda word: _WORST_FIRST.index(word.lower()) if word.lower() in _WORST_FIRST else 0)
    failed = [result for result in results if str(result.get("status")).lower() == "fail"]
    return DiagTest(
        name=str(test["name"]),
        status=status,
        failed_gpus=tuple(sorted({gpu for result in failed for gpu in _gpus(result)})),
        details=tuple(_detail(warning) for result in failed for warning in sequence(result.get("warnings"))),
    )


def _gpus(result: Dict[str, Any]) -> List[int]:
    if str(result.get("entity_group", "GPU")).upper() == "GPU" and "entity_id" in result:
        gpu = integer(result["entity_id"])
        return [] if gpu is None else [gpu]
    return [int(gpu) for gpu in re.findall(r"\d+", str(result.get("gpu_ids", result.get("gpu_id", ""))))]


def _detail(warning: Any) -> str:
    return str(mapping(warning).get("warning", warning))


def reading(report: DiagReport) -> Dict[str, Any]:
    result: Dict[str, Any] = {
        "tool": TOOL,
        "dcgm_version": report.version,
        "driver": report.driver,
        "tests": {test.name: test.status for test in report.tests},
        "ok": report.ok,
        "failure": report.failure,
    }
    if report.failed_gpus:
        result["failed_gpus"] = list(report.failed_gpus)
    details = {test.name: list(test.details) for test in report.tests if test.details}
    if details:
        result["details"] = details
    return result
