# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run while its lines come in. Keeps sums and one figure for each size, never the rows."""

from __future__ import annotations

from typing import Dict, List, Optional, Set, Tuple

from .events import Event
from .header import Header, time_layout, type_layout
from .infer import Evidence, infer_collective, infer_ranks
from .report import Point, RunReport
from .rows import Masked, Row, Shape, drop_timestamp, read_row, shape_of
from .verdict import Ended, judge_end

__all__ = ["Phase", "Run"]

_MOST_POINTS = 1024
_MOST_HOSTS = 4096


class Phase:
    """The order in which a run prints its parts."""

    NOTHING, VERSION, START, CONFIG, DEVICES, RANKS, HEADER, ROWS, BOUNDS, AVERAGE, CONCLUDED = range(11)


class Run:
    def __init__(self, label: str = "") -> None:
        self.label = label
        self.phase = Phase.NOTHING
        self.counts: Dict[int, int] = {}
        self.collective: Optional[str] = None
        self.header: Optional[Header] = None
        self.layout_hints: Dict[str, str] = {}
        self.rank0: Dict[str, int] = {}
        self.most_rank = -1
        self.nranks: Optional[int] = None
        self.rows = 0
        self.damaged = 0
        self.masked = 0
        self.odd = 0
        self.torn_last = False
        self.last_size: Optional[int] = None
        self.max_out: Optional[float] = None
        self.max_in: Optional[float] = None
        self.wrong_sum = 0.0
        self.max_error: Optional[float] = None
        self.saw_wrong = False
        self.saw_unchecked = False
        self.evidence = Evidence()
        self.points: Dict[Tuple[int, str, Optional[str]], Point] = {}
        self.redops: Dict[str, None] = {}
        self.out_of_bounds: Optional[int] = None
        self.bounds_failed = False
        self.average: Optional[float] = None
        self.average_failed = False
        self.event: Optional[Event] = None
        self.exit_code: Optional[int] = None
        self.collective_hint: Optional[str] = None
        self.site: Optional[str] = None
        self._site_is_cause = False
        self.failed_hosts: Set[str] = set()
        self.cause: Optional[str] = None
        self.notes: Dict[str, None] = {}
        self._shape: Optional[Shape] = None

    def enter(self, phase: int) -> None:
        self.counts[phase] = self.counts.get(phase, 0) + 1
        self.phase = max(self.phase, phase)

    @property
    def processes(self) -> int:
        """Copies of the program that print into each other's lines: each is its own rank 0."""
        heads = max((self.counts.get(p, 0) for p in (Phase.VERSION, Phase.CONFIG, Phase.DEVICES)), default=0)
        return max(1, heads, *self.rank0.values()) if self.rank0 else max(1, heads, self.counts.get(Phase.HEADER, 0))

    @property
    def closed(self) -> bool:
        return self.counts.get(Phase.AVERAGE, 0) >= self.processes

    @property
    def empty(self) -> bool:
        return self.phase == Phase.NOTHING and self.event is None

    def add_rank(self, rank: int, group: str) -> None:
        if rank == 0:
            self.rank0[group] = self.rank0.get(group, 0) + 1
        self.most_rank = max(self.most_rank, rank)
        self.enter(Phase.RANKS)

    def add_event(self, event: Event) -> None:
        if self.event is None or event.weight > self.event.weight:
            self.event = event
        if event.site and (self.site is None or (event.weight == 3 and not self._site_is_cause)):
            self.site, self._site_is_cause = event.site, event.weight == 3
        if event.site and self.collective_hint is None and not event.site.startswith("common"):
            self.collective_hint = event.site.split(".cu", 1)[0]
        self.exit_code = event.exit_code if self.exit_code is None else self.exit_code
        if event.host and len(self.failed_hosts) < _MOST_HOSTS:
            self.failed_hosts.add(event.host)

    def add_tokens(self, tokens: List[str], text: str) -> bool:
        """A line that starts like a row. False if it is not a whole one."""
        self.torn_last = False
        shape = self._shape
        if shape is None or len(tokens) != shape.tokens:
            tokens = drop_timestamp(tokens)
            shape = shape_of(tokens, self.header)
            if shape is None or (self._shape is not None and shape.groups < self._shape.groups):
                return False
            self._shape = shape
        try:
            row = read_row(tokens, shape)
        except Masked:
            self.masked += 1
            self.saw_unchecked = self.saw_unchecked or tokens[-1] == "N/A"
            return True
        except ValueError:
            return False
        self._add(row, text)
        return True

    def damage(self) -> None:
        self.damaged += 1
        self.torn_last = True

    def _add(self, row: Row, text: str) -> None:
        if self.phase < Phase.ROWS:
            self.enter(Phase.ROWS)
        self.rows += 1
        self.last_size = row.size
        self.odd += row.odd
        out, inside = row.busbw, row.busbw_in_place
        if out is not None and (self.max_out is None or out > self.max_out):
            self.max_out = out
        if inside is not None and (self.max_in is None or inside > self.max_in):
            self.max_in = inside
        for wrong in (row.wrong, row.wrong_in_place):
            if wrong is not None:
                self.saw_wrong = True
                self.wrong_sum += wrong
                if self.max_error is None or wrong > self.max_error:
                    self.max_error = wrong
            else:
                self.saw_unchecked = True
        self.evidence.add(row)
        if row.redop and row.redop not in self.redops and len(self.redops) < 16:
            self.redops[row.redop] = None
        key = (row.size, row.type, row.redop)
        if key in self.points or len(self.points) < _MOST_POINTS:
            self.points[key] = Point(row.size, row.type, row.redop, out, inside)
        if "row" not in self.layout_hints:
            self._layout_of_row(row, text)

    def _layout_of_row(self, row: Row, text: str) -> None:
        """Needed only where no header decided it."""
        shape = self._shape
        layout: Optional[str]
        if shape is not None and shape.width > 4:
            layout = "L6"
        elif (shape is not None and shape.middle == 2) or row.root == -1:
            layout = time_layout(row.time)
            self.layout_hints.setdefault("row_family", "L4")
        elif len(row.time.partition(".")[2]) == 3:
            layout = "L1"
        else:
            layout = type_layout(text)
            self.layout_hints.setdefault("row_family", "L3")
        if layout:
            self.layout_hints["row"] = layout

    @property
    def layout(self) -> Optional[str]:
        header, hints = self.header, self.layout_hints
        if header is not None and header.family != "wrong":
            return header.layout or hints.get("row") or "L3"
        if header is not None and header.layout == "L6":
            return "L6"
        for hint in (hints.get("version"), header.layout if header else None, hints.get("row")):
            if hint:
                return hint
        if header is not None:
            return "L4"
        return hints.get("row_family") or hints.get("config") or hints.get("failure")

    def finish(self, independent: bool = False) -> RunReport:
        newer = self.header.family == "wrong" if self.header else self.layout in ("L4", "L5", "L6")
        evidence_collective = infer_collective(self.evidence, self.header) if self.rows else None
        collective = self.collective or self.collective_hint or evidence_collective
        checked = True if self.saw_wrong else (False if self.saw_unchecked else None)
        wrong_total = int(self.wrong_sum) if self.saw_wrong and newer else None
        complete = self.counts.get(Phase.AVERAGE, 0) >= self.processes and not independent
        failure = judge_end(self._ended(complete, wrong_total, independent))
        return RunReport(
            layout=self.layout,
            collective=collective,
            processes=self.processes,
            rows=self.rows,
            damaged_rows=self.damaged,
            points=tuple(self.points.values()),
            last_size_bytes=self.last_size,
            max_busbw_out_of_place=self.max_out,
            max_busbw_in_place=self.max_in,
            wrong_total=wrong_total,
            max_error=self.max_error if not newer else None,
            checked=checked,
            avg_busbw=self.average,
            out_of_bounds=self.out_of_bounds,
            complete=complete,
            failure=failure,
            failure_site=self.site,
            cause=self.cause if failure else None,
            failed_hosts=tuple(sorted(self.failed_hosts)),
            exit_code=self.exit_code,
            ranks=self._ranks(collective),
            redops=tuple(self.redops),
            notes=tuple(self.notes),
        )

    def _ranks(self, collective: Optional[str]) -> Optional[int]:
        if self.most_rank >= 0:
            return self.most_rank + 1
        return self.nranks or (infer_ranks(self.evidence, collective) if self.rows else None)

    def _ended(self, complete: bool, wrong_total: Optional[int], independent: bool) -> Ended:
        return Ended(
            event=self.event,
            independent=independent or self.processes > 1,
            single=self.most_rank < 1,
            headers=self.counts.get(Phase.HEADER, 0),
            footers=self.counts.get(Phase.AVERAGE, 0),
            out_of_bounds=self.out_of_bounds,
            bounds_failed=self.bounds_failed,
            wrong_total=wrong_total,
            average_failed=self.average_failed,
            rows=self.rows,
            damaged=self.damaged,
            masked=self.masked,
            odd=self.odd,
            torn_last=self.torn_last,
            complete=complete,
        )
