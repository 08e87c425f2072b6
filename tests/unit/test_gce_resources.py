"""The modules for single resources: bodies field by field, idempotence, check mode, changes, refusals, removal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from google.cloud import compute_v1

from tests.fakes.gce import Answer, FakeCompute
from tests.fakes.gce.modules import run_module
from tests.fakes.gce.scenario import empty

GLOBAL = "projects/demo-project/global"
REGION = "projects/demo-project/regions/us-east1"
ZONE = "projects/demo-project/zones/us-east1-d"


@dataclass(frozen=True)
class Case:
    """A module's options, the body that they must become, and a change: allowed (its requests) or refused (why)."""

    module: str
    options: dict[str, Any]
    path: str
    body: dict[str, Any]
    change: dict[str, Any] = field(default_factory=dict)
    requests: tuple[str, ...] = ()
    refused: dict[str, Any] = field(default_factory=dict)
    why: str = ""


CASES = {
    "rdma network": Case(
        "gce_network",
        {"name": "fleet-rdma", "network_profile": "us-east1-d-vpc-roce"},
        f"{GLOBAL}/networks/fleet-rdma",
        {
            "name": "fleet-rdma",
            "autoCreateSubnetworks": False,
            "mtu": 8896,
            "networkProfile": f"{GLOBAL}/networkProfiles/us-east1-d-vpc-roce",
        },
        change={"mtu": 1500},
        requests=("PATCH",),
        refused={"network_profile": "other"},
        why="networkProfile is",
    ),
    "subnet": Case(
        "gce_subnet",
        {"region": "us-east1", "name": "fleet", "network": "fleet", "cidr": "10.0.0.0/16"},
        f"{REGION}/subnetworks/fleet",
        {
            "name": "fleet",
            "network": f"{GLOBAL}/networks/fleet",
            "ipCidrRange": "10.0.0.0/16",
            "secondaryIpRanges": [],
            "privateIpGoogleAccess": True,
        },
        change={"secondary_ranges": {"pods": "10.244.0.0/16"}},
        requests=("PATCH",),
        refused={"cidr": "10.9.0.0/16"},
        why="ipCidrRange is '10.0.0.0/16', wanted is '10.9.0.0/16'",
    ),
    "firewall": Case(
        "gce_firewall",
        {
            "name": "ssh-iap",
            "network": "fleet",
            "source_ranges": ["35.235.240.0/20"],
            "allowed": [{"protocol": "tcp", "ports": ["22"]}],
        },
        f"{GLOBAL}/firewalls/ssh-iap",
        {
            "name": "ssh-iap",
            "network": f"{GLOBAL}/networks/fleet",
            "direction": "INGRESS",
            "priority": 1000,
            "sourceRanges": ["35.235.240.0/20"],
            "targetTags": [],
            "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
        },
        change={"allowed": [{"protocol": "icmp"}, {"protocol": "udp"}]},
        requests=("PATCH",),
        refused={"network": "other"},
        why="network is",
    ),
    "placement policy": Case(
        "gce_placement_policy",
        {"region": "us-east1", "name": "domain-a"},
        f"{REGION}/resourcePolicies/domain-a",
        {"name": "domain-a", "groupPlacementPolicy": {"collocation": "COLLOCATED", "gpuTopology": "1x72"}},
        refused={"topology": "1x64"},
        why="groupPlacementPolicy is",
    ),
    "workload policy": Case(
        "gce_placement_policy",
        {"region": "us-east1", "name": "mig-a", "kind": "workload"},
        f"{REGION}/resourcePolicies/mig-a",
        {"name": "mig-a", "workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "1x72"}},
        refused={"kind": "placement"},
        why="groupPlacementPolicy is None",
    ),
    "disk": Case(
        "gce_disk",
        {
            "zone": "us-east1-d",
            "name": "builder",
            "size_gb": 50,
            "image": "fleet-arm64-v1",
            "labels": {"for": "images"},
        },
        f"{ZONE}/disks/builder",
        {
            "name": "builder",
            "sizeGb": "50",
            "type": f"{ZONE}/diskTypes/hyperdisk-balanced",
            "labels": {"for": "images"},
            "sourceImage": f"{GLOBAL}/images/fleet-arm64-v1",
        },
        change={"size_gb": 80, "labels": {}},
        requests=("POST resize", "POST setLabels"),
        refused={"type": "pd-ssd"},
        why="type is",
    ),
    "disk of a snapshot": Case(
        "gce_disk",
        {"zone": "us-east1-d", "name": "builder", "size_gb": 50, "snapshot": "builder-1"},
        f"{ZONE}/disks/builder",
        {
            "name": "builder",
            "sizeGb": "50",
            "type": f"{ZONE}/diskTypes/hyperdisk-balanced",
            "labels": {},
            "sourceSnapshot": f"{GLOBAL}/snapshots/builder-1",
        },
        refused={"snapshot": "builder-2"},
        why="sourceSnapshot is",
    ),
    "image of a snapshot": Case(
        "gce_machine_image",
        {"name": "fleet-v2", "snapshot": "builder-1", "storage_location": "us", "guest_os_features": ["GVNIC"]},
        f"{GLOBAL}/images/fleet-v2",
        {
            "name": "fleet-v2",
            "architecture": "ARM64",
            "guestOsFeatures": [{"type": "GVNIC"}],
            "labels": {},
            "storageLocations": ["us"],
            "sourceSnapshot": f"{GLOBAL}/snapshots/builder-1",
        },
        refused={"storage_location": "us-east1"},
        why="storageLocations is ['us'], wanted is ['us-east1']",
    ),
    "image of a disk": Case(
        "gce_machine_image",
        {"name": "fleet-v2", "family": "fleet", "disk": "zones/us-east1-d/disks/builder"},
        f"{GLOBAL}/images/fleet-v2",
        {
            "name": "fleet-v2",
            "architecture": "ARM64",
            "guestOsFeatures": [{"type": "UEFI_COMPATIBLE"}, {"type": "GVNIC"}, {"type": "IDPF"}],
            "labels": {},
            "family": "fleet",
            "sourceDisk": f"{ZONE}/disks/builder",
        },
        change={"labels": {"stage": "proven"}},
        requests=("POST setLabels",),
        refused={"architecture": "X86_64"},
        why="architecture is 'ARM64', wanted is 'X86_64'",
    ),
}


@pytest.fixture
def fake() -> Iterator[FakeCompute]:
    with FakeCompute(empty()) as running:
        yield running


def test_gpu_topology_is_in_the_stable_api(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    """gcloud has --gpu-topology in its alpha track, but none is needed: the v1 client has the field, and the request
    goes to /compute/v1/ (the fake knows no other version). A managed instance group takes a workload policy instead."""
    assert "gpu_topology" in compute_v1.ResourcePolicyGroupPlacementPolicy.meta.fields
    assert "accelerator_topology" in compute_v1.ResourcePolicyWorkloadPolicy.meta.fields
    run_module(capsys, fake, "gce_placement_policy", region="us-east1", name="domain-a")
    run_module(capsys, fake, "gce_placement_policy", region="us-east1", name="mig-a", kind="workload")
    assert [(request.path, sorted(request.body)) for request in fake.writes] == [
        (f"{REGION}/resourcePolicies", ["groupPlacementPolicy", "name"]),
        (f"{REGION}/resourcePolicies", ["name", "workloadPolicy"]),
    ]


def sent(fake: FakeCompute) -> list[str]:
    """The writing requests, in short."""
    verbs = [(request.method, request.path.rsplit("/", 1)[1]) for request in fake.writes]
    return [f"{method} {last}" if method == "POST" else method for method, last in verbs]


@pytest.mark.parametrize("name", CASES)
def test_made_once_and_found_again(capsys: pytest.CaptureFixture[str], fake: FakeCompute, name: str) -> None:
    case = CASES[name]
    dry = run_module(capsys, fake, case.module, check=True, **case.options)
    assert (dry["changed"], dry["diff"], fake.writes) == (True, {"before": {}, "after": case.body}, [])
    made = run_module(capsys, fake, case.module, **case.options)
    assert (made["changed"], made["resource"]["name"]) == (True, case.body["name"])
    (request,) = fake.writes
    assert (request.method, request.path, request.body) == ("POST", case.path.rsplit("/", 1)[0], case.body)
    again = run_module(capsys, fake, case.module, **case.options)
    assert (again["changed"], again["diff"], len(fake.writes)) == (False, {}, 1)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.change])
