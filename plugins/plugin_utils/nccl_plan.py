# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what an inventory wants measured to rounds of runs: which host launches what, and what may go on at once."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..module_utils.errors import ConfigError
from ..module_utils.nccl.run import SCOPES

__all__ = ["Fleet", "plan_runs"]

DOMAIN_PREFIX = "nvl_"
# What is measured with MNNVL on, off, or both, when a run does not say so.
MNNVL: dict[str, tuple[bool | None, ...]] = {
    "single_node": (None,),
    "nvlink_domain": (True, False),
    "cross_domain": (False,),
    "mixed": (True,),
}
# These stay inside a host or an NVLink switch; the others share the network, so they take turns.
BESIDE_OTHERS = ("single_node", "nvlink_domain")
KEYS = {
    *("name", "scope", "hosts", "collective", "program", "sku", "launcher", "ranks_per_host", "mnnvl"),
    *("min_bytes", "max_bytes", "step_factor", "iterations", "warmup", "check", "repeat", "timeout", "debug"),
    *("ssh_port", "network", "data_network", "environment"),
}

Networks = Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]]


@dataclass(frozen=True)
class Fleet:
    """``networks`` as fleet_networks gives them; ``available`` are the hosts that can be asked now, in order."""

    networks: Networks
    groups: Mapping[str, Sequence[str]]
    available: Sequence[str]

    def domain(self, host: str) -> str | None:
        found = (name for name in sorted(self.groups) if name.startswith(DOMAIN_PREFIX) and host in self.groups[name])
        return next((name.removeprefix(DOMAIN_PREFIX) for name in found), None)


def plan_runs(wanted: Sequence[Mapping[str, Any]], defaults: Mapping[str, Any], fleet: Fleet) -> dict[str, Any]:
    """``{"rounds": [[run]], "launchers": [{"name", "address"}], "programs": [path]}``.

    A run none of whose hosts is available is left out: the report tells of its hosts.
    """
    runs = [run for row in wanted for run in _expand({**defaults, **row}, row, fleet)]
    kept = [run for run in runs if run["launcher_host"] is not None]
    names = [run["name"] for run in kept]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ConfigError(f"two runs have the name {double[0]!r}: give each a name of its own")
    # A run on one host needs no key.
    launchers = {run["launcher_host"]: run["launcher_address"] for run in kept if len(run["hosts"]) > 1}
    return {
        "rounds": _rounds(kept),
        "launchers": [{"name": name, "address": address} for name, address in launchers.items()],
        "programs": sorted({run["program"] for run in kept}),
    }


def _expand(values: dict[str, Any], row: Mapping[str, Any], fleet: Fleet) -> Iterable[dict[str, Any]]:
    """One entry of the inventory is a run for each host, for each domain or for all its hosts, and for each mode."""
    scope = values.get("scope")
    unknown = sorted(set(row) - KEYS)
    if unknown:
        raise ConfigError(f"run {row.get('name')!r}: unknown: {', '.join(unknown)}; keys are {', '.join(sorted(KEYS))}")
    if scope not in SCOPES:
        raise ConfigError(f"run {row.get('name')!r}: scope is {scope!r}; allowed: {', '.join(SCOPES)}")
    if values.get("launcher") == "pods":
        # Pods are no hosts of the inventory.
        raise ConfigError(f"run {row.get('name')!r}: launcher pods is for the module nccl_test by itself")
    base = values.get("name") or values["collective"]
    modes = MNNVL[scope] if values.get("mnnvl") is None else tuple(values["mnnvl"]) or (None,)
    for label, hosts in _parts(scope, values["hosts"], fleet):
        for mode in modes:
            suffix = "" if mode is None else ", MNNVL on" if mode else ", MNNVL off"
            yield _run(values, f"{base} {scope} {label}{suffix}", hosts, mode, fleet)


def _parts(scope: str, hosts: Sequence[str], fleet: Fleet) -> list[tuple[str, list[str]]]:
    if not hosts:
        raise ConfigError(f"a run of scope {scope} has no hosts")
    if scope == "single_node":
        return [(host, [host]) for host in hosts]
    if scope != "nvlink_domain":
        return [(f"{hosts[0]} to {hosts[-1]}", list(hosts))]
    domains: dict[str, list[str]] = {}
    for host in hosts:
        domain = fleet.domain(host)
        if domain is None:
            raise ConfigError(f"scope nvlink_domain: {host} is in no group {DOMAIN_PREFIX}<domain>")
        domains.setdefault(domain, []).append(host)
    return list(domains.items())


def _run(
    values: Mapping[str, Any], name: str, hosts: Sequence[str], mnnvl: bool | None, fleet: Fleet
) -> dict[str, Any]:
    network = str(values["network"])
    members = {host: _member(host, network, fleet) for host in hosts}
    launcher = next((host for host in hosts if host in fleet.available), None)
    interfaces = {str(member["interface"]) for member in members.values()}
    rows = [
        {
            "name": host,
            "address": _address(member),
            "slots": int(values["ranks_per_host"]),
            "domain": fleet.domain(host),
        }
        for host, member in members.items()
    ]
    data = values.get("data_network")
    kept = {key: values[key] for key in values if key in KEYS and key not in ("hosts", "ranks_per_host", "network")}
    return {
        **kept,
        "name": name,
        "mnnvl": mnnvl,
        "hosts": rows,
        "program": f"{values['directory']}/{values['collective']}_perf",
        "interface": interfaces.pop() if len(interfaces) == 1 and not data else None,
        "bootstrap_network": _cidr(members[hosts[0]]),
        "data_network": _cidr(_member(hosts[0], data, fleet)) if data else None,
        "launcher_host": launcher,
        "launcher_address": _address(members[launcher]) if launcher else None,
    }


def _member(host: str, network: str, fleet: Fleet) -> Mapping[str, Any]:
    member = fleet.networks.get(network, {}).get("hosts", {}).get(host)
    if member is None or not member["addresses"]:
        known = ", ".join(sorted(fleet.networks)) or "none"
        raise ConfigError(f"{host} has no address on network {network!r} (the inventory has: {known})")
    return member


def _address(member: Mapping[str, Any]) -> str:
    return str(ipaddress.ip_interface(member["addresses"][0]).ip)


def _cidr(member: Mapping[str, Any]) -> str:
    return str(ipaddress.ip_interface(member["addresses"][0]).network)


def _rounds(runs: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    rounds: list[list[dict[str, Any]]] = []
    for run in runs:
        fitting = (one for one in rounds if run["scope"] in BESIDE_OTHERS and _fits(run, one))
        place = next(fitting, None)
        if place is None:
            rounds.append([run])
        else:
            place.append(run)
    return rounds


def _fits(run: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> bool:
    mine = {host["name"] for host in run["hosts"]}
    return all(
        other["scope"] in BESIDE_OTHERS and not mine & {host["name"] for host in other["hosts"]} for other in others
    )
