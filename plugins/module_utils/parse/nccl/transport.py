# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which way NCCL's data took, from its own INFO lines (NCCL_DEBUG=INFO): never inferred from a bandwidth.

A line is printed by the rank that it is about: the sender for "[send]" and for P2P, the receiver for "[receive]".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, Iterable, Mapping, Tuple

from ...errors import ParseError
from ..text import clean

__all__ = ["TransportReport", "parse_nccl_transport", "reading"]

TOOL = "nccl-transport"

_MOST_RANKS = 65536
_RANK = re.compile(r"Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?(?:Pid\s+\d+\s+)?on\s+(\S+)\s+device\b")
_HOST = re.compile(r"([\w.-]+) ?:\d+:\d+ \[\d+\] (?:\S+:\d+ )?NCCL ")
# Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/0/GDRDMA
_CHANNEL = re.compile(r" : (\d+)\[\w+\] -> (\d+)\[\w+\] (?:\[(send|receive)\] )?via (\S+)")
_BOOTSTRAP = re.compile(r"Bootstrap : Using (\[\d+\])?([\w.@-]+):")
_SETTING = re.compile(r"(NCCL_\w+) set (?:by environment )?to (\S+?)\.?$")


@dataclass(frozen=True)
class TransportReport:
    """``ways``: (rank, rank) -> the ways of its channels: P2P/MNNVL, NET/IB, NET/IB/GDRDMA, NET/Socket, SHM."""

    ways: Mapping[Tuple[int, int], FrozenSet[str]]
    hosts: Mapping[int, str]
    bootstrap: Mapping[str, str]
    settings: Mapping[str, FrozenSet[str]]

    @property
    def by_hosts(self) -> Dict[Tuple[str, str], FrozenSet[str]]:
        """The ways between two hosts, the names in order. Ranks whose host is not known are left out."""
        found: Dict[Tuple[str, str], FrozenSet[str]] = {}
        for (start, end), ways in self.ways.items():
            names = self.hosts.get(start), self.hosts.get(end)
            if names[0] is None or names[1] is None:
                continue
            pair = (min(names[0], names[1]), max(names[0], names[1]))
            found[pair] = found.get(pair, frozenset()) | ways
        return found


def parse_nccl_transport(lines: Iterable[str]) -> TransportReport:
    """Raises ParseError when no INFO line names a way: NCCL_DEBUG=INFO was not on, or no communicator was made."""
    ways: Dict[Tuple[int, int], FrozenSet[str]] = {}
    hosts: Dict[int, str] = {}
    bootstrap: Dict[str, str] = {}
    settings: Dict[str, FrozenSet[str]] = {}
    for raw in lines:
        if " via " in raw:
            _channel(clean(raw), ways, hosts)
        elif "Rank" in raw:
            rank = _RANK.search(clean(raw))
            if rank:
                hosts[int(rank.group(1))] = rank.group(2)
        elif "NCCL " in raw and ("Bootstrap" in raw or " set " in raw):
            _environment(clean(raw), bootstrap, settings)
    if not ways and not bootstrap:
        raise ParseError(TOOL, 0, "no NCCL INFO line with a way or an interface: run a collective with NCCL_DEBUG=INFO")
    return TransportReport(ways, hosts, bootstrap, settings)


def _channel(line: str, ways: Dict[Tuple[int, int], FrozenSet[str]], hosts: Dict[int, str]) -> None:
    match = _CHANNEL.search(line)
    if match is None or len(ways) >= _MOST_RANKS:
        return
    start, end, direction, way = int(match.group(1)), int(match.group(2)), match.group(3), match.group(4)
    ways[start, end] = ways.get((start, end), frozenset()) | {_short(way)}
    host = _HOST.search(line)
    if host:
        hosts.setdefault(end if direction == "receive" else start, host.group(1).split(".", 1)[0])


def _short(way: str) -> str:
    """Without the number of the NIC and how it is used: NET/IB/3/GDRDMA(PCI)/Shared -> NET/IB/GDRDMA."""
    parts = [part.partition("(")[0] for part in way.split("/")]
    return "/".join([part for part in parts if not part.isdigit() and part != "Shared"][:3])


def _environment(line: str, bootstrap: Dict[str, str], settings: Dict[str, FrozenSet[str]]) -> None:
    using, setting, host = _BOOTSTRAP.search(line), _SETTING.search(line), _HOST.search(line)
    if using and host:
        bootstrap[host.group(1).split(".", 1)[0]] = using.group(2)
    if setting:
        name, value = setting.groups()
        settings[name] = settings.get(name, frozenset()) | {value}


def reading(report: TransportReport) -> Dict[str, Any]:
    return {
        "tool": TOOL,
        "pairs": [{"hosts": list(pair), "ways": sorted(ways)} for pair, ways in sorted(report.by_hosts.items())],
        "bootstrap": dict(sorted(report.bootstrap.items())),
        "settings": {name: sorted(values) for name, values in sorted(report.settings.items())},
    }
