"""Refuse a body with a field that Compute does not have, as the real API does ("Unknown name").

Google's own client library is the schema; it is imported with the first body (3 s). Where it is not installed, bodies
are taken as they come.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any

_MESSAGES = {
    "instances": "Instance",
    "bulkInsert": "BulkInsertInstanceResource",
    "disks": "Disk",
    "images": "Image",
    "snapshots": "Snapshot",
    "networks": "Network",
    "subnetworks": "Subnetwork",
    "firewalls": "Firewall",
    "resourcePolicies": "ResourcePolicy",
    "reservations": "Reservation",
    "machineImages": "MachineImage",
    "setLabels": "InstancesSetLabelsRequest",
    "setMetadata": "Metadata",
    "setTags": "Tags",
    "setScheduling": "Scheduling",
    "resize": "DisksResizeRequest",
    "testIamPermissions": "TestPermissionsRequest",
    "attachDisk": "AttachedDisk",
    "reportHostAsFaulty": "InstancesReportHostAsFaultyRequest",
    "reportFaulty": "ReservationSubBlocksReportFaultyRequest",
}


@functools.cache
def load() -> tuple[Any, Any] | None:
    """Google's messages and their JSON reader, where they are installed."""
    if not importlib.util.find_spec("google.cloud.compute_v1"):
        return None
    return importlib.import_module("google.cloud.compute_v1"), importlib.import_module("google.protobuf.json_format")


def unknown_field(kind: str, body: Any) -> str:
    """The reason why ``body`` is no message of that kind, or ''. ``kind`` is a collection or a verb."""
    loaded = load()
    if body is None or not loaded:
        return ""
    if kind not in _MESSAGES:
        return f"This fake does not know what a body of {kind} looks like"
    messages, json_format = loaded
    message = getattr(messages, _MESSAGES[kind])
    try:
        json_format.ParseDict(body, message.pb(message()))
    except json_format.ParseError as exc:
        return f"Invalid JSON payload received. {exc}"
    return ""
