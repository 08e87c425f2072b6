# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight over plain data: one row for each kind of error, with all problems that it must give and no other."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import Problem
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.fleet import Fleet
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.preflight import advise, check_inventory, message

FLEET = "(fleet)"
RFC_1123 = "a name by RFC 1123: lower-case letters, digits and - inside, labels of 1 to 63 characters, 64 in all"


def networks(number: int) -> dict[str, dict[str, Any]]:
    """A right plan for one host, by network name."""
    mac = f"52:54:00:00:{number:02x}"
    return {
        "management": {
            "interface": "mgmt0",
            "members": [{"mac": f"{mac}:00"}],
            "address": f"10.0.1.{number}/24",
            "mtu": 1500,
            "gateway": "10.0.1.1",
        },
        "storage": {
            "kind": "bond",
            "interface": "bond0",
            "members": [{"pci": "0000:01:00.0", "name": "enp1s0"}, {"mac": f"{mac}:02", "name": "enp2s0"}],
            "bond": {"mode": "802.3ad", "lacp_rate": "fast", "min_links": 1},
            "address": f"10.0.2.{number}/24",
            "mtu": 9000,
            "gateway": "10.0.2.1",
            "table": 200,
        },
        "inference": {
            "kind": "vlan",
            "interface": "bond0.30",
            "parent": "storage",
            "vlan_id": 30,
            "address": f"10.0.3.{number}/24",
            "mtu": 1500,
        },
        "rail0": {
            "rail": 0,
            "interface": "roce0",
            "members": [{"pci": "0000:3b:00.0"}],
            "address": f"10.0.10.{number}/24",
            "mtu": 9000,
            "table": 210,
        },
    }


class Draft:
    """A right fleet of three hosts that a row spoils."""

    def __init__(self) -> None:
        self.plans = {"cp-1": networks(11), "worker-1": networks(21), "worker-2": networks(22)}
        self.extra: dict[str, dict[str, Any]] = {host: {} for host in self.plans}
        self.groups = {"control_plane": ("cp-1",), "workers": ("worker-1", "worker-2")}
        self.variables: dict[str, Any] = {
            "fleet_cidrs": {name: f"10.0.{third}.0/24" for name, third in
                            (("management", 1), ("storage", 2), ("inference", 3), ("rail0", 10))},
            "kube_pod_cidr": "10.244.0.0/16",
            "kube_service_cidr": "10.96.0.0/16",
        }  # fmt: skip

    def w1(self, network: str, **values: Any) -> Draft:
        """Change one network of worker-1; None removes a key."""
        plan = self.plans["worker-1"].setdefault(network, {})
        plan.update(values)
        for key in [key for key, value in values.items() if value is None]:
            del plan[key]
        return self

    def fleet(self) -> Fleet:
        hosts = {
            host: {"node_networks": [{"name": name, **plan} for name, plan in plans.items()], **self.extra[host]}
            for host, plans in sorted(self.plans.items())
        }
        groups = {"all": tuple(hosts), "ungrouped": (), **self.groups}
        return Fleet(hosts, groups, self.variables)


def w1(variable: str, value: Any, allowed: str) -> Problem:
    return Problem("worker-1", variable, value, allowed)


def rail1(draft: Draft, **values: Any) -> Draft:
    """A second rail on every host, in the subnet of the first."""
    for number, plans in zip((11, 21, 22), draft.plans.values(), strict=True):
        plan = {**plans["rail0"], "rail": 1, "interface": "roce1", "members": [{"pci": "0000:5e:00.0"}], "table": 211}
        plans["rail1"] = {**plan, "address": f"10.0.10.{100 + number}/24", **values}
        for key in [key for key, value in values.items() if value is None]:
            del plans["rail1"][key]
    draft.variables["fleet_cidrs"]["rail1"] = "10.0.10.0/24"
    return draft


def set_all(draft: Draft, network: str, **values: Any) -> Draft:
    for plans in draft.plans.values():
        plans.setdefault(network, {}).update(values)
    return draft


def put(draft: Draft, where: str, **values: Any) -> Draft:
    getattr(draft, where).update(values)
    return draft


