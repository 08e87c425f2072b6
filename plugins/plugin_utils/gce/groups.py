# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which groups a machine is in, and names for them that do not collide in silence."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from typing import Any

from ...module_utils.gce.hostvars import Topology

__all__ = ["GroupNames", "memberships", "safe"]


@functools.lru_cache(maxsize=65536)
def safe(text: str) -> str:
    """A valid end of a group name: letters and digits of any script and underscores; anything else is an underscore."""
    return re.sub(r"\W", "_", text)


def memberships(variables: dict[str, Any], topology: Topology | None, *, reachable: bool) -> list[tuple[str, str]]:
    """(prefix, value) of every group of one machine. A value of '' stands for a group that is the prefix alone."""
    found = [
        ("gce_project", variables["gce_project"]),
        ("gce_zone", variables["gce_zone"]),
        ("gce_status", variables["gce_status"].lower()),
        ("gce_machine", variables["gce_machine_type"]),
        ("gce_reservation", (variables["gce_reservation"] or {}).get("name")),
    ]
    if topology:
        cluster, block = topology.cluster or "", topology.block or ""
        found += [
            ("nvl", topology.sub_block),
            ("gce_block", block),
            ("gce_cluster", cluster),
        ]
    found += [(f"gce_label_{safe(key)}", value) for key, value in variables["gce_labels"].items()]
    named = [(prefix, value) for prefix, value in found if value]
    if not reachable:
        named.append(("gce_no_address", ""))
    if variables["gce_rails"] and not (topology and topology.sub_block):
        named.append(("gce_no_topology", ""))
    if variables["gce_maintenance"]:
        named.append(("gce_maintenance", ""))
    return named


class GroupNames:
    """Group names for all (prefix, value) pairs of an inventory, and the collisions among them.

    Domains are told apart by a few digits of their hash where their names collide, because two domains in one group
    would be a lie about NVLink. Elsewhere one group holds both, and ``collisions`` says so.
    """

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        values: dict[str, set[tuple[str, str]]] = {}
        for pair in set(pairs):
            values.setdefault(_plain(pair), set()).add(pair)
        clashes = {name: sorted(found) for name, found in values.items() if len(found) > 1}
        self.names = {pair: name for name, found in values.items() for pair in found}
        self.collisions: list[str] = []
        for name, found in sorted(clashes.items()):
            written = ", ".join(f"{prefix}={value!r}" for prefix, value in found)
            domains = [pair for pair in found if pair[0] == "nvl"]
            for pair in domains:
                self.names[pair] = f"{name}_{hashlib.sha256(pair[1].encode()).hexdigest()[:6]}"
            kept = " (told apart by a suffix)" if domains else " (all in this one group)"
            self.collisions.append(f"group {name} stands for different values: {written}{kept}")


def _plain(pair: tuple[str, str]) -> str:
    prefix, value = pair
    return f"{prefix}_{safe(value)}" if value else prefix
