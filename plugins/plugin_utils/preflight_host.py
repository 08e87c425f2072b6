# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong among the networks of one host. Pure; the form of each network is judged by ``network.model``."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

from ..module_utils.network.model import Network, Problem
from ..module_utils.network.plan import ipoib_largest_mtu

__all__ = ["KERNEL_MTU", "check_host"]

# What a device has when nobody sets it.
KERNEL_MTU = 1500
# (network, key, value, allowed)
Complaint = tuple[str, str, Any, str]


def check_host(host: str, networks: Sequence[Network]) -> list[Problem]:
    """All problems among the networks of one host."""
    checks = (
        *(_doubles, _members, _device_names, _parents, _bonds),
        *(_mtus, _addresses, _subnets, _gateways, _routes, _double_routes, _families, _defaults, _rules),
    )
    return [
        Problem(host, f"node_networks[{network}].{key}", value, allowed)
        for check in checks
        for network, key, value, allowed in check(networks)
    ]


def _doubles(networks: Sequence[Network]) -> Iterator[Complaint]:
    unique: dict[str, Callable[[Network], Hashable]] = {
        "name": lambda network: network.name,
        "interface": lambda network: network.interface,
        "table": lambda network: network.table,
        "rail": lambda network: network.rail,
        "vlan_id": lambda network: None if network.vlan_id is None else (network.parent, network.vlan_id),
    }
    for key, of in unique.items():
        owners: dict[Hashable, str] = {}
        for network in networks:
            value = of(network)
            if value is not None and value in owners:
                yield network.name, key, getattr(network, key), f"not used twice; network {owners[value]} has it"
            owners.setdefault(value, network.name)


def _members(networks: Sequence[Network]) -> Iterator[Complaint]:
    """A port belongs to one network. Partitions of InfiniBand share a port on purpose."""
    owners: dict[Hashable, str] = {}
    for network in networks:
        for member in network.members:
            for key, value in (("mac", member.mac), ("pci", member.pci), ("name", member.name)):
                port = (key, value, str(network.pkey))
                if value is not None and port in owners:
                    yield (
                        network.name,
                        "members",
                        value,
                        f"a port that no network uses yet; network {owners[port]} does",
                    )
                owners[port] = network.name


def _device_names(networks: Sequence[Network]) -> Iterator[Complaint]:
    """A port found by MAC or PCI address is renamed to the network's interface: not to the name of another port.

    A bond or VLAN is a device of its own beside its ports.
    """
    owners = {member.name: network.name for network in networks for member in network.members if member.name}
    for network in networks:
        owner = owners.get(network.interface, network.name)
        if owner != network.name and not any(member.name == network.interface for member in network.members):
            yield network.name, "interface", network.interface, f"not the name of a member of network {owner}"
        if network.kind == "bond" and any(member.name == network.interface for member in network.members):
            yield network.name, "interface", network.interface, "a name for the bond that is none of its members'"


def _parents(networks: Sequence[Network]) -> Iterator[Complaint]:
    carriers = {network.name for network in networks if network.kind in ("ethernet", "bond")}
    for network in networks:
        if network.parent is not None and network.parent not in carriers:
            names = ", ".join(sorted(carriers)) or "none"
            yield network.name, "parent", network.parent, f"a network of this host of kind ethernet or bond: {names}"


def _mtus(networks: Sequence[Network]) -> Iterator[Complaint]:
    by_name = {network.name: network for network in networks}
    for network in networks:
        if network.mtu is None:
            continue
        parent = by_name.get(network.parent or "")
        if parent is not None and network.mtu > (parent.mtu or KERNEL_MTU):
            unset = "" if parent.mtu else ", the kernel's default, for it sets none"
            yield (
                network.name,
                "mtu",
                network.mtu,
                f"at most the parent's ({parent.name}: {parent.mtu or KERNEL_MTU}{unset})",
            )
        if network.kind == "ipoib":
            mode = network.ipoib_mode or "datagram"
            if network.mtu > ipoib_largest_mtu(mode):
                yield network.name, "mtu", network.mtu, f"at most {ipoib_largest_mtu(mode)} for IPoIB in {mode} mode"


def _addresses(networks: Sequence[Network]) -> Iterator[Complaint]:
    for network in networks:
        for index, address in enumerate(network.addresses):
            if reason := _no_host(address.ip, address.network):
                yield network.name, "address", str(address), f"a host's address, {reason}"
            if address in network.addresses[:index]:
                yield network.name, "address", str(address), "each address of a network once"


