# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong between the hosts of a fleet. Pure."""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from ..module_utils.network.model import Network, Problem
from .fleet import FLEET, Fleet

__all__ = ["Networks", "check_between", "check_cidrs", "check_groups", "check_names"]

Networks = Mapping[str, Sequence[Network]]
Cidr = ipaddress.IPv4Network | ipaddress.IPv6Network

LABEL = re.compile(r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z")
# Linux keeps no longer host name (HOST_NAME_MAX).
HOST_NAME_MAX = 64
RFC_1123 = (
    f"a name by RFC 1123: lower-case letters, digits and - inside, labels of 1 to 63 characters, {HOST_NAME_MAX} in all"
)


def check_groups(fleet: Fleet) -> Iterator[Problem]:
    for role in ("control_plane", "workers"):
        variable, group = fleet.group_of(role)
        if group not in fleet.groups:
            known = ", ".join(sorted(set(fleet.groups) - {"all", "ungrouped"})) or "none"
            yield Problem(FLEET, variable, group, f"a group of the inventory; there are: {known}")
        elif not fleet.groups[group]:
            yield Problem(FLEET, variable, group, "a group with at least one host")
    workers = set(fleet.members("workers"))
    for host in fleet.members("control_plane"):
        if host in workers:
            names = [fleet.group_of(role)[1] for role in ("control_plane", "workers")]
            yield Problem(host, "group_names", names, "one of the two: a node is a control plane or a worker")


def check_names(fleet: Fleet) -> Iterator[Problem]:
    """Form, and names that become one when they are cut at the first dot and lower-cased, as the kubelet does."""
    owners: dict[str, str] = {}
    for host, values in fleet.hosts.items():
        variable = "fleet_hostname" if "fleet_hostname" in values else "inventory_hostname"
        value = values.get("fleet_hostname", host)
        name = str(value)
        if len(name) > HOST_NAME_MAX or not all(LABEL.match(label) for label in name.split(".")):
            yield Problem(host, variable, value, RFC_1123)
        elif _is_address(name) or name.split(".", maxsplit=1)[0] == "localhost":
            yield Problem(host, variable, value, "a name of the machine: no IP address, and not localhost")
            continue
        short = name.lower().split(".")[0]
        if short and short in owners:
            yield Problem(host, variable, value, f"a name that no other host has; {owners[short]} is {short}, too")
        owners.setdefault(short, host)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def check_between(networks: Networks) -> Iterator[Problem]:
    """Addresses and MACs that two hosts claim, and hosts of one network that disagree on its MTU."""
    yield from _claimed_twice(networks, "address", lambda network: [str(address.ip) for address in network.addresses])
    yield from _claimed_twice(networks, "members", lambda network: [m.mac for m in network.members if m.mac])
    plans = {name: {host: plan.mtu for host, plan in hosts.items()} for name, hosts in _by_network(networks).items()}
    yield from _disagreement(plans, "mtu", "one MTU on all hosts of the network")


def check_cidrs(fleet: Fleet, networks: Networks) -> Iterator[Problem]:
    """``fleet_cidrs`` and the CIDRs of pods and services: form, addresses outside, overlaps."""
    cidrs, problems = _fleet_cidrs(fleet)
    yield from problems
    by_network = _by_network(networks)
    for name in sorted(set(cidrs) - set(by_network)):
        known = ", ".join(sorted(by_network)) or "none"
        yield Problem(FLEET, f"fleet_cidrs[{name}]", _text(cidrs[name]), f"a network that a host has: {known}")
    for name, hosts in by_network.items():
        if name in cidrs:
            yield from _outside(name, hosts, cidrs[name])
    unplanned = {
        name: {host: _text(_subnets(plan)) for host, plan in hosts.items() if plan.addresses}
        for name, hosts in by_network.items()
        if name not in cidrs
    }
    yield from _disagreement(unplanned, "address", "one subnet on all hosts of the network (or list it in fleet_cidrs)")
    yield from _overlaps(fleet, networks, cidrs)


def _by_network(networks: Networks) -> dict[str, dict[str, Network]]:
    result: dict[str, dict[str, Network]] = {}
    for host, plans in networks.items():
        for plan in plans:
            result.setdefault(plan.name, {})[host] = plan
    return result


def _claimed_twice(networks: Networks, key: str, claims: Callable[[Network], list[str]]) -> Iterator[Problem]:
    owners: dict[str, tuple[str, str]] = {}
    for host, plans in networks.items():
        for plan in plans:
            for claim in claims(plan):
                owner, place = owners.setdefault(claim, (host, plan.name))
                if owner != host or (key == "address" and place != plan.name):
                    where = f"{owner} has it on network {place}"
                    yield Problem(host, f"node_networks[{plan.name}].{key}", claim, f"not used twice; {where}")


def _disagreement(plans: Mapping[str, Mapping[str, Any]], key: str, allowed: str) -> Iterator[Problem]:
    """Hosts that differ from what most have; all of them when there is no most."""
    for name, values in plans.items():
        ranking = Counter(values.values()).most_common()
        if len(ranking) < 2:
            continue
        tie = ranking[0][1] == ranking[1][1]
        seen = "; ".join(f"{value} on {_some(values, value)}" for value, _count in ranking)
        for host, value in values.items():
            if tie or value != ranking[0][0]:
                yield Problem(host, f"node_networks[{name}].{key}", value, f"{allowed}: {seen}")


def _some(values: Mapping[str, Any], value: Any, limit: int = 3) -> str:
    hosts = [host for host, other in values.items() if other == value]
    more = f" and {len(hosts) - limit} more" if len(hosts) > limit else ""
    return ", ".join(hosts[:limit]) + more


def _fleet_cidrs(fleet: Fleet) -> tuple[dict[str, list[Cidr]], list[Problem]]:
    raw = fleet.variables.get("fleet_cidrs", {})
    if not isinstance(raw, Mapping):
        return {}, [Problem(FLEET, "fleet_cidrs", raw, "a mapping of network to CIDR, or to a list of CIDRs")]
    cidrs: dict[str, list[Cidr]] = {}
    problems: list[Problem] = []
    for name, value in raw.items():
        # YAML reads unquoted on, off, yes and no as truth values, digits as numbers.
        if not isinstance(name, str):
            problems.append(Problem(FLEET, "fleet_cidrs", name, "names of networks as keys, which are text"))
            continue
        read, bad = _read_cidrs(f"fleet_cidrs[{name}]", value)
        problems += bad
        if not bad:
            cidrs[name] = read
    return cidrs, problems


def _read_cidrs(variable: str, value: Any) -> tuple[list[Cidr], list[Problem]]:
    entries = (value or [None]) if isinstance(value, list) else str(value).split(",")
    cidrs: list[Cidr] = []
    problems = []
    for entry in entries:
        try:
            # A bare address would pass as a /32, which nobody means here.
            if "/" not in str(entry):
                raise ValueError
            cidrs.append(ipaddress.ip_network(str(entry).strip()))
        except ValueError:
            problems.append(Problem(FLEET, variable, entry, "a network as 10.0.2.0/24 (host bits zero)"))
    return cidrs, problems


def _outside(name: str, hosts: Mapping[str, Network], cidrs: Sequence[Cidr]) -> Iterator[Problem]:
    for host, plan in hosts.items():
        for address in plan.addresses:
            if address.network not in cidrs:
                allowed = f"an address in {_text(cidrs)} with that prefix length (fleet_cidrs[{name}])"
                yield Problem(host, f"node_networks[{name}].address", str(address), allowed)


def _overlaps(fleet: Fleet, networks: Networks, cidrs: Mapping[str, Sequence[Cidr]]) -> Iterator[Problem]:
    # (network or "", variable, its CIDRs). What comes later is blamed: an address rather than the plan, and pods and
    # services, which are the easiest to change, rather than either.
    spaces = [(name, f"fleet_cidrs[{name}]", planned) for name, planned in sorted(cidrs.items())]
    for name, hosts in sorted(_by_network(networks).items()):
        if name not in cidrs:
            used = sorted({subnet for plan in hosts.values() for subnet in _subnets(plan)}, key=str)
            spaces.append((name, f"node_networks[{name}].address", used))
    for variable in ("kube_pod_cidr", "kube_service_cidr"):
        if variable in fleet.variables:
            read, problems = _read_cidrs(variable, fleet.variables[variable])
            yield from problems
            spaces.append(("", variable, read))
    shared = _together(networks)
    for (network, one, ours), (neighbour, other, theirs) in combinations(spaces, 2):
        # Networks that meet on a host are judged there: with a table for each they may share a subnet.
        if (network, neighbour) in shared:
            continue
        for cidr, their in ((a, b) for a in ours for b in theirs if a.version == b.version and a.overlaps(b)):
            yield Problem(FLEET, other, str(their), f"no overlap with {one} = {cidr}")


def _together(networks: Networks) -> set[tuple[str, str]]:
    """Pairs of networks that one host has, both ways round."""
    kinds = {tuple(plan.name for plan in plans) for plans in networks.values()}
    return {(one, other) for names in kinds for one in names for other in names if one != other}


def _subnets(plan: Network) -> list[Cidr]:
    return sorted({address.network for address in plan.addresses}, key=str)


def _text(cidrs: Sequence[Cidr]) -> str:
    return ", ".join(str(cidr) for cidr in cidrs)