def test_changed_in_place(capsys: pytest.CaptureFixture[str], fake: FakeCompute, name: str) -> None:
    case = CASES[name]
    run_module(capsys, fake, case.module, **case.options)
    options = {**case.options, **case.change}
    assert run_module(capsys, fake, case.module, check=True, **options)["changed"] is True
    assert len(fake.writes) == 1
    changed = run_module(capsys, fake, case.module, **options)
    assert (changed["failed"], changed["changed"]) == (False, True)
    assert tuple(sent(fake)[1:]) == case.requests
    assert run_module(capsys, fake, case.module, **options)["changed"] is False


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", [False, True], ids=["run", "check"])
def test_what_cannot_change_is_refused(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, name: str, check: bool
) -> None:
    case = CASES[name]
    run_module(capsys, fake, case.module, **case.options)
    result = run_module(capsys, fake, case.module, check=check, **{**case.options, **case.refused})
    assert result["failed"] is True
    assert case.why in result["msg"]
    assert len(fake.writes) == 1


@pytest.mark.parametrize("name", CASES)
def test_removed_once(capsys: pytest.CaptureFixture[str], fake: FakeCompute, name: str) -> None:
    case = CASES[name]
    run_module(capsys, fake, case.module, **case.options)
    gone = {**case.options, "state": "absent"}
    assert run_module(capsys, fake, case.module, check=True, **gone)["changed"] is True
    assert len(fake.writes) == 1
    assert run_module(capsys, fake, case.module, **gone)["changed"] is True
    assert case.path not in fake.store.resources
    assert run_module(capsys, fake, case.module, **gone)["changed"] is False


def test_a_resource_in_use_stays(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    run_module(capsys, fake, "gce_network", name="fleet")
    run_module(capsys, fake, "gce_subnet", region="us-east1", name="fleet", network="fleet", cidr="10.0.0.0/16")
    result = run_module(capsys, fake, "gce_network", name="fleet", state="absent")
    assert "is already being used by" in result["msg"]


def test_a_cut_connection_after_acceptance_makes_no_second_one(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute
) -> None:
    fake.script.plant("POST", "networks$", Answer(cut="after"))
    assert run_module(capsys, fake, "gce_network", name="fleet")["changed"] is True
    assert len({request.query["requestId"] for request in fake.writes}) == 1
    assert len(fake.store.operations) == 1


def test_a_failed_operation_fails_the_module_by_code(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    fake.store.fail_operation("networks/fleet", "QUOTA_EXCEEDED", "Quota 'NETWORKS' exceeded")
    result = run_module(capsys, fake, "gce_network", name="fleet")
    assert (result["failed"], "QUOTA_EXCEEDED: Quota 'NETWORKS' exceeded" in result["msg"]) == (True, True)
