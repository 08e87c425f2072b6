# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring one resource of Compute to the wanted state: one comparison gives check mode, diff and idempotence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, List, Mapping, Optional, Tuple

from ..errors import ConfigError
from .client import Compute, below_v1
from .errors import ApiError

__all__ = ["Manner", "Outcome", "Wanted", "bring", "differences", "resolve", "same"]

Json = Dict[str, Any]


@dataclass(frozen=True)
class Wanted:
    """A resource as it should be.

    ``body`` is the insert body, and every key of it is compared, except ``only_at_creation``: labels as a whole, of
    other objects what the body names. ``patchable`` keys are changed in place by PATCH; ``verbs`` are keys that have a
    method of their own, as (key, method name). A difference in any other key is an error, because Compute can only make
    such a resource anew.
    """

    path: str
    body: Json
    patchable: FrozenSet[str] = frozenset()
    verbs: Tuple[Tuple[str, str], ...] = ()
    only_at_creation: FrozenSet[str] = frozenset({"name"})

    @property
    def collection(self) -> str:
        return self.path.rsplit("/", 1)[0]


@dataclass(frozen=True)
class Outcome:
    """What a module returns. ``resource`` is Compute's description, None when there is none (now)."""

    changed: bool
    resource: Optional[Json]
    diff: Json = field(default_factory=dict)

    def as_dict(self) -> Json:
        return {"changed": self.changed, "resource": self.resource, "diff": self.diff}


@dataclass(frozen=True)
class Manner:
    """How changes are made."""

    check_mode: bool = False
    wait_timeout: float = 600.0
    poll_interval: float = 2.0


def bring(compute: Compute, wanted: Wanted, present: bool, manner: Manner) -> Outcome:
    """Create, change or delete, and wait for it. In check mode nothing is written."""
    current = compute.find(wanted.path)
    if not present:
        return _remove(compute, wanted, current, manner)
    if current is None:
        if not manner.check_mode:
            _run(compute, manner, "POST", wanted.collection, wanted.body)
            current = compute.get(wanted.path)
        return Outcome(True, current, {"before": {}, "after": wanted.body})
    keys = differences(wanted, current)
    if not keys:
        return Outcome(False, current, {})
    _refuse_what_cannot_change(wanted, keys, current)
    diff = {"before": {key: current.get(key) for key in keys}, "after": {key: wanted.body[key] for key in keys}}
    if not manner.check_mode:
        _change(compute, wanted, current, keys, manner)
        current = compute.get(wanted.path)
    return Outcome(True, current, diff)


def differences(wanted: Wanted, current: Mapping[str, Any]) -> List[str]:
    """The keys of the wanted body whose value is another one now."""
    keys = (key for key in wanted.body if key not in wanted.only_at_creation)
    return [key for key in keys if not _is(key, wanted.body[key], current.get(key))]


def _is(key: str, wanted: Any, current: Any) -> bool:
    return bool(wanted == (current or {})) if key == "labels" else same(wanted, current)


def resolve(reference: str, project: str, collection: str) -> str:
    """``name``, ``projects/p/...`` or a URL -> the path below /compute/v1/. A bare name is one of ``collection``."""
    path = below_v1(reference)
    return path if path.startswith("projects/") else "projects/%s/%s/%s" % (project, collection, path.split("/")[-1])


def _remove(compute: Compute, wanted: Wanted, current: Optional[Json], manner: Manner) -> Outcome:
    if current is None:
        return Outcome(False, None, {})
    if not manner.check_mode:
        _run(compute, manner, "DELETE", wanted.path)
    return Outcome(True, None, {"before": {key: current.get(key) for key in wanted.body}, "after": {}})


def _refuse_what_cannot_change(wanted: Wanted, keys: List[str], current: Json) -> None:
    fixed = [key for key in keys if key not in wanted.patchable and key not in dict(wanted.verbs)]
    if fixed:
        texts = ["%s is %r, wanted is %r" % (key, current.get(key), wanted.body[key]) for key in fixed]
        raise ConfigError(
            "%s exists, and Compute cannot change in place: %s. Delete it first, or ask for what it is."
            % (wanted.path, "; ".join(texts))
        )


def _change(compute: Compute, wanted: Wanted, current: Json, keys: List[str], manner: Manner) -> None:
    verbs = dict(wanted.verbs)
    for key in keys:
        if key in verbs:
            body = {key: wanted.body[key]}
            if key == "labels" and "labelFingerprint" in current:
                body["labelFingerprint"] = current["labelFingerprint"]
            _run(compute, manner, "POST", "%s/%s" % (wanted.path, verbs[key]), body)
    patch = {key: wanted.body[key] for key in keys if key in wanted.patchable}
    if patch:
        if "fingerprint" in current:
            patch["fingerprint"] = current["fingerprint"]
        _run(compute, manner, "PATCH", wanted.path, patch)


def _run(compute: Compute, manner: Manner, method: str, path: str, body: Optional[Json] = None) -> None:
    try:
        operation = compute.write(method, path, body)
    except ApiError as exc:
        if method == "DELETE" and exc.status == 404:
            return
        raise
    compute.wait(operation, manner.wait_timeout, manner.poll_interval)


def same(wanted: Any, current: Any) -> bool:
    """Equal for Compute: a part of a larger object, URLs of any length, numbers as text, lists in any order."""
    if isinstance(wanted, dict):
        return isinstance(current, dict) and all(same(value, current.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list):
        if not wanted and not current:
            return True
        return isinstance(current, list) and len(wanted) == len(current) and _paired(wanted, current)
    if isinstance(wanted, bool) or wanted is None:
        return wanted == (current or False) if isinstance(wanted, bool) else current is None
    return below_v1(str(wanted)) == below_v1(str(current)) if current is not None else wanted == ""


def _paired(wanted: List[Any], current: List[Any]) -> bool:
    """Whether each wanted item has a current one of its own."""
    left = list(current)
    for item in wanted:
        match = next((index for index, other in enumerate(left) if same(item, other)), None)
        if match is None:
            return False
        del left[match]
    return True
