# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory as plain data: what preflight judges, and how it is read from Ansible's host variables.

Nothing else on the controller reads ``hostvars`` by itself, so every variable of a host is templated once in a task.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible.errors import AnsibleError

from ..module_utils.network.model import Network, Problem, parse_networks

__all__ = [
    "FLEET",
    "FLEET_VARIABLES",
    "HOST_VARIABLES",
    "Fleet",
    "HostNetworks",
    "fleet_networks",
    "plain",
    "read_fleet",
]

# Problems that belong to no single host carry this name; it sorts before every host name.
FLEET = "(fleet)"
# One value for all hosts.
FLEET_VARIABLES = (
    "fleet_cidrs",
    "fleet_group_control_plane",
    "fleet_group_workers",
    "fleet_stack",
    "fleet_stack_overrides",
    "kube_pod_cidr",
    "kube_service_cidr",
)
HOST_VARIABLES = ("fleet_hostname", "imex_mode", "kube_addons", "node_networks")

# network -> "hosts" -> host -> {addresses, interface, mtu, kind, rail}
HostNetworks = dict[str, dict[str, dict[str, dict[str, Any]]]]


@dataclass(frozen=True)
class Fleet:
    """``hosts`` maps each host to its templated variables, ``variables`` holds what is one value for the fleet.

    ``unreadable`` are the values that could not be templated, or that differ where the fleet must have one.
    """

    hosts: Mapping[str, Mapping[str, Any]]
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    variables: Mapping[str, Any] = field(default_factory=dict)
    unreadable: tuple[Problem, ...] = ()

    def failed(self, host: str, variable: str) -> bool:
        return any(problem.host == host and problem.variable == variable for problem in self.unreadable)

    def group_of(self, role: str) -> tuple[str, str]:
        """The variable that names a group, and the group's name."""
        variable = "fleet_group_" + role
        return variable, str(self.variables.get(variable, role))

    def members(self, role: str) -> tuple[str, ...]:
        return self.groups.get(self.group_of(role)[1], ())


def read_fleet(
    hostvars: Mapping[str, Mapping[str, Any]],
    groups: Mapping[str, Iterable[str]],
    names: Iterable[str] = FLEET_VARIABLES + HOST_VARIABLES,
) -> Fleet:
    """Read ``names`` of all hosts, each value once. One that cannot be templated is noted, and reading goes on."""
    unreadable: list[Problem] = []
    hosts = {}
    for host in sorted(groups.get("all", ())):
        hosts[host], failed = _read_host(host, hostvars[host], names)
        unreadable += failed
    variables: dict[str, Any] = {}
    for name in FLEET_VARIABLES:
        unreadable += _fleet_value(name, hosts, variables)
    members = {name: tuple(group) for name, group in groups.items()}
    return Fleet(hosts, members, variables, tuple(unreadable))


def fleet_networks(fleet: Fleet) -> tuple[HostNetworks, list[Problem]]:
    """``{network: {"hosts": {host: {...}}}}`` over all hosts that have ``node_networks``."""
    networks: HostNetworks = {}
    problems = list(fleet.unreadable)
    for host, variables in fleet.hosts.items():
        if variables.get("node_networks") is None:
            continue
        parsed, bad = parse_networks(host, variables["node_networks"])
        problems += bad
        for network in parsed:
            networks.setdefault(network.name, {"hosts": {}})["hosts"][host] = _summary(network)
    return networks, problems


def _summary(network: Network) -> dict[str, Any]:
    return {
        "addresses": [str(address) for address in network.addresses],
        "interface": network.interface,
        "mtu": network.mtu,
        "kind": network.kind,
        "rail": network.rail,
    }


def _read_host(host: str, variables: Mapping[str, Any], names: Iterable[str]) -> tuple[dict[str, Any], list[Problem]]:
    values: dict[str, Any] = {}
    problems = []
    for name in names:
        if name not in variables:
            continue
        try:
            values[name] = plain(variables[name])
        except AnsibleError as exc:
            problems.append(Problem(host, name, None, "a value that can be templated: " + str(exc)))
    return values, problems


def plain(value: Any) -> Any:
    """A copy without Ansible's tags and lazy containers, fit for JSON and for comparison by type."""
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value if value is None else str(value)


def _fleet_value(name: str, hosts: Mapping[str, Mapping[str, Any]], variables: dict[str, Any]) -> list[Problem]:
    """Take the first host's value; a host that has another one is a problem of that host."""
    problems = []
    for host, values in hosts.items():
        if name not in values:
            continue
        first = variables.setdefault(name, values[name])
        if values[name] != first:
            problems.append(
                Problem(host, name, values[name], f"one value for the whole fleet; other hosts have {first!r}")
            )
    return problems
