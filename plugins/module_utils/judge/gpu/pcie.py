# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PCIe: width and speed of the link, errors that the kernel counted."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ...finding import Finding, Severity
from .base import Difference, GpuExpected, Judge, active

__all__ = ["judge_aer", "judge_pcie"]

_SLOT = "reseat the board or its riser, look at the slot's settings; if it stays report the host as faulty"
_AER = "look at the kernel's log for the AER lines; reseat the board; if it goes on report the host as faulty"


def judge_pcie(host: str, reading: Dict[str, Any], expected: GpuExpected) -> List[Finding]:
    judge = Judge(host, "pcie")
    found: List[Finding] = []
    for gpu in reading["gpus"]:
        width, widest = gpu["pcie.link.width.current"], expected.pcie_width or gpu["pcie.link.width.max"]
        speed, fastest = gpu["pcie.link.gen.current"], expected.pcie_gen or gpu["pcie.link.gen.max"]
        if None in (width, widest, speed, fastest):
            found.append(judge.unknown("nvidia-smi does not tell about the PCIe link", _SLOT, gpu=gpu["index"]))
            continue
        if width < widest:
            message = "PCIe x%d instead of x%d" % (width, widest)
            found.append(judge.fail(message, width, widest, _SLOT, gpu=gpu["index"], unit="lanes"))
        if speed < fastest:
            found.append(_slow(judge, gpu, speed, fastest))
    links = sorted({"gen %s x%s" % _link(gpu) for gpu in reading["gpus"]})
    return judge.or_ok(found, "PCIe %s" % ", ".join(links)) if links else []


def _link(gpu: Dict[str, Any]) -> Any:
    return gpu["pcie.link.gen.current"], gpu["pcie.link.width.current"]


def _slow(judge: Judge, gpu: Dict[str, Any], speed: int, fastest: int) -> Finding:
    """An idle GPU may lower the speed to save power; the width it keeps."""
    message = "PCIe generation %d instead of %d" % (speed, fastest)
    idle = gpu["pstate"] != "P0" or active(gpu["clocks_event_reasons.gpu_idle"])
    if idle:
        message += ", while idle (that saves power): measure it under load"
    severity = Severity.WARN if idle else Severity.FAIL
    return judge.bad(severity, message, speed, fastest, _SLOT, gpu=gpu["index"], unit="generation")


def judge_aer(host: str, reading: Dict[str, Any], _expected: GpuExpected, change: Difference) -> List[Finding]:
    judge = Judge(host, "aer")
    found: List[Finding] = []
    for address, totals in sorted((reading["aer"] or {}).items()):
        for kind, total in sorted(totals.items()):
            finding = _counted(judge, address, kind, total, change)
            if finding is not None:
                found.append(finding)
    return judge.or_ok(found, "no PCIe error of weight since boot")


def _counted(judge: Judge, address: str, kind: str, total: int, change: Difference) -> Optional[Finding]:
    grown = change.growth("%s/aer_%s" % (address, kind))
    if grown:
        message = "%s: %d %s PCIe errors during the run (%d s)" % (address, grown, kind, change.seconds)
        severity = Severity.WARN if kind == "correctable" else Severity.FAIL
        return judge.bad(severity, message, grown, 0, _AER, port=address, unit="errors")
    if total and kind != "correctable":
        message = "%s: %d %s PCIe errors since boot" % (address, total, kind)
        return judge.warn(message, total, 0, _AER, port=address, unit="errors")
    return None
