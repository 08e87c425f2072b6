# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as NetworkManager keyfiles, for the EL family. Pure; stable bytes.

NetworkManager cannot rename a port: that is done by a .link file of systemd, rendered beside the keyfiles.
"""

from __future__ import annotations

import ipaddress
import uuid
from typing import Dict, List, Sequence, Tuple

from .hardware import Device
from .model import Bond, Network, Route, Rule
from .plan import Link, Plan, Port, resolve_plan

__all__ = ["KEYFILE_DIRECTORY", "LINK_DIRECTORY", "keyfile_files", "render_keyfiles"]

KEYFILE_DIRECTORY = "/etc/NetworkManager/system-connections"
LINK_DIRECTORY = "/etc/systemd/network"
_HEADER = "# Written by the role node_network from node_networks; changes made here are lost.\n"
# Identities must not change from run to run: each is derived from the connection's own name.
_NAMESPACE = uuid.UUID("6f1b7c9e-60a8-5d0b-9c53-3b8f0f5a7d21")
Sections = List[Tuple[str, List[Tuple[str, str]]]]


def render_keyfiles(networks: Sequence[Network], hardware: Sequence[Device]) -> Dict[str, str]:
    """Path -> text: keyfiles (mode 0600) and the .link files that give ports their names. Raises ConfigError."""
    return keyfile_files(resolve_plan(networks, hardware))


def keyfile_files(plan: Plan) -> Dict[str, str]:
    files: Dict[str, str] = {}
    for link in plan.links:
        files[_path("gpufleet-%s" % link.network)] = _text(_connection(link))
        for port in link.ports:
            if link.kind == "bond":
                identity = "gpufleet-%s-%s" % (link.network, port.name)
                files[_path(identity)] = _text(_bond_port(identity, link.interface, port))
            if port.mac is not None:
                match = [("Match", [("PermanentMACAddress", port.mac)]), ("Link", [("Name", port.name)])]
                files["%s/10-gpufleet-%s.link" % (LINK_DIRECTORY, port.name)] = _text(match)
    return files


def _path(identity: str) -> str:
    return "%s/%s.nmconnection" % (KEYFILE_DIRECTORY, identity)


def _text(sections: Sections) -> str:
    return _HEADER + "".join(
        "\n[%s]\n%s" % (name, "".join("%s=%s\n" % pair for pair in pairs)) for name, pairs in sections
    )


def _identity(identity: str, kind: str, interface: str) -> List[Tuple[str, str]]:
    return [
        ("id", identity),
        ("uuid", str(uuid.uuid5(_NAMESPACE, identity))),
        ("type", kind),
        ("interface-name", interface),
        # Above any profile that fits every port, as installers leave them (0, or -999 for automatic ones).
        ("autoconnect-priority", "100"),
    ]


def _bond_port(identity: str, bond: str, port: Port) -> Sections:
    connection = _identity(identity, "ethernet", port.name) + [("master", bond), ("slave-type", "bond")]
    return [("connection", connection), ("ethernet", _ethernet(port))]


def _ethernet(port: Port) -> List[Tuple[str, str]]:
    pairs = [("mac-address", port.mac.upper())] if port.mac is not None else []
    return pairs + ([("mtu", str(port.mtu))] if port.mtu is not None else [])


def _connection(link: Link) -> Sections:
    kind = {"ipoib": "infiniband"}.get(link.kind, link.kind)
    interface = link.interface if link.kind in ("bond", "vlan") or link.pkey else link.ports[0].name
    mtu = [("mtu", str(link.mtu))] if link.mtu is not None else []
    sections: Sections = [("connection", _identity("gpufleet-%s" % link.network, kind, interface))]
    if link.kind == "ethernet":
        sections.append(("ethernet", _ethernet(link.ports[0])))
    elif link.kind == "bond":
        sections.append(("bond", _bond(link.bond or Bond())))
        sections.append(("ethernet", mtu))
    elif link.kind == "vlan":
        sections.append(("vlan", [("id", str(link.vlan_id)), ("parent", str(link.parent))]))
        sections.append(("ethernet", mtu))
    else:
        sections.append(("infiniband", _infiniband(link) + mtu))
    return sections + [("ipv4", _layer3(link, 4)), ("ipv6", _layer3(link, 6))]


def _bond(bond: Bond) -> List[Tuple[str, str]]:
    pairs = [("mode", bond.mode), ("miimon", str(bond.miimon))]
    if bond.mode == "802.3ad":
        pairs += [("lacp_rate", bond.lacp_rate), ("min_links", str(bond.min_links))]
    if bond.mode in ("802.3ad", "balance-xor", "balance-tlb"):
        pairs.append(("xmit_hash_policy", bond.hash_policy))
    return pairs + ([("primary", bond.primary)] if bond.primary is not None else [])


def _infiniband(link: Link) -> List[Tuple[str, str]]:
    pairs = [("transport-mode", link.ipoib_mode or "datagram")]
    if link.pkey is not None:
        pairs += [("p-key", "0x%04x" % (int(link.pkey, 16) | 0x8000)), ("parent", link.ports[0].name)]
    return pairs


def _layer3(link: Link, family: int) -> List[Tuple[str, str]]:
    addresses = [address for address in link.addresses if address.version == family]
    if not addresses:
        return [("method", "disabled" if family == 4 else "link-local")]
    pairs = [("method", "manual")]
    pairs += [("address%d" % number, str(address)) for number, address in enumerate(addresses, 1)]
    nameservers = [str(address) for address in link.nameservers if address.version == family]
    if nameservers:
        pairs.append(("dns", "".join("%s;" % address for address in nameservers)))
    routes = [route for route in link.routes if _route_family(route) == family]
    for number, route in enumerate(routes, 1):
        pairs += _route(number, route, family)
    rules = [rule for rule in link.rules if _rule_family(rule) == family]
    pairs += [("routing-rule%d" % number, _rule(rule)) for number, rule in enumerate(rules, 1)]
    # No router advertisement changes what the plan says.
    return pairs + ([("addr-gen-mode", "eui64"), ("ignore-auto-routes", "true")] if family == 6 else [])


def _route_family(route: Route) -> int:
    return ipaddress.ip_address(route.via).version if route.via else ipaddress.ip_network(route.to).version


def _rule_family(rule: Rule) -> int:
    return ipaddress.ip_network(rule.source or rule.destination or "").version


def _route(number: int, route: Route, family: int) -> List[Tuple[str, str]]:
    unspecified = str(ipaddress.ip_address(0) if family == 4 else ipaddress.IPv6Address(0))
    fields = [unspecified + "/0" if route.to == "default" else route.to]
    if route.via is not None or route.metric is not None:
        fields.append(route.via or unspecified)
    if route.metric is not None:
        fields.append(str(route.metric))
    pairs = [("route%d" % number, ",".join(fields))]
    return pairs + ([("route%d_options" % number, "table=%d" % route.table)] if route.table is not None else [])


def _rule(rule: Rule) -> str:
    words = ["priority %s" % rule.priority]
    words += ["from %s" % rule.source] if rule.source else []
    words += ["to %s" % rule.destination] if rule.destination else []
    return " ".join(words + ["table %s" % rule.table])
