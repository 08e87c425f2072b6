# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of the six text layouts a run has, from everything that hints at it; the surest hint wins."""

from __future__ import annotations

from typing import Optional

from .header import Header, time_layout, type_layout
from .rows import Row, Shape

__all__ = ["Layout"]


class Layout:
    def __init__(self) -> None:
        self.header: Optional[Header] = None
        self.by_version = False  # a line that only L5 and later print
        self.by_row: Optional[str] = None
        self.by_row_family: Optional[str] = None
        self.by_config: Optional[str] = None
        self.by_failure: Optional[str] = None

    def see_row(self, row: Row, shape: Shape, text: str) -> None:
        if shape.width > 4:
            self.by_row = "L6"
        elif shape.middle == 2 or row.root == -1:
            self.by_row_family = "L4"
            self.by_row = time_layout(row.time)
        elif len(row.time.partition(".")[2]) == 3:
            self.by_row = "L1"
        else:
            self.by_row_family = "L3"
            self.by_row = type_layout(text)

    @property
    def counts_wrong(self) -> bool:
        """Column "#wrong" counts elements; "error" of L1 to L3 is a difference."""
        if self.header is not None:
            return self.header.family == "wrong"
        return self.name in ("L4", "L5", "L6")

    @property
    def name(self) -> Optional[str]:
        header = self.header
        if header is not None and header.family != "wrong":
            return header.layout or self.by_row or "L3"
        if (header is not None and header.layout == "L6") or self.by_row == "L6":
            return "L6"
        if self.by_version:
            return "L5"
        if header is not None:
            return header.layout or self.by_row or "L4"
        return self.by_row or self.by_row_family or self.by_config or self.by_failure
