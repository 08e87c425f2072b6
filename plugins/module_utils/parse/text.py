# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every text parser does first: drop colour and carriage returns, and take off what a launcher put in front.

A prefix is taken off only when what remains is a line that the tool prints, so that "GID: 00:01" or
"node-1: CA 'mlx5_0'" are each read for what they are.
"""

from __future__ import annotations

import math
import re
from typing import Callable, Iterable, Iterator, Match, Optional, Pattern, Tuple

__all__ = ["Ending", "Prefixes", "clean", "number", "unprefixed", "whole"]

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][0-9A-B]")
_TABLE_END = re.compile(r"(?:\s*\|)+\s*$")

# One alternative each, with a line as it was seen. Named groups say who printed the line.
_PREFIX = re.compile(
    r"""\s*(?:
      \[[^\]\s,]+,(?P<mpi>\d+)\]<(?:stdout|stderr|stddiag)>:\ ?        # [1,0]<stdout>:   [job@1,0]<stderr>:
    | \((?P<ray>[^()]*pid=\d+[^()]*)\)\ ?                              # (head, rank=0, pid=4242)
    | \[pod/[^\]\s]+\]\ ?                                              # [pod/worker-0/main]
    | \[?\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|\ ?[+-]\d\d:?\d\d)?\]?(?:\ |\t|$)
    | [A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d\ (?P<journal>[\w.-]+)\ [\w./@-]+(?:\[\d+\])?:\ ?   # journald
    | \[(?P<tag>[\w.-]+:\d+)\]\ ?                                      # [node-a:0]
    | (?P<srun>\d+):(?:\ |$)                                           # srun --label
    | (?P<pals>[A-Za-z][\w.-]*\ \d+):(?:\ |$)                          # host rank:
    | [\w.-]+\s+\|(?:\ |$)                                             # svc-1  |
    | (?P<pdsh>[A-Za-z0-9][\w.-]*):(?:\ |$)                            # pdsh, clush
    | >\ ?  | [-*+]\   | \|\                                           # quote, list, table
    )""",
    re.VERBOSE,
)
_MOST_PREFIXES = 6


def clean(line: str) -> str:
    """Without escape codes and line end; of a progress display only what stands last."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    line = line.rstrip("\r\n")
    if "\r" in line:
        line = line.rpartition("\r")[2]
    return line


def whole(line: str) -> bool:
    """Was the line ended, or did the text stop in the middle of it?"""
    return line.endswith("\n")


def number(token: str) -> Optional[float]:
    """A finite number, or None for anything else (nan, inf, N/A, XXX.XX)."""
    try:
        value = float(token)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in token else None


class Ending:
    """Passes lines on. ``cut`` afterwards: did the text stop in the middle of its last line?"""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self.cut = False

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.cut = not whole(line)
            yield line


class Prefixes:
    """Takes prefixes off lines. ``label`` names who printed the last line (a rank, a host), "" if nobody did."""

    def __init__(self, known: Pattern[str]) -> None:
        self._known = known
        self.last = ""
        self._last_label = ""
        self.label = ""

    def strip(self, line: str) -> Optional[str]:
        """The line as the tool printed it, or None for a line that the tool does not print."""
        known = self._known.match
        self.label = ""
        last = self.last
        if last and line.startswith(last):
            rest = line[len(last) :]
            if known(rest):
                self.label = self._last_label
                return rest
        if known(line):
            return line
        return self._search(line)

    def _search(self, line: str) -> Optional[str]:
        position, label = 0, ""
        for _depth in range(_MOST_PREFIXES):
            match = _PREFIX.match(line, position)
            if match is None or match.end() == position:
                return None
            position = match.end()
            label = _label(match) or label
            rest = line[position:]
            if self._known.match(rest):
                self.last, self._last_label, self.label = line[:position], label, label
                return rest
        return None


def _label(match: Match[str]) -> str:
    kind = match.lastgroup
    return "%s:%s" % (kind, match.group(kind)) if kind else ""


def unprefixed(
    lines: Iterable[str], known: Pattern[str], note: Optional[Callable[[str], None]] = None
) -> Iterator[Tuple[int, str, str]]:
    """(line number, label, text) of every line that the tool prints; ``note`` gets the others."""
    prefixes = Prefixes(known)
    for line_number, raw in enumerate(lines, 1):
        line = clean(raw)
        text = prefixes.strip(line)
        if text is not None:
            yield line_number, prefixes.label, _TABLE_END.sub("", text) if text.endswith("|") else text
        elif note is not None:
            note(line)
