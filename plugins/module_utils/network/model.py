# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of ``node_networks``: what a host's networks should be. Pure; shared by preflight, renderers and checks.

``node_networks`` is a list of mappings. The keys, their types and which kind takes them are in ``NETWORK_KEYS``;
``docs/inventory.md`` explains them to people. An example with every kind::

    - name: management            # the logical network
      kind: ethernet              # ethernet | bond | vlan | ipoib
      interface: mgmt             # the device's name; a member matched by mac or pci is renamed to it by the renderer
      members: [{mac: "52:54:00:00:01:00"}]    # ethernet, ipoib: exactly one; bond: one or more; vlan: none
      address: 10.0.1.11/24       # or addresses: [..]; a prefix length is required
      mtu: 1500
      gateway: 10.0.1.1           # default route: in `table` if given, else in the main table
      nameservers: [10.0.1.2]
    - name: storage
      kind: bond
      interface: bond0
      members: [{pci: "0000:01:00.0", name: enp1s0}, {name: enp2s0}]
      bond: {mode: 802.3ad, lacp_rate: fast, min_links: 1, hash_policy: layer3+4, miimon: 100}
      address: 10.0.2.11/24
      mtu: 9000
      table: 200                  # own routing table: gateway and routes live there, and a rule `from address` is made
      routes: [{to: 10.9.0.0/16, via: 10.0.2.1}]
      rules: [{from: 10.0.2.0/24, priority: 200}]
    - name: inference
      kind: vlan
      interface: bond0.30
      parent: storage             # the name of another network
      vlan_id: 30
      address: 10.0.3.11/24
      mtu: 1500
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

__all__ = [
    "BOND_KEYS",
    "BOND_MODES",
    "NETWORK_KEYS",
    "NETWORK_KINDS",
    "Bond",
    "Member",
    "Network",
    "Problem",
    "Route",
    "Rule",
    "parse_networks",
]

Address = Union[ipaddress.IPv4Interface, ipaddress.IPv6Interface]
IPAddress = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]

