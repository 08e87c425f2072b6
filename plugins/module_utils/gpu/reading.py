# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All that is read about the GPUs of a machine, as JSON data. A part that could not be read has a reason instead."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from ..errors import ClusterError, MeasureError
from ..host.files import Root
from ..parse.kernel_log import KernelLog, parse_kernel_log
from ..parse.nvidia_smi.nvlink import NvlinkGpu
from ..runner import Runner
from .fields import CLOCK_COUNTERS, ECC_COUNTERS
from .nvlink_counters import counted
from .smi import NvidiaSmi

__all__ = ["PARTS", "counters_of", "read_gpus", "sysfs_address"]

PARTS = ("query", "remapped_rows", "fabric", "topology", "nvlink", "nvlink_errors", "aer", "kernel_log")
_KERNEL_LOG = (
    ("journalctl", "--dmesg", "--boot", "--no-pager", "--quiet", "--output=short-iso"),
    ("dmesg",),
)
_AER = {"correctable": "TOTAL_ERR_COR", "nonfatal": "TOTAL_ERR_NONFATAL", "fatal": "TOTAL_ERR_FATAL"}
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
        "aer": taken.take("aer", lambda: _aer(root, gpus)),
        "kernel_log": taken.take("kernel_log", lambda: _kernel_log(runner, timeout)),
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


def sysfs_address(bus_id: str) -> str:
    """00000000:07:00.0 of nvidia-smi is 0000:07:00.0 in sysfs."""
    domain, _colon, rest = bus_id.lower().partition(":")
    return "%s:%s" % (domain[-4:], rest)


def _aer(root: Root, gpus: Sequence[Dict[str, Any]]) -> Dict[str, Dict[str, int]]:
    """PCIe errors since boot, by the address in sysfs. A kernel that leaves AER to the firmware has no such files."""
    found: Dict[str, Dict[str, int]] = {}
    for gpu in gpus:
        address = sysfs_address(str(gpu["pci.bus_id"]))
        totals: Dict[str, int] = {}
        for kind, word in _AER.items():
            text = root.read("/sys/bus/pci/devices/%s/aer_dev_%s" % (address, kind))
            total = _total(text, word)
            if total is None:
                raise MeasureError("%s: the kernel shows no PCIe error counters (aer_dev_%s)" % (address, kind))
            totals[kind] = total
        found[address] = totals
    if not found:
        raise MeasureError("no GPU whose PCIe error counters could be read")
    return found


def _total(text: Optional[str], word: str) -> Optional[int]:
    for line in (text or "").splitlines():
        name, _blank, value = line.strip().rpartition(" ")
        if name == word and value.isdigit():
            return int(value)
    return None


def _kernel_log(runner: Runner, timeout: float) -> Dict[str, Any]:
    """Of the journal, or of the kernel's own buffer where there is no journal. The one that begins with the boot."""
    reasons: List[str] = []
    best: Optional[Tuple[str, KernelLog]] = None
    for argv in _KERNEL_LOG:
        result = runner.run(argv, timeout=timeout)
        if result.rc != 0:
            reasons.append("%s: %s" % (argv[0], (result.stderr.strip() or "rc %d" % result.rc).splitlines()[-1]))
            continue
        log = parse_kernel_log(result.stdout.splitlines())
        if not log.lines:
            reasons.append("%s: it shows no line" % argv[0])
            continue
        if best is None or log.whole or len(log.events) > len(best[1].events):
            best = (argv[0], log)
        if log.whole:
            break
    if best is None:
        raise MeasureError("the kernel's log cannot be read (%s); this needs root" % "; ".join(reasons))
    source, log = best
    events = [dict(vars(event)) for event in log.events]
    return {"source": source, "whole": log.whole, "begins": log.begins, "lines": log.lines, "events": events}


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
