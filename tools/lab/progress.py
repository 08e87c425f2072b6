# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that tell a waiting person what goes on, each with the seconds since the start."""

from __future__ import annotations

import sys
import time


class Progress:
    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._start

    def __call__(self, text: str) -> None:
        sys.stdout.write(f"[{self.elapsed:4.0f} s] {text}\n")
        sys.stdout.flush()
