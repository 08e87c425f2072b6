# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVLink: links that are up, errors that they counted, and the fabric that they belong to."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Set, Tuple

from ...finding import Finding
from ...gpu.nvlink_counters import severity_of
from ...parse.nvidia_smi.fabric import FabricGpu, FabricReport
from .base import Difference, GpuExpected, Judge

__all__ = ["judge_fabric", "judge_nvlink", "judge_nvlink_errors"]

_LINK = "look for Xid 74 or 144 to 150 in the kernel's log; drain and reset the GPU; then report the host as faulty"
_EXPECT = "say how many links a GPU has: nvlinks in the recipe's gpu, or in gpu_expected (0 for none)"
_CABLE = "compare both ends of the link; if it goes on report the host as faulty"
_FABRIC = (
    "NVSwitch machine: is nvidia-fabricmanager running? NVL72: the fabric is managed from the switch trays; "
    "boot the node, then report the host as faulty"
)


def judge_nvlink(host: str, reading: Dict[str, Any], expected: GpuExpected) -> List[Finding]:
    judge = Judge(host, "nvlink")
    gpus = reading["nvlink"] or []
    wanted = expected.nvlinks
    if len(gpus) < len(reading["gpus"]):
        return [judge.unknown("nvidia-smi nvlink -s tells of %d of the GPUs" % len(gpus), _LINK, expected=wanted)]
    if wanted is None:
        if any(gpu["up"] for gpu in gpus):
            wanted = max(gpu["up"] + len(gpu["down"]) for gpu in gpus)
        elif any(gpu["state"] != "none" for gpu in gpus):
            return [judge.unknown("no NVLink is up, and nothing says whether one should be", _EXPECT)]
        else:
            return []
    found = [_links(judge, gpu, wanted) for gpu in gpus if gpu["up"] < wanted]
    speeds = sorted({speed for gpu in gpus for speed in gpu["gbps"]})
    if len(speeds) > 1:
        text = ", ".join("%g" % speed for speed in speeds)
        found.append(judge.warn("links of different speed: %s GB/s" % text, speeds, speeds[-1:], _CABLE, unit="GB/s"))
    return judge.or_ok(found, "%d links up on each GPU" % wanted, wanted, wanted)


def _links(judge: Judge, gpu: Dict[str, Any], wanted: int) -> Finding:
    which = "; down: %s" % ", ".join(str(link) for link in gpu["down"]) if gpu["down"] else ""
    message = "%d of %d NVLinks up%s" % (gpu["up"], wanted, which)
    return judge.fail(message, gpu["up"], wanted, _LINK, gpu=gpu["index"], unit="links")


def judge_nvlink_errors(
    host: str, reading: Dict[str, Any], _expected: GpuExpected, change: Difference
) -> List[Finding]:
    """What grew during the run is judged by the table; what stood there before is at most a warning."""
    judge = Judge(host, "nvlink_errors")
    if not any(gpu["up"] for gpu in reading["nvlink"] or []):
        return []
    counters = reading["nvlink_errors"] or {}
    if not counters:
        message = "nvidia-smi nvlink -e shows no error counter"
        return [judge.unknown(message, "see that the driver and nvidia-smi are of one version")]
    found = [finding for finding in (_grown(judge, key, change) for key in counters) if finding is not None]
    if change.reason:
        found.append(judge.unknown("no difference over the run: %s" % change.reason, "repeat the run"))
    over = "during the run (%d s)" % change.seconds if change.before is not None else "since the driver was loaded"
    return judge.or_ok(found, "no error counter of a link grew %s" % over)


def _grown(judge: Judge, key: str, change: Difference) -> Optional[Finding]:
    gpu, link, name = key.split("/", 2)
    total, grown = change.after[key], change.growth(key)
    where: Dict[str, Any] = {"gpu": int(gpu), "port": "link %s" % link, "unit": "errors"}
    if grown:
        message = "link %s, %s: %d during the run (%d s)" % (link, name, grown, change.seconds)
        return judge.bad(severity_of(name), message, grown, 0, _CABLE, **where)
    if total:
        text = "none of them during the run" if grown == 0 else "when is not known"
        message = "link %s, %s: %d since the driver was loaded, %s" % (link, name, total, text)
        return judge.warn(message, total, 0, _CABLE, **where)
    return None


def judge_fabric(host: str, reading: Dict[str, Any], expected: GpuExpected) -> List[Finding]:
    """Each GPU has to have joined, and all of them the same domain: one cluster UUID and one clique."""
    judge = Judge(host, "fabric")
    if expected.fabric == "none":
        return []
    gpus = [_fabric_gpu(data) for data in reading["fabric"] or []]
    if len(gpus) < len(reading["gpus"]):
        return [judge.unknown("nvidia-smi -q tells the fabric of %d of the GPUs" % len(gpus), _FABRIC)]
    states = [FabricReport((gpu,), True, False) for gpu in gpus]
    if expected.fabric is None and all(state.failure == "fabric_not_supported" for state in states):
        return []
    found = [
        judge.fail("%s: %s" % (gpu.pci, state.failure), gpu.state, "Completed", _FABRIC, gpu=index)
        for index, (gpu, state) in enumerate(zip(gpus, states))  # noqa: B905  (Python 3.9)
        if state.failure is not None
    ]
    if found:
        return found
    domains = {_domain(gpu) for gpu in gpus}
    names = sorted("%s.%s" % domain for domain in domains)
    if len(domains) > 1:
        message = "the GPUs are in %d NVLink partitions: %s" % (len(domains), ", ".join(names))
        return [judge.fail(message, names, "one cluster UUID and clique", _FABRIC)]
    if expected.fabric == "mnnvl" and not any(_spans_machines(gpu) for gpu in gpus):
        message = "no multi-node domain: the cluster UUID is %s" % (gpus[0].facts.get("cluster_uuid") or "not shown")
        return [judge.fail(message, names, "a cluster UUID that is not zero", _FABRIC)]
    return [judge.ok("in the NVLink domain %s" % ", ".join(names), names)]


def _fabric_gpu(data: Dict[str, Any]) -> FabricGpu:
    clique = data["clique_id"]
    facts = {
        "state": data["state"],
        "status": data["status"],
        "clique_id": None if clique is None else str(clique),
        "cluster_uuid": data["cluster_uuid"],
    }
    return FabricGpu(data["pci"], "", facts, dict(data["health"]))


def _domain(gpu: FabricGpu) -> Tuple[Optional[str], Optional[int]]:
    return gpu.facts.get("cluster_uuid"), gpu.clique_id


def _spans_machines(gpu: FabricGpu) -> bool:
    digits: Set[str] = set(gpu.facts.get("cluster_uuid") or "0")
    return bool(digits - set("0-"))
