# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""metrics.prom for node-exporter's textfile collector. The series grow with the hosts, never with pairs of hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime

from .model import FleetReport, rows

__all__ = ["render"]

Sample = tuple[dict[str, str], float]


def render(report: FleetReport) -> str:
    common = {"inventory": report.run.inventory}
    lines: list[str] = []
    for name, text, samples in _metrics(report):
        lines += [f"# HELP gpufleet_{name} {text}", f"# TYPE gpufleet_{name} gauge"]
        lines += [f"gpufleet_{name}{{{_labels(common | labels)}}} {value:.15g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _metrics(report: FleetReport) -> Iterator[tuple[str, str, Iterable[Sample]]]:
    finished = datetime.fromisoformat(report.run.finished).timestamp()
    yield "run_timestamp_seconds", "When the last verification ended.", [({}, finished)]
    yield "run_verdict", "Verdict of the run: 0 OK, 1 WARN, 2 UNKNOWN, 3 FAIL.", [({}, report.verdict.value)]
    yield "host_verdict", "Verdict of a host: 0 OK, 1 WARN, 2 UNKNOWN, 3 FAIL.", _host_verdicts(report)
    yield "finding_count", "Findings by check and severity.", _finding_counts(report)
    yield "mtu_path_bytes", "Smallest path MTU measured from a host on a network.", _smallest_paths(report)


def _host_verdicts(report: FleetReport) -> list[Sample]:
    return [({"host": host.name}, host.verdict.value) for host in report.hosts if host.verdict is not None]


def _finding_counts(report: FleetReport) -> list[Sample]:
    """Zeros too, so that an alert clears; check ``host`` counts what befell hosts as a whole."""
    counted = Counter((finding.check, finding.severity.name) for finding in report.findings)
    checks = [*(check.name for check in report.checks), "host"]
    return [
        ({"check": check, "severity": severity}, counted[check, severity])
        for check in checks
        for severity in ("OK", "WARN", "UNKNOWN", "FAIL")
    ]


def _smallest_paths(report: FleetReport) -> list[Sample]:
    smallest: dict[tuple[str, str], int] = {}
    for host, data in report.reports("mtu").items():
        for path in rows(data, "paths"):
            if isinstance(path.get("measured"), int):
                key = (host, str(path.get("network")))
                smallest[key] = min(path["measured"], smallest.get(key, path["measured"]))
    return [({"host": host, "network": network}, value) for (host, network), value in smallest.items()]


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escape(value)}"' for name, value in labels.items())


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
