# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Fabric block of ``nvidia-smi -q``: is the GPU in an NVLink domain, and in which.

A domain is one (ClusterUUID, CliqueId) on all GPUs. A UUID of zeros is an NVSwitch machine on its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

__all__ = ["FABRIC_LINE", "FabricGpu", "FabricReport", "FabricText", "reading"]

_PAIR = re.compile(r"(\s*)([A-Z][\w ()/.-]*?)\s*:\s*(.*?)\s*$")
_GPU = re.compile(r"(\s*)GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d)\s*$")
_FABRIC = re.compile(r"(\s*)Fabric\s*$")
_SECTION = re.compile(r"(\s*)[A-Z][\w ()/.-]*$")

FABRIC_LINE = (
    r"\s*(?:GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:|Fabric\s*$|Health\s*$"
    r"|(?:State|Status|CliqueId|ClusterUUID|Bandwidth|Summary|Route Recovery in progress|Route Unhealthy"
    r"|Access Timeout Recovery|Incorrect Configuration|Processes|Attached GPUs)\s*:)"
)

_HEALTH = {
    "Summary": "summary",
    "Bandwidth": "bandwidth",
    "Route Recovery in progress": "route_recovery",
    "Route Unhealthy": "route_unhealthy",
    "Access Timeout Recovery": "access_timeout_recovery",
    "Incorrect Configuration": "incorrect_configuration",
}
_FACTS = {"State": "state", "Status": "status", "CliqueId": "clique_id", "ClusterUUID": "cluster_uuid"}
_GOOD_HEALTH = {"bandwidth": ("Full",), "summary": ("Healthy",)}
_NONE = ("N/A", "", "[N/A]")


@dataclass
class FabricGpu:
    pci: Optional[str]
    host: str
    facts: Dict[str, Optional[str]] = field(default_factory=dict)
    health: Dict[str, Optional[str]] = field(default_factory=dict)

    @property
    def clique_id(self) -> Optional[int]:
        value = self.facts.get("clique_id") or ""
        return int(value) if value.isdigit() else None

    @property
    def domain(self) -> Optional[Tuple[Optional[str], Optional[int]]]:
        if self.facts.get("cluster_uuid") is None and self.clique_id is None:
            return None
        return self.facts.get("cluster_uuid"), self.clique_id

    @property
    def state(self) -> Optional[str]:
        return self.facts.get("state")


@dataclass(frozen=True)
class FabricReport:
    """``grepped``: only the lines of the Fabric block were kept, without the GPUs that they belong to."""

    gpus: Tuple[FabricGpu, ...]
    whole_query: bool
    grepped: bool

    @property
    def same_domain(self) -> Optional[bool]:
        domains = {gpu.domain for gpu in self.gpus if gpu.domain is not None}
        return len(domains) == 1 if domains else None

    @property
    def mnnvl(self) -> Optional[bool]:
        uuids = [gpu.facts.get("cluster_uuid") for gpu in self.gpus]
        known = [uuid for uuid in uuids if uuid]
        return any(set(uuid) - set("0-") for uuid in known) if known else None

    @property
    def ok(self) -> Optional[bool]:
        return None if self.failure == "fabric_not_supported" else self.failure is None

    @property
    def failure(self) -> Optional[str]:
        states = [gpu.state for gpu in self.gpus if "state" in gpu.facts]
        if states and all(state in (None, "Not Supported") for state in states):
            return "fabric_not_supported"
        if any(state in ("In Progress", "Not Started") for state in states):
            return "fabric_manager_not_ready"
        for gpu in self.gpus:
            failure = _gpu_failure(gpu)
            if failure:
                return failure
        return "different_clique" if self.same_domain is False else None


def _gpu_failure(gpu: FabricGpu) -> Optional[str]:
    status = gpu.facts.get("status")
    if "state" in gpu.facts and gpu.state != "Completed":
        return "fabric_error: %s" % gpu.state
    if status is not None and status != "Success":
        return "fabric_error: %s" % status
    if _yes(gpu.health.get("route_recovery")) or _yes(gpu.health.get("access_timeout_recovery")):
        return "fabric_recovering"
    for key, value in gpu.health.items():
        good = _GOOD_HEALTH.get(key)
        if value is not None and (value not in good if good else _yes(value)):
            return "fabric_unhealthy: %s %s" % (key, value)
    return None


def _yes(value: Optional[str]) -> bool:
    return value is not None and value not in ("False", "No", "None", "Not Supported")


class FabricText:
    """Takes lines in order. The block ends at the first line that is not indented deeper than its heading."""

    def __init__(self) -> None:
        self.gpus: List[FabricGpu] = []
        self._depth: Optional[int] = None
        self._headed = False
        self._other = False

    def take(self, text: str, host: str) -> None:
        gpu, fabric = _GPU.match(text), _FABRIC.match(text)
        if gpu:
            self._headed, self._depth = True, None
            self.gpus.append(FabricGpu(gpu.group(2), host))
        elif fabric:
            self._depth = len(fabric.group(1))
            if not self._headed:
                self.gpus.append(FabricGpu(None, host))
        else:
            self._value(text, host)

    def _value(self, text: str, host: str) -> None:
        pair = _PAIR.match(text)
        indent = len(text) - len(text.lstrip())
        if self._headed and (self._depth is None or indent <= self._depth):
            self._depth, self._other = None, True
            return
        if pair is None:
            return
        key, value = pair.group(2), pair.group(3)
        known: Optional[str] = None if value in _NONE else value
        if key in _FACTS:
            self._gpu_for(host, _FACTS[key]).facts[_FACTS[key]] = known
        elif key in _HEALTH and self.gpus:
            self.gpus[-1].health[_HEALTH[key]] = known

    def _gpu_for(self, host: str, fact: str) -> FabricGpu:
        """Where no line names the GPU, a fact that comes again begins the next one."""
        if not self.gpus or (not self._headed and (fact in self.gpus[-1].facts or self.gpus[-1].host != host)):
            self.gpus.append(FabricGpu(None, host))
        return self.gpus[-1]

    def other_section(self) -> None:
        self._other = True

    def report(self) -> FabricReport:
        return FabricReport(tuple(self.gpus), self._other, not self._headed)


def reading(report: FabricReport) -> Dict[str, Any]:
    command = "-q fabric (grep)" if report.grepped else ("-q" if report.whole_query else "-q fabric")
    result: Dict[str, Any] = {
        "command": command,
        "gpus": [_gpu_reading(gpu) for gpu in report.gpus],
        "ok": report.ok,
        "failure": report.failure,
    }
    if report.mnnvl is not None:
        result["mnnvl"] = report.mnnvl
    if report.same_domain is not None:
        result["same_nvlink_domain"] = report.same_domain
    hosts = {
        gpu.host: {"clique_id": gpu.clique_id, "cluster_uuid": gpu.facts.get("cluster_uuid")} for gpu in report.gpus
    }
    if any(hosts) and (report.grepped or len(hosts) > 1):
        result["hosts"] = hosts
    return result


def _gpu_reading(gpu: FabricGpu) -> Dict[str, Any]:
    return {
        "pci": gpu.pci,
        "state": gpu.state,
        "status": gpu.facts.get("status"),
        "clique_id": gpu.clique_id,
        "cluster_uuid": gpu.facts.get("cluster_uuid"),
        "health": gpu.health,
    }
