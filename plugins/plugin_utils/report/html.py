# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html: one file that asks nobody for anything. Names and messages come from machines, so all are escaped."""

from __future__ import annotations

import base64
import hashlib
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...module_utils.finding import Severity
from .grouping import finding_groups, host_groups
from .model import FleetReport
from .sections import SECTIONS

__all__ = ["render"]

TEMPLATES = Path(__file__).parent / "templates"
# Control characters are neither shown nor allowed in HTML; what a machine sent stays in findings.json.
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
SYMBOLS = {"FAIL": "✕", "UNKNOWN": "?", "WARN": "!", "OK": "✓", "NONE": "–", "NOT_SELECTED": "·"}


def render(report: FleetReport) -> str:
    script = (TEMPLATES / "script.js").read_text(encoding="utf-8")
    groups = finding_groups([each for each in report.findings if each.severity is not Severity.OK])
    lost = [host for host in report.hosts if host.state in ("unreachable", "not_measured")]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            verdict=report.verdict.name,
            duration=_duration(report.run.started, report.run.finished),
            groups=groups,
            lost=lost,
            anchors=_anchors(groups),
            suspects={group.common for group in groups} - {None},
            host_groups=host_groups(report.hosts),
            sections=_sections(report),
            script=Markup(script),  # noqa: S704  (our own file)
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["symbols"] = SYMBOLS
    return environment


def _printable(value: Any) -> Any:
    if isinstance(value, str) and not isinstance(value, Markup):
        return CONTROLS.sub("\ufffd", value)
    return "–" if value is None else value


def _sections(report: FleetReport) -> list[dict[str, Any]]:
    """The sections of the checks that gave at least one report, in the order of the registry."""
    return [
        {"name": name, "title": title, "template": f"{name}.html.j2", "data": context(report)}
        for name, (title, context) in SECTIONS.items()
        if report.reports(name)
    ]


def _anchors(groups: list[Any]) -> dict[str | None, str]:
    """Host -> id of the worst finding about it."""
    anchors: dict[str | None, str] = {}
    for number, group in enumerate(groups, 1):
        for name in [group.common, *(finding.subject.host for finding in group.findings)]:
            anchors.setdefault(name, f"f{number}")
    return anchors


def _duration(started: str, finished: str) -> str:
    try:
        seconds = int((datetime.fromisoformat(finished) - datetime.fromisoformat(started)).total_seconds())
    except (ValueError, TypeError):
        return "unknown"
    minutes, seconds = divmod(max(seconds, 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
