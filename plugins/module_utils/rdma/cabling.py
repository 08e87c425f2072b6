# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cabling: which port of which switch each rail ends in, by LLDP or by ibnetdiscover, against a plan."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from ..errors import ConfigError, ParseError
from ..finding import Finding, Severity, Subject
from ..judge.rdma import CHECK
from ..runner import Runner

__all__ = ["Neighbour", "Planned", "check_cabling", "parse_ibnetdiscover", "parse_lldp", "planned_cables"]

LLDP = ("lldpcli", "-f", "json", "show", "neighbors")
_LIMIT_S = 30
_CA = re.compile(r'^Ca\s+\d+\s+"[^"]+"\s*#\s*"(?P<name>[^"]*)"')
_CABLE = re.compile(
    r'^\[(?P<own>\d+)\]\([0-9a-f]+\)\s+"S-[0-9a-f]+"\[(?P<port>\d+)\](?:\([0-9a-f]+\))?\s*#.*?"(?P<switch>[^"]*)"'
)


@dataclass(frozen=True)
class Neighbour:
    """``near``: the network device (LLDP), or "host device" as the subnet manager names it (ibnetdiscover)."""

    near: str
    switch: str
    port: str


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
    adapter: Optional[str] = None
    known = False
    for line in lines:
        head = _CA.match(line)
        known = known or bool(head) or line.startswith(("Switch", "vendid="))
        if head:
            adapter = head.group("name")
        elif not line.strip():
            adapter = None
        cable = _CABLE.match(line)
        if cable and adapter is not None:
            switch = cable.group("switch").split(":")[0].rpartition(";")[2]
            found.append(Neighbour(adapter, switch, cable.group("port")))
    if not known:
        raise ParseError("ibnetdiscover", 0, "no switch and no adapter in it: give its whole output")
    return found


def check_cabling(
    host: str, interfaces: Mapping[str, str], planned: Mapping[str, Planned], runner: Runner
) -> Tuple[List[Dict[str, Any]], List[Finding]]:
    """``interfaces``: network -> device. Rows of the report, and a finding for each planned cable."""
    if not planned:
        return [], []
    result = runner.run(LLDP, timeout=_LIMIT_S)
    reason = ""
    neighbours: List[Neighbour] = []
    try:
        if result.rc != 0:
            raise ParseError("lldpcli", 0, result.stderr.strip() or "exit status %d" % result.rc)
        neighbours = parse_lldp(result.stdout)
    except ParseError as exc:
        reason = str(exc)
    seen = {neighbour.near: neighbour for neighbour in neighbours}
    rows = []
    findings = []
    for network, cable in sorted(planned.items()):
        found = seen.get(interfaces.get(network, ""))
        findings.append(judge_cable(host, network, cable, found, reason))
        rows.append({"network": network, "planned": asdict(cable), "found": None if found is None else asdict(found)})
    return rows, findings


def judge_cable(host: str, network: str, cable: Planned, found: Optional[Neighbour], reason: str = "") -> Finding:
    expected = cable.switch + ("" if cable.port is None else " port %s" % cable.port)
    subject = Subject(host, network=network, interface=found.near if found else None, item="cable")
    if found is None:
        message = "%s: the neighbour is not known%s" % (network, ": " + reason if reason else "")
        remedy = "Run lldpd on the host and LLDP on the switch, and wait for its interval (30 s)."
        return Finding(CHECK, Severity.UNKNOWN, subject, message, None, expected, "", remedy)
    measured = found.switch + ("" if cable.port is None else " port %s" % found.port)
    good = measured == expected
    message = "%s: the cable ends in %s" % (network, measured) + ("" if good else ", planned is %s" % expected)
    remedy = "" if good else "Move the cable, or correct the plan."
    return Finding(CHECK, Severity.OK if good else Severity.FAIL, subject, message, measured, expected, "", remedy)
