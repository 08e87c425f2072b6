# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From an answer to machines: inventory name, variables and group memberships of each. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...module_utils.errors import ConfigError
from ...module_utils.gce.hostvars import Topology, health_by_path, host_variables
from .fetch import Answer
from .groups import memberships

__all__ = ["Machine", "Naming", "read_machines"]

Json = dict[str, Any]
_PLAIN = {
    "name": "gce_name",
    "hostname": "gce_hostname",
    "internal_ip": "gce_internal_ip",
    "external_ip": "gce_external_ip",
}


@dataclass(frozen=True)
class Naming:
    """How machines are called and reached."""

    hostnames: tuple[str, ...] = ("name",)
    duplicates: str = "qualify"
    connect_to: str = "internal"
    use_ipv6: bool = False


@dataclass(frozen=True)
class Machine:
    inventory_name: str
    variables: Json
    memberships: list[tuple[str, str]]


def read_machines(answer: Answer, naming: Naming, statuses: tuple[str, ...] = ()) -> list[Machine]:
    """The machines that the statuses keep, in the answer's order. Adds to ``answer.notes`` what looks wrong."""
    health = health_by_path(answer.sub_blocks)
    rows = [_row(raw, health, answer) for raw in answer.instances if not statuses or raw.get("status") in statuses]
    names = _names([variables for variables, _ in rows], naming, answer)
    return [_machine(name, *row, naming) for name, row in zip(names, rows, strict=True)]


def _row(raw: Json, health: dict[str, Json], answer: Answer) -> tuple[Json, Topology | None]:
    """One machine's variables. A machine that cannot be understood is listed with the little that is sure."""
    try:
        variables, topology = host_variables(raw, health)
    except (AttributeError, KeyError, TypeError, ValueError) as exc:
        answer.notes.append(f"{raw['selfLink']} is listed with few variables, its description is odd: {exc!r}")
        sure = {"name": raw["name"], "selfLink": raw["selfLink"], "status": str(raw.get("status") or "")}
        variables, topology = host_variables(sure, {})
    if topology and topology.note:
        answer.notes.append(f"{raw['name']}: {topology.note}")
    return variables, topology


def _machine(name: str, variables: Json, topology: Topology | None, naming: Naming) -> Machine:
    address = variables["gce_external_ip" if naming.connect_to == "external" else "gce_internal_ip"]
    if not address and naming.use_ipv6:
        address = variables["gce_internal_ipv6"]
    if address and naming.connect_to != "none":
        variables["ansible_host"] = address
    return Machine(name, variables, memberships(variables, topology, reachable=bool(address)))


def _names(rows: list[Json], naming: Naming, answer: Answer) -> list[str]:
    """A name for each row; the same whatever order the API answered in."""
    wanted = [_wanted(row, naming.hostnames) for row in rows]
    shared = {name for name, times in Counter(wanted).items() if times > 1}
    if not shared:
        return wanted
    full = [f"{row['gce_name']}.{row['gce_zone']}.{row['gce_project']}" for row in rows]
    for name in sorted(shared):
        holders = [full[index] for index, other in enumerate(wanted) if other == name]
        problem = f"{len(holders)} machines want the inventory name {name}: {', '.join(holders)}"
        if naming.duplicates == "error":
            raise ConfigError(f"{problem}. Choose other 'hostnames', or 'duplicates: qualify'.")
        answer.notes.append(f"{problem}; they are listed under these full names")
    return [full[index] if name in shared else name for index, name in enumerate(wanted)]


def _wanted(row: Json, hostnames: tuple[str, ...]) -> str:
    for choice in hostnames:
        if choice.startswith("labels."):
            found = row["gce_labels"].get(choice.removeprefix("labels."))
        elif choice in _PLAIN:
            found = row[_PLAIN[choice]]
        else:
            raise ConfigError(f"hostnames: {choice!r} is not known; choose from {', '.join(_PLAIN)}, labels.KEY")
        if found:
            return str(found)
    return str(row["gce_name"])
