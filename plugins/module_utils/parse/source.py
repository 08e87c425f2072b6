# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of a file in bounded memory: a line may be 50 MB long, or be no text at all."""

from __future__ import annotations

from typing import BinaryIO, Iterator

__all__ = ["BoundedLines"]

_MOST_BYTES = 64 * 1024
# A JSON report is often one line.
_MOST_BYTES_JSON = 32 * 1024 * 1024
_SKIP = 1024 * 1024


class BoundedLines:
    """Iterates over text lines with their ends. ``cut`` counts those that were too long: of them the start is kept."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.cut = 0

    def __iter__(self) -> Iterator[str]:
        read = self._stream.readline
        while True:
            line = read(_MOST_BYTES)
            if not line:
                return
            if len(line) == _MOST_BYTES and not line.endswith(b"\n"):
                line = self._long(line)
            yield line.decode("utf-8", "replace")

    def _long(self, start: bytes) -> bytes:
        if start.lstrip()[:1] in (b"{", b"["):
            start += self._stream.readline(_MOST_BYTES_JSON)
            if start.endswith(b"\n") or len(start) < _MOST_BYTES + _MOST_BYTES_JSON:
                return start
        self.cut += 1
        while True:
            rest = self._stream.readline(_SKIP)
            if not rest or rest.endswith(b"\n"):
                return start + b"\n"
