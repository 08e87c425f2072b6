# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The column header: which layout, and which columns stand between the type and the first time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Optional, Tuple

__all__ = ["Header", "read_header", "time_layout", "type_layout"]

_TYPE_GAP = re.compile(r"(?:count|\d)(\s+[a-z]\w*)")
_WRONG_GAP = re.compile(r"busbw( +)#wrong")


@dataclass(frozen=True)
class Header:
    """``layout`` is None when white space was squeezed so that L2/L3 or L4/L5 look the same."""

    layout: Optional[str]
    family: str  # L1, error (L2 and L3), wrong (L4 on)
    middle: Tuple[str, ...]
    placements: int
    per_iteration: bool


def read_header(text: str) -> Optional[Header]:
    """Read "size count type ... time algbw busbw ...", or None for another line."""
    names = text.replace("cputime", "time").split()
    if names[:3] not in (["size", "count", "type"], ["bytes", "N", "type"]) or "time" not in names:
        return None
    middle = tuple("redop" if name == "op" else name for name in names[3 : names.index("time")])
    per_iteration = any(name.startswith("i_") for name in names)
    layout: Optional[str]
    if names[0] == "bytes":
        layout, family = "L1", "L1"
    elif "error" in names:
        layout, family = type_layout(text), "error"
    else:
        layout, family = ("L6" if per_iteration else _wrong_layout(text)), "wrong"
    return Header(layout, family, middle, names.count("time"), per_iteration)


def _wrong_layout(text: str) -> Optional[str]:
    gap = _WRONG_GAP.search(text)
    if gap is None or "size  " not in text:
        return None
    return "L5" if len(gap.group(1)) == 2 else "L4"


def type_layout(text: str) -> Optional[str]:
    """L2 or L3 by the width of the type column, of a header or of a row."""
    match = _TYPE_GAP.search(text)
    return {8: "L2", 10: "L3"}.get(len(match.group(1))) if match else None


def time_layout(time: str) -> Optional[str]:
    """L4 or L5 by how a time is printed: L4 has 2, 1, 0 decimals below 100, 10 000 and above; L5 has what fits in 7."""
    if "e" in time:
        return "L5"
    whole, _dot, decimals = time.partition(".")
    if len(whole) in (3, 4):
        return {1: "L4", 2: "L5"}.get(len(decimals))
    if len(whole) == 5:
        return {0: "L4", 1: "L5"}.get(len(decimals))
    return None
