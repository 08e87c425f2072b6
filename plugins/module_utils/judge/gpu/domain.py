# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the machine in the same NVLink domain as the others of its group in the inventory?

Each member judges itself against what all members read of their fabric. The odd one is at fault, not the many.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Sequence

from ...finding import Finding
from .base import Judge

__all__ = ["domains_of", "judge_domain"]

_REMEDY = (
    "is the machine in the right group of the inventory? If so, look at the partition that the NVLink switches "
    "put its GPUs in"
)


def domains_of(fabric: Any) -> List[str]:
    """``<cluster UUID>.<clique>`` of the GPUs, each once; empty when that is not known."""
    gpus = fabric if isinstance(fabric, list) else []
    return sorted(
        {"%s.%s" % (gpu["cluster_uuid"], gpu["clique_id"]) for gpu in gpus if gpu["cluster_uuid"] is not None}
    )


def judge_domain(host: str, reading: Dict[str, Any], members: Mapping[str, Sequence[str]]) -> List[Finding]:
    """A member of which nothing is known has findings of its own; without any other there is nothing to compare."""
    judge = Judge(host, "domain")
    own = domains_of(reading["fabric"])
    others = {name: domains[0] for name, domains in members.items() if name != host and len(domains) == 1}
    if len(own) != 1 or not others:
        return []
    counted = Counter([own[0], *others.values()])
    most = max(counted.values())
    if len(counted) > 1 and (counted[own[0]] < most or list(counted.values()).count(most) > 1):
        rest = sorted((domain for domain in counted if domain != own[0]), key=lambda each: -counted[each])
        text = ", ".join("%d in %s" % (counted[domain], domain) for domain in rest)
        message = "in the NVLink domain %s, but other members of its group are elsewhere: %s" % (own[0], text)
        return [judge.fail(message, own[0], rest[0], _REMEDY)]
    same = counted[own[0]] - 1
    return [judge.ok("in one NVLink domain with %d of %d other members" % (same, len(members) - 1), own[0])]
