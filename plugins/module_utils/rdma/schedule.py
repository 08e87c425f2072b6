# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who meets whom in which round. Pure: every host computes the same schedule from the same names.

In a round each host has one partner at the most, so no NIC is measured twice at a time. A tournament of N hosts takes
N-1 rounds for even N and N for odd N, which is the least there can be: each host has N-1 partners, and with odd N one
host rests in each round.
"""

from __future__ import annotations

from typing import Dict, Iterable, List, Mapping, Sequence, Tuple

from ..errors import ConfigError

__all__ = ["KINDS", "Pair", "Round", "domain_rounds", "make_schedule", "partners", "ring", "tournament"]

KINDS = ("none", "ring", "domain", "full")

Pair = Tuple[str, str]
Round = Tuple[Pair, ...]


def make_schedule(kind: str, hosts: Iterable[str], domains: Mapping[str, str]) -> List[Round]:
    """``domains``: host -> NVLink domain; hosts without one are a domain together. Pairs are in the order of names."""
    names = sorted(set(hosts))
    if kind == "full":
        return tournament(names)
    if kind == "ring":
        return ring(names)
    if kind == "domain":
        return domain_rounds(names, domains)
    if kind == "none":
        return []
    raise ConfigError("pairs to measure: %r is unknown; allowed: %s" % (kind, ", ".join(KINDS)))


def tournament(names: Sequence[str]) -> List[Round]:
    """Every pair once (the circle method: one seat stays, the others move on by one)."""
    if len(names) < 2:
        return []
    seats: List[str] = list(names)
    if len(seats) % 2:
        seats.append("")  # whoever meets the empty seat rests
    rounds = []
    for _number in range(len(seats) - 1):
        across = [(seats[at], seats[-1 - at]) for at in range(len(seats) // 2)]
        rounds.append(tuple(sorted(_pair(one, other) for one, other in across if one and other)))
        seats = [seats[0], seats[-1]] + seats[1:-1]
    return rounds


def ring(names: Sequence[str]) -> List[Round]:
    """Each host with the next one: 2 rounds for an even number of hosts, 3 for an odd one, 1 for two hosts."""
    count = len(names)
    if count < 2:
        return []
    if count == 2:
        return [(_pair(names[0], names[1]),)]
    edges = [_pair(names[at], names[(at + 1) % count]) for at in range(count)]
    rounds = [edges[0:count:2], edges[1:count:2]]
    if count % 2:  # the last edge closes the ring at the first host, which the first round uses already
        rounds = [edges[0 : count - 1 : 2], edges[1:count:2], edges[count - 1 :]]
    return [tuple(sorted(pairs)) for pairs in rounds]


def domain_rounds(names: Sequence[str], domains: Mapping[str, str]) -> List[Round]:
    """Every pair inside each domain, all domains at once; then each host with its like in the next domain."""
    members: Dict[str, List[str]] = {}
    for name in names:
        members.setdefault(domains.get(name, ""), []).append(name)
    groups = [members[domain] for domain in sorted(members)]
    inside = _at_once([tournament(group) for group in groups])
    if len(groups) == 1:
        return inside
    longest = max(len(group) for group in groups)
    columns = [[group[at] for group in groups if at < len(group)] for at in range(longest)]
    return inside + _at_once([ring(column) for column in columns])


def _at_once(schedules: Sequence[List[Round]]) -> List[Round]:
    """Schedules of different hosts side by side."""
    longest = max((len(schedule) for schedule in schedules), default=0)
    return [
        tuple(sorted(pair for schedule in schedules if at < len(schedule) for pair in schedule[at]))
        for at in range(longest)
    ]


def partners(schedule: Iterable[Round], host: str) -> List[Tuple[int, str]]:
    """(round, partner) of one host; rounds in which it rests are left out."""
    return [
        (number, other if one == host else one)
        for number, pairs in enumerate(schedule)
        for one, other in pairs
        if host in (one, other)
    ]


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)
