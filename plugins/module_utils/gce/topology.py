# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines and sub-blocks side by side: which domains there are, how healthy and how full, and who is in them."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Sequence

from .client import Compute
from .hostvars import host_variables
from .reservation import SubBlock, consumed_sub_block, read_sub_blocks, table

__all__ = ["read_topology_report"]

Json = Dict[str, Any]


def read_topology_report(compute: Compute, project: str, zone: str, reservations: Sequence[str]) -> Json:
    """``reservations`` are paths; those that machines of the zone consume are added."""
    machines = compute.items("projects/%s/zones/%s/instances" % (project, zone))
    consumed = {consumed_sub_block(raw).split("/reservationBlocks/")[0] for raw in machines} - {""}
    sub_blocks = [item for path in sorted(consumed | set(reservations)) for item in read_sub_blocks(compute, path)]
    rows = [host_variables(raw, {})[0] for raw in machines]
    domains = [_domain(item, rows) for item in sub_blocks]
    known = {machine["name"] for domain in domains for machine in domain["machines"]}
    return {
        "domains": domains,
        "outside": sorted(row["gce_name"] for row in rows if row["gce_name"] not in known),
        "maintenance": _maintenance(rows),
        "spare_hosts": sum(item.free for item in sub_blocks),
        "table": table(sub_blocks),
        "members": [_line(domain) for domain in domains],
    }


def _domain(sub_block: SubBlock, rows: Iterable[Json]) -> Json:
    inside = [row for row in rows if _is_in(row, sub_block)]
    return dict(
        sub_block.as_dict(),
        machines=[
            {
                "name": row["gce_name"],
                "status": row["gce_status"],
                "host": (row["gce_topology"] or {}).get("host"),
                "maintenance": row["gce_maintenance"],
            }
            for row in sorted(inside, key=lambda row: str(row["gce_name"]))
        ],
    )


def _line(domain: Json) -> str:
    """A domain's machines for people, with the status of those that do not run."""
    texts = [m["name"] if m["status"] == "RUNNING" else "%(name)s (%(status)s)" % m for m in domain["machines"]]
    return "%s: %s" % (domain["domain"] or domain["sub_block"], ", ".join(texts) or "no machine")


def _is_in(row: Json, sub_block: SubBlock) -> bool:
    reservation = row["gce_reservation"] or {}
    named = (reservation.get("name"), reservation.get("block"), reservation.get("sub_block"))
    return named == (sub_block.reservation, sub_block.block, sub_block.sub_block)


def _maintenance(rows: Iterable[Json]) -> List[Json]:
    """Machines with announced maintenance, the soonest first."""
    soon = [dict(row["gce_maintenance"], name=row["gce_name"]) for row in rows if row["gce_maintenance"]]
    return sorted(soon, key=lambda item: (str(item["window_start"]), item["name"]))
