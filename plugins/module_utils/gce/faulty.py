# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report a broken host, or a broken NVL72 domain, to Google: only when it is allowed, only once, only when it is meant.

Two different sets of behaviours exist, and the client library takes any word for either, so they are checked here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Dict, Optional, Sequence, Union

from ..errors import ConfigError
from .client import Compute, below_v1
from .errors import ApiError
from .reservation import parse_time
from .state import Manner

__all__ = ["COMPONENTS", "HOST_BEHAVIORS", "SUB_BLOCK_BEHAVIORS", "HostTarget", "SubBlockTarget", "Target", "report"]

Json = Dict[str, Any]
# Enums of InstancesReportHostAsFaultyRequestFaultReason and ReservationSubBlocksReportFaultyRequestFaultReason.
HOST_BEHAVIORS = ("PERFORMANCE", "SILENT_DATA_CORRUPTION", "UNRECOVERABLE_GPU_ERROR", "CHIP_ERROR")
SUB_BLOCK_BEHAVIORS = (
    "GPU_ERROR",
    "NVSWITCH_FAULT_CONTROLLER_ERROR",
    "NVSWITCH_FAULT_DEGRADED_BANDWIDTH",
    "NVSWITCH_FAULT_SWITCH_ERROR",
    "PERFORMANCE",
    "SILENT_DATA_CORRUPTION",
    "SWITCH_FAILURE",
)
COMPONENTS = ("NVLINK_SWITCH", "MULTIPLE_FAULTY_HOSTS")
MACHINES = re.compile(r"/machineTypes/(a4x|a4|a3)-")
# The machine goes down within a minute after the operation; until then it still looks healthy.
SETTLING = timedelta(minutes=15)


@dataclass(frozen=True)
class HostTarget:
    """A machine whose host is to be reported."""

    project: str
    zone: str
    instance: str

    kind = "reportHostAsFaulty"
    behaviors = HOST_BEHAVIORS
    permission = "compute.instances.update"

    @property
    def path(self) -> str:
        return "projects/%s/zones/%s/instances/%s" % (self.project, self.zone, self.instance)

    def body(self, behavior: str, description: str) -> Json:
        return {
            "disruptionSchedule": "IMMEDIATE",
            "faultReasons": [{"behavior": behavior, "description": description}],
        }

    def refusal(self, current: Json) -> Optional[str]:
        """Why Compute would not take the report, None when it would."""
        machine = current.get("machineType", "")
        if not MACHINES.search(machine):
            return "its machine type is %s; only A4X, A4 and A3 hosts can be reported" % machine.rsplit("/", 1)[-1]
        if current.get("status") != "RUNNING":
            return "it is %s; only a RUNNING machine can be reported" % current.get("status")
        model = (current.get("scheduling") or {}).get("provisioningModel") or "STANDARD"
        if model != "RESERVATION_BOUND":
            return "its provisioning model is %s; only RESERVATION_BOUND machines can be reported" % model
        return None


@dataclass(frozen=True)
class SubBlockTarget:
    """A sub-block (NVL72 domain) to be reported."""

    project: str
    zone: str
    reservation: str
    block: str
    sub_block: str
    component: str

    kind = "reportFaulty"
    behaviors = SUB_BLOCK_BEHAVIORS
    permission = "compute.reservationSubBlocks.reportFaulty"

    @property
    def path(self) -> str:
        parts = (self.project, self.zone, self.reservation, self.block, self.sub_block)
        return "projects/%s/zones/%s/reservations/%s/reservationBlocks/%s/reservationSubBlocks/%s" % parts

    def body(self, behavior: str, description: str) -> Json:
        return {
            "disruptionSchedule": "IMMEDIATE",
            "failureComponent": self.component,
            "faultReasons": [{"behavior": behavior, "description": description}],
        }

    def refusal(self, current: Json) -> Optional[str]:
        status = current.get("status", "READY")
        return None if status == "READY" else "it is %s; only a READY sub-block can be reported" % status


Target = Union[HostTarget, SubBlockTarget]


def report(
    compute: Compute, target: Target, behavior: str, description: str, *, confirm: bool, now: datetime, manner: Manner
) -> Json:
    """At most one request that writes. Returns changed, msg, the operation and the request's body."""
    if behavior not in target.behaviors:
        raise ConfigError(
            "behavior %r is not one that %s takes; choose one of %s"
            % (behavior, target.kind, ", ".join(target.behaviors))
        )
    current = compute.get(target.path)
    earlier = _earlier(compute, target, now)
    if earlier:
        return _result(False, "%s is already reported: operation %s" % (target.path, earlier["name"]), earlier, None)
    reason = target.refusal(current)
    if reason:
        raise ConfigError("%s cannot be reported: %s" % (target.path, reason))
    _check_permission(compute, target)
    body = target.body(behavior, description)
    if manner.check_mode:
        return _result(True, "%s would be reported" % target.path, None, body)
    if not confirm:
        raise ConfigError(
            "%s is not reported: that takes the machine away for days, so it needs 'confirm: true'. Drain it first."
            % target.path
        )
    operation = compute.write("POST", "%s/%s" % (target.path, target.kind), body)
    done = compute.wait(operation, manner.wait_timeout, manner.poll_interval) if manner.wait_timeout else operation.body
    return _result(True, "%s is reported: operation %s" % (target.path, done["name"]), done, body)


def _earlier(compute: Compute, target: Target, now: datetime) -> Optional[Json]:
    """A report of the same thing that runs, or that has just ended well and has not taken the machine down yet."""
    operations = compute.items("projects/%s/zones/%s/operations" % (target.project, target.zone))
    for operation in operations:
        same = below_v1(operation.get("targetLink", "")) == target.path
        if same and operation.get("operationType") == target.kind and _counts(operation, now):
            return operation
    return None


def _counts(operation: Json, now: datetime) -> bool:
    if operation.get("status") != "DONE":
        return True
    ended = operation.get("endTime")
    return bool(ended) and "error" not in operation and now - parse_time(str(ended)) < SETTLING


def _check_permission(compute: Compute, target: Target) -> None:
    """Asks only. Where Compute does not answer this question for such a resource, it will judge the report itself."""
    wanted: Sequence[str] = [target.permission]
    try:
        answer = compute.call("POST", target.path + "/testIamPermissions", {"permissions": wanted})
    except ApiError as exc:
        if exc.status in (400, 404):
            return
        raise
    if target.permission not in answer.get("permissions", []):
        raise ConfigError("%s cannot be reported: the account lacks %s" % (target.path, target.permission))


def _result(changed: bool, msg: str, operation: Optional[Json], body: Optional[Json]) -> Json:
    return {"changed": changed, "msg": msg, "operation": operation, "request_body": body}
