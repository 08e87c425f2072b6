# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares the pairs of a whole fleet with each other: is it one pair, one rail of a host, a host, or a whole rail?

A pair stands in the row of its sender and in the column of its receiver. Slow is what stays behind the upper quartile
of its rail (one bad host among four is in half of all pairs, so the median would be half bad). Where most of a row or
column is slow, the host at its head is named; what is left over is the pair itself. A limit says whether a figure is
good enough; this says which part to look at, and finds what is too slow even where no limit is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ..finding import Finding, Severity, Subject

__all__ = ["FLEET", "PairRow", "compare_pairs", "merge_rows", "upper_quartile"]

CHECK = "rdma"
# The subject of a finding about a whole rail, which belongs to no single host.
FLEET = "(fleet)"
# Of two reports about the same measurement the one that knows more counts.
_RANK = {"ok": 0, "fault": 1, "unknown": 2, "no_answer": 3, "no_time": 4}
_MOST = 0.5
_ENDS = {
    "both": "all its traffic is slow",
    "sends": "what it sends is slow",
    "receives": "what it receives is slow",
}
_REMEDIES = {
    "rail": "look at this port: link speed and width, PCIe slot, NUMA node, cable, error counters",
    "host": "look at the host: PCIe settings, CPU clocks, memory, firmware; all its rails are slow",
    "pair": "look at what only these two share: the path through the switches, ECMP, a cable between leaf and spine",
    "network": "look at the switches of this rail, at MTU and flow control (PFC, ECN); all its pairs are slow",
}


@dataclass(frozen=True)
class PairRow:
    """One measurement. ``rate_gbps``: the link's speed, so that only rails of equal speed are compared."""

    network: str
    test: str
    sender: str
    receiver: str
    state: str
    value: Optional[float]
    unit: str
    rate_gbps: Optional[float] = None

    @property
    def goodness(self) -> Optional[float]:
        """More is better, also for latencies. A fault has none at all."""
        if self.state == "fault":
            return 0.0
        if self.state != "ok" or not self.value:
            return None
        return 1.0 / self.value if self.test.endswith("_lat") else self.value

    def value_of(self, goodness: float) -> float:
        value = 1.0 / goodness if self.test.endswith("_lat") else goodness
        return float("%.4g" % value)


def merge_rows(reports: Mapping[str, Mapping[str, Any]]) -> List[PairRow]:
    """``reports``: host -> report of check_rdma. Rows of another form are left out."""
    best: Dict[Tuple[str, str, str, str], PairRow] = {}
    for report in reports.values():
        rates = {str(rail.get("network")): rail.get("rate_gbps") for rail in _mappings(report.get("rails"))}
        for raw in _mappings(report.get("pairs")):
            row = _row(raw, rates)
            key = (row.network, row.test, row.sender, row.receiver)
            if key not in best or _RANK.get(row.state, 9) < _RANK.get(best[key].state, 9):
                best[key] = row
    return [best[key] for key in sorted(best)]


def _mappings(data: Any) -> List[Mapping[str, Any]]:
    return [item for item in data if isinstance(item, Mapping)] if isinstance(data, (list, tuple)) else []


def _row(raw: Mapping[str, Any], rates: Mapping[str, Any]) -> PairRow:
    value, rate = raw.get("value"), rates.get(str(raw.get("network")))
    words = {name: str(raw.get(name)) for name in ("network", "test", "sender", "receiver", "state")}
    return PairRow(
        value=float(value) if isinstance(value, (int, float)) else None,
        unit=str(raw.get("unit") or ""),
        rate_gbps=float(rate) if isinstance(rate, (int, float)) else None,
        **words,
    )


def compare_pairs(rows: Iterable[PairRow], tolerances: Mapping[str, float]) -> List[Finding]:
    """``tolerances``: "bw" and "lat" -> per cent by which a figure may be worse than its reference."""
    known = list(rows)
    findings: List[Finding] = []
    for test in sorted({row.test for row in known}):
        slack = tolerances["lat" if test.endswith("_lat") else "bw"] / 100
        share = 1 / (1 + slack) if test.endswith("_lat") else 1 - slack
        findings += _Comparison([row for row in known if row.test == test], share).findings()
    return findings


def upper_quartile(values: Sequence[float]) -> float:
    """The value that a quarter of them reach: what healthy pairs carry, even if half of all pairs are bad."""
    ranked = sorted(values)
    return ranked[math.ceil(0.75 * (len(ranked) - 1))]


