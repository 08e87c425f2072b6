# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a host's findings to what Google is told: a behaviour, and the evidence in words. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils.errors import ConfigError

__all__ = ["Evidence", "read_evidence"]

LONGEST = 500  # characters of the description


@dataclass(frozen=True)
class Rule:
    """A finding of the checks ``check`` (a regular expression) whose text matches ``text`` means ``behavior``."""

    check: str
    text: str
    behavior: str


# First match wins, worst behaviour first. The XIDs are faults of the hardware that no new job clears:
# 48 double-bit ECC, 64 row remapping failed, 74 NVLink, 79 off the bus ("Xid 79, GPU has fallen off the bus"),
# 95 uncontained ECC, 140 unrecovered ECC. What programs cause (13, 31, 43, 45) is no fault of the host.
RULES = (
    Rule(".*", r"silent data corruption|miscompare", "SILENT_DATA_CORRUPTION"),
    Rule(
        r"xid|gpu|dcgm|nvlink|imex",
        r"\bxid\W{0,3}(48|64|74|79|95|140)\b",
        "UNRECOVERABLE_GPU_ERROR",
    ),
    Rule(r"gpu|dcgm", r"fallen off|row remap|uncorrectable|double.bit|is missing|lost", "UNRECOVERABLE_GPU_ERROR"),
    Rule(r"dcgm", r"fail", "UNRECOVERABLE_GPU_ERROR"),
    Rule(r"nccl|rdma|bandwidth|gpu", r"bandwidth|gb/s|gbps|throttl|slow", "PERFORMANCE"),
)


@dataclass(frozen=True)
class Evidence:
    behavior: str
    description: str


def read_evidence(findings: Iterable[Mapping[str, Any]], host: str) -> Evidence:
    """What the failed findings of a host amount to. Raises ConfigError where none is a fault of the hardware."""
    failed = [finding for finding in findings if _is_about(finding, host) and finding.get("severity") == "FAIL"]
    found = [(rank, finding) for finding in failed if (rank := _rank(finding)) is not None]
    if not found:
        seen = ", ".join(sorted({str(finding.get("check")) for finding in failed})) or "none"
        raise ConfigError(
            f"no failed finding of {host} is one of the hardware (failed checks: {seen}). Prove the machine first, or "
            f"name behavior and description yourself."
        )
    best = min(rank for rank, _ in found)
    texts = [f"{finding['check']}: {finding['message']}" for rank, finding in found if rank == best]
    return Evidence(RULES[best].behavior, "; ".join(texts)[:LONGEST])


def _is_about(finding: Mapping[str, Any], host: str) -> bool:
    return (finding.get("subject") or {}).get("host") == host


def _rank(finding: Mapping[str, Any]) -> int | None:
    """The number of the first rule that the finding matches."""
    text = f"{finding.get('message', '')} {finding.get('unit', '')}"
    for rank, rule in enumerate(RULES):
        same_check = re.search(rule.check, str(finding.get("check")), re.IGNORECASE)
        if same_check and re.search(rule.text, text, re.IGNORECASE):
            return rank
    return None
