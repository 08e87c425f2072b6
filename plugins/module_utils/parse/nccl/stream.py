# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The log line by line: whose line is it, what is it, and does it begin another run.

Most of a log with NCCL_DEBUG=INFO is NCCL's own lines; they are turned away first, by what stands before " NCCL INFO".
"""

from __future__ import annotations

import re
from typing import Callable, Dict, Iterable, List, Optional, Set, Tuple

from ...errors import ParseError
from ..text import Prefixes, clean, number, whole
from .events import Event, Notices, read_event
from .header import read_header
from .report import TOOL, NcclReport, RunReport
from .run import Phase, Run
from .words import COLLECTIVE, KNOWN, NOT_A_CAUSE, TYPE_BYTES, WARN_CAUSES

__all__ = ["LogReader"]

_MOST_HEADS = 16384
_MOST_HOSTS = 4096
_MOST_RUNS = 256
_MOST_STREAMS = 1024

_NCCL = re.compile(r"([\w.-]+) ?:(\d+):(\d+) \[\d+\] (?:\S+:\d+ )?NCCL ([A-Z]+) ?(.*)")
_NRANKS = re.compile(r" nranks (\d+)")
_STAMP_END = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[\d.]*\]\s*$")
_GLUED = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|N/A)([A-Za-z][\w.-]*)$")
_ROW_START = re.compile(r"\s*\d+\s+\d+\s+[a-z]\w*(?:\s|$)")
_CUT_ROW = re.compile(r"\s*\d+(?:\s+\d+(?:\s+[a-z]\w*)?)?\s*$")
_NUMBERS = re.compile(r"\s*(?:-?[\d.]+(?:e[+-]?\d+)?|N/A)(?:\s|$)")

_VERSION = re.compile(r"nccl-tests version (\S+)(?: \(\w+\))?(?: nccl-headers=\d+)?(?: nccl-library=(\d+))?")
_CONFIG = re.compile(r"nThread \d+ nGpus \d+ ")
_RANK = re.compile(r"Rank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?(?:Pid\s+\d+\s+)?on\s+(\S+)\s+device\b")
_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\S+)\s*(OK|FAILED)?")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\S*)\s*(OK|FAILED)?")
_LIBRARY = re.compile(r"NCCL version (\d[\w.]*)")
_COMPILED = re.compile(r"NCCL Tests compiled with NCCL (\S+)")
_WARNING = re.compile(r"(?:[Ii]nvalid (?:type|op) .*defaulting|Reducing maxBytes to) .*|skipping json output.*")


def version_of(code: int) -> str:
    """22907 is 2.29.7; before 2.9 it was 2708 for 2.7.8."""
    if code >= 10000:
        return "%d.%d.%d" % (code // 10000, code % 10000 // 100, code % 100)
    return "%d.%d.%d" % (code // 1000, code % 1000 // 100, code % 100)


class LogReader:
    def __init__(self) -> None:
        self.recognised = False
        self.hosts: Set[str] = set()
        self.nccl_version: Optional[str] = None
        self.nccl_tests_version: Optional[str] = None
        self._heads: Set[str] = set()
        self._prefixes = Prefixes(KNOWN)
        self._notices = Notices()
        self._runs: List[Tuple[int, int, Run]] = []  # first line, last line
        self._finished: List[RunReport] = []
        self._current: Optional[Run] = None
        self._streams: Dict[str, Run] = {}
        self._pending_collective: Optional[str] = None
        self._torn: List[str] = []
        self._line = 0
        self._spans: Dict[int, List[int]] = {}
        self._left_out = 0
        self._left_out_ok = True

    def read(self, lines: Iterable[str]) -> NcclReport:
        heads = self._heads
        ended, raw = True, ""
        for raw in lines:
            self._line += 1
            at = raw.find(" NCCL ")
            if at > 0:
                if raw[:at] in heads and raw.startswith("INFO", at + 6):
                    if "nranks" in raw:
                        self._nranks(raw)
                    continue
                if self._nccl_line(raw):
                    continue
            self._text_line(raw)
        if raw:
            ended = whole(raw)
        return self._finish(ended)

    # NCCL's own lines

    def _nccl_line(self, raw: str) -> bool:
        """NCCL's line, alone or glued to a piece of a row. False if it only contains the word."""
        line = clean(raw)
        text = self._prefixes.strip(line) or line
        match = _NCCL.search(text)
        if match is None:
            return False
        word, level, message = match.group(1), match.group(4), match.group(5)
        left = _STAMP_END.sub("", text[: match.start(1)])
        host = word
        if _ROW_START.match(left) or (self._torn and (_NUMBERS.match(left) or self._torn_word(word, left))):
            host = self._tear(left, word)
        elif len(self._heads) < _MOST_HEADS and level == "INFO":
            self._heads.add(raw[: raw.find(" NCCL ")])
        self.recognised = True
        self._host(host)
        if level == "WARN":
            self._warn(message)
        self._nranks(raw)
        return True

    def _torn_word(self, word: str, left: str) -> bool:
        return not left.strip() and _GLUED.match(word) is not None and word not in self.hosts

    def _tear(self, left: str, word: str) -> str:
        """Keep the piece of a row that stands before NCCL's text; give back the host's name without it."""
        number_piece, host = "", word
        known = next((name for name in self.hosts if word.endswith(name) and _ends_row(word[: -len(name)])), None)
        glued = _GLUED.match(word)
        if word not in self.hosts:
            if known is not None:
                number_piece, host = word[: -len(known)], known
            elif glued is not None:
                number_piece, host = glued.groups()
        tokens = (left + number_piece).split()
        if _ROW_START.match(left):
            self._drop_torn()
            self._torn = tokens
        else:
            self._torn = self._torn + tokens
        self._close_torn(left)
        return host

    def _close_torn(self, text: str) -> bool:
        run = self._run_for_rows()
        if run.add_tokens(list(self._torn), text):
            self._torn = []
            return True
        return False

    def _drop_torn(self) -> None:
        if self._torn:
            self._run_for_rows().damage()
            self._torn = []

    def _warn(self, message: str) -> None:
        run = self._any_run()
        if NOT_A_CAUSE.search(message):
            return
        for pattern, meaning in WARN_CAUSES:
            if pattern.search(message):
                run.cause = meaning
                return
        if run.cause is None:
            run.cause = "NCCL WARN " + re.sub(r"\s*\S*<\d+>.*$", "", message.strip())

    def _nranks(self, raw: str) -> None:
        match = _NRANKS.search(raw)
        if match:
            run = self._any_run()
            run.nranks = max(run.nranks or 0, int(match.group(1)))

    def _host(self, name: str) -> None:
        if len(self.hosts) < _MOST_HOSTS:
            self.hosts.add(name.split(".", 1)[0] if not name[0].isdigit() else name)

    # all other lines

    def _text_line(self, raw: str) -> None:
        line = clean(raw)
        if "_perf" in line:
            self._program(line)
        text = self._prefixes.strip(line)
        if text is None:
            event = self._notices.feed(line)
            if event is not None:
                self._event(event)
            elif not whole(raw) and _CUT_ROW.match(line) and self._current and self._current.header:
                self._run_for_rows().damage()
            return
        self.recognised = True
        tokens = text.split()
        while tokens and tokens[-1] == "|":
            tokens.pop()
        if not tokens:
            return
        if tokens[0].isdigit() and len(tokens) > 2 and tokens[2] in TYPE_BYTES:
            self._row(tokens, text)
        elif self._torn and _NUMBERS.match(text):
            self._torn += tokens
            self._close_torn(text)
        else:
            self._comment(text)

    def _row(self, tokens: List[str], text: str) -> None:
        self._drop_torn()
        run = self._run_for_rows()
        if not run.add_tokens(tokens, text):
            run.damage()

    def _program(self, line: str) -> None:
        match = COLLECTIVE.search(line)
        if match is None:
            return
        self.recognised = True
        run, name = self._current, match.group(1)
        if "Collective test concluded" in line:
            if run is not None and run.collective is None:
                run.collective = name
        elif run is None or run.phase >= Phase.ROWS or run.site is not None:
            self._pending_collective = name
        elif run.collective is None:
            run.collective = name

    def _comment(self, text: str) -> None:
        body = text.lstrip("# \t")
        if not body:
            return
        for start, handler in _HANDLERS:
            if body.startswith(start):
                handler(self, body, text)
                return
        self._other(body, text)

    def _other(self, body: str, text: str) -> None:
        if _WARNING.match(body):
            self._any_run().notes[body.strip()] = None
            return
        event = read_event(text) or self._notices.feed(text)
        if event is not None:
            self._event(event)
            if event.weight == 3 and event.site and " / " in text:
                self._any_run().layout_hints.setdefault("failure", "L4")

    def _event(self, event: Event) -> None:
        self._any_run().add_event(event)
        if event.host:
            self._host(event.host)

    def _version(self, body: str, _text: str) -> None:
        match = _VERSION.match(body)
        if match is None:
            return
        run = self._enter(Phase.VERSION)
        run.layout_hints["version"] = "L5"
        self.nccl_tests_version = match.group(1)
        if match.group(2):
            self.nccl_version = version_of(int(match.group(2)))

    def _start(self, body: str, _text: str) -> None:
        if body.startswith("Collective test concluded"):
            self._any_run().phase = Phase.CONCLUDED
            return
        run = self._enter(Phase.START)
        match = COLLECTIVE.search(body)
        if match:
            run.collective, self._pending_collective = match.group(1), None

    def _config(self, body: str, text: str) -> None:
        if not _CONFIG.match(body):
            return
        run = self._enter(Phase.CONFIG)
        if "unalign:" in body:
            run.layout_hints["version"] = "L5"
        elif "agg iters" in body:
            run.layout_hints["config"] = "L4"
        else:
            run.layout_hints["config"] = "L3" if text.lstrip().startswith("#") else "L1"

    def _devices(self, _body: str, _text: str) -> None:
        self._enter(Phase.DEVICES)

    def _rank(self, body: str, _text: str) -> None:
        match = _RANK.match(body)
        if match is None:
            return
        run = self._run_for(Phase.RANKS)
        run.add_rank(int(match.group(1)), match.group(2) or "0")
        self._host(match.group(3))

    def _header(self, body: str, _text: str) -> None:
        header = read_header(body)
        if header is None:
            return
        run = self._enter(Phase.HEADER)
        run.header = header

    def _bounds(self, body: str, _text: str) -> None:
        match = _BOUNDS.match(body)
        if match is None:
            return
        self._drop_torn()
        run = self._enter(Phase.BOUNDS)
        value = number(match.group(1))
        if value is not None:
            run.out_of_bounds = (run.out_of_bounds or 0) + int(value) if run.processes > 1 else int(value)
        run.bounds_failed = run.bounds_failed or match.group(2) == "FAILED"

    def _average(self, body: str, _text: str) -> None:
        match = _AVERAGE.match(body)
        if match is None or not match.group(1):
            return
        self._drop_torn()
        run = self._enter(Phase.AVERAGE)
        run.average = number(match.group(1))
        run.average_failed = run.average_failed or match.group(2) == "FAILED"
        run.torn_last = False

    def _library(self, body: str, _text: str) -> None:
        match = _LIBRARY.match(body) or _COMPILED.match(body)
        if match:
            self.nccl_version = self.nccl_version or match.group(1)
            self._any_run()

    # which run a line belongs to

    def _any_run(self) -> Run:
        return self._current if self._current is not None else self._new_run("")

    def _run_for_rows(self) -> Run:
        return self._run_for(Phase.ROWS)

    def _enter(self, phase: int) -> Run:
        run = self._run_for(phase)
        run.enter(phase)
        return run

    def _run_for(self, phase: int) -> Run:
        """The run that this line continues, or a new one."""
        label = self._prefixes.label
        run = self._streams.get(label) if label else self._current
        if run is None and self._current is not None and not self._current.label:
            run = self._current  # lines before had no label
            run.label = label
            self._streams[label] = run
        if run is None or _begins(run, phase):
            run = self._new_run(label)
        self._current = run
        self._spans[id(run)][1] = self._line
        return run

    def _new_run(self, label: str) -> Run:
        run = Run(label)
        run.collective, self._pending_collective = self._pending_collective, None
        self._runs.append((self._line, self._line, run))
        self._spans[id(run)] = [self._line, self._line]
        self._current = run
        if label and len(self._streams) < _MOST_STREAMS:
            self._streams[label] = run
        return run

    def _finish(self, ended: bool) -> NcclReport:
        if self._torn:
            self._drop_torn()
        if not self.recognised:
            raise ParseError(TOOL, 0, "no line of NCCL tests in it: give the program's whole output or its JSON report")
        if not self._runs:
            self._new_run("")
        reports = [run.finish() for _first, _last, run in self._runs]
        return NcclReport(
            runs=tuple(reports),
            hosts=tuple(sorted(self.hosts)),
            nccl_version=self.nccl_version,
            nccl_tests_version=self.nccl_tests_version,
        )


def _ends_row(piece: str) -> bool:
    return _NUMBERS.match(piece) is not None


def _begins(run: Run, phase: int) -> bool:
    """Does a line of this phase begin another run? Copies that print into each other do not."""
    if run.closed or (run.event is not None and run.event.site and phase < Phase.ROWS):
        return phase != Phase.CONCLUDED
    if run.phase >= Phase.ROWS and run.counts.get(Phase.AVERAGE, 0) == 0:
        return phase < Phase.HEADER or (phase == Phase.HEADER and run.counts.get(Phase.HEADER, 0) >= run.processes)
    return False


_HANDLERS: Tuple[Tuple[str, Callable[[LogReader, str, str], None]], ...] = (
    ("Rank", LogReader._rank),
    ("size", LogReader._header),
    ("bytes", LogReader._header),
    ("Out of bounds", LogReader._bounds),
    ("Avg bus", LogReader._average),
    ("Collective test", LogReader._start),
    ("nThread", LogReader._config),
    ("Using devices", LogReader._devices),
    ("nccl-tests version", LogReader._version),
    ("NCCL version", LogReader._library),
    ("NCCL Tests compiled", LogReader._library),
)
