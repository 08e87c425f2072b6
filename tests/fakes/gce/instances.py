"""What Compute does with instances: checks on insert, fields that the server fills in, states, and the verbs."""

from __future__ import annotations

import re
from typing import Any

from .store import COMPUTE, RefusedError, Resource, Store

GPU_MACHINES = re.compile(r"machineTypes/(a4x|a4|a3)-")
RESERVATION_KEY = "compute.googleapis.com/reservation-name"


def relative(url: str) -> str:
    """A resource's path, from a full URL, a path below /compute/v1/ or a path as it is."""
    return url.split("/compute/v1/", 1)[-1].lstrip("/")


def resolve(url: str, project: str) -> str:
    """Like ``relative``, with the project put in front where a partial URL leaves it out."""
    path = relative(url)
    return path if path.startswith("projects/") else f"projects/{project}/{path}"


def insert(store: Store, path: str, body: Resource) -> Resource:
    """POST .../instances: refuse what Compute refuses, then start the machine."""
    project = path.split("/")[1]
    if path in store.resources:
        raise RefusedError(409, "alreadyExists", f"The resource '{path}' already exists")
    _check_references(store, project, body)
    spot = _take_capacity(store, project, path, body)
    instance = store.put(path, {**_server_side(store, project, path, body), **_topology(spot, path)})

    def undo() -> None:
        store.drop(path)
        _give_back(store, spot)

    return store.start_operation(
        path,
        "insert",
        progress=lambda: _status(store, instance, "STAGING"),
        finish=lambda: _status(store, instance, "RUNNING"),
        undo=undo,
    )


def delete(store: Store, path: str) -> Resource:
    instance = store.get(path)
    if instance.get("deletionProtection"):
        raise RefusedError(400, "resourceInUseByAnotherResource", "Invalid resource usage: deletion protection is on")
    _status(store, instance, "STOPPING")

    def finish() -> None:
        store.drop(path)
        _give_back(store, _consumed(store, instance))

    return store.start_operation(path, "delete", finish=finish)


def verb(store: Store, path: str, name: str, body: Resource) -> Resource:
    """POST .../instances/{name}/{verb}."""
    instance = store.get(path)
    if name == "start":
        _status(store, instance, "PROVISIONING")
        return store.start_operation(path, "start", finish=lambda: _status(store, instance, "RUNNING"))
    if name == "stop":
        _status(store, instance, "STOPPING")
        return store.start_operation(path, "stop", finish=lambda: _status(store, instance, "TERMINATED"))
    if name == "reportHostAsFaulty":
        return _report_faulty(store, path, instance)
    if name == "attachDisk":
        store.get(resolve(body["source"], path.split("/")[1]))
        instance["disks"] = [*instance.get("disks", []), {"type": "PERSISTENT", "mode": "READ_WRITE", **body}]
        return store.start_operation(path, "attachDisk")
    field, fingerprint = {
        "setLabels": ("labels", "labelFingerprint"),
        "setMetadata": ("metadata", "fingerprint"),
        "setTags": ("tags", "fingerprint"),
        "setScheduling": ("scheduling", ""),
    }[name]
    _set_part(store, instance, field, fingerprint, body)
    return store.start_operation(path, name)


def _set_part(store: Store, instance: Resource, field: str, fingerprint: str, body: Resource) -> None:
    holder = instance if field == "labels" else instance.setdefault(field, {})
    if fingerprint and body.get(fingerprint) != holder.get(fingerprint):
        raise RefusedError(412, "conditionNotMet", f"Supplied fingerprint does not match current {field} fingerprint.")
    store.touch()
    if field == "labels":
        instance.update(labels=body.get("labels", {}), labelFingerprint=store.next_id())
    else:
        instance[field] = {**body, **({"fingerprint": store.next_id()} if fingerprint else {})}


def _report_faulty(store: Store, path: str, instance: Resource) -> Resource:
    if instance["status"] != "RUNNING" or not GPU_MACHINES.search(instance["machineType"]):
        raise RefusedError(400, "invalid", "The instance must be a RUNNING accelerator-optimized instance")
    if instance.get("scheduling", {}).get("provisioningModel") != "RESERVATION_BOUND":
        raise RefusedError(400, "invalid", "The instance must use the RESERVATION_BOUND provisioning model")
    restart = instance["scheduling"].get("automaticRestart", True)
    return store.start_operation(
        path,
        "reportHostAsFaulty",
        finish=lambda: _status(store, instance, "REPAIRING" if restart else "TERMINATED"),
    )


def _status(store: Store, instance: Resource, status: str) -> None:
    store.touch()
    instance["status"] = status


def _check_references(store: Store, project: str, body: Resource) -> None:
    for nic in body.get("networkInterfaces", []):
        for field in ("network", "subnetwork"):
            if nic.get(field):
                network = store.get(resolve(nic[field], project))
        if nic.get("nicType") == "MRDMA" and "roce" not in store.get(
            resolve(nic.get("network") or network["network"], project)
        ).get("networkProfile", ""):
            raise RefusedError(400, "invalid", "Invalid value for field nicType: 'MRDMA' needs a RoCE network profile")
    for policy in body.get("resourcePolicies", []):
        store.get(resolve(policy, project))
    for disk in body.get("disks", []):
        source = disk.get("source") or disk.get("initializeParams", {}).get("sourceImage", "")
        if source and "/family/" not in source:
            store.get(resolve(source, project))


