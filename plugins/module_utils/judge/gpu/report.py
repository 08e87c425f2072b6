# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of ``check_gpu``: a row for each GPU, and what counted up during the run."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional

from ...finding import Finding, Severity
from ...gpu.fields import CLOCK_REASONS
from .base import Difference, active

__all__ = ["gpu_report"]


def gpu_report(
    reading: Dict[str, Any], findings: Iterable[Finding], before: Optional[Mapping[str, Any]] = None
) -> Dict[str, Any]:
    change = Difference.between(before, reading)
    worst: Dict[int, Severity] = {}
    for finding in findings:
        if finding.subject.gpu is not None:
            index = finding.subject.gpu
            worst[index] = max(worst.get(index, Severity.OK), finding.severity)
    links = {gpu["index"]: gpu["up"] for gpu in reading["nvlink"] or []}
    fabric = {str(gpu["pci"]).lower(): gpu for gpu in reading["fabric"] or []}
    growth = {key: change.growth(key) for key in change.after}
    return {
        "gpus": [
            _row(gpu, links.get(gpu["index"]), fabric.get(str(gpu["pci.bus_id"]).lower()), worst)
            for gpu in reading["gpus"]
        ],
        "lost": reading["lost"],
        "topology": reading["topology"],
        "kernel_log": reading["kernel_log"],
        "run_seconds": None if change.before is None else round(change.seconds, 1),
        "grown": {key: value for key, value in growth.items() if value},
        "unread": reading["unread"],
        "commands": reading["commands"],
    }


def _row(
    gpu: Dict[str, Any], links: Optional[int], fabric: Optional[Dict[str, Any]], worst: Mapping[int, Severity]
) -> Dict[str, Any]:
    reasons: List[str] = [name.rpartition(".")[2] for name in CLOCK_REASONS if active(gpu[name])]
    domain = None
    if fabric is not None and fabric["cluster_uuid"] is not None:
        domain = "%s.%s" % (fabric["cluster_uuid"], fabric["clique_id"])
    return {
        "index": gpu["index"],
        "name": gpu["name"],
        "uuid": gpu["uuid"],
        "pci": gpu["pci.bus_id"],
        "driver": gpu["driver_version"],
        "state": worst.get(gpu["index"], Severity.OK).name.lower(),
        "temperature_c": gpu["temperature.gpu"],
        "power_w": gpu["power.draw"],
        "clock_mhz": gpu["clocks.sm"],
        "clock_max_mhz": gpu["clocks.max.sm"],
        "clock_reasons": reasons,
        "pcie_gen": gpu["pcie.link.gen.current"],
        "pcie_gen_max": gpu["pcie.link.gen.max"],
        "pcie_width": gpu["pcie.link.width.current"],
        "pcie_width_max": gpu["pcie.link.width.max"],
        "ecc_uncorrected": gpu["ecc.errors.uncorrected.volatile.total"],
        "ecc_uncorrected_ever": gpu["ecc.errors.uncorrected.aggregate.total"],
        "nvlinks_up": links,
        "fabric_state": None if fabric is None else fabric["state"],
        "nvlink_domain": domain,
    }
