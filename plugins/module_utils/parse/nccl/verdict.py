# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a run is not healthy, in one place and in order of what it says about the cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .events import Event

__all__ = ["Ended", "judge_end"]


@dataclass(frozen=True)
class Ended:
    """What is known about a run when its text ends."""

    event: Optional[Event]
    independent: bool  # other processes of the same launcher print tables of their own
    processes: int  # copies that print into this run's own lines
    single: bool
    headers: int
    footers: int
    out_of_bounds: Optional[int]
    bounds_failed: bool
    wrong_total: Optional[int]
    average_failed: bool
    rows: int
    damaged: int
    masked: int
    odd: int
    torn_last: bool
    complete: bool


def judge_end(ended: Ended) -> Optional[str]:
    """The failure, or None for a run that came to its end."""
    event = ended.event
    if event is not None and event.is_cause:
        return event.failure
    return _independent(ended) or _corrupt(ended) or _stopped(ended)


def _independent(ended: Ended) -> Optional[str]:
    if not ended.independent and ended.processes == 1:
        return None
    if not ended.independent and ended.headers == ended.footers == 1 and ended.rows:
        return "hang_or_killed_before_rows: an earlier start in the same text printed no rows"
    if ended.single:
        return "independent_single_rank_processes: binary built without MPI"
    return "independent_runs: binary built without MPI, split ignored"


def _corrupt(ended: Ended) -> Optional[str]:
    if ended.bounds_failed or ended.out_of_bounds:
        return "data_corruption: %s out-of-bounds" % ended.out_of_bounds
    if ended.wrong_total:
        return "data_corruption: %d wrong values" % ended.wrong_total
    return None


def _stopped(ended: Ended) -> Optional[str]:
    event = ended.event
    if event is not None and (event.weight == 2 or ended.complete):
        return event.failure
    if ended.average_failed:
        return "below_min_bw: the tool's own limit NCCL_TESTS_MIN_BW was not met"
    if ended.masked:
        return "unparsable_values: masked figures"
    if not ended.complete:
        return _incomplete(ended)
    if not ended.rows:
        return "no_result_rows: a footer and nothing measured"
    if ended.damaged:
        return "unparsable_values: %d damaged rows" % ended.damaged
    return "unparsable_values: nan or inf in %d rows" % ended.odd if ended.odd else None


def _incomplete(ended: Ended) -> str:
    if ended.torn_last:
        return "truncated_last_row"
    event = ended.event
    if event is not None and not ended.rows:
        return event.failure
    return "no_footer" if ended.rows or ended.footers else "hang_or_killed_before_rows"
