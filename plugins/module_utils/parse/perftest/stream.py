# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text: a block of settings, addresses, a table, and whatever went wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Dict, Iterable, List, Optional

from ...errors import ParseError
from ..text import Prefixes, clean, number
from .command import read_command
from .failures import COMPLETION_NAMES, WARNINGS, Failure, read_failure
from .report import TOOL, PerftestReport, PerftestRow, Setup
from .table import Columns, infer_unit, read_columns, read_row
from .words import COMMENT, CUDA, KNOWN, SETTING, TELLING, test_name

__all__ = ["TextReader"]

_MOST_ROWS = 1024
_MOST_WARNINGS = 16
_MOST_DETAIL = 200
_WIDE_DASHES = 80
_PLAIN_BANDWIDTH = Columns(("size_bytes", "iterations", "bw_peak", "bw_average", "msg_rate_mpps"), None)


class TextReader:
    def __init__(self) -> None:
        self._recognised = False
        self._settings: Dict[str, str] = {}
        self._test: Optional[str] = None
        self._kind: Optional[str] = None
        self._bidirectional: Optional[bool] = None
        self._titled = False
        self._role: Optional[str] = None
        self._duration = False
        self._cuda = False
        self._warnings: Dict[str, None] = {}
        self._columns: Optional[Columns] = None
        self._rows: List[PerftestRow] = []
        self._row_count = 0
        self._damaged = 0
        self._max_average: Optional[float] = None
        self._dashes = 0
        self._open_rows = 0
        self._bare: Optional[float] = None
        self._failure: Optional[Failure] = None
        self._values: Dict[str, str] = {}
        self._waited = False
        self._addresses = False
        self._last_unknown: Optional[str] = None

    def read(self, lines: Iterable[str]) -> PerftestReport:
        prefixes = Prefixes(KNOWN)
        for raw in lines:
            line = clean(raw)
            text = prefixes.strip(line)
            if text is not None:
                self._known_line(COMMENT.sub("", text, count=1))
            elif line.strip():
                self._last_unknown = line.strip()[:_MOST_DETAIL]
        if not self._recognised:
            raise ParseError(
                TOOL, 0, "no line of perftest in it: give the whole output of ib_write_bw, ib_write_lat ..."
            )
        return self._report()

    # what comes in

    def _known_line(self, text: str) -> None:
        body = text.strip()
        if body[:1].isdigit():
            self._figures(body.split())
        elif body.startswith("----"):
            self._recognised = self._recognised or len(body) > _WIDE_DASHES
            self._dashes += 1
            self._open_rows = 0
        elif body.startswith("#bytes"):
            self._columns = read_columns(body) or self._columns
            self._recognised = self._recognised or self._columns is not None
            self._open_rows = 0
        elif not self._command(body):
            self._words(body)

    def _figures(self, tokens: List[str]) -> None:
        if len(tokens) == 1:
            if self._columns is None and not self._titled:
                self._bare = number(tokens[0])
                self._recognised = self._recognised or "." in tokens[0]
            return
        columns = self._columns or _PLAIN_BANDWIDTH
        row = read_row(tokens, columns)
        if self._columns is None and (row is None or infer_unit(row) is None):
            return  # five numbers of some other program
        self._recognised = True
        if row is None:
            self._damaged += 1
            return
        self._open_rows += 1
        self._row_count += 1
        self._duration = (
            self._duration or row.tps_average is not None or ("bw_peak" in columns.names and row.bw_peak is None)
        )
        if row.bw_average is not None:
            self._max_average = max(self._max_average or 0.0, row.bw_average)
        if len(self._rows) >= _MOST_ROWS:
            del self._rows[: _MOST_ROWS // 2]
        self._rows.append(row)

    def _command(self, body: str) -> bool:
        command = read_command(body)
        if command is None:
            return False
        self._recognised = True
        self._test, self._kind = command.test, command.kind
        self._bidirectional, self._role = command.bidirectional, command.role
        self._duration = self._duration or command.duration
        return True

    def _words(self, body: str) -> None:
        failure = read_failure(body)
        if failure is not None:
            self._fail(failure)
        elif WARNINGS.match(body):
            if len(self._warnings) < _MOST_WARNINGS:
                self._warnings[body] = None
            self._recognised = self._recognised or "BW peak won't" in body or "msg size in UD" in body
        elif CUDA.match(body):
            self._cuda = True
        elif "Waiting for client" in body:
            self._recognised, self._role, self._waited = True, "server", True
        elif " address: LID" in body:
            self._recognised, self._addresses = True, True
        elif not self._title(body) and not self._setting(body):
            self._last_unknown = body[:_MOST_DETAIL]

    def _title(self, body: str) -> bool:
        name, kind, both = test_name(body)
        if name is None or not body.endswith("Test"):
            return False
        self._recognised, self._titled = True, True
        self._test, self._kind, self._bidirectional = name, kind, both
        return True

    def _setting(self, body: str) -> bool:
        """Two settings may stand on a line, with TABs between them."""
        pairs = SETTING.findall(body.replace("\t", "  "))
        for key, value in pairs:
            self._settings[key.strip()] = value
        self._recognised = self._recognised or bool(TELLING & set(self._settings))
        return bool(pairs)

    def _fail(self, failure: Failure) -> None:
        self._recognised = True
        for key, value in failure.values.items():
            self._values.setdefault(key, value)
        if failure.word == "bad_argument" and self._last_unknown:
            failure = replace(failure, detail=self._last_unknown)
        if self._failure is None or failure.weight > self._failure.weight:
            self._failure = failure

    # what comes out

    def _report(self) -> PerftestReport:
        bare = self._bare is not None and not self._row_count and self._failure is None and self._columns is None
        if bare:
            self._rows, self._row_count = [PerftestRow(bw_average=self._bare)], 1
        kind = (self._columns.kind if self._columns else None) or self._kind or "bw"
        unit = self._columns.unit if self._columns and self._row_count else None
        inferred = infer_unit(self._rows[-1]) if unit is None and self._rows and kind == "bw" else None
        complete = True if bare else self._complete()
        status, port = self._values.get("status"), self._values.get("port")
        return PerftestReport(
            test=self._name(),
            kind=kind,
            setup=_setup(self._settings),
            rows=tuple(self._rows),
            row_count=self._row_count,
            damaged_rows=self._damaged,
            max_bw_average=self._max_average,
            unit=unit or inferred,
            unit_source=None
            if unit or not self._row_count or kind != "bw"
            else ("inferred" if inferred else "unknown"),
            form="bare" if bare else "text",
            bidirectional=self._both_ways(),
            role=self._who(),
            duration_mode=self._duration,
            cuda=self._cuda,
            complete=complete,
            failure=self._why(complete),
            completion_status=int(status) if status else None,
            completion_status_name=_status_name(status),
            vendor_syndrome=self._values.get("syndrome"),
            peer=self._values.get("peer"),
            port=int(port) if port else None,
            detail=self._failure.detail if self._failure else None,
            warnings=tuple(self._warnings),
        )

    def _name(self) -> str:
        if self._test and self._settings.get("Connection type") == "RawEth":
            return "raw_ethernet_%s" % self._test.rsplit("_", 1)[1]
        return self._test or "unknown"

    def _both_ways(self) -> Optional[bool]:
        """A table without title and command may be either."""
        if self._test is not None:
            return self._bidirectional
        return None if self._row_count else False

    def _who(self) -> Optional[str]:
        connecting = self._failure is not None and self._failure.word == "tcp_connect_failed"
        return self._role or ("client" if self._titled or connecting else None)

    def _complete(self) -> Optional[bool]:
        """The table is closed by dashes. Where there are none at all it was cut by hand, and nobody knows."""
        if not self._row_count:
            return False
        if self._open_rows == 0:
            return True
        return False if self._dashes else None

    def _why(self, complete: Optional[bool]) -> Optional[str]:
        if self._failure is not None:
            return self._failure.word
        if not self._row_count:
            waiting = self._waited and not self._addresses and self._columns is None
            return "no_client_connected" if waiting else "no_result_rows"
        if complete is False:
            return "no_footer"
        return "unparsable_values: %d damaged rows" % self._damaged if self._damaged else None


def _status_name(status: Optional[str]) -> Optional[str]:
    return COMPLETION_NAMES[int(status)] if status and int(status) < len(COMPLETION_NAMES) else None


def _setup(settings: Dict[str, str]) -> Setup:
    def integer(name: str) -> Optional[int]:
        match = re.match(r"\d+", settings.get(name, ""))
        return int(match.group()) if match else None

    return Setup(
        device=settings.get("Device"),
        mtu=integer("Mtu"),
        link_type=settings.get("Link type"),
        connection=settings.get("Connection type"),
        transport=settings.get("Transport type"),
        num_qps=integer("Number of qps"),
        gid_index=integer("GID index"),
        post_list=integer("Post List"),
    )
