# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has given a sign of life, and who counts as dead. Pure: the clock is given."""

from __future__ import annotations

from typing import Callable, Dict

__all__ = ["Presence"]


class Presence:
    """A host is dead after ``patience`` seconds without a sign of life, counted from the start of this host at least.

    All hosts are watched all the time. So the wait for a dead one is over for everybody at about the same time, however
    many rounds still name it: it costs one time limit, not one in each round.
    """

    def __init__(self, patience: float, clock: Callable[[], float]) -> None:
        self._patience = patience
        self._clock = clock
        self._began = clock()
        self._seen: Dict[str, float] = {}

    @property
    def interval(self) -> float:
        """How often to ask: three questions fit into the patience, so a lost answer kills nobody."""
        return self._patience / 3

    def fresh(self, host: str) -> bool:
        """Heard of lately, by whichever side's question: there is no need to ask."""
        return host in self._seen and self._clock() - self._seen[host] < self.interval

    def saw(self, host: str) -> None:
        self._seen[host] = self._clock()

    def dead(self, host: str) -> bool:
        return self._clock() - self._seen.get(host, self._began) > self._patience

    def words(self, host: str) -> str:
        if host in self._seen:
            return "%s has not answered for %.0f s" % (host, self._clock() - self._seen[host])
        return "%s has never answered in %.0f s" % (host, self._clock() - self._began)
