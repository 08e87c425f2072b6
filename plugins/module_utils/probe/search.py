# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which size to ask next, so that the largest one that passes is found with few questions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional

__all__ = ["COMMON_MTUS", "Search"]

# MTUs that networks really have, the likely ones first: most often one of them is the answer, and each wrong question
# costs several timeouts.
COMMON_MTUS = (
    1500,  # Ethernet
    9000,  # jumbo frames
    8896,  # Google Cloud's largest
    1460,  # Google Cloud's default
    4092,  # IPoIB datagram mode, 4K partition
    2044,  # IPoIB datagram mode, 2K partition
    1450,  # VXLAN on 1500
    8950,  # VXLAN on 9000
    1480,  # IP in IP on 1500
    1420,  # WireGuard
    1400,  # usual inside tunnels
    1280,  # RFC 8200, IPv6's smallest
    8500,  # some cloud interconnects
    9216,  # the usual largest frame of a switch
    576,  # RFC 791, what every host must accept
)


@dataclass
class Search:
    """``passed``: largest size known to pass; ``refused``: smallest believed not to (a late reply can refute it)."""

    want: int
    small: int
    passed: int = 0
    refused: Optional[int] = None
    guesses: List[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.guesses = [size for size in COMMON_MTUS if self.small < size < self.want]

    def next(self) -> Optional[int]:
        """None: the answer is known. First the wanted size, then a small one, then what lies between."""
        if self.passed >= self.want:
            return None
        if self.refused is None:
            return self.want
        low, high = self.passed, self.refused
        if low == 0:
            return self.small if high > self.small else None
        if high - low == 1:
            return None
        if low in self.guesses:
            return low + 1  # is the guess the answer?
        return next((size for size in self.guesses if low < size < high), (low + high) // 2)

    def answered(self, size: int) -> None:
        self.passed = max(self.passed, size)
        if self.refused is not None and self.refused <= self.passed:
            self.refused = self.want if self.passed < self.want else None

    def lost(self, size: int) -> None:
        if size > self.passed and (self.refused is None or size < self.refused):
            self.refused = size

    def hint(self, mtu: int) -> None:
        """What a router said. It is only asked next, never believed."""
        if self.small < mtu < self.want:
            self.guesses = [mtu]
