# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool's own lines around the rows: what each of them changes. "#" may have been lost on the way."""

from __future__ import annotations

import re
from typing import Callable, Optional, Tuple

from ..text import number
from .events import Event, Notices, read_event
from .grouping import Runs
from .header import read_header
from .run import Phase, Run
from .words import COLLECTIVE

__all__ = ["Comments", "version_of"]

_VERSION = re.compile(r"nccl-tests version (\S+)(?: \(\w+\))?(?: nccl-headers=\d+)?(?: nccl-library=(\d+))?")
_CONFIG = re.compile(r"nThread \d+ nGpus \d+ ")
_RANK = re.compile(r"Rank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?(?:Pid\s+\d+\s+)?on\s+(\S+)\s+device\b")
_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\S+)\s*(OK|FAILED)?")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\S+)\s*(OK|FAILED)?")
_LIBRARY = re.compile(r"NCCL (?:version|Tests compiled with NCCL) (\d[\w.]*)")
# The run goes on, with something else than was asked for.
_WARNING = re.compile(r"[Ii]nvalid (?:type|op) .*defaulting|Reducing maxBytes to |skipping json output")


def version_of(code: int) -> str:
    """22907 is 2.29.7; before 2.9 it was 2708 for 2.7.8."""
    if code >= 10000:
        return "%d.%d.%d" % (code // 10000, code % 10000 // 100, code % 100)
    return "%d.%d.%d" % (code // 1000, code % 1000 // 100, code % 100)


class Comments:
    def __init__(self, runs: Runs) -> None:
        self.nccl_version: Optional[str] = None
        self.nccl_tests_version: Optional[str] = None
        self.notices = Notices()
        self.new_host: Optional[str] = None
        self._runs = runs
        self._label = ""
        self._line = 0

    def take(self, text: str, label: str, line: int) -> Optional[Event]:
        """Applies the line to its run; an event is given back instead."""
        self._label, self._line, self.new_host = label, line, None
        body = text.lstrip("# \t")
        for start, handler in _HANDLERS:
            if body.startswith(start):
                handler(self, body, text)
                return None
        return self._other(body, text) if body else None

    def _enter(self, phase: int) -> Run:
        run = self._runs.at(phase, self._label, self._line)
        run.enter(phase)
        return run

    def _other(self, body: str, text: str) -> Optional[Event]:
        if _WARNING.match(body):
            self._runs.any(self._line).add_note(body.strip())
            return None
        event = read_event(text) or self.notices.feed(text)
        if event is not None and event.is_cause and event.site and " / " in text:
            layout = self._runs.any(self._line).layout
            layout.by_failure = layout.by_failure or "L4"
        return event

    def _version(self, body: str, _text: str) -> None:
        match = _VERSION.match(body)
        if match is None:
            return
        self._enter(Phase.VERSION).layout.by_version = True
        self.nccl_tests_version = match.group(1)
        if match.group(2):
            self.nccl_version = version_of(int(match.group(2)))

    def _start(self, body: str, _text: str) -> None:
        run = self._enter(Phase.START)
        match = COLLECTIVE.search(body)
        if match:
            run.collective, self._runs.pending_collective = match.group(1), None

    def _concluded(self, _body: str, _text: str) -> None:
        self._enter(Phase.CONCLUDED)

    def _config(self, body: str, text: str) -> None:
        if not _CONFIG.match(body):
            return
        layout = self._enter(Phase.CONFIG).layout
        layout.by_version = layout.by_version or "unalign:" in body
        old = "L3" if text.lstrip().startswith("#") else "L1"
        layout.by_config = "L4" if "agg iters" in body else old

    def _devices(self, _body: str, _text: str) -> None:
        self._enter(Phase.DEVICES)

    def _rank(self, body: str, _text: str) -> None:
        match = _RANK.match(body)
        if match is None:
            return
        run = self._runs.at(Phase.RANKS, self._label, self._line)
        run.add_rank(int(match.group(1)), match.group(2) or "0")
        self.new_host = match.group(3)

    def _header(self, body: str, _text: str) -> None:
        header = read_header(body)
        if header is not None:
            self._enter(Phase.HEADER).layout.header = header

    def _bounds(self, body: str, _text: str) -> None:
        match = _BOUNDS.match(body)
        if match is None:
            return
        run = self._enter(Phase.BOUNDS)
        value = number(match.group(1))
        if value is not None:
            run.out_of_bounds = (run.out_of_bounds or 0) + int(value)
        run.bounds_failed = run.bounds_failed or match.group(2) == "FAILED"

    def _average(self, body: str, _text: str) -> None:
        match = _AVERAGE.match(body)
        if match is None:
            return
        run = self._enter(Phase.AVERAGE)
        run.average = number(match.group(1))
        run.average_failed = run.average_failed or match.group(2) == "FAILED"
        run.torn_last = False

    def _library(self, body: str, _text: str) -> None:
        match = _LIBRARY.match(body)
        if match:
            self.nccl_version = self.nccl_version or match.group(1)
            self._runs.any(self._line)


_HANDLERS: Tuple[Tuple[str, Callable[[Comments, str, str], None]], ...] = (
    ("Rank", Comments._rank),
    ("size", Comments._header),
    ("bytes", Comments._header),
    ("Out of bounds", Comments._bounds),
    ("Avg bus", Comments._average),
    ("Collective test starting", Comments._start),
    ("Collective test concluded", Comments._concluded),
    ("nThread", Comments._config),
    ("Using devices", Comments._devices),
    ("nccl-tests version", Comments._version),
    ("NCCL version", Comments._library),
    ("NCCL Tests compiled", Comments._library),
)
