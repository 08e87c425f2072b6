# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rows tell about the collective and the number of ranks, where nothing names them."""

from __future__ import annotations

from typing import Optional

from .figures import Figures
from .header import Header

__all__ = ["infer_collective", "infer_ranks"]

# Below this the two printed decimals say little about a ratio.
_TELLING_GBPS = 1.0
# 2(n-1)/n of neighbouring n must differ by this much, else two decimals might name the neighbour (so n <= 10).
_APART = 0.01


def infer_collective(figures: Figures, header: Optional[Header]) -> Optional[str]:
    if not figures.rows:
        return None
    ratio = figures.ratio
    if header is not None and header.family != "wrong":
        return _by_columns(header, ratio)
    if header is None and figures.root is None:
        return _reduction(ratio) if figures.redop else None
    return _by_cells(figures, ratio)


def _reduction(ratio: Optional[int]) -> Optional[str]:
    if ratio is None:
        return None
    return "all_reduce" if ratio == 1 else "reduce_scatter"


def _by_columns(header: Header, ratio: Optional[int]) -> Optional[str]:
    """L1 to L3 print only the columns that the collective has."""
    if header.middle == ("redop",):
        return _reduction(ratio)
    if header.middle == ("root",):
        return "broadcast"
    return "reduce" if header.middle == ("redop", "root") else None


def _by_cells(figures: Figures, ratio: Optional[int]) -> Optional[str]:
    """L4 on: root is -1 and redop "none" (blank in a few versions) where the collective has none."""
    rooted = figures.root is not None and figures.root >= 0
    if figures.redop_blank:
        return "hypercube" if not rooted and figures.max_out and figures.same_bandwidths else None
    if rooted:
        if figures.redop == "none":
            return "broadcast" if ratio == 1 else None
        return "reduce"
    if figures.redop == "none":
        return "alltoall" if figures.out_checked and not figures.in_checked else None
    return _all_reduce_or_sendrecv(figures) if ratio == 1 else _reduction(ratio)


def _all_reduce_or_sendrecv(figures: Figures) -> Optional[str]:
    """sendrecv prints redop "sum" too; its in-place half is never checked and its two bandwidths are the same."""
    if figures.in_checked:
        return "all_reduce"
    if figures.out_checked:
        return "sendrecv"
    return "all_reduce" if figures.max_out and not figures.same_bandwidths else None


def infer_ranks(figures: Figures, collective: Optional[str]) -> Optional[int]:
    if not figures.rows:
        return None
    if figures.ratio is not None and figures.ratio > 1:
        return figures.ratio
    if collective != "all_reduce" or min(figures.best_algbw, figures.best_busbw) < _TELLING_GBPS:
        return None
    factor = figures.best_busbw / figures.best_algbw
    ranks = round(2 / (2 - factor)) if factor < 2 else 0
    if ranks < 2 or 1 / (ranks * ranks - 1) < _APART:
        return None
    rounding = 0.01 / figures.best_algbw
    return ranks if abs(factor - 2 * (ranks - 1) / ranks) <= rounding else None
