# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi nvlink -s`` or ``-e`` as a text that somebody has: which links are down, and what was counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..gpu.nvlink_counters import counted
from .nvidia_smi.nvlink import TOOL, NvlinkGpu, parse_nvidia_smi_nvlink
from .text import Ending

__all__ = ["NvlinkReport", "parse_nvlink", "reading"]


@dataclass(frozen=True)
class NvlinkReport:
    """``cut``: the last line has no end."""

    gpus: Tuple[NvlinkGpu, ...]
    cut: bool

    @property
    def inactive(self) -> List[str]:
        found = []
        for gpu in self.gpus:
            found += ["GPU %d link %d" % (gpu.index, link) for link, speed in gpu.links.items() if speed is None]
            found += ["GPU %d, all links" % gpu.index] if gpu.state == "all_inactive" else []
        return found

    @property
    def errors(self) -> Dict[str, Dict[str, int]]:
        """Counts of errors that are not 0, by link."""
        found = {}
        for gpu in self.gpus:
            for link, counters in gpu.counters.items():
                some = {name: count for name, count in counters.items() if count and counted(name)}
                if some:
                    found["GPU %d link %d" % (gpu.index, link)] = some
        return found

    @property
    def partial(self) -> Optional[str]:
        if self.cut:
            return "the last line was cut"
        bare = [gpu for gpu in self.gpus if gpu.state == "links" and not gpu.links and not gpu.counters]
        if bare:
            return "nothing is said of GPU %d" % bare[0].index
        # A link that is down has a line, too; so GPUs of one kind have the same number of lines.
        numbers = {len(gpu.links or gpu.counters) for gpu in self.gpus if gpu.state == "links"}
        return "GPUs with different numbers of links" if len(numbers) > 1 else None

    @property
    def failure(self) -> Optional[str]:
        if self.inactive:
            return "link_down: %s" % ", ".join(self.inactive)
        if self.partial:
            return "partial_output: %s" % self.partial
        if self.errors:
            return "link_errors: %s (since the driver was loaded; only growth tells)" % ", ".join(self.errors)
        return None if any(gpu.state == "links" for gpu in self.gpus) else "no_nvlink"

    @property
    def ok(self) -> Optional[bool]:
        """None for counts: how many of them are new is not in one text. None, too, for GPUs without NVLink."""
        word = (self.failure or "").partition(":")[0]
        return {"": True, "link_errors": None, "no_nvlink": None}.get(word, False)


def parse_nvlink(lines: Iterable[str]) -> NvlinkReport:
    ending = Ending(lines)
    gpus = parse_nvidia_smi_nvlink(ending)
    return NvlinkReport(gpus, ending.cut)


def reading(report: NvlinkReport) -> Dict[str, Any]:
    return {
        "tool": TOOL,
        "gpus": len(report.gpus),
        "links": {str(gpu.index): {str(link): speed for link, speed in gpu.links.items()} for gpu in report.gpus},
        "inactive": report.inactive,
        "errors": report.errors,
        "ok": report.ok,
        "failure": report.failure,
    }