NETWORK_KINDS = ("ethernet", "bond", "vlan", "ipoib")
BOND_MODES = ("802.3ad", "active-backup", "balance-rr", "balance-xor", "broadcast", "balance-tlb", "balance-alb")
# key -> allowed words, or None for a number or a name
BOND_KEYS: Dict[str, Optional[Tuple[str, ...]]] = {
    "mode": BOND_MODES,
    "lacp_rate": ("slow", "fast"),
    "min_links": None,
    "hash_policy": ("layer2", "layer2+3", "layer3+4", "encap2+3", "encap3+4", "vlan+srcmac"),
    "miimon": None,
    "primary": None,
}
NETWORK_KEYS = {
    "name": "str", "kind": "str", "interface": "str", "members": "list", "address": "str", "addresses": "list",
    "mtu": "int", "gateway": "str", "nameservers": "list", "routes": "list", "rules": "list", "table": "int",
    "bond": "dict", "parent": "str", "vlan_id": "int", "ipoib_mode": "str", "pkey": "str", "rail": "int",
}  # fmt: skip
MEMBER_KEYS = ("mac", "pci", "name")
ROUTE_KEYS = ("to", "via", "metric", "table")
RULE_KEYS = ("from", "to", "priority", "table")
# Linux takes 15 bytes, systemd no name of digits alone; quotes, =, # or % would mean something to a file or the kernel.
# "all" and "default" are not ports but folders of sysctls. 68 is the smallest MTU of IPv4 (RFC 791), 1280 of IPv6.
INTERFACE_NAME = re.compile(r"^(?!(?:\d+|lo|all|default)\Z)[A-Za-z0-9_][A-Za-z0-9_.+-]{0,14}\Z")
DEVICE_NAME = "a device name of 1 to 15 letters, digits and _ . + -, not a number, lo, all or default"
# An odd first byte is a group's address; zero is what the loopback and unset ports show.
MAC = re.compile(r"^(?!00:00:00:00:00:00)[0-9a-f][02468ace](:[0-9a-f]{2}){5}\Z")
PARTITION = re.compile(r"^0x[0-9a-f]{1,4}\Z", re.IGNORECASE)
PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
# The kernel keeps 253 to 255 for default, main and local.
RESERVED_TABLES = (0, 253, 254, 255)


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an inventory: where it stands, what stands there, and what could stand there."""

    host: str
    variable: str
    value: Any
    allowed: str

    def __str__(self) -> str:
        return "%s: %s = %r: %s" % (self.host, self.variable, self.value, self.allowed)


@dataclass(frozen=True)
class Member:
    """How a port is found: by MAC, by PCI address, or (weakest: names can change over a reboot) by name."""

    mac: Optional[str] = None
    pci: Optional[str] = None
    name: Optional[str] = None

    def is_called(self, text: str) -> bool:
        """Is it meant by this MAC or PCI address (in either case), or by this name?"""
        return text.lower() in (self.mac, self.pci) or text == self.name


@dataclass(frozen=True)
class Bond:
    mode: str = "802.3ad"
    lacp_rate: str = "fast"
    min_links: int = 1
    hash_policy: str = "layer3+4"
    miimon: int = 100
    primary: Optional[str] = None


@dataclass(frozen=True)
class Route:
    """``to`` is a CIDR or "default"."""

    to: str
    via: Optional[str] = None
    metric: Optional[int] = None
    table: Optional[int] = None


@dataclass(frozen=True)
class Rule:
    source: Optional[str] = None
    destination: Optional[str] = None
    priority: Optional[int] = None
    table: Optional[int] = None


@dataclass(frozen=True)
class Network:
    """One logical network on one host. ``mtu`` is None when the plan does not say (the device keeps its own)."""

    name: str
    kind: str
    interface: str
    members: Tuple[Member, ...] = ()
    addresses: Tuple[Address, ...] = ()
    mtu: Optional[int] = None
    gateway: Optional[IPAddress] = None
    nameservers: Tuple[IPAddress, ...] = ()
    routes: Tuple[Route, ...] = ()
    rules: Tuple[Rule, ...] = ()
    table: Optional[int] = None
    bond: Optional[Bond] = None
    parent: Optional[str] = None
    vlan_id: Optional[int] = None
    ipoib_mode: Optional[str] = None
    pkey: Optional[str] = None
    rail: Optional[int] = None


def _without_zone(value: Any) -> str:
    """Python takes anything after the % of an IPv6 address as its zone, line ends included, so no zone is taken."""
    text = str(value)
    if "%" in text:
        raise ValueError("%r has a zone" % text)
    return text


@dataclass
class _Reader:
    """Collects problems instead of stopping at the first one."""

    host: str
    problems: List[Problem] = field(default_factory=list)

    def bad(self, variable: str, value: Any, allowed: str) -> None:
        self.problems.append(Problem(self.host, variable, value, allowed))

    def integer(self, where: str, value: Any, low: int, high: int) -> Optional[int]:
        if value is None:
            return None
        # At most 20 digits: Python refuses to read thousands of them as a number.
        if isinstance(value, bool) or not re.match(r"^[0-9]{1,20}\Z", str(value)) or not low <= int(value) <= high:
            self.bad(where, value, "a number from %d to %d" % (low, high))
            return None
        return int(value)

    def word(self, where: str, value: Any, allowed: Tuple[str, ...]) -> Optional[str]:
        if value is None:
            return None
        if str(value) not in allowed:
            self.bad(where, value, "one of " + ", ".join(allowed))
            return None
        return str(value)

    def address(self, where: str, value: Any) -> Optional[Address]:
        try:
            if "/" in str(value):
                return ipaddress.ip_interface(_without_zone(value))
        except ValueError:
            pass
        self.bad(where, value, "an address with its prefix length, as 10.0.1.11/24")
        return None

    def ip(self, where: str, value: Any) -> Optional[IPAddress]:
        try:
            return ipaddress.ip_address(_without_zone(value))
        except ValueError:
            self.bad(where, value, "an IP address without prefix length or zone")
            return None

    def cidr(self, where: str, value: Any) -> Optional[str]:
        if value is None:
            return None
        try:
            return str(ipaddress.ip_network(_without_zone(value)))
        except ValueError:
            self.bad(where, value, "a network as 10.0.2.0/24 (host bits zero)")
            return None

    def keys(self, where: str, value: Any, allowed: Tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self.bad(where, value, "a mapping with keys of " + ", ".join(allowed))
            return {}
        for key in value:
            if key not in allowed:
                self.bad("%s.%s" % (where, key), value[key], "unknown key; allowed are " + ", ".join(allowed))
        return value

    def sequence(self, where: str, value: Any) -> List[Any]:
        if value is None:
            return []
        if not isinstance(value, (list, tuple)):
            self.bad(where, value, "a list")
            return []
        return list(value)


def parse_networks(host: str, raw: Any) -> Tuple[Tuple[Network, ...], List[Problem]]:
    """Read one host's ``node_networks``. Returns what could be read, and **all** problems of form.

    Relations (gateway inside the subnet, MTU against the parent, two hosts with one address) are preflight's work.
    """
    reader = _Reader(host)
    networks = []
    if not isinstance(raw, (list, tuple)):
        reader.bad("node_networks", raw, "a list of networks")
        return (), reader.problems
    for index, entry in enumerate(raw):
        network = _network(reader, index, entry)
        if network is not None:
            networks.append(network)
    return tuple(networks), reader.problems


def _network(reader: _Reader, index: int, entry: Any) -> Optional[Network]:
    where = "node_networks[%d]" % index
    data = reader.keys(where, entry, tuple(NETWORK_KEYS))
    name = data.get("name")
    if not isinstance(name, str) or not re.match(r"^[a-z][a-z0-9_]*\Z", name):
        reader.bad(where + ".name", name, "a name of lower-case letters, digits and _")
        return None
    where = "node_networks[%s]" % name
    kind = reader.word(where + ".kind", data.get("kind", "ethernet"), NETWORK_KINDS)
    if kind is None:
        return None
    members = _members(reader, where, kind, data)
    interface = data.get("interface", members[0].name if len(members) == 1 and kind != "bond" else None)
    if not isinstance(interface, str) or not INTERFACE_NAME.match(interface):
        reader.bad(where + ".interface", interface, DEVICE_NAME)
        return None
    raw_addresses = reader.sequence(where + ".addresses", data.get("addresses"))
    if data.get("address") is not None:
        raw_addresses.insert(0, data["address"])
    addresses = [reader.address(where + ".address", value) for value in raw_addresses]
    lowest = 1280 if any(a is not None and a.version == 6 for a in addresses) else 68
    gateway = data.get("gateway")
    nameservers = reader.sequence(where + ".nameservers", data.get("nameservers"))
    return Network(
        name=name,
        kind=kind,
        interface=str(interface),
        members=members,
        addresses=tuple(a for a in addresses if a is not None),
        mtu=reader.integer(where + ".mtu", data.get("mtu"), lowest, 65535),
        gateway=None if gateway is None else reader.ip(where + ".gateway", gateway),
        nameservers=tuple(ip for ip in (reader.ip(where + ".nameservers", n) for n in nameservers) if ip is not None),
        routes=_routes(reader, where, data),
        rules=_rules(reader, where, data),
        table=_table(reader, where + ".table", data.get("table")),
        bond=_bond(reader, where, kind, data),
        parent=_parent(reader, where, kind, data),
        vlan_id=_vlan_id(reader, where, kind, data),
        ipoib_mode=_ipoib_mode(reader, where, kind, data),
        pkey=_pkey(reader, where, kind, data),
        rail=reader.integer(where + ".rail", data.get("rail"), 0, 63),
    )


def _table(reader: _Reader, where: str, value: Any) -> Optional[int]:
    table = reader.integer(where, value, 1, 2**32 - 1)
    if table in RESERVED_TABLES:
        reader.bad(where, value, "a number from 1 to 4294967295 but 253, 254 and 255, which the kernel uses itself")
        return None
    return table


def _members(reader: _Reader, where: str, kind: str, data: Mapping[str, Any]) -> Tuple[Member, ...]:
    raw = reader.sequence(where + ".members", data.get("members"))
    if not raw and kind in ("ethernet", "ipoib") and data.get("interface") is not None:
        raw = [{"name": data["interface"]}]
    wanted = {"vlan": "none (a VLAN has a parent)", "bond": "one or more"}.get(kind, "exactly one")
    if (kind == "vlan") == bool(raw) or (kind in ("ethernet", "ipoib") and len(raw) != 1):
        reader.bad(where + ".members", data.get("members"), "%s for kind %s" % (wanted, kind))
    return tuple(_member(reader, "%s.members[%d]" % (where, i), entry) for i, entry in enumerate(raw))


def _member(reader: _Reader, where: str, entry: Any) -> Member:
    data = reader.keys(where, entry, MEMBER_KEYS)
    values = {key: str(data[key]) for key in MEMBER_KEYS if data.get(key) is not None}
    for key, pattern, shape in (
        ("mac", MAC, "the MAC address of a port, as 52:54:00:aa:bb:cc"),
        ("pci", PCI, "a PCI address as 0000:3b:00.0"),
        ("name", INTERFACE_NAME, DEVICE_NAME),
    ):
        if key in values:
            if key != "name":
                values[key] = values[key].lower()
            if not pattern.match(values[key]) or isinstance(data[key], bool):
                # YAML 1.1 reads 52:54:00:11:22:33 and 0000:17:00.0 as numbers to the base 60.
                number = isinstance(data[key], (int, float)) and key != "name"
                reader.bad("%s.%s" % (where, key), data[key], shape + (", in quotes" if number else ""))
    if not values:
        reader.bad(where, entry, "at least one of mac, pci, name")
    return Member(**values)


def _bond(reader: _Reader, where: str, kind: str, data: Mapping[str, Any]) -> Optional[Bond]:
    if kind != "bond":
        if data.get("bond") is not None:
            reader.bad(where + ".bond", data["bond"], "only for kind bond")
        return None
    raw = reader.keys(where + ".bond", data.get("bond", {}), tuple(BOND_KEYS))
    values: Dict[str, Any] = {}
    for key, allowed in BOND_KEYS.items():
        if raw.get(key) is None:
            continue
        place = "%s.bond.%s" % (where, key)
        if allowed is not None:
            values[key] = reader.word(place, raw[key], allowed)
        elif key == "primary":
            values[key] = str(raw[key])
        else:
            # Without link monitoring (miimon 0) a bond never notices that a leg is down.
            values[key] = reader.integer(place, raw[key], 1 if key == "miimon" else 0, 65535)
    bond = Bond(**{key: value for key, value in values.items() if value is not None})
    if bond.primary is not None and bond.mode not in ("active-backup", "balance-tlb", "balance-alb"):
        reader.bad(
            where + ".bond.primary",
            bond.primary,
            "only with active-backup, balance-tlb or balance-alb, not " + bond.mode,
        )
    return bond


def _parent(reader: _Reader, where: str, kind: str, data: Mapping[str, Any]) -> Optional[str]:
    parent = data.get("parent")
    if kind == "vlan" and not parent:
        reader.bad(where + ".parent", parent, "the name of the network that carries this VLAN")
    if kind != "vlan" and parent is not None:
        reader.bad(where + ".parent", parent, "only for kind vlan")
    return None if parent is None else str(parent)


def _vlan_id(reader: _Reader, where: str, kind: str, data: Mapping[str, Any]) -> Optional[int]:
    if kind == "vlan" and data.get("vlan_id") is None:
        reader.bad(where + ".vlan_id", None, "a number from 1 to 4094")
    if kind != "vlan" and data.get("vlan_id") is not None:
        reader.bad(where + ".vlan_id", data["vlan_id"], "only for kind vlan")
    return reader.integer(where + ".vlan_id", data.get("vlan_id"), 1, 4094)


def _ipoib_mode(reader: _Reader, where: str, kind: str, data: Mapping[str, Any]) -> Optional[str]:
    mode = data.get("ipoib_mode")
    if kind != "ipoib" and mode is not None:
        reader.bad(where + ".ipoib_mode", mode, "only for kind ipoib")
    return reader.word(where + ".ipoib_mode", mode, ("datagram", "connected"))


def _pkey(reader: _Reader, where: str, kind: str, data: Mapping[str, Any]) -> Optional[str]:
    """The lower 15 bits name the partition, and 0 names none."""
    pkey = data.get("pkey")
    if pkey is None:
        return None
    if kind != "ipoib":
        reader.bad(where + ".pkey", pkey, "only for kind ipoib")
    elif not isinstance(pkey, str) or not PARTITION.match(pkey) or int(pkey, 16) & 0x7FFF == 0:
        reader.bad(where + ".pkey", pkey, 'a partition key in quotes, as "0x8001"')
    else:
        return pkey
    return None


def _routes(reader: _Reader, where: str, data: Mapping[str, Any]) -> Tuple[Route, ...]:
    routes = []
    for index, entry in enumerate(reader.sequence(where + ".routes", data.get("routes"))):
        place = "%s.routes[%d]" % (where, index)
        raw = reader.keys(place, entry, ROUTE_KEYS)
        to = "default" if raw.get("to") == "default" else reader.cidr(place + ".to", raw.get("to"))
        if to is None:
            if raw.get("to") is None:
                reader.bad(place + ".to", None, "a network as 10.9.0.0/16, or default")
            continue
        if to in ("0.0.0.0/0", "::/0"):
            to = "default"
        via = None if raw.get("via") is None else reader.ip(place + ".via", raw["via"])
        if to == "default" and raw.get("via") is None:
            reader.bad(place + ".via", None, "the address of a router: a default route needs one")
        routes.append(
            Route(
                to=to,
                via=None if via is None else str(via),
                metric=reader.integer(place + ".metric", raw.get("metric"), 0, 2**32 - 1),
                table=_table(reader, place + ".table", raw.get("table")),
            )
        )
    return tuple(routes)


def _rules(reader: _Reader, where: str, data: Mapping[str, Any]) -> Tuple[Rule, ...]:
    rules = []
    for index, entry in enumerate(reader.sequence(where + ".rules", data.get("rules"))):
        place = "%s.rules[%d]" % (where, index)
        raw = reader.keys(place, entry, RULE_KEYS)
        if raw.get("from") is None and raw.get("to") is None:
            reader.bad(place, entry, "at least one of from, to")
        rules.append(
            Rule(
                source=reader.cidr(place + ".from", raw.get("from")),
                destination=reader.cidr(place + ".to", raw.get("to")),
                priority=reader.integer(place + ".priority", raw.get("priority"), 1, 32765),
                table=_table(reader, place + ".table", raw.get("table")),
            )
        )
    return tuple(rules)
