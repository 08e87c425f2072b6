# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that is read about the GPUs of a machine, as JSON data. A part that could not be read has a reason instead."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterable, List, Sequence

from ..errors import ClusterError, MeasureError
from ..host.files import Root
from ..parse.nvidia_smi.nvlink import NvlinkGpu
from ..runner import Runner
from .fields import CLOCK_COUNTERS, ECC_COUNTERS
from .kernel import read_aer, read_kernel_log
from .nvlink_counters import counted
from .smi import NvidiaSmi

__all__ = ["PARTS", "counters_of", "read_gpus"]

PARTS = ("query", "remapped_rows", "fabric", "topology", "nvlink", "nvlink_errors", "aer", "kernel_log")
_NVIDIA_SMI_FAILS = ("not installed", "no end after", "of output")


def read_gpus(root: Root, runner: Runner, parts: Sequence[str], timeout: float) -> Dict[str, Any]:
    """Keys: at, boot_id, gpus, lost, the other parts by name, counters, unread (part -> reason), commands."""
    smi = NvidiaSmi(runner, timeout)
    taken = _Parts(parts)
    gpus, lost = taken.take("query", smi.query) or ([], ())
    rows = taken.take("remapped_rows", smi.remapped_rows) or {}
    for gpu in gpus:
        gpu["remapped_rows"] = rows.get(str(gpu["pci.bus_id"]))
    reading: Dict[str, Any] = {
        "at": time.time(),
        "boot_id": (root.read("/proc/sys/kernel/random/boot_id") or "").strip(),
        "gpus": gpus,
        "lost": list(lost),
        "fabric": taken.take("fabric", lambda: _fabric(smi)),
        "topology": taken.take("topology", lambda: _topology(smi)),
        "nvlink": taken.take("nvlink", lambda: _links(smi.nvlink("-s"))),
        "nvlink_errors": taken.take("nvlink_errors", lambda: _errors(smi.nvlink("-e"), gpus)),
        "aer": taken.take("aer", lambda: read_aer(root, gpus)),
        "kernel_log": taken.take("kernel_log", lambda: read_kernel_log(runner, timeout)),
        "not_offered": smi.not_offered,
        "warnings": smi.warnings,
        "unread": taken.unread,
        "commands": smi.commands,
    }
    reading["counters"] = counters_of(reading)
    return reading


class _Parts:
    """Reads what was asked for. Once nvidia-smi is missing or hangs it is not tried again for each further part."""

    def __init__(self, parts: Iterable[str]) -> None:
        self._parts = frozenset(parts)
        self._smi_fails = ""
        self.unread: Dict[str, str] = {}

    def take(self, part: str, read: Callable[[], Any]) -> Any:
        if part not in self._parts:
            return None
        if self._smi_fails and part != "kernel_log":
            self.unread[part] = self._smi_fails
            return None
        try:
            return read()
        except ClusterError as exc:
            self.unread[part] = str(exc)
            if part != "kernel_log" and any(words in str(exc) for words in _NVIDIA_SMI_FAILS):
                self._smi_fails = str(exc)
            return None


def _fabric(smi: NvidiaSmi) -> List[Dict[str, Any]]:
    report = smi.fabric()
    return [
        {
            "pci": gpu.pci,
            "state": gpu.state,
            "status": gpu.facts.get("status"),
            "clique_id": gpu.clique_id,
            "cluster_uuid": gpu.facts.get("cluster_uuid"),
            "health": gpu.health,
        }
        for gpu in report.gpus
    ]


def _topology(smi: NvidiaSmi) -> Dict[str, Any]:
    report = smi.topology()
    return {
        "gpus": report.gpus,
        "nics": report.nics,
        "gpu_links": report.links,
        "closest_nic": report.closest_nic,
        "cpu_affinity": report.cpu_affinity,
        "numa": report.numa,
    }


def _links(gpus: Sequence[NvlinkGpu]) -> List[Dict[str, Any]]:
    """JSON has no whole numbers as keys: links are a list of pairs in order."""
    return [
        {
            "index": gpu.index,
            "state": gpu.state,
            "up": sum(speed is not None for speed in gpu.links.values()),
            "down": sorted(link for link, speed in gpu.links.items() if speed is None),
            "gbps": sorted({speed for speed in gpu.links.values() if speed is not None}),
        }
        for gpu in gpus
    ]


def _errors(links: Sequence[NvlinkGpu], gpus: Sequence[Dict[str, Any]]) -> Dict[str, int]:
    """Only what counts errors; "1/17/CRC Errors" is of link 17 of GPU 1."""
    if gpus and len(links) < len(gpus):
        raise MeasureError("nvidia-smi nvlink -e: %d of %d GPUs in it" % (len(links), len(gpus)))
    return {
        "%d/%d/%s" % (gpu.index, link, name): value
        for gpu in links
        for link, counters in sorted(gpu.counters.items())
        for name, value in counters.items()
        if counted(name)
    }


def counters_of(reading: Dict[str, Any]) -> Dict[str, int]:
    """Whatever only grows while the driver is loaded, flat: what differs between two readings happened in between."""
    counters: Dict[str, int] = {}
    for gpu in reading["gpus"]:
        for name in (*ECC_COUNTERS, *CLOCK_COUNTERS):
            if isinstance(gpu.get(name), int):
                counters["%s/%s" % (gpu["index"], name)] = gpu[name]
    for address, totals in (reading["aer"] or {}).items():
        counters.update({"%s/aer_%s" % (address, kind): value for kind, value in totals.items()})
    counters.update(reading["nvlink_errors"] or {})
    return counters
