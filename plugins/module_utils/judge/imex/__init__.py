# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge IMEX on one machine: who runs the daemon, and is the domain of all its members up. Pure.

Each member judges itself against the list of members in the inventory, so that all of them have to have the same list.
Two lists that differ, and two versions, are also seen by the daemons themselves and shown in their matrix.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ...finding import Finding, Severity
from .base import Judge
from .domain import judge_domain, judge_nodes_config
from .service import judge_channels, judge_driver, judge_service_off, judge_service_on

__all__ = ["MODES", "judge_imex"]

MODES = ("dra", "host", "dra_host_managed", "none")


def judge_imex(
    host: str,
    reading: Dict[str, Any],
    mode: str,
    members: Mapping[str, Sequence[str]],
    version: Optional[str] = None,
) -> List[Finding]:
    """``members``: addresses of each member of the domain by host, this one among them."""
    if mode == "none":
        return []
    judge = Judge(host)
    findings = [judge_driver(judge, reading)]
    if mode == "dra":
        return findings + [judge_service_off(judge, reading)]
    findings.append(judge_service_on(judge, reading))
    if mode == "host":
        findings.append(judge_channels(judge, reading))
    if host not in members:
        message = "in no NVLink domain of the inventory (a group nvl_<domain>), so its members are not known"
        return findings + [judge(Severity.UNKNOWN, "members", message, remedy="put the machine into its group")]
    findings += judge_nodes_config(judge, reading, members)
    return findings + judge_domain(judge, reading, members, version)