def host_values(draft: Draft, host: str, **values: Any) -> Draft:
    draft.extra[host].update(values)
    return draft


def renamed(draft: Draft, old: str, new: str) -> Draft:
    draft.plans = {new if host == old else host: plans for host, plans in draft.plans.items()}
    draft.extra = {host: {} for host in draft.plans}
    draft.groups = {name: tuple(new if h == old else h for h in hosts) for name, hosts in draft.groups.items()}
    return draft


ROWS: list[tuple[str, Callable[[Draft], Any], list[Problem]]] = [
    ("right", lambda d: d, []),
    # --- form, as the model says it
    (
        "unknown key",
        lambda d: d.w1("storage", speed=100),
        [
            w1(
                "node_networks[1].speed",
                100,
                "unknown key; allowed are name, kind, interface, members, address, addresses, mtu, "
                "gateway, nameservers, routes, rules, table, bond, parent, vlan_id, ipoib_mode, pkey, rail",
            )
        ],
    ),
    (
        "unknown bond mode",
        lambda d: d.w1("storage", bond={"mode": "lacp"}),
        [
            w1(
                "node_networks[storage].bond.mode",
                "lacp",
                "one of 802.3ad, active-backup, balance-rr, balance-xor, broadcast, balance-tlb, balance-alb",
            )
        ],
    ),
    (
        "unknown bond key",
        lambda d: d.w1("storage", bond={"mii-monitor": 100}),
        [
            w1(
                "node_networks[storage].bond.mii-monitor",
                100,
                "unknown key; allowed are mode, lacp_rate, min_links, hash_policy, miimon, primary",
            )
        ],
    ),
    (
        "primary with LACP",
        lambda d: d.w1("storage", bond={"mode": "802.3ad", "primary": "enp1s0"}),
        [
            w1(
                "node_networks[storage].bond.primary",
                "enp1s0",
                "only with active-backup, balance-tlb or balance-alb, not 802.3ad",
            )
        ],
    ),
    (
        "partition key without quotes",
        lambda d: set_all(d, "rail0", kind="ipoib", mtu=2044, pkey=0x8001),
        [
            Problem(host, "node_networks[rail0].pkey", 0x8001, 'a partition key in quotes, as "0x8001"')
            for host in ("cp-1", "worker-1", "worker-2")
        ],
    ),
    (
        "keys of another kind",
        lambda d: d.w1("rail0", vlan_id=7, pkey="0x8001", ipoib_mode="connected"),
        [
            w1("node_networks[rail0].ipoib_mode", "connected", "only for kind ipoib"),
            w1("node_networks[rail0].pkey", "0x8001", "only for kind ipoib"),
            w1("node_networks[rail0].vlan_id", 7, "only for kind vlan"),
        ],
    ),
    (
        "no link monitoring",
        lambda d: d.w1("storage", bond={"miimon": 0}),
        [w1("node_networks[storage].bond.miimon", 0, "a number from 1 to 65535")],
    ),
    (
        "default route without a router",
        lambda d: d.w1("rail0", routes=[{"to": "0.0.0.0/0"}]),
        [w1("node_networks[rail0].routes[0].via", None, "the address of a router: a default route needs one")],
    ),
    # --- within one host
    (
        "bond named as its member",
        lambda d: d.w1("storage", interface="enp1s0"),
        [w1("node_networks[storage].interface", "enp1s0", "a name for the bond that is none of its members'")],
    ),
    (
        "second default route, as a number",
        lambda d: d.w1("inference", routes=[{"to": "0.0.0.0/0", "via": "10.0.3.1"}]),
        [
            w1(
                "node_networks[inference].routes[default].via",
                "10.0.3.1",
                "one default route in the main table; network management has it: give this one a table of its own",
            )
        ],
    ),
    (
        "route twice",
        lambda d: d.w1("rail0", routes=[{"to": "10.9.0.0/16", "via": f"10.0.10.{n}"} for n in (1, 2)]),
        [
            w1(
                "node_networks[rail0].routes[10.9.0.0/16].to",
                "10.9.0.0/16",
                "each destination once in a table; a spare route has another metric",
            )
        ],
    ),
    (
        "route and rule of two IP versions",
        lambda d: d.w1(
            "rail0",
            routes=[{"to": "fd09::/64", "via": "10.0.10.1"}],
            rules=[{"from": "10.0.10.0/24", "to": "fd09::/64"}],
        ),
        [
            w1("node_networks[rail0].routes[fd09::/64].via", "10.0.10.1", "the IP version of fd09::/64"),
            w1("node_networks[rail0].rules[0].to", "fd09::/64", "the IP version of 10.0.10.0/24"),
        ],
    ),
    (
        "gateway is the network",
        lambda d: d.w1("storage", gateway="10.0.2.0"),
        [w1("node_networks[storage].gateway", "10.0.2.0", "a router's address, not the first or last of 10.0.2.0/24")],
    ),
    (
        "link-local gateway",
        lambda d: (
            set_all(d, "rail0", address=None, gateway="fe80::1"),
            [plans["rail0"].update(address=f"fd00:10::{n}/64") for n, plans in enumerate(d.plans.values(), 1)],
            d.variables["fleet_cidrs"].update(rail0="fd00:10::/64"),
        ),
        [],
    ),
    (
        "last address of IPv6",
        lambda d: (
            set_all(d, "rail0", address=None),
            [
                plans["rail0"].update(address=f"fd00:10::{n}/120")
                for n, plans in zip(("1", "0", "ff"), d.plans.values(), strict=True)
            ],
            d.variables["fleet_cidrs"].update(rail0="fd00:10::/120"),
        ),
        [w1("node_networks[rail0].address", "fd00:10::/120", "a host's address, not the first of fd00:10::/120")],
    ),
    (
        "one address twice in one network",
        lambda d: d.w1("rail0", addresses=["10.0.10.21/24"]),
        [w1("node_networks[rail0].address", "10.0.10.21/24", "each address of a network once")],
    ),
    *(
        (
            f"{address} is no host's",
            lambda d, address=address: (
                d.w1("rail0", address=address),
                d.variables.pop("fleet_cidrs"),
                [plans.pop("rail0") for host, plans in d.plans.items() if host != "worker-1"],
            ),
            [
                w1(
                    "node_networks[rail0].address",
                    address,
                    "a host's address, not loopback, multicast, broadcast or unspecified, "
                    "and not in a prefix of length 0",
                )
            ],
        )
        for address in ("224.0.0.5/24", "127.0.0.1/8", "255.255.255.255/32", "::1/128")
    ),
    (
        "double network",
        lambda d: host_values(
            d,
            "worker-1",
            node_networks=[
                {"name": name, **plan}
                for name, plan in [
                    *networks(21).items(),
                    (
                        "rail0",
                        {
                            **networks(21)["rail0"],
                            "interface": "roce1",
                            "rail": 1,
                            "table": 9,
                            "members": [{"name": "x"}],
                            "address": "10.0.10.99/24",
                        },
                    ),
                ]
            ],
        ),
        [w1("node_networks[rail0].name", "rail0", "not used twice; network rail0 has it")],
    ),
    (
        "double interface",
        lambda d: d.w1("rail0", interface="mgmt0"),
        [w1("node_networks[rail0].interface", "mgmt0", "not used twice; network management has it")],
    ),
    (
        "double table",
        lambda d: d.w1("rail0", table=200),
        [w1("node_networks[rail0].table", 200, "not used twice; network storage has it")],
    ),
    (
        "double VLAN id",
        lambda d: d.w1("rail0", kind="vlan", members=None, parent="storage", vlan_id=30),
        [w1("node_networks[rail0].vlan_id", 30, "not used twice; network inference has it")],
    ),
    (
        "one VLAN id on two parents",
        lambda d: set_all(d, "tenants", kind="vlan", interface="mgmt0.30", parent="management", vlan_id=30, mtu=1500),
        [],
    ),
    (
        "member twice",
        lambda d: d.w1("rail0", members=[{"pci": "0000:01:00.0"}]),
        [w1("node_networks[rail0].members", "0000:01:00.0", "a port that no network uses yet; network storage does")],
    ),
    (
        "member twice in its bond",
        lambda d: d.w1("storage", members=[{"name": "enp1s0"}, {"name": "enp1s0"}]),
        [w1("node_networks[storage].members", "enp1s0", "a port that no network uses yet; network storage does")],
    ),
    (
        "interface named as another's member",
        lambda d: d.w1("rail0", interface="enp2s0"),
        [w1("node_networks[rail0].interface", "enp2s0", "not the name of a member of network storage")],
    ),
    (
        "undefined parent",
        lambda d: d.w1("inference", parent="strage"),
        [
            w1(
                "node_networks[inference].parent",
                "strage",
                "a network of this host of kind ethernet or bond: management, rail0, storage",
            )
        ],
    ),
    (
        "VLAN above its parent",
        lambda d: set_all(d, "inference", mtu=9100),
        [
            Problem(host, "node_networks[inference].mtu", 9100, "at most the parent's (storage: 9000)")
            for host in ("cp-1", "worker-1", "worker-2")
        ],
    ),
    (
        "VLAN above a parent that sets none",
        lambda d: set_all(set_all(d, "inference", mtu=9000), "storage", mtu=None),
        [
            Problem(
                host,
                "node_networks[inference].mtu",
                9000,
                "at most the parent's (storage: 1500, the kernel's default, for it sets none)",
            )
            for host in ("cp-1", "worker-1", "worker-2")
        ],
    ),
    (
        "IPoIB datagram",
        lambda d: set_all(d, "rail0", kind="ipoib", mtu=4096),
        [
            Problem(host, "node_networks[rail0].mtu", 4096, "at most 4092 for IPoIB in datagram mode")
            for host in ("cp-1", "worker-1", "worker-2")
        ],
    ),
    ("IPoIB connected", lambda d: set_all(d, "rail0", kind="ipoib", ipoib_mode="connected", mtu=65520), []),
    (
        "IPoIB partitions share a port",
        lambda d: set_all(
            set_all(d, "rail0", kind="ipoib", mtu=2044),
            "tenants",
            kind="ipoib",
            interface="ib0.8001",
            members=[{"pci": "0000:3b:00.0"}],
            pkey="0x8001",
        ),
        [],
    ),
    (
        "gateway outside",
        lambda d: d.w1("storage", gateway="10.0.9.1"),
        [w1("node_networks[storage].gateway", "10.0.9.1", "an address inside 10.0.2.0/24")],
    ),
    (
        "gateway is the host",
        lambda d: d.w1("storage", gateway="10.0.2.21"),
        [w1("node_networks[storage].gateway", "10.0.2.21", "not the host's own address")],
    ),
    (
        "gateway without address",
        lambda d: d.w1("storage", address=None),
        [
            w1(
                "node_networks[storage].gateway",
                "10.0.2.1",
                "only with an address in the same subnet; this network has none",
            )
        ],
    ),
    (
        "next hop outside",
        lambda d: d.w1("storage", routes=[{"to": "10.9.0.0/16", "via": "10.0.1.1"}]),
        [w1("node_networks[storage].routes[10.9.0.0/16].via", "10.0.1.1", "an address inside 10.0.2.0/24")],
    ),
    (
        "route to the own subnet",
        lambda d: d.w1("storage", routes=[{"to": "10.0.2.0/24", "via": "10.0.2.1"}]),
        [
            w1(
                "node_networks[storage].routes[10.0.2.0/24].to",
                "10.0.2.0/24",
                "a network beyond the subnet 10.0.2.0/24, which is reached without a gateway",
            )
        ],
    ),
    (
        "two gateways in the main table",
        lambda d: d.w1("storage", table=None),
        [
            w1(
                "node_networks[storage].gateway",
                "10.0.2.1",
                "one default route in the main table; network management has it: give this one a table of its own",
            )
        ],
    ),
    (
        "gateway and default route in one table",
        lambda d: d.w1("storage", routes=[{"to": "default", "via": "10.0.2.2"}]),
        [
            w1(
                "node_networks[storage].routes[default].via",
                "10.0.2.2",
                "one default route in table 200; network storage has it: give this one a table of its own",
            )
        ],
    ),
    (
        "spare default route",
        lambda d: d.w1("storage", routes=[{"to": "default", "via": "10.0.2.2", "metric": 500}]),
        [],
    ),
    (
        "rule without table",
        lambda d: d.w1("inference", rules=[{"from": "10.0.3.0/24"}]),
        [w1("node_networks[inference].rules[0].table", None, "a table, here or of the network")],
    ),
    (
        "more links than members",
        lambda d: d.w1("storage", bond={"min_links": 3}),
        [w1("node_networks[storage].bond.min_links", 3, "at most the number of members, 2")],
    ),
    (
        "primary in capitals, where names are not the same in both",
        lambda d: d.w1("storage", bond={"mode": "active-backup", "primary": "ENP1S0"}),
        [
            w1(
                "node_networks[storage].bond.primary",
                "ENP1S0",
                "one of the members: enp1s0, 0000:01:00.0, enp2s0, 52:54:00:00:15:02",
            )
        ],
    ),
    (
        "primary is no member",
        lambda d: d.w1("storage", bond={"mode": "active-backup", "primary": "eth9"}),
        [
            w1(
                "node_networks[storage].bond.primary",
                "eth9",
                "one of the members: enp1s0, 0000:01:00.0, enp2s0, 52:54:00:00:15:02",
            )
        ],
    ),
    (
        "first address",
        lambda d: d.w1("rail0", address="10.0.10.0/24"),
        [w1("node_networks[rail0].address", "10.0.10.0/24", "a host's address, not the first or last of 10.0.10.0/24")],
    ),
    (
        "last address",
        lambda d: d.w1("rail0", address="10.0.10.255/24"),
        [
            w1(
                "node_networks[rail0].address",
                "10.0.10.255/24",
                "a host's address, not the first or last of 10.0.10.0/24",
            )
        ],
    ),
    (
        "rails in one subnet, no tables",
        lambda d: rail1(d, table=None),
        [
            Problem(
                host,
                "node_networks[rail1].address",
                f"10.0.10.{100 + number}/24",
                "a subnet apart from that of network rail0, or a table for each of the two",
            )
            for host, number in (("cp-1", 11), ("worker-1", 21), ("worker-2", 22))
        ],
    ),
    ("rails in one subnet with tables", rail1, []),
    (
        "no networks",
        lambda d: host_values(d, "worker-1", node_networks=None),
        [w1("node_networks", None, "a list of networks with at least management")],
    ),
    (
        "no management",
        lambda d: d.plans["worker-1"].pop("management"),
        [w1("node_networks", ["storage", "inference", "rail0"], "a list with a network named management")],
    ),
    (
        "management without address",
        lambda d: d.w1("management", address=None, gateway=None),
        [w1("node_networks[management].address", None, "an address: the cluster reaches the node there")],
    ),
    # --- names
    (
        "upper case",
        lambda d: renamed(d, "worker-1", "K8S-W0"),
        [Problem("K8S-W0", "inventory_hostname", "K8S-W0", RFC_1123)],
    ),
    ("underscore", lambda d: host_values(d, "worker-1", fleet_hostname="w_0"), [w1("fleet_hostname", "w_0", RFC_1123)]),
    (
        "64 characters",
        lambda d: host_values(d, "worker-1", fleet_hostname="w" * 64),
        [w1("fleet_hostname", "w" * 64, RFC_1123)],
    ),
    ("63 characters", lambda d: host_values(d, "worker-1", fleet_hostname="w" * 63), []),
    ("empty name", lambda d: host_values(d, "worker-1", fleet_hostname=""), [w1("fleet_hostname", "", RFC_1123)]),
    (
        "dash at the end",
        lambda d: host_values(d, "worker-1", fleet_hostname="w0-"),
        [w1("fleet_hostname", "w0-", RFC_1123)],
    ),
    ("full name", lambda d: host_values(d, "worker-1", fleet_hostname="w0.us-east1-d.c.proj.internal"), []),
    (
        "one name twice",
        lambda d: host_values(d, "worker-2", fleet_hostname="worker-1"),
        [Problem("worker-2", "fleet_hostname", "worker-1", "a name that no other host has; worker-1 is worker-1, too")],
    ),
    (
        "one short name twice",
        lambda d: renamed(d, "worker-2", "worker-1.zone-b"),
        [
            Problem(
                "worker-1.zone-b",
                "inventory_hostname",
                "worker-1.zone-b",
                "a name that no other host has; worker-1 is worker-1, too",
            )
        ],
    ),
    (
        "names that differ by case",
        lambda d: renamed(d, "worker-2", "WORKER-1"),
        [
            Problem("WORKER-1", "inventory_hostname", "WORKER-1", RFC_1123),
            Problem(
                "worker-1", "inventory_hostname", "worker-1", "a name that no other host has; WORKER-1 is worker-1, too"
            ),
        ],
    ),
    (
        "an IP address as name",
        lambda d: renamed(d, "worker-1", "10.0.1.21"),
        [
            Problem(
                "10.0.1.21",
                "inventory_hostname",
                "10.0.1.21",
                "a name of the machine: no IP address, and not localhost",
            )
        ],
    ),
    (
        "localhost as name",
        lambda d: host_values(d, "worker-1", fleet_hostname="localhost"),
        [w1("fleet_hostname", "localhost", "a name of the machine: no IP address, and not localhost")],
    ),
    # --- between hosts
    (
        "one address twice",
        lambda d: d.w1("storage", address="10.0.2.11/24"),
        [w1("node_networks[storage].address", "10.0.2.11", "not used twice; cp-1 has it on network storage")],
    ),
    (
        "one MAC twice",
        lambda d: d.w1("management", members=[{"mac": "52:54:00:00:0B:00"}]),
        [
            w1(
                "node_networks[management].members",
                "52:54:00:00:0b:00",
                "not used twice; cp-1 has it on network management",
            )
        ],
    ),
    (
        "MTUs differ",
        lambda d: d.w1("rail0", mtu=1500),
        [
            w1(
                "node_networks[rail0].mtu",
                1500,
                "one MTU on all hosts of the network: 9000 on cp-1, worker-2; 1500 on worker-1",
            )
        ],
    ),
    (
        "MTU missing on one host",
        lambda d: d.w1("rail0", mtu=None),
        [
            w1(
                "node_networks[rail0].mtu",
                None,
                "one MTU on all hosts of the network: 9000 on cp-1, worker-2; None on worker-1",
            )
        ],
    ),
    # --- CIDRs
    (
        "address outside its network",
        lambda d: d.w1("rail0", address="10.0.11.21/24"),
        [
            w1(
                "node_networks[rail0].address",
                "10.0.11.21/24",
                "an address in 10.0.10.0/24 with that prefix length (fleet_cidrs[rail0])",
            )
        ],
    ),
    (
        "another prefix length",
        lambda d: d.w1("rail0", address="10.0.10.21/25"),
        [
            w1(
                "node_networks[rail0].address",
                "10.0.10.21/25",
                "an address in 10.0.10.0/24 with that prefix length (fleet_cidrs[rail0])",
            )
        ],
    ),
    (
        "another subnet, none planned",
        lambda d: (d.w1("rail0", address="10.0.11.21/24"), d.variables.pop("fleet_cidrs")),
        [
            w1(
                "node_networks[rail0].address",
                "10.0.11.0/24",
                "one subnet on all hosts of the network (or list it in fleet_cidrs): "
                "10.0.10.0/24 on cp-1, worker-2; 10.0.11.0/24 on worker-1",
            )
        ],
    ),
    (
        "several subnets, planned",
        lambda d: (
            d.w1("rail0", address="10.0.11.21/24"),
            d.variables["fleet_cidrs"].update(rail0=["10.0.10.0/24", "10.0.11.0/24"]),
        ),
        [],
    ),
    (
        "host bits in a CIDR",
        lambda d: d.variables["fleet_cidrs"].update(rail0="10.0.10.5/24"),
        [Problem(FLEET, "fleet_cidrs[rail0]", "10.0.10.5/24", "a network as 10.0.2.0/24 (host bits zero)")],
    ),
    (
        "a CIDR without prefix length",
        lambda d: put(d, "variables", kube_pod_cidr="10.244.0.0"),
        [Problem(FLEET, "kube_pod_cidr", "10.244.0.0", "a network as 10.0.2.0/24 (host bits zero)")],
    ),
    (
        "CIDR of no network",
        lambda d: d.variables["fleet_cidrs"].update(stroage="10.0.7.0/24"),
        [
            Problem(
                FLEET,
                "fleet_cidrs[stroage]",
                "10.0.7.0/24",
                "a network that a host has: inference, management, rail0, storage",
            )
        ],
    ),
    (
        "CIDRs are no mapping",
        lambda d: put(d, "variables", fleet_cidrs=["10.0.1.0/24"]),
        [Problem(FLEET, "fleet_cidrs", ["10.0.1.0/24"], "a mapping of network to CIDR, or to a list of CIDRs")],
    ),
    (
        "pods over a network",
        lambda d: put(d, "variables", kube_pod_cidr="10.0.0.0/16"),
        [
            Problem(FLEET, "kube_pod_cidr", "10.0.0.0/16", f"no overlap with fleet_cidrs[{name}] = 10.0.{third}.0/24")
            for name, third in (("inference", 3), ("management", 1), ("rail0", 10), ("storage", 2))
        ],
    ),
    (
        "services over pods",
        lambda d: put(d, "variables", kube_service_cidr="10.244.8.0/24"),
        [Problem(FLEET, "kube_service_cidr", "10.244.8.0/24", "no overlap with kube_pod_cidr = 10.244.0.0/16")],
    ),
    (
        "dual stack",
        lambda d: put(
            d,
            "variables",
            kube_pod_cidr="10.244.0.0/16,fd00:10:244::/56",
            kube_service_cidr="10.96.0.0/16,fd00:10:96::/112",
        ),
        [],
    ),
    (
        "networks of different hosts overlap",
        lambda d: (d.plans["worker-1"].pop("rail0"), d.w1("front", interface="f0", address="10.0.10.77/25")),
        [
            Problem(
                FLEET,
                "node_networks[front].address",
                "10.0.10.0/25",
                "no overlap with fleet_cidrs[rail0] = 10.0.10.0/24",
            )
        ],
    ),
    (
        "CIDRs by truth value and number, as YAML reads on and 7",
        lambda d: d.variables["fleet_cidrs"].update({True: "10.8.0.0/24", 7: "10.7.0.0/24", None: "10.6.0.0/24"}),
        [Problem(FLEET, "fleet_cidrs", key, "names of networks as keys, which are text") for key in (7, None, True)],
    ),
    (
        "no CIDR in the list",
        lambda d: d.variables["fleet_cidrs"].update(rail0=[]),
        [Problem(FLEET, "fleet_cidrs[rail0]", None, "a network as 10.0.2.0/24 (host bits zero)")],
    ),
    # --- groups and the rest
    (
        "control plane and worker",
        lambda d: put(d, "groups", workers=("cp-1", "worker-1", "worker-2")),
        [
            Problem(
                "cp-1",
                "group_names",
                ["control_plane", "workers"],
                "one of the two: a node is a control plane or a worker",
            )
        ],
    ),
    (
        "empty workers",
        lambda d: put(d, "groups", workers=()),
        [Problem(FLEET, "fleet_group_workers", "workers", "a group with at least one host")],
    ),
    (
        "missing control plane",
        lambda d: d.groups.pop("control_plane"),
        [Problem(FLEET, "fleet_group_control_plane", "control_plane", "a group of the inventory; there are: workers")],
    ),
    (
        "groups by other names",
        lambda d: (
            put(d, "groups", masters=d.groups.pop("control_plane")),
            put(d, "variables", fleet_group_control_plane="masters"),
        ),
        [],
    ),
    (
        "IMEX mode",
        lambda d: host_values(d, "worker-1", imex_mode="on"),
        [w1("imex_mode", "on", "one of dra, host, dra_host_managed, none")],
    ),
    (
        "add-ons are no list",
        lambda d: host_values(d, "worker-1", kube_addons="kueue"),
        [w1("kube_addons", "kueue", "a list of add-ons, each a name or a mapping with name")],
    ),
    (
        "IMEX on the host and by DRA",
        lambda d: host_values(d, "worker-1", imex_mode="host", kube_addons=[{"name": "dra-driver-nvidia-gpu"}]),
        [
            w1(
                "imex_mode",
                "host",
                "dra or dra_host_managed with the add-on dra-driver-nvidia-gpu: both would start IMEX",
            )
        ],
    ),
]


