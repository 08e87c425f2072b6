# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MTU: for each network a heat map of all pairs, and the interfaces whose MTU deviates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..model import FleetReport, natural, rows
from ..svg.heatmap import Mark, heatmap

__all__ = ["context"]

# From good to bad; of several paths between the same two, the worst is shown.
STATES = {
    "ok": "carries the MTU",
    "none": "not measured",
    "no_reply": "no reply",
    "local_mtu": "own MTU too small",
    "no_route": "no route",
    "path_mtu": "path too small",
}
RANK = {state: rank for rank, state in enumerate(STATES)}
# Up to so many hosts every pair is an element of its own; above, only what deviates is drawn.
EVERY_PAIR = 40
# Above so many hosts neighbours share a cell.
LARGEST = 200
CELLS = 100

# (row, column) -> the paths that this cell stands for.
Cells = dict[tuple[int, int], list[dict[str, Any]]]


def context(report: FleetReport) -> dict[str, Any]:
    reports = report.reports("mtu")
    networks: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for host, data in reports.items():
        for path in rows(data, "paths"):
            networks.setdefault(str(path.get("network")), []).append((host, path))
    interfaces = [(host, each) for host, data in reports.items() for each in rows(data, "interfaces")]
    return {
        "networks": [_network(name, networks[name]) for name in sorted(networks, key=natural)],
        "interfaces": len(interfaces),
        "deviating": [{"host": host, **_interface(each)} for host, each in interfaces if _deviates(each)],
        "states": STATES,
    }


def _deviates(interface: dict[str, Any]) -> bool:
    return interface.get("measured") != interface.get("expected")


def _interface(interface: dict[str, Any]) -> dict[str, Any]:
    return {name: interface.get(name) for name in ("network", "interface", "role", "measured", "expected")}


def _network(name: str, paths: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    hosts = sorted({host for host, _ in paths} | {str(path.get("peer")) for _, path in paths}, key=natural)
    share = 1 if len(hosts) <= LARGEST else -(-len(hosts) // CELLS)
    place = {host: number // share for number, host in enumerate(hosts)}
    cells: Cells = {}
    for host, path in paths:
        cells.setdefault((place[host], place[str(path.get("peer"))]), []).append(path)
    labels = [_label(hosts[start : start + share]) for start in range(0, len(hosts), share)]
    states = Counter(_state(path) for _, path in paths)
    marks = _marks(len(labels), cells, share)
    states["none"] += sum(mark.state == "none" for mark in marks if (mark.row, mark.column) not in cells)
    return {
        "name": name,
        "expected": ", ".join(str(each) for each in sorted({str(path.get("expected")) for _, path in paths})),
        "hosts": len(hosts),
        "share": share,
        "paths": len(paths),
        "states": [(state, states[state]) for state in reversed(STATES) if states[state]],
        "svg": heatmap(labels, marks, diagonal=share == 1),
    }


def _label(hosts: Sequence[str]) -> str:
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} +{len(hosts) - 1}"


def _state(path: dict[str, Any]) -> str:
    """A state that this report does not know is not taken for a good one."""
    return str(path.get("state")) if str(path.get("state")) in STATES else "none"


def _marks(side: int, cells: Cells, share: int) -> list[Mark]:
    marks = [
        _mark(row, column, cells.get((row, column), []))
        for row in range(side)
        for column in range(side)
        if share > 1 or row != column
    ]
    return [mark for mark in marks if side <= EVERY_PAIR or mark.state != "ok"]


def _mark(row: int, column: int, paths: Sequence[dict[str, Any]]) -> Mark:
    if not paths:
        return Mark(row, column, "none", "", STATES["none"])
    worst = max(paths, key=lambda path: RANK[_state(path)])
    state, measured = _state(worst), worst.get("measured")
    number = sum(_state(path) == state for path in paths)
    told = STATES[state] if len(paths) == 1 else f"{STATES[state]} on {number} of {len(paths)} paths"
    value = f"{measured} of {worst.get('expected')} bytes" if measured is not None else "no size passes"
    return Mark(row, column, state, "" if measured is None else str(measured), f"{told}, {value}")
