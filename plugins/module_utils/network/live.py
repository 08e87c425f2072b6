# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live state against the plan: what the kernel really has, as ``ip -j`` and sysfs say it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from ..errors import MeasureError
from ..runner import Runner
from .model import Bond
from .plan import Link, Plan

__all__ = ["Live", "bonds_to_recreate", "compare_live", "read_live", "rule_key"]

MAIN_TABLE = 254
RuleKey = Tuple[str, str, int, int]  # from, to, table, priority
RouteKey = Tuple[str, str, str, int]  # to, via, device, table
# sysfs has "802.3ad 4": the word counts.
_BOND_FILES = ("mode", "lacp_rate", "min_links", "xmit_hash_policy", "miimon")


@dataclass(frozen=True)
class Live:
    """``addresses``: device -> address to "is it dynamic"; ``bonds``: device -> file of its sysfs folder to value."""

    mtu: Mapping[str, int] = field(default_factory=dict)
    up: Mapping[str, bool] = field(default_factory=dict)
    carrier: Mapping[str, bool] = field(default_factory=dict)
    masters: Mapping[str, Optional[str]] = field(default_factory=dict)
    addresses: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    routes: Set[RouteKey] = field(default_factory=set)
    rules: Set[RuleKey] = field(default_factory=set)
    bonds: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sysctls: Mapping[str, str] = field(default_factory=dict)


def read_live(runner: Runner, plan: Plan, root: str = "/") -> Live:
    addresses = _ip(runner, "address", "show")
    routes = [_route(r) for family in ("-4", "-6") for r in _ip(runner, family, "route", "show", "table", "all")]
    rules = [_rule(r, family) for family in ("-4", "-6") for r in _ip(runner, family, "rule", "show")]
    return Live(
        mtu={e["ifname"]: int(e["mtu"]) for e in addresses},
        up={e["ifname"]: "UP" in e["flags"] for e in addresses},
        carrier={e["ifname"]: "LOWER_UP" in e["flags"] for e in addresses},
        masters={e["ifname"]: e.get("master") for e in addresses},
        addresses={e["ifname"]: _addresses(e) for e in addresses},
        routes=set(routes),
        rules=set(rules),
        bonds={link.interface: _bond_files(root, link.interface) for link in plan.links if link.kind == "bond"},
        sysctls={key: _read(os.path.join(root, "proc/sys", key)) for key in plan.sysctls},
    )


def _ip(runner: Runner, *arguments: str) -> List[Dict[str, Any]]:
    argv = ["ip", "-j", "-N", *arguments]
    done = runner.run(argv, timeout=30)
    if done.rc != 0 and "does not exist" not in done.stderr:
        raise MeasureError("%s: %s: is iproute2 installed?" % (" ".join(argv), done.stderr.strip()))
    # Some versions print an empty object for what they filtered out.
    return [entry for entry in json.loads(done.stdout or "[]") if entry]


def _addresses(entry: Mapping[str, Any]) -> Dict[str, bool]:
    return {
        "%s/%s" % (info["local"], info["prefixlen"]): bool(info.get("dynamic"))
        for info in entry.get("addr_info", ())
        # -N prints a scope as its number: 253 is link.
        if info.get("scope") not in ("link", "host", "253", "254") and "local" in info
    }


def _route(entry: Mapping[str, Any]) -> RouteKey:
    table = str(entry.get("table", MAIN_TABLE))
    number = {"main": MAIN_TABLE, "local": 255, "default": 253}.get(table, int(table) if table.isdigit() else 0)
    to = entry["dst"]
    return to, entry.get("gateway", ""), entry.get("dev", ""), number


def _rule(entry: Mapping[str, Any], family: str) -> RuleKey:
    length = 32 if family == "-4" else 128

    def side(key: str) -> str:
        value = entry.get(key, "all")
        return "" if value == "all" else "%s/%s" % (value, entry.get(key + "len", length))

    table = str(entry.get("table", 0))
    return side("src"), side("dst"), int(table) if table.isdigit() else 0, int(entry.get("priority", 0))


def _bond_files(root: str, interface: str) -> Dict[str, str]:
    base = os.path.join(root, "sys/class/net", interface, "bonding")
    return {name: _read(os.path.join(base, name)) for name in _BOND_FILES} if os.path.isdir(base) else {}


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            return (stream.read().split() or [""])[0]
    except OSError:
        return ""


# Comparing -----------------------------------------------------------------------------------------------------------


