# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads ``/proc/net/bonding/<bond>``, as written by the kernel's drivers/net/bonding/bond_procfs.c.

The kernel shows the LACP detail (active aggregator, states, churn) to CAP_NET_ADMIN only. Without it those fields are
None, and nobody can say whether LACP works.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from ..errors import ParseError

__all__ = [
    "DEFAULTED",
    "EXPIRED",
    "NO_MAC",
    "PASSING_BITS",
    "BondReading",
    "SlaveReading",
    "collecting",
    "failure",
    "lacp_ok",
    "parse_bonding",
    "reading",
]

# 802.3ad port state: aggregation, synchronisation, collecting, distributing. 0x04 | 0x08 | 0x10 | 0x20.
PASSING_BITS = 0x3C
DEFAULTED, EXPIRED = 0x40, 0x80
NO_MAC = "00:00:00:00:00:00"

# What stands in brackets after "Bonding Mode:"; the other four modes have no bracket of their own.
_MODES = {
    "IEEE 802.3ad Dynamic link aggregation": "802.3ad",
    "load balancing (round-robin)": "balance-rr",
    "load balancing (xor)": "balance-xor",
    "fault-tolerance (active-backup)": "active-backup",
    "fault-tolerance (broadcast)": "broadcast",
    "transmit load balancing": "balance-tlb",
    "adaptive load balancing": "balance-alb",
}


@dataclass(frozen=True)
class SlaveReading:
    """One leg. ``mii`` is the kernel's word: up, down, going down, going back."""

    name: str
    mii: Optional[str] = None
    speed_mbps: Optional[int] = None
    duplex: Optional[str] = None
    link_failures: Optional[int] = None
    permanent_mac: Optional[str] = None
    aggregator_id: Optional[int] = None
    actor_churn: Optional[str] = None
    partner_churn: Optional[str] = None
    actor_state: Optional[int] = None
    partner_state: Optional[int] = None
    partner_mac: Optional[str] = None


@dataclass(frozen=True)
class BondReading:
    """A bond as the kernel shows it. None: the text does not say."""

    mode: Optional[str] = None
    mii: Optional[str] = None
    hash_policy: Optional[str] = None
    active_slave: Optional[str] = None
    lacp_rate: Optional[str] = None
    min_links: Optional[int] = None
    active_aggregator: Optional[int] = None
    ports_in_aggregator: Optional[int] = None
    partner_mac: Optional[str] = None
    slaves: Tuple[SlaveReading, ...] = ()


def _text(value: str) -> Optional[str]:
    return value


def _mac(value: str) -> Optional[str]:
    return value.lower()


def _number(value: str) -> Optional[int]:
    """The leading number: "100000 Mbps", "5". The kernel's "Unknown" and "N/A" are None."""
    match = re.match(r"-?\d+\b", value)
    return int(match.group()) if match else None


def _mode(value: str) -> Optional[str]:
    return _MODES.get(re.sub(r" \(fail_over_mac \w+\)$", "", value))


def _first_word(value: str) -> Optional[str]:
    """ "layer3+4 (1)" -> "layer3+4"; "eth0 (primary_reselect always)" -> "eth0"; "None" -> None."""
    word = value.partition(" ")[0]
    return None if word in ("None", "") else word


Read = Tuple[str, Callable[[str], Any]]
_BOND_LINES: Dict[str, Read] = {
    "Bonding Mode": ("mode", _mode),
    "Transmit Hash Policy": ("hash_policy", _first_word),
    "Currently Active Slave": ("active_slave", _first_word),
    "MII Status": ("mii", _text),
    "LACP rate": ("lacp_rate", _text),
    "Min links": ("min_links", _number),
    "Aggregator ID": ("active_aggregator", _number),
    "Number of ports": ("ports_in_aggregator", _number),
    "Partner Mac Address": ("partner_mac", _mac),
}
_SLAVE_LINES: Dict[str, Read] = {
    "MII Status": ("mii", _text),
    "Speed": ("speed_mbps", _number),
    "Duplex": ("duplex", _text),
    "Link Failure Count": ("link_failures", _number),
    "Permanent HW addr": ("permanent_mac", _mac),
    "Aggregator ID": ("aggregator_id", _number),
    "Actor Churn State": ("actor_churn", _text),
    "Partner Churn State": ("partner_churn", _text),
}
_ACTOR_LINES: Dict[str, Read] = {"port state": ("actor_state", _number)}
_PARTNER_LINES: Dict[str, Read] = {
    "port state": ("partner_state", _number),
    "system mac address": ("partner_mac", _mac),
}


