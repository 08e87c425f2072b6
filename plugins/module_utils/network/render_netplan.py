# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as netplan YAML. Pure, and written by hand: targets have no YAML library, and the bytes must be stable."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List, Sequence

from ..errors import ConfigError
from .hardware import Device
from .model import Bond, Network, Route, Rule
from .plan import Link, Plan, Port, resolve_plan

__all__ = ["NETPLAN_FILE", "netplan_files", "render_netplan"]

NETPLAN_FILE = "/etc/netplan/90-gpufleet.yaml"
_HEADER = "# Written by the role node_network from node_networks; changes made here are lost.\n"
# What YAML reads as the same string without quotes: a word that is no boolean, or a dotted IPv4 address.
_PLAIN = re.compile(
    r"^(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z][A-Za-z0-9_.+-]*\Z|^\d+\.\d+\.\d+\.\d+(?:/\d+)?\Z",
    re.IGNORECASE,
)
_NO_AUTOCONFIGURATION = {"dhcp4": False, "dhcp6": False, "accept-ra": False}


def render_netplan(networks: Sequence[Network], hardware: Sequence[Device]) -> Dict[str, str]:
    """Path -> text of the one file, mode 0600. Raises ConfigError with all problems."""
    return netplan_files(resolve_plan(networks, hardware))


def netplan_files(plan: Plan) -> Dict[str, str]:
    sections: Dict[str, Dict[str, Any]] = {"ethernets": {}, "bonds": {}, "vlans": {}}
    for link in plan.links:
        for port in link.ports:
            sections["ethernets"][port.name] = _port(port)
        if link.kind == "bond":
            body = {"interfaces": [port.name for port in link.ports], "parameters": _bond(link.bond or Bond())}
            sections["bonds"][link.interface] = {**body, **_layer3(link)}
        elif link.kind == "vlan":
            sections["vlans"][link.interface] = {"id": link.vlan_id, "link": link.parent, **_layer3(link)}
        else:
            for port in link.ports:
                sections["ethernets"][port.name].update({**_ipoib(link), **_layer3(link)})
    network = {"version": 2, "renderer": "networkd", **{key: value for key, value in sections.items() if value}}
    return {NETPLAN_FILE: _HEADER + _yaml({"network": network})}


def _port(port: Port) -> Dict[str, Any]:
    body: Dict[str, Any] = {}
    if port.mac is not None:
        body = {"match": {"macaddress": port.mac}, "set-name": port.name}
    if port.mtu is not None:
        body["mtu"] = port.mtu
    return {**body, **_NO_AUTOCONFIGURATION}


def _ipoib(link: Link) -> Dict[str, Any]:
    if link.pkey is not None:
        text = "%s.pkey = %s: netplan makes no interface for a partition; leave it out, or use NetworkManager"
        raise ConfigError(text % (link.network, link.pkey))
    return {"infiniband-mode": link.ipoib_mode or "datagram"} if link.kind == "ipoib" else {}


def _bond(bond: Bond) -> Dict[str, Any]:
    parameters: Dict[str, Any] = {"mode": bond.mode, "mii-monitor-interval": bond.miimon}
    if bond.mode == "802.3ad":
        parameters.update({"lacp-rate": bond.lacp_rate, "min-links": bond.min_links})
    if bond.mode in ("802.3ad", "balance-xor", "balance-tlb"):
        parameters["transmit-hash-policy"] = bond.hash_policy
    if bond.primary is not None:
        parameters["primary"] = bond.primary
    return parameters


def _layer3(link: Link) -> Dict[str, Any]:
    body: Dict[str, Any] = {}
    if link.mtu is not None:
        body["mtu"] = link.mtu
    body.update(_NO_AUTOCONFIGURATION)
    if link.addresses:
        body["addresses"] = [str(address) for address in link.addresses]
    if link.nameservers:
        body["nameservers"] = {"addresses": [str(address) for address in link.nameservers]}
    if link.routes:
        body["routes"] = [_route(route) for route in link.routes]
    if link.rules:
        body["routing-policy"] = [_rule(rule) for rule in link.rules]
    return body


def _route(route: Route) -> Dict[str, Any]:
    body: Dict[str, Any] = {"to": route.to}
    if route.via is not None:
        body["via"] = route.via
    else:
        body["scope"] = "link"
    if route.metric is not None:
        body["metric"] = route.metric
    if route.table is not None:
        body["table"] = route.table
    return body


def _rule(rule: Rule) -> Dict[str, Any]:
    body: Dict[str, Any] = {"from": rule.source, "to": rule.destination, "table": rule.table, "priority": rule.priority}
    return {key: value for key, value in body.items() if value is not None}


def _yaml(value: Dict[str, Any], indent: int = 0) -> str:
    lines: List[str] = []
    for key, item in value.items():
        head = "%s%s:" % ("  " * indent, _scalar(key))
        if isinstance(item, dict) and item:
            lines.append("%s\n%s" % (head, _yaml(item, indent + 1)))
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            lines.append("%s\n%s" % (head, "".join(_entry(entry, indent + 1) for entry in item)))
        elif isinstance(item, list):
            lines.append("%s [%s]\n" % (head, ", ".join(_scalar(entry) for entry in item)))
        else:
            lines.append("%s %s\n" % (head, _scalar(item)))
    return "".join(lines)


def _entry(entry: Dict[str, Any], indent: int) -> str:
    pairs = ["%s: %s" % (_scalar(key), _scalar(item)) for key, item in entry.items()]
    pad = "  " * indent
    return "%s- %s\n%s" % (pad, pairs[0], "".join("%s  %s\n" % (pad, pair) for pair in pairs[1:]))


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.match(value):
        return value
    return json.dumps(value)