def bonds_to_recreate(plan: Plan, live: Live) -> List[str]:
    """Bonds that exist with other parameters: most of them can only be set on a new bond."""
    return [
        link.interface
        for link in plan.links
        if link.kind == "bond" and live.bonds.get(link.interface) and _bond_differences(link, live)
    ]


def compare_live(plan: Plan, live: Live) -> Tuple[List[str], List[str]]:
    """(differences, notes). A port without carrier is a note: the cable is measured by the checks, not undone here."""
    differences: List[str] = []
    notes: List[str] = []
    for link in plan.links:
        _compare_devices(link, live, differences)
        if not live.carrier.get(link.interface, True):
            notes.append("%s: no carrier, so its addresses and routes could not be seen in effect" % link.interface)
        elif link.interface in live.mtu:
            _compare_layer3(link, live, differences)
    for key, value in plan.sysctls.items():
        if live.sysctls.get(key) != value:
            differences.append("sysctl %s is %s, the plan says %s" % (key, live.sysctls.get(key) or "not there", value))
    _compare_defaults(plan, live, differences)
    return differences, notes


def _compare_devices(link: Link, live: Live, differences: List[str]) -> None:
    devices = [port.name for port in link.ports] + ([link.interface] if link.kind in ("bond", "vlan") else [])
    for name in devices:
        if name not in live.mtu:
            differences.append("%s: there is no such device" % name)
        elif link.mtu is not None and live.mtu[name] != link.mtu:
            differences.append("%s: MTU is %d, the plan says %d" % (name, live.mtu[name], link.mtu))
    if link.kind != "bond":
        return
    for port in link.ports:
        master = live.masters.get(port.name)
        if master != link.interface:
            differences.append(
                "%s: is a member of %s, the plan says %s" % (port.name, master or "no bond", link.interface)
            )
    differences += _bond_differences(link, live)


def _bond_differences(link: Link, live: Live) -> List[str]:
    bond, found = link.bond or Bond(), live.bonds.get(link.interface, {})
    wanted = {"mode": bond.mode, "miimon": str(bond.miimon)}
    if bond.mode == "802.3ad":
        wanted.update(lacp_rate=bond.lacp_rate, min_links=str(bond.min_links), xmit_hash_policy=bond.hash_policy)
    return [
        "%s: %s is %s, the plan says %s" % (link.interface, key, found[key], value)
        for key, value in wanted.items()
        if key in found and found[key] != value
    ]


def _compare_layer3(link: Link, live: Live, differences: List[str]) -> None:
    wanted = [str(address) for address in link.addresses]
    found = live.addresses.get(link.interface, {})
    for address in wanted:
        if address not in found:
            differences.append("%s: address %s is missing" % (link.interface, address))
    for address, dynamic in found.items():
        # A host route's address beside ours is a virtual IP of kube-vip or keepalived: theirs to manage.
        alone = address.endswith(("/32", "/128"))
        if address not in wanted and (dynamic or not alone):
            differences.append("%s: address %s is not in the plan" % (link.interface, address))
    for route in link.routes:
        key = (route.to, route.via or "", link.interface, route.table or MAIN_TABLE)
        if key not in live.routes:
            via = " via %s" % route.via if route.via else ""
            differences.append("%s: route %s%s in table %d is missing" % (link.interface, route.to, via, key[3]))
    for rule in link.rules:
        key_of_rule = rule_key(rule.source, rule.destination, rule.table, rule.priority)
        if key_of_rule not in live.rules:
            text = "%s: rule %d from %s to %s table %d is missing"
            source, destination, table, priority = key_of_rule
            differences.append(text % (link.interface, priority, source or "all", destination or "all", table))


def rule_key(
    source: Optional[str], destination: Optional[str], table: Optional[int], priority: Optional[int]
) -> RuleKey:
    return source or "", destination or "", table or 0, priority or 0


def _compare_defaults(plan: Plan, live: Live, differences: List[str]) -> None:
    """A default route of ours that the plan does not have: left by DHCP or by a router's advertisement."""
    interfaces = {link.interface: link for link in plan.links}
    planned = {
        (route.via or "", link.interface)
        for link in plan.links
        for route in link.routes
        if route.to == "default" and route.table is None
    }
    for to, via, device, table in sorted(live.routes):
        if to == "default" and table == MAIN_TABLE and device in interfaces and (via, device) not in planned:
            differences.append("%s: default route via %s is not in the plan" % (device, via or "the link"))


def devices_present(live: Live, names: Sequence[str]) -> List[str]:
    return [name for name in names if name in live.mtu]
