# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One host's networks tied to its real ports: what both renderers and the check of the live state start from. Pure."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, replace
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from ..errors import ConfigError
from .hardware import Device, find_device
from .model import Address, Bond, IPAddress, Member, Network, Route, Rule

__all__ = ["IB_MTU", "Link", "Plan", "Port", "ipoib_largest_mtu", "management_address", "resolve_plan"]

# enum ibv_mtu (libibverbs verbs.h): ibv_devinfo prints "active_mtu: 4096 (5)" for a 4K port.
IB_MTU = {1: 256, 2: 512, 3: 1024, 4: 2048, 5: 4096}
# Rules made for own tables: before main (32766); each selects another source address, so one number does for all.
AUTOMATIC_RULE_PRIORITY = 1000


def ipoib_largest_mtu(mode: str, active_mtu: int = 4096) -> int:
    """Datagram: the port's active MTU less 4 bytes of IPoIB header (RFC 4391); connected: 65520 (Linux)."""
    return 65520 if mode == "connected" else active_mtu - 4


@dataclass(frozen=True)
class Port:
    """A physical port. ``mac`` None: no permanent address (veth) or IPoIB, so it is matched by name."""

    name: str
    device: str
    mac: Optional[str]
    mtu: Optional[int] = None
    kind: str = "ethernet"


@dataclass(frozen=True)
class Link:
    """One network as it lies on the host: ``routes`` and ``rules`` are complete, tables and priorities filled in."""

    network: str
    kind: str
    interface: str
    ports: Tuple[Port, ...] = ()
    addresses: Tuple[Address, ...] = ()
    mtu: Optional[int] = None
    nameservers: Tuple[IPAddress, ...] = ()
    routes: Tuple[Route, ...] = ()
    rules: Tuple[Rule, ...] = ()
    bond: Optional[Bond] = None
    parent: Optional[str] = None
    vlan_id: Optional[int] = None
    ipoib_mode: Optional[str] = None
    pkey: Optional[str] = None


@dataclass(frozen=True)
class Plan:
    links: Tuple[Link, ...] = ()
    sysctls: Mapping[str, str] = field(default_factory=dict)

    def ports(self) -> Iterator[Port]:
        for link in self.links:
            yield from link.ports

    def virtual_interfaces(self) -> Tuple[str, ...]:
        """Devices that exist only because of the plan."""
        return tuple(link.interface for link in self.links if link.kind in ("bond", "vlan") or link.pkey)


def management_address(networks: Sequence[Network], name: str = "management") -> str:
    """The node's address for the cluster: by network, never "the first one" of a host with many ports."""
    for network in networks:
        if network.name == name and network.addresses:
            return str(network.addresses[0].ip)
    known = ", ".join(network.name for network in networks) or "none"
    raise ConfigError("no network %r with an address in node_networks; there are: %s" % (name, known))


def resolve_plan(networks: Sequence[Network], hardware: Sequence[Device]) -> Plan:
    """Find each member on the host and fill in everything that follows. Raises ConfigError with **all** problems."""
    problems: List[str] = []
    by_name = {network.name: network for network in networks}
    links = tuple(_link(network, by_name, hardware, problems) for network in networks)
    _check_links(links, problems)
    sysctls = _shared_subnets(networks, problems)
    if problems:
        raise ConfigError("\n".join(problems))
    return Plan(links, sysctls)


def _link(network: Network, by_name: Mapping[str, Network], hardware: Sequence[Device], problems: List[str]) -> Link:
    ports = []
    for index, member in enumerate(network.members):
        try:
            device = find_device(member, hardware)
        except ConfigError as exc:
            problems.append("%s.members[%d]: %s" % (network.name, index, exc))
            continue
        ports.append(_port(network, member, device))
    parent = by_name.get(network.parent) if network.parent else None
    if network.parent and parent is None:
        problems.append(
            "%s.parent = %s: no such network; there are %s" % (network.name, network.parent, ", ".join(by_name))
        )
    if parent is not None and network.mtu is not None and parent.mtu is not None and network.mtu > parent.mtu:
        problems.append("%s.mtu = %d: above %d of its parent %s" % (network.name, network.mtu, parent.mtu, parent.name))
    _check_ipoib(network, problems)
    return Link(
        network=network.name,
        kind=network.kind,
        interface=_partition_interface(network, ports, problems) if network.pkey else network.interface,
        ports=tuple(ports),
        addresses=network.addresses,
        mtu=network.mtu,
        nameservers=network.nameservers,
        routes=_routes(network, problems),
        rules=_rules(network, problems),
        bond=_named_primary(network, ports),
        parent=parent.interface if parent is not None else None,
        vlan_id=network.vlan_id,
        ipoib_mode=network.ipoib_mode,
        pkey=network.pkey,
    )


def _named_primary(network: Network, ports: Sequence[Port]) -> Optional[Bond]:
    """Files name the primary port by its device; the plan may name it as it names the member: by MAC or PCI address."""
    bond = network.bond
    if bond is None or bond.primary is None or len(ports) != len(network.members):
        return bond
    for index, member in enumerate(network.members):
        if member.is_called(bond.primary):
            return replace(bond, primary=ports[index].name)
    return bond


