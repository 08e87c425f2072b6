# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA: for each rail and test a heat map of all pairs, the worst first, and the raw output of the worst pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ....module_utils.judge.rdma_pairs import PairRow, merge_rows, upper_quartile
from ..compare import rdma_tolerances
from ..model import FleetReport, natural, rows
from ..svg.heatmap import Mark, heatmap
from .mtu import CELLS, EVERY_PAIR, LARGEST

__all__ = ["context"]

# From good to bad; of several measurements in one cell the worst is shown.
STATES = {
    "ok": "as fast as the others",
    "none": "not measured",
    "silent": "no answer",
    "slow": "slower than the others",
    "fault": "the tool found a fault",
}
RANK = {state: rank for rank, state in enumerate(STATES)}
_SILENT = ("no_answer", "no_time", "unknown")
WORST = 20


def context(report: FleetReport) -> dict[str, Any]:
    reports = report.reports("rdma")
    found = merge_rows(reports)
    tolerances = rdma_tolerances(reports)
    maps = [
        _map([row for row in found if (row.network, row.test) == key], tolerances)
        for key in sorted({(row.network, row.test) for row in found})
    ]
    maps.sort(key=lambda each: (-each["worst"], natural(each["network"]), each["test"]))
    return {
        "maps": maps,
        "states": STATES,
        "worst": _worst(reports, maps),
        "plans": [_told(data["plan"], data) for data in reports.values() if isinstance(data.get("plan"), dict)][:1],
    }


def _told(plan: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("pairs", "rounds", "hosts", "directions", "memory", "expected_s")
    return {key: plan.get(key) for key in keys} | {"seconds": data.get("seconds")}


def _map(found: Sequence[PairRow], tolerances: Mapping[str, float]) -> dict[str, Any]:
    latency = found[0].test.endswith("_lat")
    values = [row.value for row in found if row.state == "ok" and row.value is not None]
    # The good end of a latency is the small one.
    good = [1 / value for value in values if value] if latency else values
    reference = None if not good else 1 / upper_quartile(good) if latency else upper_quartile(good)
    slack = tolerances["lat" if latency else "bw"] / 100
    bound = None if reference is None else reference * (1 + slack if latency else 1 - slack)
    hosts = sorted({host for row in found for host in (row.sender, row.receiver)}, key=natural)
    share = 1 if len(hosts) <= LARGEST else -(-len(hosts) // CELLS)
    place = {host: number // share for number, host in enumerate(hosts)}
    cells: dict[tuple[int, int], list[tuple[str, PairRow]]] = {}
    for row in found:
        state = _state(row, bound, latency)
        cells.setdefault((place[row.sender], place[row.receiver]), []).append((state, row))
    labels = [hosts[at] if share == 1 else f"{hosts[at]} +{share - 1}" for at in range(0, len(hosts), share)]
    counted = Counter(state for cell in cells.values() for state, _row in cell)
    marks = [_mark(key, cell) for key, cell in cells.items()]
    marks += [
        Mark(row, column, "none", "", STATES["none"])
        for row in range(len(labels))
        for column in range(len(labels))
        if (row, column) not in cells and (share > 1 or row != column)
    ]
    return {
        "network": found[0].network,
        "test": found[0].test,
        "unit": next((row.unit for row in found if row.unit), ""),
        "reference": None if reference is None else f"{reference:.4g}",
        "hosts": len(hosts),
        "count": len(found),
        "share": share,
        "states": [(state, counted[state]) for state in reversed(STATES) if counted[state]],
        "worst": max((RANK[state] for state in counted), default=0),
        "slow": {(row.sender, row.receiver) for cell in cells.values() for state, row in cell if state != "ok"},
        "svg": heatmap(labels, sorted(_shown(marks, len(labels)), key=_place), diagonal=share == 1),
    }


def _place(mark: Mark) -> tuple[int, int]:
    return mark.row, mark.column


def _shown(marks: Sequence[Mark], side: int) -> list[Mark]:
    return [mark for mark in marks if side <= EVERY_PAIR or mark.state != "ok"]


def _state(row: PairRow, bound: float | None, latency: bool) -> str:
    if row.state == "fault":
        return "fault"
    if row.state != "ok" or row.value is None or bound is None:
        return "silent" if row.state in _SILENT else "none"
    return "slow" if (row.value > bound if latency else row.value < bound) else "ok"


def _mark(key: tuple[int, int], cell: Sequence[tuple[str, PairRow]]) -> Mark:
    state, row = max(cell, key=lambda each: RANK[each[0]])
    figure = "" if row.value is None else f"{row.value:.3g}"
    more = "" if len(cell) == 1 else f", worst of {len(cell)}"
    title = f"{STATES[state]}{more}" + (f", {row.value:.4g} {row.unit}" if row.value is not None else "")
    return Mark(*key, state, figure, title)


def _worst(reports: Mapping[str, dict[str, Any]], maps: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Measurements that deviate and came with their raw output, and where the whole log is."""
    slow = {(each["network"], each["test"]): each["slow"] for each in maps}
    told = [
        {**{key: row.get(key) for key in ("network", "test", "sender", "receiver", "state", "value", "unit", "detail")},
         "raw": row.get("raw") or "", "host": host, "log": data.get("log")}
        for host, data in reports.items()
        for row in rows(data, "pairs")
        if (row.get("sender"), row.get("receiver")) in slow.get((str(row.get("network")), str(row.get("test"))), ())
    ]  # fmt: skip
    order = {"fault": 0, "ok": 1}
    told.sort(key=lambda row: (order.get(str(row["state"]), 2), row["value"] or 0.0))
    return told[:WORST]
