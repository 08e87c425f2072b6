# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a bond by what the kernel shows of it. Word of each fault (``measured``) and what to do: ``REMEDIES``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

from ..finding import Finding, Severity, Subject
from ..network.model import Member, Network
from ..parse.bonding import DEFAULTED, NO_MAC, BondReading, SlaveReading, collecting, lacp_ok
from ..probe.links import describe

__all__ = ["REMEDIES", "absent_bond", "judge_bond", "unreadable_bond"]

CHECK = "bond"
REMEDIES = {
    "bond_absent": "apply the network configuration (role node_network), and look for its errors in the journal",
    "wrong_mode": "apply the network configuration (role node_network); a bond must be made anew to change its mode",
    "wrong_lacp_rate": "apply the network configuration (role node_network), or correct bond.lacp_rate in the plan",
    "wrong_min_links": "apply the network configuration (role node_network), or correct bond.min_links in the plan",
    "member_missing": "look whether the port exists (ip link) and is configured as this bond's member",
    "unplanned_member": "remove the port from the bond, or add it to members in node_networks",
    "no_carrier": "check cable, transceiver and the switch port's state",
    "no_partner": "configure LACP (a channel group, not a static one) on the switch ports of this bond",
    "not_collecting": "check that the switch has this port in the same LACP channel group and has not shut it down",
    "wrong_aggregator": "the legs end in different channel groups or run at different speeds: correct it at the switch",
    "too_few_ports": "look at the legs above; with fewer ports than min_links the bond carries nothing",
    "bond_down": "bring the bond up (ip link set dev BOND up) and look at its legs",
    "no_detail": "run the check as root: the kernel shows LACP's detail to CAP_NET_ADMIN only",
    "unreadable": "run the check as root and look at the file by hand",
}


@dataclass(frozen=True)
class _Bond:
    """One bond on one host, and the findings it is good for."""

    host: str
    network: Network

    def finding(
        self,
        word: str,
        message: str,
        expected: Any = None,
        severity: Severity = Severity.FAIL,
        *,
        leg: Optional[str] = None,
        measured: Any = None,
    ) -> Finding:
        return Finding(
            check=CHECK,
            severity=severity,
            subject=Subject(self.host, network=self.network.name, interface=self.network.interface, port=leg),
            message="%s%s: %s" % (self.network.interface, ", leg %s" % leg if leg else "", message),
            measured=word if measured is None else measured,
            expected=expected,
            remedy=REMEDIES.get(word, ""),
        )


def absent_bond(host: str, network: Network) -> Finding:
    return _Bond(host, network).finding("bond_absent", "the planned bond does not exist", expected="present")


def unreadable_bond(host: str, network: Network, reason: str) -> Finding:
    return _Bond(host, network).finding("unreadable", "could not be read: %s" % reason, severity=Severity.UNKNOWN)


def judge_bond(
    host: str, network: Network, bond: BondReading, members: Sequence[Tuple[Member, Optional[str]]]
) -> List[Finding]:
    """``members``: each planned member with the device it is on this host (None: not found). One OK if all is well."""
    subject = _Bond(host, network)
    findings = _settings(subject, bond) + _members(subject, bond, members) + _state(subject, bond)
    if findings:
        return findings
    legs = ", ".join(slave.name for slave in bond.slaves)
    return [subject.finding("up", "%s, all legs carry traffic: %s" % (bond.mode, legs), "up", Severity.OK)]


def _settings(subject: _Bond, bond: BondReading) -> List[Finding]:
    plan = subject.network.bond
    if plan is None:
        return []
    if bond.mode != plan.mode:
        return [subject.finding("wrong_mode", "mode is %s" % bond.mode, plan.mode, measured=bond.mode or "unknown")]
    findings = []
    if plan.mode == "802.3ad":
        for word, got, want in (
            ("wrong_lacp_rate", bond.lacp_rate, plan.lacp_rate),
            ("wrong_min_links", bond.min_links, plan.min_links),
        ):
            if got is not None and got != want:
                text = "%s is %s" % (word[len("wrong_") :].replace("_", " "), got)
                findings.append(subject.finding(word, text, want, measured=got))
    return findings


def _members(subject: _Bond, bond: BondReading, members: Sequence[Tuple[Member, Optional[str]]]) -> List[Finding]:
    findings = []
    present = {slave.name: slave for slave in bond.slaves}
    planned = set()
    for member, device in members:
        name = device or member.name
        found = [s.name for s in bond.slaves if s.name == name or (member.mac and s.permanent_mac == member.mac)]
        planned.update(found)
        if not found:
            why = "is not in the bond" if device else "is not on this host"
            text = "planned member (%s) %s" % (describe(member), why)
            findings.append(subject.finding("member_missing", text, "member", leg=name or describe(member)))
    for name in sorted(set(present) - planned):
        text = "is in the bond but not planned"
        findings.append(subject.finding("unplanned_member", text, "not a member", Severity.WARN, leg=name))
    return findings


def _state(subject: _Bond, bond: BondReading) -> List[Finding]:
    lacp = bond.mode == "802.3ad"
    findings = [finding for finding in (_leg(subject, bond, slave) for slave in bond.slaves) if finding is not None]
    if lacp and bond.partner_mac == NO_MAC:
        # Without a partner no leg can collect: one fault, not one for each leg.
        findings = [finding for finding in findings if finding.measured == "no_carrier"]
        if len(findings) < len(bond.slaves):
            text = "no LACP partner answers (partner MAC %s)" % NO_MAC
            findings.append(subject.finding("no_partner", text, "partner"))
    carrying = len(bond.slaves) - len(findings)
    plan = subject.network.bond
    if lacp and plan is not None and bond.slaves and carrying < plan.min_links:
        text = "%d of %d legs carry traffic, min_links is %d" % (carrying, len(bond.slaves), plan.min_links)
        findings.append(subject.finding("too_few_ports", text, plan.min_links, measured=carrying))
    if bond.mii not in ("up", None) and not findings:
        findings.append(subject.finding("bond_down", "MII status is %s" % bond.mii, "up"))
    if lacp and not findings and lacp_ok(bond) is None:
        text = "the LACP state is not shown, so nobody can say whether the legs carry traffic"
        findings.append(subject.finding("no_detail", text, "collecting", Severity.UNKNOWN))
    return findings


def _leg(subject: _Bond, bond: BondReading, slave: SlaveReading) -> Optional[Finding]:
    if slave.mii not in ("up", None):
        return subject.finding("no_carrier", "no carrier (MII status %s)" % slave.mii, "up", leg=slave.name)
    if bond.mode != "802.3ad":
        return None
    if collecting(slave) is False:
        text = (
            "has carrier but does not collect and distribute (actor state %s, partner state %s; both need 0x3c%s%s)"
            % (
                _bits(slave.actor_state),
                _bits(slave.partner_state),
                "; it hears no partner" if slave.partner_mac == NO_MAC or (slave.actor_state or 0) & DEFAULTED else "",
                "; still negotiating" if "monitoring" in (slave.actor_churn, slave.partner_churn) else "",
            )
        )
        return subject.finding("not_collecting", text, "collecting", leg=slave.name)
    if None not in (slave.aggregator_id, bond.active_aggregator) and slave.aggregator_id != bond.active_aggregator:
        text = "is in aggregator %s, the active one is %s" % (slave.aggregator_id, bond.active_aggregator)
        return subject.finding("wrong_aggregator", text, bond.active_aggregator, leg=slave.name)
    return None


def _bits(state: Optional[int]) -> str:
    return "not shown" if state is None else "0x%02x" % state
