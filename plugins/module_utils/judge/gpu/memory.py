# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Memory: ECC errors, row remapping, page retirement."""

from __future__ import annotations

from typing import Any, Dict, List

from ...finding import Finding
from .base import Difference, GpuExpected, Judge, active

__all__ = ["judge_ecc", "judge_remapped_rows"]

_VOLATILE = "ecc.errors.uncorrected.volatile.total"
_AGGREGATE = "ecc.errors.uncorrected.aggregate.total"
_CORRECTED = "ecc.errors.corrected.volatile.total"
_RESET = "drain the node and reset the GPU; if it comes again report the host as faulty"
_HISTORY = "watch it; many of them, or new ones, are a reason to report the host as faulty"
_SKIP = "a GPU without ECC: set ecc to false in gpu_expected"


def judge_ecc(host: str, reading: Dict[str, Any], expected: GpuExpected, change: Difference) -> List[Finding]:
    judge = Judge(host, "ecc")
    found: List[Finding] = []
    for gpu in reading["gpus"]:
        mode = gpu["ecc.mode.current"]
        if not expected.ecc and not active(mode):
            continue
        if mode is None or (active(mode) and gpu[_VOLATILE] is None):
            found.append(judge.unknown("nvidia-smi does not tell about ECC errors", _SKIP, gpu=gpu["index"]))
        elif not active(mode):
            remedy = "nvidia-smi --ecc-config=1, then reset the GPU"
            found.append(
                judge.fail("ECC is off: memory errors go unnoticed", mode, "Enabled", remedy, gpu=gpu["index"])
            )
        else:
            found.extend(_errors(judge, gpu, change))
    return judge.or_ok(found, "no uncorrected error since the driver was loaded, none in the GPUs' history")


def _errors(judge: Judge, gpu: Dict[str, Any], change: Difference) -> List[Finding]:
    index, fresh, ever = gpu["index"], gpu[_VOLATILE], gpu[_AGGREGATE]
    found: List[Finding] = []
    if fresh:
        message = "%d uncorrected ECC errors since the driver was loaded" % fresh
        found.append(judge.fail(message, fresh, 0, _RESET, gpu=index, unit="errors"))
    elif ever:
        message = "%d uncorrected ECC errors in the GPU's history, none since the driver was loaded" % ever
        found.append(judge.warn(message, ever, 0, _HISTORY, gpu=index, unit="errors"))
    key = "%s/%s" % (index, _CORRECTED)
    grown = change.growth(key) if key in change.after else None
    if grown:
        message = "%d ECC errors were corrected during the run (%d s)" % (grown, change.seconds)
        found.append(judge.warn(message, grown, 0, _HISTORY, gpu=index, unit="errors"))
    return found


def judge_remapped_rows(host: str, reading: Dict[str, Any], _expected: GpuExpected) -> List[Finding]:
    judge = Judge(host, "remapped_rows")
    found: List[Finding] = []
    told = False
    for gpu in reading["gpus"]:
        rows, index = gpu["remapped_rows"] or {}, gpu["index"]
        told = told or any(value is not None for value in (*rows.values(), gpu["retired_pages.pending"]))
        if active(rows.get("remapped_rows.failure")):
            message, remedy = (
                "a memory row could not be remapped",
                "report the host as faulty: the GPU must be replaced",
            )
            found.append(judge.fail(message, "failure", "none", remedy, gpu=index))
        if active(rows.get("remapped_rows.pending")):
            message = "a memory row waits for a reset to be remapped; until then the bad row is in use"
            found.append(judge.fail(message, "pending", "none", "drain the node and reset the GPU", gpu=index))
        if active(gpu["retired_pages.pending"]):
            message = "memory pages wait for a reset to be retired; until then they are in use"
            found.append(judge.fail(message, "pending", "none", "drain the node and reset the GPU", gpu=index))
        bad = rows.get("remapped_rows.uncorrectable")
        if bad:
            message = "%s memory rows were remapped after uncorrectable errors" % bad
            found.append(judge.warn(message, bad, 0, _HISTORY, gpu=index, unit="rows"))
    return judge.or_ok(found, "no row or page waits to be replaced") if told else []
