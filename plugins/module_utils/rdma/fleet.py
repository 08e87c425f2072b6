# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""check_rdma's plan, out of the inventory's data and of what this host has."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, Mapping, Sequence, Tuple, Union

from ..errors import ConfigError, MeasureError
from .devices import Device, Endpoint, choose
from .perftest import Perftest, Settings
from .plan import Plan
from .schedule import make_schedule

__all__ = ["Endpoints", "Inventory", "Wanted", "endpoints", "fleet_plan", "perftest_tool"]

Fleet = Mapping[str, Mapping[str, Any]]
Endpoints = Mapping[str, Union[Endpoint, MeasureError]]


@dataclass(frozen=True)
class Inventory:
    """``fleet``: what fleet_networks returned; ``hosts``: those of this run; ``groups``: NVLink domains by nvl_*."""

    host: str
    run_id: str
    fleet: Fleet
    hosts: Sequence[str]
    groups: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Wanted:
    """What to measure, and how long anything may take."""

    pairs: str = "ring"
    tests: Tuple[str, ...] = ("ib_write_bw", "ib_write_lat")
    directions: str = "both"
    together: bool = True
    port: int = 18600
    patience: float = 60.0
    limit: float = 30.0
    tolerances: Mapping[str, float] = field(default_factory=lambda: {"bw": 10.0, "lat": 100.0})


def fleet_plan(inventory: Inventory, wanted: Wanted) -> Plan:
    """The same on every host but for the host's own name."""
    chosen = set(inventory.hosts)
    rails: Dict[str, FrozenSet[str]] = {}
    for network, about in inventory.fleet.items():
        members = frozenset(
            host for host, its in about.get("hosts", {}).items() if its.get("rail") is not None and host in chosen
        )
        if members:
            rails[network] = members
    everybody = sorted({host for members in rails.values() for host in members})
    domains = {
        host: group for group, members in inventory.groups.items() if group.startswith("nvl_") for host in members
    }
    return Plan(
        host=inventory.host,
        run_id=inventory.run_id,
        rounds=make_schedule(wanted.pairs, everybody, domains),
        rails=rails,
        addresses={host: _addresses(host, inventory.fleet, rails) for host in everybody},
        tests=wanted.tests,
        directions=wanted.directions,
        together=wanted.together,
        port=wanted.port,
        patience=wanted.patience,
        limit=wanted.limit,
    )


def _addresses(host: str, fleet: Fleet, rails: Mapping[str, Any]) -> Tuple[str, ...]:
    """Networks beside the rails first: agents talk where nothing is measured, if there is such a way."""
    networks = sorted(fleet, key=lambda network: (network in rails, network))
    texts = [
        text for network in networks for text in fleet[network].get("hosts", {}).get(host, {}).get("addresses", ())
    ]
    try:
        return tuple(str(ipaddress.ip_interface(text).ip) for text in texts)
    except ValueError as exc:
        raise ConfigError("addresses of %s: %s; expected an address as 10.0.2.11/24" % (host, exc)) from exc


def endpoints(plan: Plan, fleet: Fleet, devices: Sequence[Device]) -> Dict[str, Union[Endpoint, MeasureError]]:
    """Rail -> what is measured on this host, or why nothing can be."""
    found: Dict[str, Union[Endpoint, MeasureError]] = {}
    for network, members in plan.rails.items():
        if plan.host not in members:
            continue
        mine = fleet[network]["hosts"][plan.host]
        try:
            found[network] = choose(str(mine.get("interface")), mine.get("addresses") or (), devices)
        except MeasureError as exc:
            found[network] = exc
    return found


def perftest_tool(plan: Plan, settings: Settings, found: Endpoints, libraries: Mapping[str, str]) -> Perftest:
    ports = {network: plan.rail_port(network) for network in plan.rails}
    usable = {network: each if isinstance(each, Endpoint) else str(each) for network, each in found.items()}
    return Perftest(settings, usable, ports, libraries)
