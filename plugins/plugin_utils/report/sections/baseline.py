# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Baseline: deviations by item, with the hosts that share them; below, what is as wanted and on how many hosts."""

from __future__ import annotations

from typing import Any

from ..model import FleetReport, rows

__all__ = ["context"]

WORST_FIRST = ("fail", "unknown", "warn", "ok")


def context(report: FleetReport) -> dict[str, Any]:
    hosts: dict[tuple[str, str, str, str], list[str]] = {}
    for host, data in report.reports("baseline").items():
        for row in rows(data, "items"):
            key = (_state(row), str(row.get("item")), str(row.get("measured")), str(row.get("expected")))
            hosts.setdefault(key, []).append(host)
    found = [
        {"state": state, "item": item, "measured": measured, "expected": expected, "hosts": names}
        for (state, item, measured, expected), names in hosts.items()
    ]
    found.sort(key=lambda row: (WORST_FIRST.index(str(row["state"])), row["item"]))
    good: dict[str, list[dict[str, Any]]] = {}
    for row in found:
        if row["state"] == "ok":
            good.setdefault(str(row["item"]), []).append(row)
    return {
        "deviations": [row for row in found if row["state"] != "ok"],
        "good": [_good(*item) for item in good.items()],
    }


def _good(item: str, group: list[dict[str, Any]]) -> dict[str, Any]:
    """One line for an item, also where each host has its own value (its name, for instance)."""
    value = group[0]["measured"] if len(group) == 1 else f"{len(group)} values, each as wanted"
    return {"item": item, "measured": value, "hosts": sum(len(row["hosts"]) for row in group)}


def _state(row: dict[str, Any]) -> str:
    """A state that this report does not know is not taken for a good one."""
    return str(row.get("state")) if row.get("state") in WORST_FIRST else "unknown"