def _port(network: Network, member: Member, device: Device) -> Port:
    """A bond's member is renamed only where the plan names it; the one port of another kind is the interface itself."""
    name = network.interface if network.kind != "bond" else (member.name or device.name)
    by_mac = device.mac is not None and device.mac_permanent and device.type == "ethernet"
    # A port without permanent address cannot be renamed over a reboot: it keeps the name that it was found by.
    return Port(
        name=name if by_mac else device.name,
        device=device.name,
        mac=device.mac if by_mac else None,
        mtu=network.mtu,
        kind="ipoib" if network.kind == "ipoib" else "ethernet",
    )


def _partition_interface(network: Network, ports: Sequence[Port], problems: List[str]) -> str:
    """The kernel names a partition's interface after its port: ib0.8001. The top bit is full membership."""
    port = ports[0].name if ports else network.interface
    name = "%s.%04x" % (port, int(str(network.pkey), 16) | 0x8000)
    if network.interface not in (port, name):
        text = "%s.interface = %s: the partition's interface is %s by its nature, or leave %s"
        problems.append(text % (network.name, network.interface, name, port))
    return name


def _check_ipoib(network: Network, problems: List[str]) -> None:
    if network.kind != "ipoib" or network.mtu is None:
        return
    mode = network.ipoib_mode or "datagram"
    if network.mtu > ipoib_largest_mtu(mode):
        text = "%s.mtu = %d: %s mode carries at most %d (2044 on a partition of 2K; connected mode 65520)"
        problems.append(text % (network.name, network.mtu, mode, ipoib_largest_mtu(mode)))


def _routes(network: Network, problems: List[str]) -> Tuple[Route, ...]:
    routes = []
    if network.gateway is not None:
        routes.append(Route(to="default", via=str(network.gateway), table=network.table))
    if network.table is not None:
        # Traffic from the own address looks only into the own table, so neighbours must be on-link there as well:
        # with the default route alone it would go to a neighbour through the gateway.
        subnets = dict.fromkeys(str(address.network) for address in network.addresses)
        routes.extend(Route(to=subnet, table=network.table) for subnet in subnets)
    for route in network.routes:
        if any(route.to == str(address.network) for address in network.addresses):
            text = (
                "%s.routes: %s is the link's own network; a route would send neighbours' traffic through %s: delete it"
            )
            problems.append(text % (network.name, route.to, route.via or "another hop"))
        routes.append(Route(route.to, route.via, route.metric, route.table if route.table else network.table))
    return tuple(routes)


def _rules(network: Network, problems: List[str]) -> Tuple[Rule, ...]:
    rules = []
    if network.table is not None:
        for address in network.addresses:
            source = "%s/%d" % (address.ip, address.ip.max_prefixlen)
            rules.append(Rule(source=source, priority=AUTOMATIC_RULE_PRIORITY, table=network.table))
    for rule in network.rules:
        table = rule.table if rule.table is not None else network.table
        if table is None:
            problems.append("%s.rules: a rule needs a table, its own or the network's" % network.name)
            continue
        rules.append(Rule(rule.source, rule.destination, rule.priority or AUTOMATIC_RULE_PRIORITY, table))
    return tuple(rules)


def _check_links(links: Sequence[Link], problems: List[str]) -> None:
    owners: Dict[str, str] = {}
    defaults: Dict[int, str] = {}
    names: Dict[str, str] = {}
    for link in links:
        # Any number of partitions may lie on one InfiniBand port.
        for port in link.ports if link.pkey is None else ():
            if port.device in owners:
                problems.append(
                    "port %s is a member of both %s and %s" % (port.device, owners[port.device], link.network)
                )
            owners[port.device] = link.network
        device_names = dict.fromkeys([link.interface] + [port.name for port in link.ports if link.pkey is None])
        for name in device_names:
            if name in names:
                problems.append("interface %s is named by both %s and %s" % (name, names[name], link.network))
            names[name] = link.network
        for route in link.routes:
            if route.to != "default" or route.table is not None:
                continue
            family = ipaddress.ip_address(route.via).version if route.via else 4
            if family in defaults:
                text = "two default routes in the main table, of %s and %s: give one network its own `table`"
                problems.append(text % (defaults[family], link.network))
            defaults[family] = link.network


def _shared_subnets(networks: Sequence[Network], problems: List[str]) -> Dict[str, str]:
    """Ports in one subnet: without these settings one port answers ARP for all, and replies leave by the wrong one."""
    sysctls: Dict[str, str] = {}
    placed = [(address.network, network) for network in networks for address in network.addresses]
    for index, (subnet, network) in enumerate(placed):
        others = [
            other
            for position, (around, other) in enumerate(placed)
            if position != index and other != network and _overlap(subnet, around)
        ]
        if not others:
            continue
        tables = [other.table for other in others]
        if network.table is None or network.table in tables:
            text = "%s and %s share %s: give each its own `table` (%s has %s), or separate subnets"
            names = ", ".join(other.name for other in others)
            problems.append(text % (network.name, names, subnet, network.name, network.table))
        # The kernel takes the larger of conf.all and conf.<port>, so 2 (loose) holds whatever `all` says.
        for key, value in (("rp_filter", "2"), ("arp_ignore", "1"), ("arp_announce", "2")):
            sysctls["net/ipv4/conf/%s/%s" % (network.interface, key)] = value
    return sysctls


def _overlap(one: Any, other: Any) -> bool:
    return bool(one.version == other.version and one.overlaps(other))