def _no_host(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address, subnet: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> str:
    """Why no host can have this address; empty when one can."""
    if ip.is_multicast or ip.is_loopback or ip.is_unspecified or subnet.prefixlen == 0 or int(ip) == 2**32 - 1:
        return "not loopback, multicast, broadcast or unspecified, and not in a prefix of length 0"
    # A /31 or /127 has two hosts and nothing else (RFC 3021, RFC 6164), a /32 or /128 is one host.
    if subnet.num_addresses <= 2:
        return ""
    # The first address of IPv6 means any router (RFC 4291), and it has no broadcast.
    if ip.version == 6:
        return f"not the first of {subnet}" if ip == subnet.network_address else ""
    edges = (subnet.network_address, subnet.broadcast_address)
    return f"not the first or last of {subnet}" if ip in edges else ""


def _gateways(networks: Sequence[Network]) -> Iterator[Complaint]:
    for network in networks:
        if network.gateway is not None:
            yield from _next_hop(network, "gateway", str(network.gateway))
        for route in network.routes:
            if route.via is not None:
                yield from _next_hop(network, f"routes[{route.to}].via", route.via)


def _next_hop(network: Network, key: str, via: str) -> Iterator[Complaint]:
    hop = ipaddress.ip_address(via)
    if any(address.ip == hop for address in network.addresses):
        yield network.name, key, via, "not the host's own address"
    elif hop.is_link_local and hop.version == 6 and any(address.version == 6 for address in network.addresses):
        return  # every IPv6 link has these, and routers often have no other
    elif around := [address.network for address in network.addresses if hop in address.network]:
        if reason := _no_host(hop, around[0]):
            yield network.name, key, via, f"a router's address, {reason}"
    else:
        subnets = ", ".join(str(address.network) for address in network.addresses)
        inside = (
            f"an address inside {subnets}"
            if subnets
            else "only with an address in the same subnet; this network has none"
        )
        yield network.name, key, via, inside


def _routes(networks: Sequence[Network]) -> Iterator[Complaint]:
    """A route to the network's own subnet through a gateway sends on-link traffic there and back (hairpin)."""
    for network in networks:
        for route in network.routes:
            if route.via is None or route.to == "default":
                continue
            for address in network.addresses:
                if _within(route.to, address.network):
                    allowed = f"a network beyond the subnet {address.network}, which is reached without a gateway"
                    yield network.name, f"routes[{route.to}].to", route.to, allowed


def _double_routes(networks: Sequence[Network]) -> Iterator[Complaint]:
    """Default routes are judged over all networks of the host, see below."""
    for network in networks:
        places = [(route.to, route.table or network.table, route.metric) for route in network.routes]
        for index, (to, *_place) in enumerate(places):
            if to != "default" and places[index] in places[:index]:
                allowed = "each destination once in a table; a spare route has another metric"
                yield network.name, f"routes[{to}].to", to, allowed


def _families(networks: Sequence[Network]) -> Iterator[Complaint]:
    """A route and its router, and both ends of a rule, speak the same IP version."""
    for network in networks:
        pairs = [(f"routes[{route.to}].via", route.via, route.to) for route in network.routes if route.to != "default"]
        pairs += [(f"rules[{n}].to", rule.destination, rule.source or "") for n, rule in enumerate(network.rules)]
        for key, value, other in pairs:
            if value and other and (":" in value) != (":" in other):
                yield network.name, key, value, f"the IP version of {other}"


def _within(inner: str, outer: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    network = ipaddress.ip_network(inner)
    return network.version == outer.version and network.subnet_of(outer)  # type: ignore[arg-type]


def _defaults(networks: Sequence[Network]) -> Iterator[Complaint]:
    """One default route for each table, IP version and metric; with different metrics the second is a spare."""
    owners: dict[Hashable, str] = {}
    for network in networks:
        hops = [] if network.gateway is None else [("gateway", str(network.gateway), network.table, None)]
        for route in network.routes:
            if route.to == "default" and route.via is not None:
                hops.append(("routes[default].via", route.via, route.table or network.table, route.metric))  # type: ignore[arg-type]
        for key, via, table, metric in hops:
            place = (table, ipaddress.ip_address(via).version, metric)
            if place in owners:
                where = "the main table" if table is None else f"table {table}"
                allowed = (
                    f"one default route in {where}; network {owners[place]} has it: give this one a table of its own"
                )
                yield network.name, key, via, allowed
            owners.setdefault(place, network.name)


def _rules(networks: Sequence[Network]) -> Iterator[Complaint]:
    for network in networks:
        for index, rule in enumerate(network.rules):
            if rule.table is None and network.table is None:
                yield network.name, f"rules[{index}].table", None, "a table, here or of the network"


def _bonds(networks: Sequence[Network]) -> Iterator[Complaint]:
    for network in networks:
        if network.bond is None:
            continue
        if network.bond.min_links > len(network.members):
            count = len(network.members)
            yield network.name, "bond.min_links", network.bond.min_links, f"at most the number of members, {count}"
        ports = [
            port for member in network.members for port in (member.name, member.mac, member.pci) if port is not None
        ]
        primary = network.bond.primary
        if primary is not None and not any(member.is_called(primary) for member in network.members):
            yield network.name, "bond.primary", primary, "one of the members: " + ", ".join(ports)


def _subnets(networks: Sequence[Network]) -> Iterator[Complaint]:
    """Two ports in one subnet answer for each other (ARP flux) unless each has its own table."""
    for index, network in enumerate(networks):
        for other in networks[:index]:
            shared = _overlapping(network, other)
            if shared is not None and (network.table is None or other.table is None):
                allowed = f"a subnet apart from that of network {other.name}, or a table for each of the two"
                yield network.name, "address", shared, allowed


def _overlapping(one: Network, other: Network) -> str | None:
    """The address of ``one`` whose subnet overlaps with one of ``other``."""
    for address in one.addresses:
        for theirs in other.addresses:
            if address.version == theirs.version and address.network.overlaps(theirs.network):
                return str(address)
    return None
