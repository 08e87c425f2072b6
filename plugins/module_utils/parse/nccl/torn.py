# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL's own lines, alone or glued into a row.

A row is written in pieces to the same stream that NCCL's debug lines go to. The piece that stands before NCCL's text is
kept until the rest arrives; a row whose rest never comes is damaged.
"""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Set, Tuple

__all__ = ["NCCL_MARK", "NcclLine", "TornRow", "read_nccl_line", "split_word"]

NCCL_MARK = " NCCL "

_LINE = re.compile(r"([\w.-]+) ?:\d+:\d+ \[\d+\] (?:\S+:\d+ )?NCCL ([A-Z]+) ?(.*)")
_STAMP = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[\d.]*\]\s*$")
_GLUED = re.compile(r"(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|N/A)([A-Za-z][\w.-]*)$")
_ROW_START = re.compile(r"\s*\d+\s+\d+\s+[a-z]\w*(?:\s|$)")
_FIGURES = re.compile(r"\s*(?:-?[\d.]+(?:e[+-]?\d+)?|N/A)(?:\s|$)")


class NcclLine(NamedTuple):
    """``word`` is the host's name, perhaps with the end of a number glued to its front."""

    left: str
    word: str
    level: str
    message: str


def read_nccl_line(text: str) -> Optional[NcclLine]:
    match = _LINE.search(text)
    if match is None:
        return None
    return NcclLine(_STAMP.sub("", text[: match.start(1)]), match.group(1), match.group(2), match.group(3))


class TornRow:
    """The pieces of a row, so far."""

    def __init__(self) -> None:
        self.tokens: List[str] = []

    def starts_in(self, left: str) -> bool:
        return _ROW_START.match(left) is not None

    def goes_on_in(self, text: str) -> bool:
        return bool(self.tokens) and _FIGURES.match(text) is not None

    def goes_on_in_word(self, line: NcclLine, hosts: Set[str]) -> bool:
        return (
            bool(self.tokens)
            and not line.left.strip()
            and line.word not in hosts
            and _GLUED.match(line.word) is not None
        )


def split_word(word: str, hosts: Set[str]) -> Tuple[str, str]:
    """("-1", "node-a") for "-1node-a". Names may start with digits: a name that is known wins."""
    if word in hosts:
        return "", word
    for name in hosts:
        if word.endswith(name) and _FIGURES.match(word[: -len(name)] + " "):
            return word[: -len(name)], name
    match = _GLUED.match(word)
    return (match.group(1), match.group(2)) if match else ("", word)
