# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One result row: size, count, type, then up to two columns, then one or two groups of time, algbw, busbw, wrong.

The shape of a row (how many columns in the middle, how many groups, how wide) is settled once for a run; every further
row then costs one split and a few float().
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence, Tuple

from .header import Header

__all__ = ["MaskedError", "Row", "Shape", "drop_timestamp", "read_row", "shape_of"]

_INFINITY = float("inf")
_GROUP = 4
_GROUP_PER_ITERATION = 8
_DATE = re.compile(r"\d{4}-\d\d-\d\d$")
_FIGURE = re.compile(r"[\d.]+(?:e[+-]?\d+)?$|-?nan$|-?inf$|[X.]*X[X.]*$")
_WRONG = re.compile(r"\d+$|[\d.]+e[+-]?\d+$|N/A$|-?nan$|-?inf$|X+$")
_WORD = re.compile(r"[a-z]\w*$")
_ROOT = re.compile(r"-?\d+$")


class MaskedError(ValueError):
    """Figures that somebody blanked out: XXX.XX."""


class Shape(NamedTuple):
    """How many columns stand in the middle, how many groups there are, how wide a group is; ``tokens`` is the sum."""

    middle: int
    groups: int
    width: int
    tokens: int


class Row(NamedTuple):
    """``wrong`` is None for N/A; ``in_place`` figures are None where the row has no second group."""

    size: int
    elements: int
    type: str
    redop: Optional[str]
    root: Optional[int]
    time: str
    algbw: Optional[float]
    busbw: Optional[float]
    wrong: Optional[float]
    algbw_in_place: Optional[float]
    busbw_in_place: Optional[float]
    wrong_in_place: Optional[float]
    odd: bool  # a figure is nan or inf


def drop_timestamp(tokens: List[str]) -> List[str]:
    """Without the two tokens of "-S 1" at the end."""
    if len(tokens) > 2 and _DATE.match(tokens[-2]) and tokens[-1].count(":") == 2:
        return tokens[:-2]
    return tokens


def shape_of(tokens: Sequence[str], header: Optional[Header]) -> Optional[Shape]:
    """The only shape that the row can have, or None."""
    if header is None:
        names: Tuple[str, ...] = ("redop", "root")
        widths: Tuple[int, ...] = (_GROUP, _GROUP_PER_ITERATION)
    else:
        names, widths = header.middle, ((_GROUP_PER_ITERATION,) if header.per_iteration else (_GROUP,))
    for group_width in widths:
        for groups in (2, 1):
            shape = Shape(len(tokens) - 3 - groups * group_width, groups, group_width, len(tokens))
            if 0 <= shape.middle <= len(names) and _fits(tokens, shape, names, header is None):
                return shape
    return None


def _fits(tokens: Sequence[str], shape: Shape, names: Sequence[str], no_header: bool) -> bool:
    for group in range(shape.groups):
        start = 3 + shape.middle + group * shape.width
        time, algbw, busbw, wrong = tokens[start : start + _GROUP]
        if not (_FIGURE.match(time) and _FIGURE.match(algbw) and _FIGURE.match(busbw) and _WRONG.match(wrong)):
            return False
    middle = tokens[3 : 3 + shape.middle]
    if len(middle) == len(names) == 2:
        return _WORD.match(middle[0]) is not None and _ROOT.match(middle[1]) is not None
    if len(middle) == 1 and len(names) == 2:
        # The operation is left blank in some versions; without a header a lone word may be L2's only column.
        return _ROOT.match(middle[0]) is not None or (no_header and _WORD.match(middle[0]) is not None)
    kinds = [_WORD if name == "redop" else _ROOT for name in names[: len(middle)]]
    return all(kind.match(middle[position]) for position, kind in enumerate(kinds))


def read_row(tokens: Sequence[str], shape: Shape) -> Row:
    """Raises ValueError for a cell that is no figure, MaskedError for one that was blanked out."""
    start = 3 + shape.middle
    try:
        algbw, busbw, wrong = _group(tokens, start)
        algbw_in, busbw_in, wrong_in = _group(tokens, start + shape.width) if shape.groups == 2 else (None, None, None)
    except ValueError:
        if any("X" in token for token in tokens[start:]):
            raise MaskedError from None
        raise
    redop, root = _middle(tokens[3:start])
    odd = busbw is None or (shape.groups == 2 and busbw_in is None)
    return Row(
        int(tokens[0]), int(tokens[1]), tokens[2], redop, root, tokens[start],
        algbw, busbw, wrong, algbw_in, busbw_in, wrong_in, odd,
    )  # fmt: skip


def _group(tokens: Sequence[str], start: int) -> Tuple[Optional[float], Optional[float], Optional[float]]:
    float(tokens[start])
    algbw = float(tokens[start + 1])
    busbw = float(tokens[start + 2])
    wrong = tokens[start + 3]
    if not (0 <= algbw < _INFINITY and 0 <= busbw < _INFINITY):
        return None, None, None if wrong == "N/A" else float(wrong)
    return algbw, busbw, None if wrong == "N/A" else float(wrong)


def _middle(cells: Sequence[str]) -> Tuple[Optional[str], Optional[int]]:
    if not cells:
        return None, None
    if len(cells) == 2:
        return cells[0], int(cells[1])
    return (None, int(cells[0])) if _ROOT.match(cells[0]) else (cells[0], None)