class _Comparison:
    """One test over all rails."""

    def __init__(self, rows: Sequence[PairRow], share: float) -> None:
        self._rows = [row for row in rows if row.goodness is not None]
        self._share = share
        self._networks = sorted({row.network for row in self._rows})
        self._references = {network: upper_quartile(self._goodness(network)) for network in self._networks}

    def findings(self) -> List[Finding]:
        slow_networks = self._slow_networks()
        ends = {
            (network, host): end
            for network in self._networks
            if network not in slow_networks
            for host, end in self._bad_ends(network).items()
        }
        findings = [self._about_network(network) for network in slow_networks]
        findings += self._about_hosts(ends)
        return findings + self._about_pairs(ends, slow_networks)

    def _goodness(self, network: str) -> List[float]:
        return [row.goodness for row in self._rows if row.network == network and row.goodness is not None]

    def _hosts(self, network: str) -> List[str]:
        return sorted({host for row in self._rows if row.network == network for host in (row.sender, row.receiver)})

    def _reference(self, row: PairRow) -> float:
        """The rail's upper quartile. Between two hosts that says little, so their other rails are looked at, too."""
        if len(self._hosts(row.network)) > 2:
            return self._references[row.network]
        pair = {row.sender, row.receiver}
        others = [
            other.goodness
            for other in self._rows
            if {other.sender, other.receiver} == pair and other.rate_gbps == row.rate_gbps and other.goodness
        ]
        return max(others, default=self._references[row.network])

    def _slow(self, row: PairRow) -> bool:
        return (row.goodness or 0.0) < self._reference(row) * self._share

    def _slow_networks(self) -> List[str]:
        """Rails that stay behind another one of the same speed as a whole."""
        rates = {row.network: row.rate_gbps for row in self._rows}
        many = [network for network in self._networks if len(self._hosts(network)) > 2]
        return [
            network
            for network in many
            if self._references[network]
            < self._share * max(self._references[other] for other in many if rates[other] == rates[network])
        ]

    def _bad_ends(self, network: str) -> Dict[str, str]:
        """host -> "sends", "receives" or "both", where most of its row, its column or all of it is slow."""
        mine = [row for row in self._rows if row.network == network]
        bad: Dict[str, str] = {}
        if len(self._hosts(network)) < 3:
            return bad
        for host in self._hosts(network):
            sends = self._mostly_slow([row for row in mine if row.sender == host])
            receives = self._mostly_slow([row for row in mine if row.receiver == host])
            either = self._mostly_slow([row for row in mine if host in (row.sender, row.receiver)])
            if either or (sends and receives):
                bad[host] = "both"
            elif sends or receives:
                bad[host] = "sends" if sends else "receives"
        return bad

    def _mostly_slow(self, rows: Sequence[PairRow]) -> bool:
        return len(rows) > 1 and sum(self._slow(row) for row in rows) > _MOST * len(rows)

    def _about_hosts(self, ends: Mapping[Tuple[str, str], str]) -> List[Finding]:
        findings = []
        for host in sorted({host for _network, host in ends}):
            bad = sorted(network for network, each in ends if each == host)
            all_of_it = [network for network in self._networks if host in self._hosts(network)]
            if len(bad) > 1 and bad == all_of_it:
                findings.append(self._about_end("host", host, bad, ends))
            else:
                findings += [self._about_end("rail", host, [network], ends) for network in bad]
        return findings

    def _about_end(self, kind: str, host: str, networks: Sequence[str], ends: Mapping[Tuple[str, str], str]) -> Finding:
        rows = [
            row
            for row in self._rows
            if row.network in networks and host in (row.sender, row.receiver) and self._slow(row)
        ]
        how = {_ENDS[ends[network, host]] for network in networks}
        what = "%s of %s" % (", ".join(networks), host) if kind == "rail" else "%s, on all its rails" % host
        text = "bad %s: %s: %s: with %d of its partners" % (
            kind,
            what,
            "; ".join(sorted(how)),
            len({row.sender if row.receiver == host else row.receiver for row in rows}),
        )
        network = networks[0] if kind == "rail" else None
        return self._finding(kind, Subject(host, network=network, item=rows[0].test), text, rows)

    def _about_pairs(self, ends: Mapping[Tuple[str, str], str], slow_networks: Sequence[str]) -> List[Finding]:
        left: Dict[Tuple[str, Tuple[str, ...]], List[PairRow]] = {}
        for row in self._rows:
            if row.network in slow_networks or not self._slow(row) or _explained(row, ends):
                continue
            left.setdefault((row.network, tuple(sorted((row.sender, row.receiver)))), []).append(row)
        return [self._about_pair(network, rows) for (network, _pair), rows in left.items()]

    def _about_pair(self, network: str, rows: Sequence[PairRow]) -> Finding:
        first = min(rows, key=lambda row: row.goodness or 0.0)
        both = len({row.sender for row in rows}) > 1
        way = "in both directions" if both else "from %s to %s" % (first.sender, first.receiver)
        alone = len(self._hosts(network)) < 3
        text = "bad pair: %s: %s and %s, %s" % (network, first.sender, first.receiver, way)
        if alone:
            text += "; there is no third host to tell which end it is"
        subject = Subject(first.sender, network=network, peer=first.receiver, item=first.test)
        return self._finding("pair", subject, text, rows)

    def _about_network(self, network: str) -> Finding:
        rows = [row for row in self._rows if row.network == network]
        text = "bad network: %s: all its pairs are slower than on other rails of the same speed" % network
        others = max(self._references.values())
        return self._finding("network", Subject(FLEET, network=network, item=rows[0].test), text, rows, others)

    def _finding(
        self, kind: str, subject: Subject, text: str, rows: Sequence[PairRow], reference: Optional[float] = None
    ) -> Finding:
        middle = median(row.goodness or 0.0 for row in rows)
        wanted = (self._reference(rows[0]) if reference is None else reference) * self._share
        measured = rows[0].value_of(middle) if middle else "no traffic"
        expected = rows[0].value_of(wanted)
        unit = next((row.unit for row in rows if row.unit), "")
        message = "%s (%s: %s, others: %s %s)" % (
            text,
            rows[0].test,
            measured,
            rows[0].value_of(wanted / self._share),
            unit,
        )
        return Finding(CHECK, Severity.FAIL, subject, message, measured, expected, unit, _REMEDIES[kind])


def _explained(row: PairRow, ends: Mapping[Tuple[str, str], str]) -> bool:
    bad: Set[Optional[str]] = {ends.get((row.network, row.sender)), ends.get((row.network, row.receiver))}
    sender, receiver = ends.get((row.network, row.sender)), ends.get((row.network, row.receiver))
    return "both" in bad or sender == "sends" or receiver == "receives"
