# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges MTUs. Paths are judged once for each direction, and told together: one finding for a network and a state."""

from __future__ import annotations

from typing import Dict, List, Mapping, Sequence, Tuple

from ..finding import Finding, Severity, Subject
from ..probe.mtu import InterfaceMtu, Measured
from ..probe.prober import Outcome

__all__ = ["REMEDIES", "judge_interfaces", "judge_mtu", "judge_paths"]

CHECK = "mtu"
UNIT = "bytes"
NAMED = 8
REMEDIES = {
    "interface": "apply the network configuration (role node_network), or correct mtu in node_networks; an IPoIB device"
    " takes no more than its partition allows (2044 or 4092 in datagram mode)",
    "missing": "look whether the device exists (ip link), and apply the network configuration (role node_network)",
    "local_mtu": "set this device's MTU, and that of what it stands on, to the planned value (role node_network)",
    "path_mtu": "raise the MTU of the switch ports, routers and tunnels between the two hosts, and look at the peer's"
    " own devices; what is small in one direction only looks the same from both ends",
    "no_reply": "look whether the peer is switched on, has this address, and is in the same network; and that nothing"
    " on the way drops ICMP echo",
    "no_route": "look at addresses, routes and rules of this network: ip route get PEER from ADDRESS",
    "unmeasured": "run the check as root, with iproute2 5.6 or later on the host",
}
_TEXTS = {
    "local_mtu": "%(interface)s itself sends no packet of %(expected)s bytes",
    "path_mtu": "small packets pass, those of %(expected)s bytes do not",
    "no_reply": "no reply, even to small packets",
    "no_route": "no route",
}


def judge_mtu(host: str, measured: Measured) -> List[Finding]:
    findings = judge_interfaces(host, measured.interfaces) + judge_paths(host, measured.paths, measured.unmeasured)
    if measured.devices:
        text = "the devices could not be measured: %s" % measured.devices
        findings.append(Finding(CHECK, Severity.UNKNOWN, Subject(host), text, remedy=REMEDIES["unmeasured"]))
    return findings


def judge_interfaces(host: str, rows: Sequence[InterfaceMtu]) -> List[Finding]:
    findings = []
    for network in dict.fromkeys(row.network for row in rows):
        mine = [row for row in rows if row.network == network]
        bad = [row for row in mine if row.measured != row.expected]
        findings += [_interface(host, row) for row in bad]
        if not bad:
            text = "MTU %d on %s" % (mine[0].expected, ", ".join(row.interface for row in mine))
            subject = Subject(host, network=network, interface=mine[0].interface)
            findings.append(
                Finding(
                    CHECK, Severity.OK, subject, "%s: %s" % (network, text), mine[0].expected, mine[0].expected, UNIT
                )
            )
    return findings


def _interface(host: str, row: InterfaceMtu) -> Finding:
    if row.measured is None:
        text, remedy = "%s %s is not on this host" % (row.role, row.interface), REMEDIES["missing"]
    else:
        text = "%s %s has MTU %d, planned is %d" % (row.role, row.interface, row.measured, row.expected)
        remedy = REMEDIES["interface"]
    subject = Subject(host, network=row.network, interface=row.interface)
    message = "%s: %s" % (row.network, text)
    return Finding(CHECK, Severity.FAIL, subject, message, row.measured, row.expected, UNIT, remedy)


def judge_paths(host: str, outcomes: Sequence[Outcome], unmeasured: Mapping[str, str]) -> List[Finding]:
    """``unmeasured``: networks whose paths could not be measured, and why."""
    groups: Dict[Tuple[str, str], List[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.target.network, outcome.state), []).append(outcome)
    findings = [_paths(host, state, group) for (_network, state), group in groups.items()]
    for network, reason in unmeasured.items():
        text = "%s: the paths could not be measured: %s" % (network, reason)
        subject = Subject(host, network=network)
        findings.append(Finding(CHECK, Severity.UNKNOWN, subject, text, remedy=REMEDIES["unmeasured"]))
    return findings


def _paths(host: str, state: str, group: Sequence[Outcome]) -> Finding:
    first = group[0].target
    expected = max(outcome.target.expected for outcome in group)
    measured = min((outcome.measured for outcome in group if outcome.measured is not None), default=None)
    peers = sorted({outcome.target.peer for outcome in group})
    subject = Subject(host, first.network, first.interface, peer=peers[0] if len(peers) == 1 else None)
    if state == "ok":
        text = "%s: %d paths carry packets of %d bytes" % (first.network, len(group), expected)
        if measured != expected:
            text = "%s: %d paths carry what both ends plan, %s to %d bytes" % (
                first.network,
                len(group),
                measured,
                expected,
            )
        return Finding(CHECK, Severity.OK, subject, text, measured, expected, UNIT)
    text = _TEXTS[state] % {"interface": first.interface, "expected": expected}
    if measured is not None:
        text += " (largest that passes: %d)" % measured
    message = "%s: %s: %s" % (first.network, _names(peers), text)
    details = list(dict.fromkeys(outcome.detail for outcome in group if outcome.detail))
    if details:
        message += "; " + "; ".join(details[:3])
    return Finding(CHECK, Severity.FAIL, subject, message, measured, expected, UNIT, REMEDIES[state])


def _names(peers: Sequence[str]) -> str:
    more = len(peers) - NAMED
    return ", ".join(peers[:NAMED]) + (" and %d more" % more if more > 0 else "")
