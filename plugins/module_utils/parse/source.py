# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of a file in bounded memory: a line may be 50 MB long, or be no text at all."""

from __future__ import annotations

import io
from typing import BinaryIO, Iterator

__all__ = ["BoundedLines"]

_BLOCK = 256 * 1024
_MOST_BYTES = 64 * 1024
# A JSON report is often one line.
_MOST_BYTES_JSON = 32 * 1024 * 1024


class BoundedLines:
    """Iterates over text lines with their ends. ``cut`` counts those that were too long: of them the start is kept."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.cut = 0

    def __iter__(self) -> Iterator[str]:
        """Whole lines go through one decode and one C iterator for each block; that is most of the speed."""
        rest = b""
        while True:
            block = self._stream.read(_BLOCK)
            if not block:
                break
            rest += block
            end = rest.rfind(b"\n") + 1
            if end:
                yield from self._lines(rest[:end])
                rest = rest[end:]
            if len(rest) > _MOST_BYTES:
                rest = self._long(rest)
        if rest:
            yield from self._lines(rest)

    def _lines(self, block: bytes) -> Iterator[str]:
        lines = io.StringIO(block.decode("utf-8", "replace"), newline="\n")
        if len(block) <= _MOST_BYTES or max(map(len, block.split(b"\n"))) <= _MOST_BYTES:
            return lines
        return map(self._short, lines)

    def _short(self, line: str) -> str:
        if len(line) <= _MOST_BYTES + 1 or line.lstrip()[:1] in ("{", "["):
            return line
        self.cut += 1
        return line[:_MOST_BYTES] + "\n"

    def _long(self, start: bytes) -> bytes:
        """Read on to the end of a long line and give back what is kept of it, with what stands behind it."""
        json = start.lstrip()[:1] in (b"{", b"[")
        most = _MOST_BYTES_JSON if json else _MOST_BYTES
        kept = [start[:most]]
        size = len(kept[0])
        too_long = len(start) > most
        while True:
            block = self._stream.read(_BLOCK)
            end = block.find(b"\n")
            piece = block if end < 0 else block[:end]
            kept.append(piece[: most - size])
            size += len(kept[-1])
            too_long = too_long or len(kept[-1]) < len(piece)
            if not block or end >= 0:
                break
        self.cut += too_long
        if not block and not too_long:
            return b"".join(kept)
        return b"".join(kept) + b"\n" + (block[end + 1 :] if block else b"")