@pytest.mark.parametrize(("spoil", "problems"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_each_kind_of_error_is_told_once_and_alone(spoil: Callable[[Draft], Any], problems: list[Problem]) -> None:
    draft = Draft()
    spoil(draft)
    assert check_inventory(draft.fleet()) == problems


def test_no_host_at_all() -> None:
    allowed = "at least one host; is the inventory's path right?"
    assert check_inventory(Fleet({})) == [Problem(FLEET, "groups[all]", [], allowed)]


def test_errors_of_several_hosts_come_at_once_and_in_order() -> None:
    draft = put(Draft(), "variables", kube_service_cidr="10.244.0.0/20")
    draft.plans["worker-2"]["storage"]["gateway"] = "10.0.9.1"
    draft.w1("storage", bond={"mode": "lacp"}).w1("inference", parent="nowhere")
    draft.plans["cp-1"]["rail0"]["mtu"] = 9999999
    problems = check_inventory(draft.fleet())
    assert [(problem.host, problem.variable) for problem in problems] == [
        (FLEET, "kube_service_cidr"),
        ("cp-1", "node_networks[rail0].mtu"),
        ("cp-1", "node_networks[rail0].mtu"),
        ("worker-1", "node_networks[inference].parent"),
        ("worker-1", "node_networks[storage].bond.mode"),
        ("worker-2", "node_networks[storage].gateway"),
    ]


def test_problems_are_json_and_the_message_groups_them_by_host() -> None:
    problems = [
        Problem("worker-2", "imex_mode", "on", "one of dra, host"),
        Problem(FLEET, "fleet_cidrs", [], "a mapping"),
        Problem("worker-2", "fleet_hostname", "", "a name"),
    ]
    json.dumps([asdict(problem) for problem in problems])
    assert message(problems) == (
        "The inventory has 3 problems; nothing was changed. Correct these variables and run again:\n"
        "  (fleet)\n"
        "    fleet_cidrs = []: a mapping\n"
        "  worker-2\n"
        "    fleet_hostname = '': a name\n"
        "    imex_mode = 'on': one of dra, host"
    )


def test_what_could_not_be_read_is_told_and_not_called_missing() -> None:
    draft = host_values(Draft(), "worker-1", node_networks=None)
    unread = Problem("worker-1", "node_networks", None, "a value that can be templated: 'lab_number' is undefined")
    assert check_inventory(replace(draft.fleet(), unreadable=(unread,))) == [unread]


@pytest.mark.parametrize(
    ("spoil", "advice"),
    [
        pytest.param(lambda d: d, [], id="nothing"),
        pytest.param(
            lambda d: put(d, "groups", control_plane=("cp-1", "worker-1")),
            [
                Problem(
                    FLEET,
                    "fleet_group_control_plane",
                    "control_plane: 2 hosts",
                    "an odd number of hosts: etcd with 2 members survives no more failures than with 1",
                )
            ],
            id="even number of control planes",
        ),
        pytest.param(
            lambda d: put(d, "groups", workers=("worker-1",), gpu_nodes=("worker-1", "worker-2"), nvl_a=("worker-2",)),
            [
                Problem(
                    "worker-2",
                    "group_names",
                    ["gpu_nodes", "nvl_a"],
                    "workers, too: no playbook touches or measures it otherwise",
                )
            ],
            id="GPU node that is no worker",
        ),
        pytest.param(
            lambda d: d.w1("rail0", kind="ipoib", mtu=4092),
            [
                Problem(
                    "worker-1",
                    "node_networks[rail0].mtu",
                    4092,
                    "at most 2044 unless the subnet manager gives the partition an MTU of 4096",
                )
            ],
            id="IPoIB on a 4K partition",
        ),
    ],
)
def test_advice_does_not_fail(spoil: Callable[[Draft], Any], advice: list[Problem]) -> None:
    draft = Draft()
    spoil(draft)
    assert advise(draft.fleet()) == advice
