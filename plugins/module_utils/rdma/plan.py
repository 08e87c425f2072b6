# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every host of a run knows alike: rounds, rails, tests, ports, and who is server when. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, FrozenSet, List, Mapping, Sequence, Tuple

from ..errors import ConfigError
from .schedule import Pair, Round, partners

__all__ = ["DIRECTIONS", "Plan", "Step"]

DIRECTIONS = ("one", "both")
# Connecting, exchanging keys and closing, beside the time that a test measures: what perftest takes on hardware.
OVERHEAD_S = 1.5


@dataclass(frozen=True)
class Step:
    """One measurement on one rail. The client is the side that sends."""

    test: str
    server: str
    client: str


@dataclass(frozen=True)
class Plan:
    """``rails``: network -> its hosts. ``addresses``: where agents reach each other, the first that answers is taken.

    ``patience``: seconds without a sign of life after which a partner counts as dead. ``limit``: seconds that a test
    may take, its retries included.
    """

    host: str
    run_id: str
    rounds: Sequence[Round]
    rails: Mapping[str, FrozenSet[str]]
    addresses: Mapping[str, Tuple[str, ...]]
    tests: Tuple[str, ...]
    directions: str
    together: bool
    port: int
    patience: float
    limit: float

    def __post_init__(self) -> None:
        if self.directions not in DIRECTIONS:
            raise ConfigError("directions: %r is unknown; allowed: %s" % (self.directions, ", ".join(DIRECTIONS)))
        last = self.port + len(self.rails)
        if not 1024 <= self.port <= last <= 65535:
            raise ConfigError("port: %d to %d are needed; allowed are 1024 to 65535" % (self.port, last))

    def meetings(self) -> List[Tuple[int, str, Tuple[str, ...]]]:
        """(round, partner, rails that both have), in order."""
        return [
            (number, partner, shared)
            for number, partner in partners(self.rounds, self.host)
            for shared in [self.shared(partner)]
            if shared
        ]

    def shared(self, partner: str) -> Tuple[str, ...]:
        return tuple(network for network in sorted(self.rails) if {self.host, partner} <= self.rails[network])

    def rail_port(self, network: str) -> int:
        """Own port for each rail, after the agents' own one."""
        return self.port + 1 + sorted(self.rails).index(network)

    def steps(self, partner: str, network: str) -> List[Step]:
        """Both ends make the same list: the sides alternate over pairs and rails, so that sending is spread evenly."""
        one, other = _ordered(self.host, partner)
        hosts = sorted(self.addresses)
        turn = (hosts.index(one) + hosts.index(other) + sorted(self.rails).index(network)) % 2
        ways = [(one, other), (other, one)]
        if turn:
            ways.reverse()
        return [Step(test, *way) for test in self.tests for way in ways[: 1 + (self.directions == "both")]]

    def seconds(self, durations: Mapping[str, float]) -> float:
        """How long it takes when everybody answers: rounds x (rails one after the other) x directions x tests."""
        rails = 1 if self.together else max(len(self.rails), 1)
        ways = 1 + (self.directions == "both")
        return len(self.rounds) * rails * ways * sum(durations[test] + OVERHEAD_S for test in self.tests)

    @property
    def deadline(self) -> float:
        """The most it may take: every test at its limit, and once the wait for all who never come."""
        rails = 1 if self.together else max(len(self.rails), 1)
        ways = 1 + (self.directions == "both")
        return 2 * self.patience + len(self.rounds) * rails * ways * len(self.tests) * self.limit


def _ordered(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def pair_count(rounds: Sequence[Round]) -> Dict[str, int]:
    """How many partners each host has."""
    counts: Dict[str, int] = {}
    for pairs in rounds:
        for pair in pairs:
            for host in pair:
                counts[host] = counts.get(host, 0) + 1
    return counts
