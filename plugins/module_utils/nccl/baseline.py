# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet's own baseline: medians of repeated runs, which later runs are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..errors import ConfigError

__all__ = ["SCHEMA_VERSION", "Reference", "baseline_of", "check_baseline_document", "reference_for"]

SCHEMA_VERSION = 1
_SAME = ("scope", "collective", "sku", "ranks", "nodes", "mnnvl")
_KEPT = (*_SAME, "hosts", "stand_in", "average")


@dataclass(frozen=True)
class Reference:
    """``points``: size -> bus bandwidth. ``words`` says whose they are."""

    points: Mapping[int, float]
    words: str


def baseline_of(
    reports: Mapping[str, Mapping[str, Any]], run_id: str, recorded: str
) -> Tuple[Dict[str, Any], List[str]]:
    """From check_nccl's report of each host. The names of runs without a healthy figure are given back beside it."""
    runs: Dict[str, Any] = {}
    left_out = []
    for report in reports.values():
        for run in report.get("runs", ()):
            if not run["healthy"]:
                left_out.append(run["name"])
                continue
            kept = {key: run[key] for key in _KEPT}
            points = [[point["size_bytes"], point["busbw"]] for point in run["points"]]
            runs[run["name"]] = {**kept, "repeats": len(run["attempts"]), "points": points}
    document = {"schema_version": SCHEMA_VERSION, "run_id": run_id, "recorded": recorded, "runs": runs}
    return document, sorted(left_out)


def check_baseline_document(document: Any) -> Dict[str, Any]:
    """An empty mapping is no baseline. Raises ConfigError for what is not of this form."""
    if not document:
        return {}
    if not isinstance(document, Mapping) or document.get("schema_version") != SCHEMA_VERSION:
        raise ConfigError(
            "the baseline is not of schema_version %d: record it again with -e fleet_baseline=record" % SCHEMA_VERSION
        )
    return dict(document)


def reference_for(run: Mapping[str, Any], baseline: Mapping[str, Any]) -> Optional[Reference]:
    """The same run on the same hosts; else the median over all runs of the same kind (a host that was replaced)."""
    runs = baseline.get("runs", {})
    alike = {name: row for name, row in runs.items() if all(row[key] == run[key] for key in _SAME)}
    same = alike.get(run["name"])
    when = "recorded %s in run %s" % (baseline.get("recorded"), baseline.get("run_id"))
    if same is not None and same["hosts"] == run["hosts"]:
        return Reference(dict(same["points"]), "the baseline of these hosts, %s" % when)
    if not alike:
        return None
    values: Dict[int, List[float]] = {}
    for row in alike.values():
        for size, value in row["points"]:
            values.setdefault(size, []).append(value)
    middle = {size: median(found) for size, found in values.items()}
    return Reference(middle, "the baseline of %d runs of the same kind, %s" % (len(alike), when))
