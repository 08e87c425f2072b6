# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The topology matrix: which link joins the GPUs, and how near a NIC is."""

from __future__ import annotations

from typing import Any, Dict, List

from ...finding import Finding
from .base import GpuExpected, Judge

__all__ = ["NEAR_TO_FAR", "judge_topology"]

NEAR_TO_FAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
_LINKS = "look at the NVLinks of these GPUs, and at the fabric"
_SLOTS = "look at the slots of the NICs and at the machine's PCIe settings; a virtual machine needs its host's topology"


def judge_topology(host: str, reading: Dict[str, Any], expected: GpuExpected) -> List[Finding]:
    """Judged only where something is expected: many layouts are right."""
    judge = Judge(host, "topology")
    matrix = reading["topology"]
    if (expected.gpu_link is None and expected.nic_link is None) or matrix is None:
        return []
    found: List[Finding] = []
    links = matrix["gpu_links"]
    wrong = {pair: link for pair, link in links.items() if expected.gpu_link not in (None, link)}
    if expected.gpu_link is not None and not links and matrix["gpus"] > 1:
        found.append(judge.unknown("the matrix shows no link between GPUs", _LINKS, expected=expected.gpu_link))
    if wrong:
        text = ", ".join("%s %s" % item for item in sorted(wrong.items())[:8])
        message = "%d of %d pairs of GPUs are not joined by %s: %s" % (len(wrong), len(links), expected.gpu_link, text)
        found.append(judge.fail(message, sorted(set(wrong.values())), expected.gpu_link, _LINKS))
    if expected.nic_link is not None:
        found.extend(_nics(judge, matrix, expected.nic_link))
    return judge.or_ok(found, "GPUs and NICs are joined as expected", sorted(set(links.values())), expected.gpu_link)


def _nics(judge: Judge, matrix: Dict[str, Any], farthest: str) -> List[Finding]:
    found: List[Finding] = []
    for index in range(matrix["gpus"]):
        link = matrix["closest_nic"].get("GPU%d" % index)
        if link is None:
            found.append(judge.unknown("the matrix shows no NIC", _SLOTS, gpu=index, expected=farthest))
        elif NEAR_TO_FAR.index(link) > NEAR_TO_FAR.index(farthest):
            message = "its nearest NIC is as far as %s, not %s" % (link, farthest)
            found.append(judge.fail(message, link, farthest, _SLOTS, gpu=index))
    return found
