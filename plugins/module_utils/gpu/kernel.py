# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kernel knows of GPUs beside their driver: PCIe errors in sysfs, Xid in its log."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..errors import MeasureError
from ..host.files import Root
from ..parse.kernel_log import KernelLog, parse_kernel_log
from ..runner import Runner

__all__ = ["read_aer", "read_kernel_log", "sysfs_address"]

_KERNEL_LOG = (
    ("journalctl", "--dmesg", "--boot", "--no-pager", "--quiet", "--output=short-iso"),
    ("dmesg",),
)
_AER = {"correctable": "TOTAL_ERR_COR", "nonfatal": "TOTAL_ERR_NONFATAL", "fatal": "TOTAL_ERR_FATAL"}


def sysfs_address(bus_id: str) -> str:
    """00000000:07:00.0 of nvidia-smi is 0000:07:00.0 in sysfs."""
    domain, _colon, rest = bus_id.lower().partition(":")
    return "%s:%s" % (domain[-4:], rest)


def read_aer(root: Root, gpus: Sequence[Dict[str, Any]]) -> Dict[str, Dict[str, int]]:
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


def read_kernel_log(runner: Runner, timeout: float) -> Dict[str, Any]:
    """Of the journal, or of the kernel's own buffer where there is no journal. The one that begins with the boot."""
    reasons: List[str] = []
    best: Optional[Tuple[str, KernelLog]] = None
    for argv in _KERNEL_LOG:
        result = runner.run(argv, timeout=timeout)
        if result.rc != 0:
            reasons.append("%s: %s" % (argv[0], (result.stderr.strip() or "rc %d" % result.rc).splitlines()[-1]))
            continue
        log = parse_kernel_log(result.stdout.splitlines())
        if not log.recognised:
            reasons.append("%s: it shows no line of the kernel" % argv[0])
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
