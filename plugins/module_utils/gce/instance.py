# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine should be: the insert body, what is wrong with the wish, and how a machine that exists differs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .state import resolve, same

__all__ = ["Nic", "Spec", "Update", "bulk_body", "fixed_differences", "insert_body", "problems", "updates"]

Json = Dict[str, Any]
RESERVATION_KEY = "compute.googleapis.com/reservation-name"
GPU_MACHINES = ("a4x-", "a4-", "a3-")
A4X_INTERFACES = ("GVNIC", "GVNIC", "MRDMA", "MRDMA", "MRDMA", "MRDMA")
# What a machine of a DENSE reservation must have (Compute answers 400 otherwise).
DENSE_NEEDS = {
    "provisioningModel": ("RESERVATION_BOUND",),
    "onHostMaintenance": ("TERMINATE",),
    "instanceTerminationAction": ("STOP", "DELETE"),
}
SECRET_KEY = re.compile(r"token|passw|secret|private[-_]?key|kubeconfig|credential", re.IGNORECASE)
# A private key in PEM, or a kubeadm join token.
SECRET_VALUE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b[a-z0-9]{6}\.[a-z0-9]{16}\b")


@dataclass(frozen=True)
class Nic:
    """A network interface. ``subnetwork`` is a path."""

    subnetwork: str
    nic_type: str = "GVNIC"
    external_ip: bool = False

    def body(self) -> Json:
        access = {"accessConfigs": [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}]} if self.external_ip else {}
        return {"nicType": self.nic_type, "subnetwork": self.subnetwork, **access}


@dataclass(frozen=True)
class Spec:
    """One kind of machine. References are paths; a scheduling field that is None is what the machine type needs."""

    project: str
    zone: str
    machine_type: str
    image: str
    nics: Tuple[Nic, ...]
    disk_gb: int = 100
    disk_type: str = "hyperdisk-balanced"
    extra_disks: Tuple[str, ...] = ()
    affinity: Optional[str] = None  # a reservation, or a block or sub-block of one
    placement_policy: Optional[str] = None
    provisioning_model: Optional[str] = None
    termination_action: Optional[str] = None
    on_host_maintenance: Optional[str] = None
    labels: Mapping[str, str] = field(default_factory=dict)
    tags: Tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    service_account: Optional[str] = None
    scopes: Tuple[str, ...] = ()

    @property
    def gpu(self) -> bool:
        return self.machine_type.startswith(GPU_MACHINES)

    def scheduling(self) -> Json:
        model = self.provisioning_model or ("RESERVATION_BOUND" if self.gpu and self.affinity else "STANDARD")
        action = self.termination_action or ("STOP" if model == "RESERVATION_BOUND" else None)
        return {
            "provisioningModel": model,
            "onHostMaintenance": self.on_host_maintenance or ("TERMINATE" if self.gpu else "MIGRATE"),
            "automaticRestart": True,
            **({"instanceTerminationAction": action} if action else {}),
        }


def problems(spec: Spec, deployment_type: str = "") -> List[str]:
    """All that Compute would refuse, and secrets in metadata, which everybody who may view the machine can read."""
    a4x = spec.machine_type.startswith("a4x-")
    found = _a4x_problems(spec) if a4x else []
    if a4x or deployment_type == "DENSE":
        found += _dense_problems(spec)
    for key, value in sorted(spec.metadata.items()):
        if SECRET_KEY.search(key) or SECRET_VALUE.search(str(value)):
            found.append("metadata %s looks like a secret; viewers of the project can read metadata" % key)
    return found


def _a4x_problems(spec: Spec) -> List[str]:
    found = []
    types = tuple(nic.nic_type for nic in spec.nics)
    if types != A4X_INTERFACES:
        found.append("%s takes 2 GVNIC and then 4 MRDMA interfaces, not %s" % (spec.machine_type, ", ".join(types)))
    if not spec.disk_type.startswith("hyperdisk-"):
        found.append("%s takes Hyperdisk only, not %s" % (spec.machine_type, spec.disk_type))
    if not spec.affinity:
        found.append("%s comes from a reservation only, and none is named" % spec.machine_type)
    return found


