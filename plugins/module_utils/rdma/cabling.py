# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cabling: which port of which switch each rail ends in, by LLDP or by ibnetdiscover, against a plan."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from ..errors import ConfigError, ParseError
from ..finding import Finding, Severity, Subject
from ..judge.rdma import CHECK
from ..runner import Runner

__all__ = ["End", "Neighbour", "Planned", "check_cabling", "parse_ibnetdiscover", "parse_lldp", "planned_cables"]

LLDP = ("lldpcli", "-f", "json", "show", "neighbors")
_LIMIT_S = 30
# The whole subnet is walked, a few packets for each of its ports.
_SUBNET_LIMIT_S = 120
_CA = re.compile(r'^Ca\s+\d+\s+"[^"]+"')
_CABLE = re.compile(
    r'^\[\d+\]\((?P<guid>[0-9a-f]+)\)\s+"S-[0-9a-f]+"\[(?P<port>\d+)\](?:\([0-9a-f]+\))?\s*#.*?"(?P<switch>[^"]*)"'
)


_REMEDIES = {
    True: "Run lldpd on the host and LLDP on the switch, and wait for its interval (30 s).",
    False: "Install infiniband-diags on the host; it needs root, /dev/infiniband/umad* and an active port.",
}


@dataclass(frozen=True)
class Neighbour:
    """``near``: the network device (LLDP), or the port's GUID (ibnetdiscover). A name that the subnet manager has for a
    host depends on when rdma-ndd ran; the GUID does not."""

    near: str
    switch: str
    port: str


@dataclass(frozen=True)
class End:
    """Our end of a cable. ``device``, ``port`` and ``guid`` are set on InfiniBand, where no LLDP goes."""

    interface: str
    device: Optional[str] = None
    port: int = 1
    guid: Optional[str] = None

    @property
    def tool(self) -> Tuple[str, ...]:
        """What shows the far end. A device sees only its own subnet, so it has to be named."""
        return LLDP if self.device is None else ("ibnetdiscover", "-C", self.device, "-P", str(self.port))

    @property
    def near(self) -> Optional[str]:
        return self.interface if self.device is None else self.guid


@dataclass(frozen=True)
class Planned:
    switch: str
    port: Optional[str] = None


def planned_cables(raw: Mapping[str, Any]) -> Dict[str, Planned]:
    """network -> {switch, port}. Raises ConfigError."""
    cables = {}
    for network, cable in raw.items():
        if not isinstance(cable, Mapping) or "switch" not in cable or set(cable) - {"switch", "port"}:
            raise ConfigError("cabling.%s = %r: allowed are switch (needed) and port" % (network, cable))
        port = cable.get("port")
        cables[network] = Planned(str(cable["switch"]), None if port is None else str(port))
    return cables


def parse_lldp(text: str) -> List[Neighbour]:
    """Read ``lldpcli -f json show neighbors``. One neighbour is a mapping there, several are a list."""
    try:
        entries = json.loads(text)["lldp"].get("interface", [])
        pairs = [pair for entry in ([entries] if isinstance(entries, dict) else entries) for pair in entry.items()]
        return [Neighbour(name, _chassis(about["chassis"]), str(about["port"]["id"]["value"])) for name, about in pairs]
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as exc:
        raise ParseError("lldpcli", 0, "not the JSON of 'show neighbors': %r" % exc) from exc


def _chassis(chassis: Mapping[str, Any]) -> str:
    """Keyed by the switch's name; a switch that sends no name is known by its id only."""
    if "id" in chassis:
        return str(chassis["id"]["value"])
    return str(next(iter(chassis)))


def parse_ibnetdiscover(lines: Iterable[str]) -> List[Neighbour]:
    """The channel adapters and the switch port behind each of their ports."""
    found: List[Neighbour] = []
    adapter = known = False
    for line in lines:
        if _CA.match(line):
            adapter = True
        elif not line.strip():
            adapter = False
        known = known or adapter or line.startswith(("Switch", "vendid="))
        cable = _CABLE.match(line)
        if cable and adapter:
            switch = cable.group("switch").split(":")[0].rpartition(";")[2]
            found.append(Neighbour(cable.group("guid").zfill(16), switch, cable.group("port")))
    if not known:
        raise ParseError("ibnetdiscover", 0, "no switch and no adapter in it: give its whole output")
    return found


def check_cabling(
    host: str, ends: Mapping[str, End], planned: Mapping[str, Planned], runner: Runner
) -> Tuple[List[Dict[str, Any]], List[Finding]]:
    """``ends``: network -> our end. Rows of the report, and a finding for each planned cable."""
    seen: Dict[Tuple[str, ...], _Seen] = {}
    rows = []
    findings = []
    for network, cable in sorted(planned.items()):
        end = ends[network]
        if end.tool not in seen:
            seen[end.tool] = _look(end.tool, runner)
        findings.append(_judge(host, network, cable, end, seen[end.tool]))
        found = seen[end.tool].by(end)
        rows.append({"network": network, "planned": asdict(cable), "found": None if found is None else asdict(found)})
    return rows, findings


class _Seen(NamedTuple):
    """``reason``: why nothing is seen."""

    neighbours: Mapping[str, Neighbour]
    reason: str = ""

    def by(self, end: End) -> Optional[Neighbour]:
        return self.neighbours.get(end.near or "")


def _look(argv: Tuple[str, ...], runner: Runner) -> _Seen:
    lldp = argv == LLDP
    result = runner.run(argv, timeout=_LIMIT_S if lldp else _SUBNET_LIMIT_S)
    try:
        if result.rc != 0:
            raise ParseError(argv[0], 0, result.stderr.strip() or "exit status %d" % result.rc)
        found = parse_lldp(result.stdout) if lldp else parse_ibnetdiscover(result.stdout.splitlines())
    except ParseError as exc:
        return _Seen({}, str(exc))
    return _Seen({neighbour.near: neighbour for neighbour in found})


def _judge(host: str, network: str, cable: Planned, end: End, seen: _Seen) -> Finding:
    found, reason = seen.by(end), seen.reason
    expected = cable.switch + ("" if cable.port is None else " port %s" % cable.port)
    subject = Subject(host, network=network, interface=end.interface if found else None, item="cable")
    if found is None:
        message = "%s: the neighbour is not known%s" % (network, ": " + reason if reason else "")
        return Finding(CHECK, Severity.UNKNOWN, subject, message, None, expected, "", _REMEDIES[end.device is None])
    measured = found.switch + ("" if cable.port is None else " port %s" % found.port)
    good = measured == expected
    message = "%s: the cable ends in %s" % (network, measured) + ("" if good else ", planned is %s" % expected)
    remedy = "" if good else "Move the cable, or correct the plan."
    return Finding(CHECK, Severity.OK if good else Severity.FAIL, subject, message, measured, expected, "", remedy)
