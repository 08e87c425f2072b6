# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rows tell about the collective and the number of ranks, where nothing names them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Set

from .header import Header
from .rows import Row
from .words import TYPE_BYTES

__all__ = ["Evidence", "infer_collective", "infer_ranks"]

# Below this the two printed decimals say little about a ratio.
_TELLING_GBPS = 1.0
# 2(n-1)/n of neighbouring n must differ by this much, else two decimals might name the neighbour (so n <= 10).
_APART = 0.01
_MOST_RATIOS = 8


@dataclass
class Evidence:
    """Gathered over the rows of a run."""

    ratios: Set[float] = field(default_factory=set)  # size / (count * bytes of the type)
    algbw: float = 0.0
    busbw: float = 0.0
    same_bandwidths: bool = True
    nonzero: bool = False
    redop: Optional[str] = None
    root: Optional[int] = None
    redop_blank: bool = False
    out_checked: bool = False
    in_checked: bool = False

    def add(self, row: Row) -> None:
        if row.count and len(self.ratios) < _MOST_RATIOS:
            self.ratios.add(row.size / (row.count * TYPE_BYTES[row.type]))
        if row.algbw is not None and row.busbw is not None:
            self.nonzero = self.nonzero or row.busbw > 0
            self.same_bandwidths = self.same_bandwidths and row.algbw == row.busbw
            if row.algbw > self.algbw:
                self.algbw, self.busbw = row.algbw, row.busbw
        self.redop, self.root = row.redop, row.root
        self.redop_blank = self.redop_blank or row.redop is None
        self.out_checked = self.out_checked or row.wrong is not None
        self.in_checked = self.in_checked or row.wrong_in_place is not None

    @property
    def ratio(self) -> Optional[int]:
        """Ranks by which a rank's count was multiplied: 1 where size is count; None when rows disagree."""
        if len(self.ratios) != 1:
            return None
        ratio = next(iter(self.ratios))
        return int(ratio) if ratio >= 1 and ratio == int(ratio) else None


def infer_collective(evidence: Evidence, header: Optional[Header]) -> Optional[str]:
    ratio = evidence.ratio
    if header is not None and header.family != "wrong":
        return _by_columns(header, ratio)
    if header is None and evidence.root is None:
        return (
            "all_reduce" if evidence.redop and ratio == 1 else ("reduce_scatter" if evidence.redop and ratio else None)
        )
    return _by_cells(evidence, ratio)


def _by_columns(header: Header, ratio: Optional[int]) -> Optional[str]:
    """L1 to L3 print only the columns that the collective has."""
    if header.middle == ("redop",) and ratio is not None:
        return "all_reduce" if ratio == 1 else "reduce_scatter"
    if header.middle == ("root",):
        return "broadcast"
    return "reduce" if header.middle == ("redop", "root") else None


def _by_cells(evidence: Evidence, ratio: Optional[int]) -> Optional[str]:
    """L4 on: root is -1 and redop "none" (blank in a few versions) where the collective has none."""
    rooted = evidence.root is not None and evidence.root >= 0
    if evidence.redop_blank:
        return "hypercube" if not rooted and evidence.nonzero and evidence.same_bandwidths else None
    if rooted:
        if evidence.redop == "none":
            return "broadcast" if ratio == 1 else None
        return "reduce"
    if evidence.redop == "none":
        return "alltoall" if evidence.out_checked and not evidence.in_checked else None
    if ratio is None:
        return None
    if ratio > 1:
        return "reduce_scatter"
    return _all_reduce_or_sendrecv(evidence)


def _all_reduce_or_sendrecv(evidence: Evidence) -> Optional[str]:
    """sendrecv prints redop "sum" too; its in-place half is never checked and its two bandwidths are the same."""
    if evidence.in_checked:
        return "all_reduce"
    if evidence.out_checked:
        return "sendrecv"
    return "all_reduce" if evidence.nonzero and not evidence.same_bandwidths else None


def infer_ranks(evidence: Evidence, collective: Optional[str]) -> Optional[int]:
    if evidence.ratio is not None and evidence.ratio > 1:
        return evidence.ratio
    if collective != "all_reduce" or min(evidence.algbw, evidence.busbw) < _TELLING_GBPS:
        return None
    factor = evidence.busbw / evidence.algbw
    ranks = round(2 / (2 - factor)) if factor < 2 else 0
    if ranks < 2 or 1 / (ranks * ranks - 1) < _APART:
        return None
    error = 0.01 / evidence.algbw
    return ranks if abs(factor - 2 * (ranks - 1) / ranks) <= error else None
