# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log line by line.

Most of a log with NCCL_DEBUG=INFO is NCCL's own lines; they are turned away first, by what stands before " NCCL INFO".
Rows that follow a row are the other common case and have a short way too. All else goes through the tables.
"""

from __future__ import annotations

import re
from typing import Iterable, List, Optional, Set

from ...errors import ParseError
from ..text import Prefixes, clean, whole
from .comments import Comments
from .events import Event
from .grouping import Runs
from .report import TOOL, NcclReport
from .run import Phase, Run
from .torn import NCCL_MARK, NcclLine, TornRow, read_nccl_line, split_word
from .words import CANNOT_RUN, COLLECTIVE, KNOWN, NOT_A_CAUSE, TYPE_BYTES, WARN_CAUSES

__all__ = ["LogReader"]

_MOST_HEADS = 16384
_MOST_HOSTS = 4096
_NRANKS = re.compile(r" nranks (\d+)")
_VERSION = re.compile(r"INFO NCCL version (\d[\d.]*)")
_THOUSANDS = re.compile(r"\s*\d{1,3}(?:,\d{3})+\s+\d")
_CUT_ROW = re.compile(r"\s*\d+(?:\s+\d+(?:\s+[a-z]\w*)?)?\s*$")
_ADDRESS_TAIL = re.compile(r"\s*\S*<\d+>.*$")


class LogReader:
    def __init__(self) -> None:
        self._line = 0
        self._recognised = False
        self._hosts: Set[str] = set()
        self._heads: Set[str] = set()
        self._prefixes = Prefixes(KNOWN)
        self._runs = Runs()
        self._torn = TornRow()
        self._comments = Comments(self._runs)

    def read(self, lines: Iterable[str]) -> NcclReport:
        heads = self._heads
        row_run: Optional[Run] = None  # set while rows follow rows
        for raw in lines:
            self._line += 1
            at = raw.find(NCCL_MARK)
            if at > 0:
                if raw[:at] in heads and raw.startswith("INFO", at + len(NCCL_MARK)):
                    if "nranks" in raw or "INFO NCCL version" in raw:
                        self._facts(raw)
                    continue
                if self._nccl_line(raw, at):
                    row_run = None
                    continue
            if row_run is not None and self._next_row(raw, row_run):
                continue
            row_run = self._text_line(raw)
        return self._finish()

    def _next_row(self, raw: str, run: Run) -> bool:
        """The short way: the same prefix, the same number of columns, a type where a type belongs."""
        prefix = self._prefixes.last
        tokens = (raw[len(prefix) :] if prefix and raw.startswith(prefix) else raw).split()
        shape = run.shape
        if shape is None or len(tokens) != shape.tokens or tokens[2] not in TYPE_BYTES or not tokens[0].isdigit():
            return False
        return run.add_row(tokens, "")

    # NCCL's own lines

    def _nccl_line(self, raw: str, at: int) -> bool:
        """False if the line only contains the word."""
        line = clean(raw)
        found = read_nccl_line(self._prefixes.strip(line) or line)
        if found is None:
            return False
        self._recognised = True
        host, torn = found.word, self._torn
        if torn.starts_in(found.left) or torn.goes_on_in(found.left) or torn.goes_on_in_word(found, self._hosts):
            host = self._tear(found)
        elif found.level == "INFO" and len(self._heads) < _MOST_HEADS:
            self._heads.add(raw[:at])
        self._host(host)
        if found.level == "WARN":
            self._warn(found.message)
        self._facts(raw)
        return True

    def _tear(self, found: NcclLine) -> str:
        """Keep the piece of a row that stands before NCCL's text; give back the host's name without it."""
        if self._torn.starts_in(found.left):
            self._drop_torn()
        piece, host = split_word(found.word, self._hosts)
        self._torn.tokens += (found.left + piece).split()
        self._close_torn(found.left)
        return host

    def _close_torn(self, text: str) -> None:
        if self._run_at(Phase.ROWS).add_row(list(self._torn.tokens), text):
            self._torn.tokens = []

    def _drop_torn(self) -> None:
        if self._torn.tokens:
            self._run_at(Phase.ROWS).damage()
            self._torn.tokens = []

    def _warn(self, message: str) -> None:
        if NOT_A_CAUSE.search(message):
            return
        run = self._runs.any(self._line)
        for pattern, meaning in WARN_CAUSES:
            if pattern.search(message):
                run.cause = meaning
                return
        run.cause = run.cause or "NCCL WARN " + _ADDRESS_TAIL.sub("", message.strip())

    def _facts(self, raw: str) -> None:
        match, version = _NRANKS.search(raw), _VERSION.search(raw)
        if version:
            self._comments.nccl_version = self._comments.nccl_version or version.group(1)
        if match:
            run = self._runs.any(self._line)
            run.nranks = max(run.nranks or 0, int(match.group(1)))

    def _host(self, name: str) -> None:
        """Without its domain, like in the tool's own lines; an address stays whole."""
        if len(self._hosts) < _MOST_HOSTS:
            self._hosts.add(name.split(".", 1)[0] if not name.replace(".", "").isdigit() else name)

    # all other lines

    def _text_line(self, raw: str) -> Optional[Run]:
        """Gives back the run if the line was a row of it."""
        line = clean(raw)
        if "_perf" in line:
            self._program(line)
        text = self._prefixes.strip(line.replace(",", "") if _THOUSANDS.match(line) else line)
        if text is None:
            self._unknown_line(line, whole(raw))
            return None
        self._recognised = True
        tokens = text.split()
        while tokens and tokens[-1] == "|":
            tokens.pop()
        if not tokens:
            return None
        if len(tokens) > 2 and tokens[2] in TYPE_BYTES and tokens[0].isdigit():
            return self._row(tokens, text)
        if self._torn.goes_on_in(text):
            self._torn.tokens += tokens
            self._close_torn(text)
        else:
            self._comment(text)
        return None

    def _row(self, tokens: List[str], text: str) -> Optional[Run]:
        self._drop_torn()
        run = self._run_at(Phase.ROWS)
        if run.add_row(tokens, text):
            return run
        run.damage()
        return None

    def _comment(self, text: str) -> None:
        self._drop_torn_before(text)
        event = self._comments.take(text, self._prefixes.label, self._line)
        if self._comments.new_host:
            self._host(self._comments.new_host)
        self._event(event)

    def _drop_torn_before(self, text: str) -> None:
        if self._torn.tokens and ("Out of bounds" in text or "Avg bus" in text):
            self._drop_torn()

    def _unknown_line(self, line: str, ended: bool) -> None:
        prefix = self._prefixes.last
        text = line[len(prefix) :] if line.startswith(prefix) else line
        self._event(self._comments.notices.feed(text))
        run = self._runs.current
        if ended or run is None or (run.layout.header is None and not run.figures.rows):
            return
        if _CUT_ROW.match(text):
            run.damage()

    def _event(self, event: Optional[Event]) -> None:
        if event is None:
            return
        self._runs.any(self._line).add_event(event)
        if event.host:
            self._host(event.host)

    def _program(self, line: str) -> None:
        """A program's name, in a prompt, in a launcher's box, in the tool's own lines."""
        match = COLLECTIVE.search(line)
        if match is None:
            return
        self._recognised = True
        refused = CANNOT_RUN.search(line)
        if refused is not None:
            self._event(Event("launcher_error: %s" % refused.group(1), 3))
        run, name = self._runs.current, match.group(1)
        if run is not None and (run.phase < Phase.ROWS or "Collective test concluded" in line) and run.site is None:
            run.collective = run.collective or name
        else:
            self._runs.pending_collective = name

    def _run_at(self, phase: int) -> Run:
        return self._runs.at(phase, self._prefixes.label, self._line)

    def _finish(self) -> NcclReport:
        self._drop_torn()
        if not self._recognised:
            raise ParseError(TOOL, 0, "no line of NCCL tests in it: give the program's whole output or its JSON report")
        return NcclReport(
            runs=tuple(self._runs.finish()),
            runs_left_out=self._runs.left_out,
            left_out_failure=self._runs.left_out_failure,
            hosts=tuple(sorted(self._hosts)),
            nccl_version=self._comments.nccl_version,
            nccl_tests_version=self._comments.nccl_tests_version,
        )
