# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sums over the rows of a run: what the reading needs, in memory that does not grow with the rows."""

from __future__ import annotations

from typing import Dict, Optional, Set, Tuple

from .report import Point
from .rows import Row
from .words import TYPE_BYTES

__all__ = ["Figures"]

_MOST_POINTS = 1024
_MOST_WORDS = 16
_MOST_RATIOS = 8


class Figures:
    def __init__(self) -> None:
        self.rows = 0
        self.odd = 0
        self.last_size: Optional[int] = None
        self.max_out: Optional[float] = None
        self.max_in: Optional[float] = None
        self.wrong_sum = 0.0
        self.max_wrong: Optional[float] = None
        self.out_checked = False
        self.in_checked = False
        self.unchecked = False
        self.redops: Dict[str, None] = {}
        # What the rows tell about the collective and the ranks, see infer.py.
        self.ratios: Set[float] = set()  # size / (count * bytes of the type)
        self.best_algbw = 0.0
        self.best_busbw = 0.0
        self.same_bandwidths = True
        self.redop: Optional[str] = None
        self.root: Optional[int] = None
        self.redop_blank = False
        self._points: Dict[Tuple[int, str, Optional[str]], Tuple[Optional[float], Optional[float]]] = {}

    def add(self, row: Row) -> None:
        size, count, word, redop, root, _time, algbw, busbw, wrong, _algbw_in, busbw_in, wrong_in, odd = row
        self.rows += 1
        self.last_size = size
        self.redop, self.root = redop, root
        if busbw is not None:
            self._bandwidth(algbw, busbw)
        if busbw_in is not None and (self.max_in is None or busbw_in > self.max_in):
            self.max_in = busbw_in
        if wrong is None or wrong_in is None:
            self.unchecked = True
        if wrong is not None:
            self.out_checked = True
            self._wrong(wrong)
        if wrong_in is not None:
            self.in_checked = True
            self._wrong(wrong_in)
        if count:
            ratio = size / (count * TYPE_BYTES[word])
            if ratio not in self.ratios and len(self.ratios) < _MOST_RATIOS:
                self.ratios.add(ratio)
        if redop is None:
            self.redop_blank = True
        elif redop not in self.redops and len(self.redops) < _MOST_WORDS:
            self.redops[redop] = None
        if odd:
            self.odd += 1
        key = (size, word, redop)
        if key in self._points or len(self._points) < _MOST_POINTS:
            self._points[key] = (busbw, busbw_in)

    def _bandwidth(self, algbw: Optional[float], busbw: float) -> None:
        if self.max_out is None or busbw > self.max_out:
            self.max_out = busbw
        if algbw != busbw:
            self.same_bandwidths = False
        if algbw is not None and algbw > self.best_algbw:
            self.best_algbw, self.best_busbw = algbw, busbw

    def _wrong(self, wrong: float) -> None:
        self.wrong_sum += wrong
        if self.max_wrong is None or wrong > self.max_wrong:
            self.max_wrong = wrong

    @property
    def checked(self) -> Optional[bool]:
        if self.out_checked or self.in_checked:
            return True
        return False if self.unchecked else None

    @property
    def ratio(self) -> Optional[int]:
        """Ranks by which a rank's count was multiplied: 1 where size is count; None when rows disagree."""
        if len(self.ratios) != 1:
            return None
        ratio = next(iter(self.ratios))
        return int(ratio) if ratio >= 1 and ratio == int(ratio) else None

    @property
    def points(self) -> Tuple[Point, ...]:
        return tuple(Point(size, word, redop, *busbw) for (size, word, redop), busbw in self._points.items())
