# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clocks: why a GPU runs slower than it could. Some reasons are faults, others are the GPU's way of working."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ...finding import Finding, Severity
from ...gpu.fields import CLOCK_COUNTERS, CLOCK_REASONS
from .base import Difference, GpuExpected, Judge, active

__all__ = ["REASONS", "Reason", "judge_clocks"]


class Reason(NamedTuple):
    """``severity`` OK: normal. The source of all rows: nvidia-smi(1), section on clocks event reasons."""

    name: str
    severity: Severity
    meaning: str
    remedy: str


_COOLING = "look at fans, coolant, inlet temperature and dust"
_POWER = "look at the power supplies and at the rack's power limit"

REASONS: Tuple[Reason, ...] = (
    Reason("gpu_idle", Severity.OK, "nothing runs on the GPU", ""),
    Reason("applications_clocks_setting", Severity.OK, "somebody set the clocks", ""),
    Reason("sw_power_cap", Severity.OK, "the power limit is reached, as under any full load", ""),
    Reason("sync_boost", Severity.OK, "the GPU keeps pace with others of its group", ""),
    Reason("hw_thermal_slowdown", Severity.FAIL, "too hot: clocks are at half or less", _COOLING),
    Reason("hw_power_brake_slowdown", Severity.FAIL, "the system pulled the power brake", _POWER),
    Reason("sw_thermal_slowdown", Severity.FAIL, "hotter than the driver lets it be", _COOLING),
    Reason("hw_slowdown", Severity.FAIL, "slowed down by hardware: heat or power", _COOLING + "; " + _POWER),
)
_BY_NAME: Dict[str, Reason] = {reason.name: reason for reason in REASONS}
_UNTOLD = "see that the driver and nvidia-smi are of one version"


def judge_clocks(host: str, reading: Dict[str, Any], _expected: GpuExpected, change: Difference) -> List[Finding]:
    judge = Judge(host, "clocks")
    found: List[Finding] = []
    normal = set()
    for gpu in reading["gpus"]:
        states = {name.rpartition(".")[2]: active(gpu[name]) for name in CLOCK_REASONS}
        if all(states[name] is None for name, reason in _BY_NAME.items() if reason.severity is not Severity.OK):
            message = "nvidia-smi does not tell why clocks are as they are"
            found.append(judge.unknown(message, _UNTOLD, gpu=gpu["index"]))
            continue
        found.extend(_now(judge, gpu, [name for name, state in states.items() if state]))
        found.extend(_during(judge, gpu, change))
        normal |= {name for name, state in states.items() if state and _BY_NAME[name].severity is Severity.OK}
    message = "no GPU is slowed down by heat or power (now: %s)" % (", ".join(sorted(normal)) or "full clocks")
    return judge.or_ok(found, message) if reading["gpus"] else []


def _now(judge: Judge, gpu: Dict[str, Any], names: List[str]) -> List[Finding]:
    """hw_slowdown is the sum of the two other hardware reasons: told only when it stands alone."""
    faults = [name for name in names if _BY_NAME[name].severity is not Severity.OK]
    if len(faults) > 1 and {"hw_thermal_slowdown", "hw_power_brake_slowdown"} & set(faults):
        faults = [name for name in faults if name != "hw_slowdown"]
    return [
        judge.bad(
            _BY_NAME[name].severity,
            "%s: %s (%s MHz of %s, %s degrees)"
            % (name, _BY_NAME[name].meaning, gpu["clocks.sm"], gpu["clocks.max.sm"], gpu["temperature.gpu"]),
            name,
            "not active",
            _BY_NAME[name].remedy,
            gpu=gpu["index"],
        )
        for name in faults
    ]


def _during(judge: Judge, gpu: Dict[str, Any], change: Difference) -> List[Finding]:
    """Hardware slowdown during the run is a fault even when it is over; the driver's own is a warning then."""
    found = []
    for field in CLOCK_COUNTERS:
        name = field.rpartition(".")[2]
        key = "%s/%s" % (gpu["index"], field)
        grown: Optional[int] = change.growth(key) if key in change.after else None
        if not grown:
            continue
        message = "%s: slowed down for %.3f s of the run's %d s" % (name, grown / 1e6, change.seconds)
        severity = Severity.WARN if name.startswith("sw_") else Severity.FAIL
        found.append(judge.bad(severity, message, grown, 0, _BY_NAME[name].remedy, gpu=gpu["index"], unit="us"))
    return found
