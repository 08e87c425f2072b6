# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a report: name of the format -> file name and the function that renders it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from . import html, junit, prometheus
from .model import FleetReport

__all__ = ["FORMATS", "render"]


def _json(report: FleetReport) -> str:
    return json.dumps(report.as_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


FORMATS: dict[str, tuple[str, Callable[[FleetReport], str]]] = {
    "json": ("findings.json", _json),
    "html": ("report.html", html.render),
    "junit": ("junit.xml", junit.render),
    "prometheus": ("metrics.prom", prometheus.render),
}


def render(report: FleetReport, formats: Iterable[str]) -> dict[str, str]:
    """File name -> text."""
    return {name: write(report) for name, write in (FORMATS[each] for each in formats)}
