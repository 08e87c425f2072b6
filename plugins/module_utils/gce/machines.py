# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring machines to a state, several at a time. Each machine's failure is its own: the others are still made.

Running again after any failure repairs: what exists is looked at first, work that an earlier run left is waited for,
and only what is missing is made.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..errors import ClusterError, ConfigError
from .client import Clock, Compute, Operation
from .errors import ApiError, NoAnswerError
from .instance import Spec, bulk_body, insert_body
from .instance_changes import fixed_differences, updates
from .state import Manner

__all__ = ["Machine", "bring_machines"]

Json = Dict[str, Any]
PASSING = ("PROVISIONING", "STAGING", "STOPPING", "SUSPENDING", "PENDING", "PENDING_STOP", "DEPROVISIONING")


@dataclass(frozen=True)
class Machine:
    """What was done, or would be done, to one machine. ``error`` is '' where all went well."""

    name: str
    actions: Tuple[str, ...] = ()
    status: Optional[str] = None
    address: Optional[str] = None
    diff: Json = field(default_factory=dict)
    error: str = ""

    def as_dict(self) -> Json:
        return {
            "name": self.name,
            "actions": list(self.actions),
            "status": self.status,
            "address": self.address,
            "error": self.error,
        }


class _Worker:
    """One machine after another, with the same client, wish and manner."""

    def __init__(self, compute: Compute, spec: Spec, state: str, manner: Manner, clock: Clock) -> None:
        self._compute, self._spec, self._state, self._manner, self._clock = compute, spec, state, manner, clock
        self._collection = "projects/%s/zones/%s/instances" % (spec.project, spec.zone)

    def path(self, name: str) -> str:
        return "%s/%s" % (self._collection, name)

    def bring(self, name: str) -> Machine:
        try:
            return self._bring(name)
        except ClusterError as exc:
            return Machine(name, error=str(exc))

    def _bring(self, name: str) -> Machine:
        current = self._settled(name)
        if self._state == "absent":
            return self._remove(name, current)
        actions: List[str] = []
        diff: Json = {}
        if current is None:
            actions.append("create")
            diff = {"before": {}, "after": insert_body(self._spec, name)}
            self._do("POST", self._collection, insert_body(self._spec, name))
        else:
            diff = self._update(name, current, actions)
        self._start_or_stop(name, current, actions)
        found = current if self._manner.check_mode else self._compute.find(self.path(name))
        return _described(name, tuple(actions), found, diff)

    def _settled(self, name: str) -> Optional[Json]:
        """The machine, once it is in no passing state: an earlier run may have left work that is still going on."""
        end = self._clock.now() + self._manner.wait_timeout
        current = self._compute.find(self.path(name))
        while current and current.get("status") in PASSING and not self._manner.check_mode:
            if self._clock.now() >= end:
                raise NoAnswerError("%s is still %s. Run again later." % (self.path(name), current["status"]))
            self._clock.sleep(self._manner.poll_interval)
            current = self._compute.find(self.path(name))
        return current

    def _remove(self, name: str, current: Optional[Json]) -> Machine:
        if current is None:
            return Machine(name)
        self._do("DELETE", self.path(name))
        return Machine(name, ("delete",), diff={"before": {"status": current.get("status")}, "after": {}})

    def _update(self, name: str, current: Json, actions: List[str]) -> Json:
        fixed = fixed_differences(self._spec, current)
        if fixed:
            raise ConfigError(
                "%s exists, and Compute cannot change in place: %s. Delete it first, or ask for what it is."
                % (self.path(name), "; ".join(fixed))
            )
        changes = updates(self._spec, current)
        for change in changes:
            actions.append(change.method)
            self._do("POST", "%s/%s" % (self.path(name), change.method), change.body)
        if not changes:
            return {}
        return {
            "before": {change.key: change.before for change in changes},
            "after": {change.key: change.after for change in changes},
        }

    def _start_or_stop(self, name: str, current: Optional[Json], actions: List[str]) -> None:
        """REPAIRING and SUSPENDED machines are left as they are: the status tells."""
        status = current.get("status") if current else "RUNNING"
        if self._state == "running" and status in ("TERMINATED", "STOPPED"):
            actions.append("start")
            self._do("POST", self.path(name) + "/start")
        if self._state == "stopped" and status == "RUNNING":
            actions.append("stop")
            self._do("POST", self.path(name) + "/stop")

    def _do(self, method: str, path: str, body: Optional[Json] = None) -> None:
        if self._manner.check_mode:
            return
        try:
            operation = self._compute.write(method, path, body)
        except ApiError as exc:
            if exc.status == 409 and body and path == self._collection:
                self._settled(body["name"])  # somebody else made it in this very moment
                return
            raise
        self.wait(operation)

    def wait(self, operation: Operation) -> None:
        self._compute.wait(operation, self._manner.wait_timeout, self._manner.poll_interval)

    def create_in_bulk(self, names: Sequence[str]) -> List[str]:
        """One request for all that are missing; Compute makes all of them or none. Returns what it made."""
        missing = [name for name in names if self._compute.find(self.path(name)) is None]
        if len(missing) < 2 or self._manner.check_mode:
            return []
        self.wait(self._compute.write("POST", self._collection + "/bulkInsert", bulk_body(self._spec, missing)))
        return missing


def bring_machines(
    compute: Compute,
    spec: Spec,
    names: Sequence[str],
    state: str,
    manner: Manner,
    *,
    bulk: bool = False,
    workers: int = 8,
    clock: Optional[Clock] = None,
) -> List[Machine]:
    """All machines, in the order of their names' list."""
    worker = _Worker(compute, spec, state, manner, clock or Clock())
    made = worker.create_in_bulk(names) if bulk and state != "absent" else []
    with ThreadPoolExecutor(max_workers=workers) as pool:
        found = list(pool.map(worker.bring, names))
    return [
        replace(machine, actions=("create", *machine.actions)) if machine.name in made else machine for machine in found
    ]


def _described(name: str, actions: Tuple[str, ...], found: Optional[Json], diff: Json) -> Machine:
    nics = (found or {}).get("networkInterfaces") or [{}]
    return Machine(name, actions, (found or {}).get("status"), nics[0].get("networkIP"), diff)
