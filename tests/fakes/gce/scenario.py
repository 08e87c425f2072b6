"""Fleets to start from. ``SCENARIOS`` maps the name that ``scripts/fake-gce --scenario`` takes to its builder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .instances import RESERVATION_KEY
from .store import COMPUTE, Store

PROJECT = "demo-project"
ZONE = "us-east1-d"
REGION = "us-east1"
RESERVATION = "gb200-reservation"
BLOCK = f"{RESERVATION}-block-0001"
CLUSTER = "7c31e0b2d4"
CLUSTER_BLOCK = "b2f0a9"
DOMAINS = ("1f3c77aa", "2f3c77aa")
DOMAIN_SIZE = 18
STANDARD = {"provisioningModel": "STANDARD", "onHostMaintenance": "MIGRATE", "automaticRestart": True}


def zone_path(*parts: str, project: str = PROJECT, zone: str = ZONE) -> str:
    return "/".join(("projects", project, "zones", zone, *parts))


def sub_block(index: int) -> str:
    return f"{BLOCK}-subblock-{index:04d}"


def sub_block_path(index: int) -> str:
    return zone_path("reservations", RESERVATION, "reservationBlocks", BLOCK, "reservationSubBlocks", sub_block(index))


def add_reservation(store: Store, in_use: tuple[int, int] = (0, 0), degraded: tuple[int, int] = (0, 0)) -> None:
    """A calendar reservation of two NVL72 domains."""
    reservation = zone_path("reservations", RESERVATION)
    total, used = DOMAIN_SIZE * len(DOMAINS), sum(in_use)
    store.put(
        reservation,
        {
            "deploymentType": "DENSE",
            "specificReservationRequired": True,
            "specificReservation": {
                "count": str(total),
                "inUseCount": str(used),
                "instanceProperties": {"machineType": "a4x-highgpu-4g"},
            },
            "advancedDeploymentControl": {"reservationOperationalMode": "ALL_CAPACITY"},
            "resourceStatus": {"reservationBlockCount": 1, "healthInfo": _health("Block", 1, 0)},
            "status": "READY",
        },
    )
    store.put(
        f"{reservation}/reservationBlocks/{BLOCK}",
        {
            "count": total,
            "inUseCount": used,
            "reservationSubBlockCount": len(DOMAINS),
            "reservationSubBlockInUseCount": sum(1 for count in in_use if count),
            "healthInfo": _health("SubBlock", len(DOMAINS), sum(1 for count in degraded if count)),
            "physicalTopology": {"cluster": CLUSTER, "block": CLUSTER_BLOCK},
            "status": "READY",
        },
    )
    for index, domain in enumerate(DOMAINS, start=1):
        store.put(
            sub_block_path(index),
            {
                "count": DOMAIN_SIZE,
                "inUseCount": in_use[index - 1],
                "healthInfo": _health("Host", DOMAIN_SIZE, degraded[index - 1]),
                "physicalTopology": {"cluster": CLUSTER, "block": CLUSTER_BLOCK, "subBlock": domain},
                "status": "READY",
            },
        )


def _health(what: str, total: int, degraded: int) -> dict[str, Any]:
    return {
        "healthStatus": "DEGRADED" if degraded else "HEALTHY",
        f"healthy{what}Count": total - degraded,
        f"degraded{what}Count": degraded,
    }


def add_networks(store: Store) -> None:
    """Two gVNIC networks and one RoCE network with four rails."""
    base = f"projects/{PROJECT}"
    profile = f"{base}/global/networkProfiles/{ZONE}-vpc-roce"
    subnets = {
        "fleet-gvnic-0": ["10.10.0.0/16"],
        "fleet-gvnic-1": ["10.11.0.0/16"],
        "fleet-rdma": [f"10.{20 + rail}.0.0/16" for rail in range(4)],
    }
    for network, ranges in subnets.items():
        body: dict[str, Any] = {"autoCreateSubnetworks": False, "mtu": 8896}
        if network == "fleet-rdma":
            body["networkProfile"] = COMPUTE + profile
        store.put(f"{base}/global/networks/{network}", body)
        for index, cidr in enumerate(ranges):
            name = f"{network}-{index}" if len(ranges) > 1 else network
            store.put(
                f"{base}/regions/{REGION}/subnetworks/{name}",
                {"network": f"{COMPUTE}{base}/global/networks/{network}", "ipCidrRange": cidr},
            )


def add_project(store: Store) -> None:
    """What exists before anybody provisions anything: the network profile and an image."""
    base = f"projects/{PROJECT}/global"
    store.put(f"{base}/networkProfiles/{ZONE}-vpc-roce", {"profileType": "RDMA", "zone": f"{COMPUTE}{zone_path()}"})
    for name in ("fleet-arm64-v1", "fleet-x86-v1"):
        store.put(f"{base}/images/{name}", {"status": "READY", "diskSizeGb": "20"})


def instance(name: str, **changes: Any) -> dict[str, Any]:
    """An A4X machine as the API lists it, with fields replaced by ``changes``."""
    rails = [
        _nic(index + 2, f"fleet-rdma-{index}", "fleet-rdma", f"10.{20 + index}.0.9", "MRDMA") for index in range(4)
    ]
    body: dict[str, Any] = {
        "name": name,
        "status": "RUNNING",
        "machineType": f"{COMPUTE}{zone_path('machineTypes', 'a4x-highgpu-4g')}",
        "labels": {"role": "worker", "fleet": "demo"},
        "tags": {"items": ["fleet"], "fingerprint": "f1"},
        "metadata": {"fingerprint": "f2", "items": [{"key": "fleet-version", "value": "7"}]},
        "networkInterfaces": [
            _nic(0, "fleet-gvnic-0", "fleet-gvnic-0", "10.10.0.9", "GVNIC"),
            _nic(1, "fleet-gvnic-1", "fleet-gvnic-1", "10.11.0.9", "GVNIC"),
            *rails,
        ],
        "scheduling": {
            "provisioningModel": "RESERVATION_BOUND",
            "instanceTerminationAction": "STOP",
            "onHostMaintenance": "TERMINATE",
            "automaticRestart": True,
        },
        "reservationAffinity": {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": RESERVATION_KEY,
            "values": [RESERVATION],
        },
        "disks": [{"boot": True, "source": f"{COMPUTE}{zone_path('disks', name)}", "deviceName": "boot"}],
    }
    return {**body, **changes}


def _nic(index: int, subnet: str, network: str, address: str, kind: str) -> dict[str, Any]:
    base = f"{COMPUTE}projects/{PROJECT}"
    return {
        "name": f"nic{index}",
        "nicType": kind,
        "networkIP": address,
        "network": f"{base}/global/networks/{network}",
        "subnetwork": f"{base}/regions/{REGION}/subnetworks/{subnet}",
        "stackType": "IPV4_ONLY",
    }


def placed(domain: int, host: int) -> dict[str, Any]:
    """The ``resourceStatus`` of machine ``host`` in NVL72 domain ``domain`` (both from 0)."""
    link = COMPUTE + sub_block_path(domain + 1)
    place = {"cluster": CLUSTER, "block": CLUSTER_BLOCK, "subblock": DOMAINS[domain], "host": f"{host:02d}e4"}
    return {
        "physicalHost": f"/{CLUSTER}/{CLUSTER_BLOCK}/{DOMAINS[domain]}/{host:02d}e4",
        "physicalHostTopology": place,
        "reservationConsumptionInfo": {
            "consumedReservation": link.rsplit("/", 4)[0],
            "consumedReservationBlock": link.rsplit("/", 2)[0],
            "consumedReservationSubBlock": link,
        },
    }


def worker(domain: int, host: int, **changes: Any) -> dict[str, Any]:
    """Machine number ``host`` of a domain, with addresses of its own."""
    body = instance(f"a4x-{'ab'[domain]}-{host:02d}", resourceStatus=placed(domain, host))
    for nic in body["networkInterfaces"]:
        nic["networkIP"] = f"{nic['networkIP'].rsplit('.', 2)[0]}.{domain + 1}.{host + 10}"
    return {**body, **changes}


def empty() -> Store:
    """A project with a reservation, an image and nothing else: for provisioning from nothing."""
    store = Store()
    add_project(store)
    add_reservation(store)
    return store


def a4x() -> Store:
    """36 A4X machines in two NVL72 domains, a control plane, and machines that are stopped or lack a topology."""
    store = Store()
    add_project(store)
    add_networks(store)
    add_reservation(store, in_use=(DOMAIN_SIZE, DOMAIN_SIZE), degraded=(0, 1))
    for domain in range(2):
        for host in range(DOMAIN_SIZE):
            machine = worker(domain, host)
            store.put(zone_path("instances", machine["name"]), machine)
    x86 = {"machineType": f"{COMPUTE}{zone_path('machineTypes', 'e2-standard-4')}", "scheduling": STANDARD}
    plain = {**x86, "reservationAffinity": {}}
    management = instance("x")["networkInterfaces"][:1]
    others = [
        instance("cp-1", labels={"role": "control-plane", "fleet": "demo"}, networkInterfaces=management, **plain),
        instance("bastion", labels={}, networkInterfaces=management, **plain),
        instance("stopped-1", status="TERMINATED", resourceStatus={}),
    ]
    for index, machine in enumerate(others):
        machine["networkInterfaces"][0] = {**machine["networkInterfaces"][0], "networkIP": f"10.10.0.{index + 11}"}
        store.put(zone_path("instances", machine["name"]), machine)
    soon = {
        "type": "SCHEDULED",
        "maintenanceStatus": "PENDING",
        "windowStartTime": "2026-12-08T06:00:00Z",
        "windowEndTime": "2026-12-08T10:00:00Z",
        "canReschedule": True,
    }
    store.get(zone_path("instances", "a4x-b-03"))["resourceStatus"]["upcomingMaintenance"] = soon
    return store


SCENARIOS: dict[str, Callable[[], Store]] = {"a4x": a4x, "a4x-empty": empty}