def parse_bonding(lines: Iterable[str]) -> BondReading:
    """Raises ParseError when no line is recognised. Damaged text gives a reading with holes."""
    bond: Dict[str, Any] = {}
    slaves: List[Dict[str, Any]] = []
    into, table = bond, _BOND_LINES
    recognised = False
    for line in lines:
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            continue
        if key == "Slave Interface":
            into, table, recognised = {"name": value}, _SLAVE_LINES, True
            slaves.append(into)
        elif slaves and key in ("details actor lacp pdu", "details partner lacp pdu"):
            table = _ACTOR_LINES if "actor" in key else _PARTNER_LINES
        elif key == "Ethernet Channel Bonding Driver":
            recognised = True
        elif key in table:
            field, convert = table[key]
            into[field] = convert(value)
            recognised = True
    if not recognised:
        raise ParseError("bonding", 0, "no line of /proc/net/bonding is recognised; expected 'Bonding Mode: ...'")
    return BondReading(slaves=tuple(SlaveReading(**slave) for slave in slaves), **bond)


def collecting(slave: SlaveReading) -> Optional[bool]:
    """Both ends aggregate, are in sync, collect and distribute. None: the states are not shown."""
    states = (slave.actor_state, slave.partner_state)
    for state in states:
        if state is not None and (state & PASSING_BITS != PASSING_BITS or state & (DEFAULTED | EXPIRED)):
            return False
    return None if None in states else True


def lacp_ok(bond: BondReading) -> Optional[bool]:
    """None for other modes, and when the text does not show enough to say."""
    if bond.mode != "802.3ad":
        return None
    if failure(bond) is not None:
        return False
    known = None not in (bond.active_aggregator, bond.partner_mac, bond.mii)
    # More ports than legs: the text was cut.
    whole = bool(bond.slaves) and bond.ports_in_aggregator == len(bond.slaves)
    return True if known and whole and all(collecting(slave) for slave in bond.slaves) else None


def failure(bond: BondReading) -> Optional[str]:
    """What is wrong with the bond, by this text alone: one word, with the legs it concerns. None: nothing is seen."""
    down = [slave.name for slave in bond.slaves if slave.mii not in ("up", None)]
    if down and len(down) == len(bond.slaves):
        return "all_slaves_down"
    if bond.partner_mac == NO_MAC:
        return "no_lacp_partner"
    for word, legs in (
        ("slave_down", down),
        ("slave_not_collecting", [slave.name for slave in bond.slaves if collecting(slave) is False]),
        ("wrong_aggregator", [slave.name for slave in bond.slaves if _elsewhere(bond, slave)]),
    ):
        if legs:
            return "%s: %s" % (word, ", ".join(legs))
    if bond.mii not in ("up", None):
        return "bond_down" if bond.slaves else "no_slaves"
    if bond.ports_in_aggregator is not None and bond.ports_in_aggregator < len(bond.slaves):
        return "ports_missing: %d of %d in the aggregator" % (bond.ports_in_aggregator, len(bond.slaves))
    return None


def _elsewhere(bond: BondReading, slave: SlaveReading) -> bool:
    return None not in (bond.active_aggregator, slave.aggregator_id) and bond.active_aggregator != slave.aggregator_id


def reading(bond: BondReading) -> Dict[str, Any]:
    """The reading as JSON data. Keys that the text does not show are left out, but for a leg's speed."""
    lacp = lacp_ok(bond)
    wrong = failure(bond)
    shown = {key: value for key, value in asdict(bond).items() if value is not None}
    shown["slaves"] = [
        {key: value for key, value in asdict(slave).items() if value is not None or key == "speed_mbps"}
        for slave in bond.slaves
    ]
    enough = bond.mode is not None and bond.mii is not None and all(slave.mii for slave in bond.slaves)
    healthy: Optional[bool] = lacp if bond.mode == "802.3ad" else True
    if wrong is not None:
        healthy = False
    elif not enough or not bond.slaves:
        healthy = None
    return {"tool": "bonding", **shown, "lacp_ok": lacp, "ok": healthy, "failure": wrong}
