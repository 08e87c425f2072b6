# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collectives: bandwidth over message size with the limit, against an earlier run, and the way to the raw log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..model import FleetReport, natural, rows
from ..svg.curves import Bound, Curve, bytes_text, curves

__all__ = ["context"]

MODES = {None: "", True: "MNNVL on", False: "MNNVL off"}
MODE_ORDER = (None, True, False)


def context(report: FleetReport) -> dict[str, Any]:
    runs = [run for data in report.reports("nccl").values() for run in rows(data, "runs")]
    earlier = {
        str(run.get("name")): run for data in report.earlier_reports("nccl").values() for run in rows(data, "runs")
    }
    kinds: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for run in sorted(runs, key=lambda each: natural(str(each.get("name")))):
        kinds.setdefault(_kind(run), []).append(run)
    return {
        "kinds": [_chart(kinds[kind], earlier) for kind in sorted(kinds, key=_order)],
        "earlier": report.earlier_run,
    }


def _kind(run: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(run.get(key) for key in ("collective", "scope", "mnnvl", "sku", "ranks"))


def _order(kind: tuple[Any, ...]) -> tuple[str, str, int, str]:
    return str(kind[0]), str(kind[1]), MODE_ORDER.index(kind[2] if kind[2] in MODE_ORDER else None), str(kind[3:])


def _chart(runs: Sequence[dict[str, Any]], earlier: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    first = runs[0]
    lines = [Curve(points, _state(run), str(run.get("name"))) for run in runs if (points := _points(run))]
    lines += [
        Curve(tuple(map(tuple, run["baseline"]["points"])), "baseline", str(run["baseline"]["of"]))
        for run in runs
        if run.get("baseline")
    ]
    before = [earlier[str(run.get("name"))] for run in runs if str(run.get("name")) in earlier]
    lines += [Curve(points, "earlier", f"{run.get('name')}, earlier") for run in before if (points := _points(run))]
    bounds = [_bound(run["limit"]) for run in runs if (run.get("limit") or {}).get("size_bytes")]
    return {
        "title": f"{first.get('collective')}, {str(first.get('scope')).replace('_', ' ')}",
        "about": ", ".join(
            part
            for part in (MODES.get(first.get("mnnvl")), f"{first.get('ranks')} ranks", str(first.get("sku")))
            if part
        ),
        "stand_in": any(run.get("stand_in") for run in runs),
        "svg": curves(lines, list(dict.fromkeys(bounds))),
        "kinds": sorted({line.kind for line in lines}),
        "limited": bool(bounds),
        "runs": [_row(run, earlier.get(str(run.get("name")))) for run in runs],
    }


def _state(run: Mapping[str, Any]) -> str:
    return str(run.get("verdict")) if run.get("verdict") in ("OK", "WARN", "FAIL") else "UNKNOWN"


def _points(run: Mapping[str, Any]) -> tuple[tuple[int, float], ...]:
    return tuple((point["size_bytes"], point["busbw"]) for point in rows(run, "points"))


def _bound(limit: Mapping[str, Any]) -> Bound:
    least, most = limit["size_bytes"]
    return Bound(limit["value"], least, most, f"limit {limit['value']:g} GB/s: {limit['source']}")


def _row(run: dict[str, Any], before: Mapping[str, Any] | None) -> dict[str, Any]:
    points = _points(run)
    attempts = rows(run, "attempts")
    return {
        "name": run.get("name"),
        "verdict": _state(run),
        "hosts": run.get("hosts") or [],
        "size": bytes_text(points[-1][0]) if points else None,
        "busbw": points[-1][1] if points else None,
        "change": _change(points, _points(before) if before else ()),
        "launched_by": run.get("launched_by"),
        "logs": [attempt["log"] for attempt in attempts if attempt.get("log")],
        "problem": next((attempt["problem"] for attempt in attempts if attempt.get("problem")), None),
        "tail": next(("\n".join(attempt["tail"]) for attempt in attempts if attempt.get("tail")), None),
        "command": " ".join(attempts[0].get("command") or []) if attempts else "",
    }


def _change(now: Sequence[tuple[int, float]], before: Sequence[tuple[int, float]]) -> str | None:
    """At the largest size that both runs have."""
    old = dict(before)
    common = [(size, value) for size, value in now if old.get(size)]
    if not common:
        return None
    size, value = common[-1]
    return f"{100 * (value / old[size] - 1):+.0f} % at {bytes_text(size)}"
