# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight: everything that is wrong with an inventory, at once and before anything is changed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from ..module_utils.network.model import Network, Problem, parse_networks
from ..module_utils.network.plan import ipoib_largest_mtu
from .fleet import FLEET, Fleet
from .preflight_fleet import check_between, check_cidrs, check_groups, check_names
from .preflight_host import check_host

__all__ = ["IMEX_MODES", "advise", "check_inventory", "in_order", "message"]

IMEX_MODES = ("dra", "host", "dra_host_managed", "none")
KINDS_OF_WORKERS = ("gpu_nodes", "training", "inference", "cpu_nodes", "storage_nodes")
# The NVIDIA DRA driver starts IMEX daemons itself: a host daemon holds the only session (dra-driver-nvidia-gpu#524).
DRA_ADDON = "dra-driver-nvidia-gpu"


def check_inventory(fleet: Fleet) -> list[Problem]:
    """All errors, sorted by host (those of the fleet first) and variable."""
    if not fleet.hosts:
        return [Problem(FLEET, "groups[all]", [], "at least one host; is the inventory's path right?")]
    networks: dict[str, tuple[Network, ...]] = {}
    problems = list(fleet.unreadable)
    for host, values in fleet.hosts.items():
        networks[host], bad = _host_networks(fleet, host, values)
        problems += [*bad, *check_host(host, networks[host]), *_imex(host, values)]
    problems += [*check_groups(fleet), *check_names(fleet), *check_between(networks), *check_cidrs(fleet, networks)]
    return in_order(problems)


def advise(fleet: Fleet) -> list[Problem]:
    """What works, but is likely not what was meant."""
    advice = []
    variable, group = fleet.group_of("control_plane")
    count = len(fleet.members("control_plane"))
    if count and count % 2 == 0:
        why = f"an odd number of hosts: etcd with {count} members survives no more failures than with {count - 1}"
        advice.append(Problem(FLEET, variable, f"{group}: {count} hosts", why))
    advice += _left_out(fleet)
    for host, values in fleet.hosts.items():
        for network in parse_networks(host, values.get("node_networks") or [])[0]:
            # Most subnet managers leave the default partition at 2K.
            largest = ipoib_largest_mtu(network.ipoib_mode or "datagram", active_mtu=2048)
            if network.kind == "ipoib" and (network.mtu or 0) > largest:
                why = f"at most {largest} unless the subnet manager gives the partition an MTU of 4096"
                advice.append(Problem(host, f"node_networks[{network.name}].mtu", network.mtu, why))
    return in_order(advice)


def _left_out(fleet: Fleet) -> Iterator[Problem]:
    """Playbooks work on control planes and workers only; a machine of a kind of worker outside both would be missed."""
    nodes = {*fleet.members("control_plane"), *fleet.members("workers")}
    kinds = [name for name in fleet.groups if name in KINDS_OF_WORKERS or name.startswith("nvl_")]
    workers = fleet.group_of("workers")[1]
    for host in sorted({host for kind in kinds for host in fleet.groups[kind]} - nodes):
        mine = sorted(kind for kind in kinds if host in fleet.groups[kind])
        yield Problem(host, "group_names", mine, f"{workers}, too: no playbook touches or measures it otherwise")


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda problem: (problem.host, problem.variable, str(problem.value), problem.allowed))


def message(problems: Iterable[Problem]) -> str:
    """For people: one block for each host, one line for each problem."""
    listed = in_order(problems)
    count = "1 problem" if len(listed) == 1 else f"{len(listed)} problems"
    lines = [f"The inventory has {count}; nothing was changed. Correct these variables and run again:"]
    for host, group in groupby(listed, key=lambda problem: problem.host):
        lines.append(f"  {host}")
        lines += [f"    {problem.variable} = {problem.value!r}: {problem.allowed}" for problem in group]
    return "\n".join(lines)


def _host_networks(fleet: Fleet, host: str, values: Mapping[str, Any]) -> tuple[tuple[Network, ...], list[Problem]]:
    """A member of the cluster must have a management network with an address: the node's IP is taken from there."""
    member = host in fleet.members("control_plane") or host in fleet.members("workers")
    raw = values.get("node_networks")
    if raw is None:
        missing = "a list of networks with at least management"
        return (), [Problem(host, "node_networks", None, missing)] if member and not fleet.failed(
            host, "node_networks"
        ) else []
    networks, problems = parse_networks(host, raw)
    if member and isinstance(raw, list):
        entries = [entry for entry in raw if isinstance(entry, Mapping) and entry.get("name") == "management"]
        if not entries:
            names = [network.name for network in networks]
            problems.append(Problem(host, "node_networks", names, "a list with a network named management"))
        elif not any(entry.get("address") or entry.get("addresses") for entry in entries):
            allowed = "an address: the cluster reaches the node there"
            problems.append(Problem(host, "node_networks[management].address", None, allowed))
    return networks, problems


def _imex(host: str, values: Mapping[str, Any]) -> Iterator[Problem]:
    mode = values.get("imex_mode", "none")
    if mode not in IMEX_MODES:
        yield Problem(host, "imex_mode", mode, "one of " + ", ".join(IMEX_MODES))
    addons = values.get("kube_addons") or []
    if not isinstance(addons, list):
        yield Problem(host, "kube_addons", addons, "a list of add-ons, each a name or a mapping with name")
        return
    names = [addon.get("name") if isinstance(addon, Mapping) else addon for addon in addons]
    if mode == "host" and DRA_ADDON in names:
        yield Problem(
            host, "imex_mode", mode, f"dra or dra_host_managed with the add-on {DRA_ADDON}: both would start IMEX"
        )
