# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi topo -m``: which link joins two GPUs, and how near a NIC is.

The header may be underlined with escape codes even in a pipe; rows of NICs are shorter; affinity cells may be empty.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

__all__ = ["TOPOLOGY_LINE", "TopologyReport", "TopologyText", "reading"]

# From near to far.
_NEAR_TO_FAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
_LINK = re.compile(r"X|NV\d+|PIX|PXB|PHB|NODE|SYS|N/A|PIX\d*")
_HEADER_NAME = re.compile(r"GPU NUMA ID|(?:CPU|NUMA) Affinity|GPU\d+|NIC\d+|[a-z]\w*_\w+")
_DEVICE = re.compile(r"(?:GPU\d+|NIC\d+|[a-z]\w*_\w+)$")
_LEGEND = re.compile(r"\s*(NIC\d+): (\S+)")

TOPOLOGY_LINE = (
    r"\s*(?:GPU\d+\s+(?:GPU|NIC|[a-z]\w*_\d|CPU)|(?:GPU\d+|NIC\d+|[a-z]\w*_\w+)\s+(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS)\s"
    r"|NIC\d+: \S)"
)


@dataclass(frozen=True)
class TopologyReport:
    """``links``: "0-1" -> "NV18". ``closest_nic``: the nearest way from a GPU to any NIC."""

    gpus: int
    nics: Dict[str, str]
    links: Dict[str, str]
    cpu_affinity: Dict[str, str]
    numa: Dict[str, Any]
    closest_nic: Dict[str, str]
    missing_rows: Tuple[str, ...]

    @property
    def failure(self) -> Optional[str]:
        return "partial_output: no row for %s" % ", ".join(self.missing_rows) if self.missing_rows else None

    @property
    def ok(self) -> bool:
        return self.failure is None and self.gpus > 0


@dataclass
class TopologyText:
    columns: List[str] = field(default_factory=list)
    rows: Dict[str, Dict[str, str]] = field(default_factory=dict)
    legend: Dict[str, str] = field(default_factory=dict)

    def take(self, text: str) -> None:
        legend = _LEGEND.match(text)
        if legend:
            self.legend[legend.group(1)] = legend.group(2)
            return
        cells = [cell.strip() for cell in text.split("\t")] if "\t" in text else text.split()
        first = next((cell for cell in cells if cell), "")
        if not self.columns or (first == self.columns[0] and _LINK.fullmatch(_second(cells)) is None):
            self.columns = self.columns or _HEADER_NAME.findall(text)
            return
        while cells and cells[0] == "":
            cells.pop(0)
        if cells and _DEVICE.match(cells[0]):
            self.rows[cells[0]] = dict(zip(self.columns, cells[1:]))  # noqa: B905  (Python 3.9)

    def report(self) -> TopologyReport:
        devices = [name for name in self.columns if _DEVICE.match(name)]
        gpus = [name for name in devices if name.startswith("GPU")]
        nics = [name for name in devices if not name.startswith("GPU")]
        return TopologyReport(
            gpus=len(gpus),
            nics={name: self.legend.get(name, name) for name in nics},
            links=self._links(gpus),
            cpu_affinity=self._values(gpus, "CPU Affinity"),
            numa={gpu: _whole(value) for gpu, value in self._values(gpus, "NUMA Affinity").items()},
            closest_nic=self._closest(gpus, nics),
            missing_rows=tuple(name for name in devices if name not in self.rows),
        )

    def _links(self, gpus: List[str]) -> Dict[str, str]:
        links: Dict[str, str] = {}
        for position, start in enumerate(gpus):
            for end in gpus[position + 1 :]:
                link = self.rows.get(start, {}).get(end) or self.rows.get(end, {}).get(start)
                if link:
                    links["%s-%s" % (start[3:], end[3:])] = link
        return links

    def _values(self, gpus: List[str], column: str) -> Dict[str, str]:
        found = {gpu: self.rows.get(gpu, {}).get(column, "") for gpu in gpus}
        return {gpu: value for gpu, value in found.items() if value not in ("", "N/A")}

    def _closest(self, gpus: List[str], nics: List[str]) -> Dict[str, str]:
        closest: Dict[str, str] = {}
        for gpu in gpus:
            links = [self.rows.get(gpu, {}).get(nic, "") for nic in nics]
            near = [link for link in _NEAR_TO_FAR if link in links]
            if near:
                closest[gpu] = near[0]
        return closest


def _second(cells: List[str]) -> str:
    filled = [cell for cell in cells if cell]
    return filled[1] if len(filled) > 1 else ""


def _whole(value: str) -> Any:
    """Grace has lists of NUMA nodes: "0,2-17" stays text."""
    return int(value) if value.isdigit() else value


def reading(report: TopologyReport) -> Dict[str, Any]:
    return {
        "command": "topo -m",
        "gpus": report.gpus,
        "nics": report.nics,
        "gpu_links": report.links,
        "cpu_affinity": report.cpu_affinity,
        "numa": report.numa,
        "closest_nic": report.closest_nic,
        "ok": report.ok,
        "failure": report.failure,
    }