def _take_capacity(store: Store, project: str, path: str, body: Resource) -> Resource | None:
    """The sub-block that gives the machine, with its counts raised; None without a reservation."""
    affinity = body.get("reservationAffinity", {})
    if affinity.get("consumeReservationType") != "SPECIFIC_RESERVATION":
        return None
    if affinity.get("key") != RESERVATION_KEY:
        raise RefusedError(
            400, "invalid", f"Invalid value for field 'reservationAffinity.key': '{affinity.get('key')}'"
        )
    value = affinity["values"][0]
    if not value.startswith("projects/"):
        value = f"projects/{project}/reservations/{value}"
    owner, _, below = value.partition("/reservations/")
    zone = path.split("/")[3]
    reservation = store.get(f"{owner}/zones/{zone}/reservations/{below.split('/')[0]}")
    _check_dense(reservation, body.get("scheduling", {}))
    prefix = f"{owner}/zones/{zone}/reservations/{below}"
    for spot in _sub_blocks(store, prefix):
        if int(spot["inUseCount"]) < int(spot["count"]):
            _count(store, spot, +1)
            return spot
    raise RefusedError(400, "invalid", f"The reservation {value} has no free capacity for this request")


def _check_dense(reservation: Resource, scheduling: Resource) -> None:
    bound = scheduling.get("provisioningModel") == "RESERVATION_BOUND"
    complete = bool(scheduling.get("instanceTerminationAction")) and scheduling.get("onHostMaintenance") == "TERMINATE"
    if reservation.get("deploymentType") == "DENSE" and not (bound and complete):
        raise RefusedError(400, "invalid", "A DENSE reservation needs provisioning model RESERVATION_BOUND")


def _sub_blocks(store: Store, prefix: str) -> list[Resource]:
    found = [p for p in store.resources if "/reservationSubBlocks/" in p and (p + "/").startswith(prefix + "/")]
    return [store.resources[path] for path in sorted(found)]


def _count(store: Store, spot: Resource, step: int) -> None:
    """Raise or lower the counts of a sub-block, its block and its reservation."""
    store.touch()
    path = relative(spot["selfLink"])
    block = store.resources[path.rsplit("/", 2)[0]]
    reservation = store.resources[path.rsplit("/", 4)[0]]
    spot["inUseCount"] += step
    block["inUseCount"] += step
    specific = reservation["specificReservation"]
    specific["inUseCount"] = str(int(specific["inUseCount"]) + step)


def _give_back(store: Store, spot: Resource | None) -> None:
    if spot:
        _count(store, spot, -1)


def _consumed(store: Store, instance: Resource) -> Resource | None:
    info = instance.get("resourceStatus", {}).get("reservationConsumptionInfo", {})
    return store.resources.get(relative(info.get("consumedReservationSubBlock", "")))


def _topology(spot: Resource | None, path: str) -> Resource:
    if not spot:
        return {}
    place = spot["physicalTopology"]
    host = f"host-{path.rsplit('/', 1)[1]}"
    link = spot["selfLink"]
    return {
        "resourceStatus": {
            "physicalHost": f"/{place['cluster']}/{place['block']}/{place['subBlock']}/{host}",
            "physicalHostTopology": {
                "cluster": place["cluster"],
                "block": place["block"],
                "subblock": place["subBlock"],
                "host": host,
            },
            "reservationConsumptionInfo": {
                "consumedReservation": link.rsplit("/", 4)[0],
                "consumedReservationBlock": link.rsplit("/", 2)[0],
                "consumedReservationSubBlock": link,
            },
        }
    }


def _server_side(store: Store, project: str, path: str, body: Resource) -> Resource:
    number = int(store.next_id())
    nics: list[dict[str, Any]] = []
    for index, nic in enumerate(body.get("networkInterfaces", [])):
        subnet = store.resources.get(resolve(nic.get("subnetwork", "-"), project), {})
        base = subnet.get("ipCidrRange", "10.0.0.0/16").rsplit(".", 2)[0]
        filled = {
            "name": f"nic{index}",
            "networkIP": f"{base}.{number // 250 % 250}.{number % 250 + 2}",
            "fingerprint": store.next_id(),
            **nic,
        }
        if subnet:
            filled.setdefault("network", subnet["network"])
        if "accessConfigs" in filled:  # copies: the request's own body stands in the request log
            address = {"natIP": f"203.0.113.{number % 250}"}
            filled["accessConfigs"] = [{**address, **access} for access in filled["accessConfigs"]]
        nics.append({**filled, **{k: COMPUTE + resolve(filled[k], project) for k in _LINKS if k in filled}})
    return {
        "status": "PROVISIONING",
        "fingerprint": store.next_id(),
        "labelFingerprint": store.next_id(),
        **body,
        "id": str(number),
        "machineType": COMPUTE + resolve(body["machineType"], project),
        "metadata": {**body.get("metadata", {}), "fingerprint": store.next_id()},
        "tags": {**body.get("tags", {}), "fingerprint": store.next_id()},
        "networkInterfaces": nics,
        "resourcePolicies": [COMPUTE + resolve(policy, project) for policy in body.get("resourcePolicies", [])],
    }


_LINKS = ("network", "subnetwork")
