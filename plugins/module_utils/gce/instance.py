# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine should be, and the request bodies that make it so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .state import resolve

__all__ = ["Nic", "Spec", "bulk_body", "insert_body"]

Json = Dict[str, Any]
RESERVATION_KEY = "compute.googleapis.com/reservation-name"
GPU_MACHINES = ("a4x-", "a4-", "a3-")


@dataclass(frozen=True)
class Nic:
    """A network interface. ``subnetwork`` is a path."""

    subnetwork: str
    nic_type: str = "GVNIC"
    external_ip: bool = False

    def body(self, address: str = "") -> Json:
        access = {"accessConfigs": [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}]} if self.external_ip else {}
        fixed = {"networkIP": address} if address else {}
        return {"nicType": self.nic_type, "subnetwork": self.subnetwork, **fixed, **access}


@dataclass(frozen=True)
class Spec:
    """One kind of machine. References are paths; a scheduling field that is None is what the machine type needs."""

    project: str
    zone: str
    machine_type: str
    image: str
    nics: Tuple[Nic, ...]
    addresses: Mapping[str, Sequence[str]] = field(default_factory=dict)  # machine -> an address for each interface
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

    def nic_bodies(self, name: str) -> List[Json]:
        """The interfaces of one machine. Without addresses of its own Compute chooses them."""
        addresses = self.addresses.get(name) or [""] * len(self.nics)
        return [nic.body(addresses[index]) for index, nic in enumerate(self.nics)]

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
        "networkInterfaces": spec.nic_bodies(name),
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
