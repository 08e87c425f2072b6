# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""To which run does a line belong: the one that it continues, or a new one.

A run is begun by a line that comes too early for the run that it would continue: a header after a footer, a device list
after an error. Copies of the program that print into each other (a binary without MPI) stay one run with several
processes, because nobody can tell their rows apart. Where a launcher labels lines, each label is followed by itself.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from .report import RunReport
from .run import Phase, Run

__all__ = ["Runs"]

_KEPT_AT_EACH_END = 128
_MOST_LABELS = 1024
# Labels that count the processes of one launcher; pdsh and the journal label hosts, whose runs may be apart on purpose.
_LAUNCHER = ("mpi:", "srun:", "pals:", "ray:", "tag:")


class Runs:
    def __init__(self) -> None:
        self.current: Optional[Run] = None
        self.pending_collective: Optional[str] = None
        self.left_out = 0
        self.left_out_failure: Optional[str] = None
        self._open: List[Run] = []
        self._labels: Dict[str, Run] = {}
        self._finished: List[Tuple[int, RunReport]] = []

    def any(self, line: int) -> Run:
        """For what is no part of a run's own text: an error, NCCL's lines."""
        return self.current if self.current is not None else self._begin("", line)

    def at(self, phase: int, label: str, line: int) -> Run:
        """The run to which a line of this phase belongs."""
        run = self._labels.get(label) if label else self.current
        if run is None and self.current is not None and not self.current.label:
            run = self._take_over(self.current, label)
        if run is None or _too_early(run, phase):
            run = self._begin(label, line)
        self.current = run
        run.last_line = line
        return run

    def _take_over(self, run: Run, label: str) -> Run:
        """What was printed before had no label: the launcher's own words, or a window that starts there."""
        run.label = label
        self._labels[label] = run
        return run

    def _begin(self, label: str, line: int) -> Run:
        before = self._labels.get(label) if label else self.current
        if before is not None and before.label == label:
            self._end(before)
        run = Run(label, line)
        run.collective, self.pending_collective = self.pending_collective, None
        self._open.append(run)
        self.current = run
        if label and (label in self._labels or len(self._labels) < _MOST_LABELS):
            self._labels[label] = run
        return run

    def _end(self, run: Run) -> None:
        self._mark_copies(run)
        self._open.remove(run)
        self._finished.append((run.first_line, run.finish()))
        if len(self._finished) > 2 * _KEPT_AT_EACH_END:
            _line, dropped = self._finished.pop(_KEPT_AT_EACH_END)
            self.left_out += dropped.processes
            self.left_out_failure = self.left_out_failure or dropped.failure

    def _mark_copies(self, run: Run) -> None:
        """Two processes of one launcher that print tables at the same time have no communicator in common."""
        for other in self._labels.values():
            together = other.first_line <= run.last_line and run.first_line <= other.last_line
            if other is not run and together and _launched(other) and _launched(run):
                other.independent = run.independent = True

    def finish(self) -> List[RunReport]:
        """In the order in which they began. Without any run an empty one, for texts in which it never came to one."""
        if not self._open and not self._finished:
            self._begin("", 0)
        for run in list(self._open):
            self._end(run)
        return [report for _line, report in sorted(self._finished, key=lambda pair: pair[0])]


def _launched(run: Run) -> bool:
    return run.label.startswith(_LAUNCHER)


def _too_early(run: Run, phase: int) -> bool:
    if run.closed:
        return phase != Phase.CONCLUDED
    if run.site is not None and phase < Phase.ROWS:
        # Ranks that failed may be heard before the device list of the same run has ended.
        listing = phase == Phase.RANKS and run.phase == Phase.RANKS
        return run.phase == Phase.NOTHING or (phase <= run.phase and not listing)
    if run.phase >= Phase.ROWS and run.count(Phase.AVERAGE) == 0:
        return phase < Phase.HEADER or (phase == Phase.HEADER and run.count(Phase.HEADER) >= run.processes)
    return False
