# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a machine that exists differs from the wish: what can be changed in place, and what cannot. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

from .instance import Spec, insert_body
from .state import same

__all__ = ["Update", "fixed_differences", "updates"]

Json = Dict[str, Any]
FIXED = ("reservationAffinity", "resourcePolicies", "scheduling", "serviceAccounts")


def fixed_differences(spec: Spec, current: Json) -> List[str]:
    """What a machine that exists cannot become: it would have to be made anew."""
    wanted = insert_body(spec, current["name"])
    fixed = current["name"] in spec.addresses
    have: Json = {
        "machineType": str(current.get("machineType", "")).rsplit("/", 1)[-1],
        # As one text each, because their order matters.
        "networkInterfaces": _nics_text(current.get("networkInterfaces", []), fixed),
        **{key: current.get(key) for key in FIXED},
    }
    want: Json = {
        "machineType": spec.machine_type,
        "networkInterfaces": _nics_text(wanted["networkInterfaces"], fixed),
        **{key: wanted[key] for key in FIXED if key in wanted},
    }
    return ["%s is %r, wanted is %r" % (key, have[key], want[key]) for key in want if not same(want[key], have[key])]


def _nics_text(nics: Sequence[Json], fixed: bool) -> str:
    """Type and subnetwork of each interface; its address where the wish names one."""
    texts = ["%s:%s" % (nic.get("nicType"), _last(nic.get("subnetwork"))) for nic in nics]
    return " ".join(
        "%s:%s" % (text, nics[index].get("networkIP")) if fixed else text for index, text in enumerate(texts)
    )


def _last(path: Optional[str]) -> str:
    return str(path or "").rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Update:
    """A change in place. The body has the fingerprint of what was read, so that nobody else's change is lost."""

    method: str
    body: Json
    key: str
    before: Any
    after: Any


def updates(spec: Spec, current: Json) -> List[Update]:
    """The changes that a machine that exists needs."""
    found = []
    labels = current.get("labels") or {}
    if labels != dict(spec.labels):
        body = {"labels": dict(spec.labels), "labelFingerprint": current.get("labelFingerprint")}
        found.append(Update("setLabels", body, "labels", labels, dict(spec.labels)))
    tags = current.get("tags") or {}
    if sorted(tags.get("items") or []) != sorted(spec.tags):
        body = {"items": sorted(spec.tags), "fingerprint": tags.get("fingerprint")}
        found.append(Update("setTags", body, "tags", tags.get("items") or [], sorted(spec.tags)))
    return found + _metadata_updates(spec, current.get("metadata") or {})


def _metadata_updates(spec: Spec, current: Json) -> List[Update]:
    """Keys that others put there (Google's agents do) stay; the diff shows only ours."""
    have = {item["key"]: item.get("value") for item in current.get("items") or []}
    changed = {key: str(value) for key, value in spec.metadata.items() if have.get(key) != str(value)}
    if not changed:
        return []
    items = [{"key": key, "value": value} for key, value in sorted({**have, **changed}.items())]
    body = {"items": items, "fingerprint": current.get("fingerprint")}
    return [Update("setMetadata", body, "metadata", {key: have.get(key) for key in changed}, changed)]