def _dense_problems(spec: Spec) -> List[str]:
    scheduling = spec.scheduling()
    if all(scheduling.get(key) in allowed for key, allowed in DENSE_NEEDS.items()):
        return []
    needs = ", ".join("%s %s" % (key, " or ".join(allowed)) for key, allowed in DENSE_NEEDS.items())
    has = ", ".join("%s %s" % (key, scheduling.get(key)) for key in DENSE_NEEDS)
    return ["a DENSE reservation needs %s; wanted is %s" % (needs, has)]


def insert_body(spec: Spec, name: str) -> Json:
    """The body of instances.insert."""
    boot = {
        "diskSizeGb": str(spec.disk_gb),  # an int64, which JSON carries as text
        "diskType": resolve(spec.disk_type, spec.project, "zones/%s/diskTypes" % spec.zone),
        "sourceImage": spec.image,
    }
    extra = [{"source": disk, "boot": False, "autoDelete": False} for disk in spec.extra_disks]
    body: Json = {
        "name": name,
        "machineType": "zones/%s/machineTypes/%s" % (spec.zone, spec.machine_type),
        "disks": [{"boot": True, "autoDelete": True, "initializeParams": boot}, *extra],
        "networkInterfaces": [nic.body() for nic in spec.nics],
        "scheduling": spec.scheduling(),
        "labels": dict(spec.labels),
        "tags": {"items": sorted(spec.tags)},
        "metadata": {"items": _metadata_items(spec)},
    }
    if spec.affinity:
        body["reservationAffinity"] = {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": RESERVATION_KEY,
            "values": [spec.affinity],
        }
    if spec.placement_policy:
        body["resourcePolicies"] = [spec.placement_policy]
    if spec.service_account:
        body["serviceAccounts"] = [{"email": spec.service_account, "scopes": list(spec.scopes)}]
    return body


def bulk_body(spec: Spec, names: Sequence[str]) -> Json:
    """The body of instances.bulkInsert: all of the machines or none. It takes names where insert takes paths."""
    properties = dict(insert_body(spec, ""), machineType=spec.machine_type)
    del properties["name"]
    properties["disks"][0]["initializeParams"]["diskType"] = spec.disk_type
    if spec.placement_policy:
        properties["resourcePolicies"] = [spec.placement_policy.rsplit("/", 1)[1]]
    return {
        "count": str(len(names)),
        "minCount": str(len(names)),
        "perInstanceProperties": {name: {} for name in names},
        "instanceProperties": properties,
    }


def _metadata_items(spec: Spec) -> List[Json]:
    return [{"key": key, "value": str(value)} for key, value in sorted(spec.metadata.items())]


def fixed_differences(spec: Spec, current: Json) -> List[str]:
    """What a machine that exists cannot become: it would have to be made anew."""
    wanted = insert_body(spec, current["name"])
    nics = [(nic.get("nicType"), nic.get("subnetwork")) for nic in current.get("networkInterfaces", [])]
    have: Json = {
        "machineType": str(current.get("machineType", "")).rsplit("/", 1)[-1],
        # As one text each, because their order matters.
        "networkInterfaces": " ".join("%s:%s" % (kind, _last(subnet)) for kind, subnet in nics),
        **{key: current.get(key) for key in ("reservationAffinity", "resourcePolicies", "serviceAccounts")},
    }
    want: Json = {
        "machineType": spec.machine_type,
        "networkInterfaces": " ".join("%s:%s" % (nic.nic_type, _last(nic.subnetwork)) for nic in spec.nics),
        **{key: wanted[key] for key in ("reservationAffinity", "resourcePolicies", "serviceAccounts") if key in wanted},
    }
    return ["%s is %r, wanted is %r" % (key, have[key], want[key]) for key in want if not same(want[key], have[key])]


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
