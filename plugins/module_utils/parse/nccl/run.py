# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run while its lines come in."""

from __future__ import annotations

from typing import Dict, List, Optional, Set

from .events import Event
from .figures import Figures
from .infer import infer_collective, infer_ranks
from .layout import Layout
from .report import RunReport
from .rows import MaskedError, Shape, drop_timestamp, read_row, shape_of
from .verdict import Ended, judge_end

__all__ = ["Phase", "Run"]

_MOST_HOSTS = 4096
_MOST_NOTES = 16


class Phase:
    """The order in which a run prints its parts."""

    NOTHING, VERSION, START, CONFIG, DEVICES, RANKS, HEADER, ROWS, BOUNDS, AVERAGE, CONCLUDED = range(11)


class Run:
    def __init__(self, label: str, line: int) -> None:
        self.label = label
        self.first_line = self.last_line = line
        self.independent = False
        self.processes = 1
        self.phase = Phase.NOTHING
        self.layout = Layout()
        self.figures = Figures()
        self.collective: Optional[str] = None
        self.nranks: Optional[int] = None
        self.out_of_bounds: Optional[int] = None
        self.bounds_failed = False
        self.average: Optional[float] = None
        self.average_failed = False
        self.damaged = 0
        self.masked = 0
        self.torn_last = False
        self.site: Optional[str] = None
        self.cause: Optional[str] = None
        self.shape: Optional[Shape] = None
        self._counts: Dict[int, int] = {}
        self._rank0: Dict[str, int] = {}
        self._most_rank = -1
        self._event: Optional[Event] = None
        self._exit_code: Optional[int] = None
        self._site_is_cause = False
        self._collective_of_site: Optional[str] = None
        self._failed_hosts: Set[str] = set()
        self._notes: Dict[str, None] = {}

    # what comes in

    def enter(self, phase: int) -> None:
        self._counts[phase] = self._counts.get(phase, 0) + 1
        self.phase = max(self.phase, phase)
        self._count_processes()

    def add_rank(self, rank: int, group: str) -> None:
        if rank == 0:
            self._rank0[group] = self._rank0.get(group, 0) + 1
            self._count_processes()
        self._most_rank = max(self._most_rank, rank)
        self.phase = max(self.phase, Phase.RANKS)

    def add_event(self, event: Event) -> None:
        if self._event is None or event.weight > self._event.weight:
            self._event = event
        if event.site:
            if self.site is None or (event.is_cause and not self._site_is_cause):
                self.site, self._site_is_cause = event.site, event.is_cause
            if not event.site.startswith("common"):
                self._collective_of_site = self._collective_of_site or event.site.split(".cu", 1)[0]
        if self._exit_code is None:
            self._exit_code = event.exit_code
        if event.host and len(self._failed_hosts) < _MOST_HOSTS:
            self._failed_hosts.add(event.host)

    def add_note(self, text: str) -> None:
        if len(self._notes) < _MOST_NOTES:
            self._notes[text] = None

    def add_row(self, tokens: List[str], text: str) -> bool:
        """A line that starts like a row. False if it is not a whole one."""
        self.torn_last = False
        shape = self.shape
        if shape is None or len(tokens) != shape.tokens:
            tokens = drop_timestamp(tokens)
            shape = shape_of(tokens, self.layout.header)
            if shape is None or (self.shape is not None and shape.groups < self.shape.groups):
                return False
            self.shape = shape
        try:
            row = read_row(tokens, shape)
        except MaskedError:
            self.masked += 1
            self.figures.unchecked = self.figures.unchecked or tokens[-1] == "N/A"
            return True
        except ValueError:
            return False
        self.phase = max(self.phase, Phase.ROWS)
        self.figures.add(row)
        if self.layout.by_row is None:
            self.layout.see_row(row, shape, text)
        return True

    def damage(self) -> None:
        self.damaged += 1
        self.torn_last = True

    # what is known so far

    def count(self, phase: int) -> int:
        return self._counts.get(phase, 0)

    def _count_processes(self) -> None:
        """Copies of the program that print into each other's lines: each is its own rank 0."""
        heads = max(self.count(phase) for phase in (Phase.VERSION, Phase.CONFIG, Phase.DEVICES))
        if self._rank0:
            self.processes = max(1, heads, *self._rank0.values())
        else:
            self.processes = max(1, heads, self.count(Phase.HEADER))

    @property
    def closed(self) -> bool:
        return self.count(Phase.AVERAGE) >= self.processes

    # what comes out

    def finish(self) -> RunReport:
        figures, layout = self.figures, self.layout
        collective = self.collective or self._collective_of_site or infer_collective(figures, layout.header)
        wrong_total = int(figures.wrong_sum) if figures.checked and layout.counts_wrong else None
        complete = self.closed and not self.independent
        failure = judge_end(self._ended(complete, wrong_total))
        return RunReport(
            layout=layout.name,
            collective=collective,
            processes=self.processes,
            rows=figures.rows,
            damaged_rows=self.damaged,
            points=figures.points,
            last_size_bytes=figures.last_size,
            max_busbw_out_of_place=figures.max_out,
            max_busbw_in_place=figures.max_in,
            wrong_total=wrong_total,
            max_error=None if layout.counts_wrong else figures.max_wrong,
            checked=figures.checked,
            avg_busbw=self.average,
            out_of_bounds=self.out_of_bounds,
            complete=complete,
            failure=failure,
            failure_site=self.site,
            cause=self.cause if failure else None,
            failed_hosts=tuple(sorted(self._failed_hosts)),
            exit_code=self._exit_code,
            ranks=self._ranks(collective),
            redops=tuple(figures.redops),
            notes=tuple(self._notes),
        )

    def _ranks(self, collective: Optional[str]) -> Optional[int]:
        if self._most_rank >= 0:
            return self._most_rank + 1
        return self.nranks or infer_ranks(self.figures, collective)

    def _ended(self, complete: bool, wrong_total: Optional[int]) -> Ended:
        return Ended(
            event=self._event,
            independent=self.independent,
            processes=self.processes,
            single=self._most_rank < 1,
            headers=self.count(Phase.HEADER),
            footers=self.count(Phase.AVERAGE),
            out_of_bounds=self.out_of_bounds,
            bounds_failed=self.bounds_failed,
            wrong_total=wrong_total,
            average_failed=self.average_failed,
            rows=self.figures.rows,
            damaged=self.damaged,
            masked=self.masked,
            odd=self.figures.odd,
            torn_last=self.torn_last,
            complete=complete,
        )
