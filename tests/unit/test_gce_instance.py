"""Machines on GCE: the A4X body field by field, wishes that are refused, states, and failures in the middle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.machines import PASSING
from ansible_collections.gpufleet.cluster.plugins.modules.gce_instance import MODELS, NIC_TYPES
from google.cloud import compute_v1

from tests.fakes.gce import Answer, FakeCompute
from tests.fakes.gce.modules import run_module
from tests.fakes.gce.scenario import PROJECT, REGION, RESERVATION, ZONE, add_networks, empty, sub_block_path, zone_path
from tests.fakes.gce.store import COMPUTE

SUBNETS = f"projects/{PROJECT}/regions/{REGION}/subnetworks"
POLICY = f"projects/{PROJECT}/regions/{REGION}/resourcePolicies/domain-a"
AFFINITY = sub_block_path(1).replace(f"zones/{ZONE}/", "")
CARDS = ["fleet-gvnic-0", "fleet-gvnic-1", *(f"fleet-rdma-{rail}" for rail in range(4))]
INTERFACES = [{"subnetwork": name, "nic_type": "MRDMA" if "rdma" in name else "GVNIC"} for name in CARDS]
A4X: dict[str, Any] = {
    "zone": ZONE,
    "names": ["w0", "w1"],
    "machine_type": "a4x-highgpu-4g",
    "image": "fleet-arm64-v1",
    "interfaces": [{**INTERFACES[0], "external_ip": True}, *INTERFACES[1:]],
    "reservation": AFFINITY,
    "placement_policy": "domain-a",
    "labels": {"role": "worker"},
    "tags": ["fleet"],
    "metadata": {"enable-oslogin": "TRUE"},
    "service_account": "nodes@demo-project.iam.gserviceaccount.com",
}
UNSAID = re.compile("UNDEFINED|UNSPECIFIED")
CONTROL_PLANE: dict[str, Any] = {
    "zone": ZONE,
    "names": ["cp-1"],
    "machine_type": "e2-standard-4",
    "image": "fleet-x86-v1",
    "interfaces": INTERFACES[:1],
}


@pytest.fixture
def fake() -> Iterator[FakeCompute]:
    store = empty()
    add_networks(store)
    store.put(POLICY, {"groupPlacementPolicy": {"gpuTopology": "1x72"}})
    with FakeCompute(store) as running:
        yield running


def names(result: dict[str, Any], key: str = "actions") -> dict[str, Any]:
    return {machine["name"]: machine[key] for machine in result["machines"]}


def in_use(fake: FakeCompute) -> int:
    return int(fake.store.get(sub_block_path(1))["inUseCount"])


def test_the_a4x_body_field_by_field(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    run_module(capsys, fake, "gce_instance", **{**A4X, "names": ["w0"]})
    (request,) = fake.writes
    assert request.path == zone_path("instances")
    assert request.body == {
        "name": "w0",
        "machineType": f"zones/{ZONE}/machineTypes/a4x-highgpu-4g",
        "disks": [
            {
                "boot": True,
                "autoDelete": True,
                "initializeParams": {
                    "diskType": f"projects/{PROJECT}/zones/{ZONE}/diskTypes/hyperdisk-balanced",
                    "diskSizeGb": "200",
                    "sourceImage": f"projects/{PROJECT}/global/images/fleet-arm64-v1",
                },
            }
        ],
        "networkInterfaces": [
            {
                "nicType": "GVNIC",
                "subnetwork": f"{SUBNETS}/fleet-gvnic-0",
                "accessConfigs": [{"name": "External NAT", "type": "ONE_TO_ONE_NAT"}],
            },
            {"nicType": "GVNIC", "subnetwork": f"{SUBNETS}/fleet-gvnic-1"},
            *({"nicType": "MRDMA", "subnetwork": f"{SUBNETS}/fleet-rdma-{rail}"} for rail in range(4)),
        ],
        "reservationAffinity": {
            "consumeReservationType": "SPECIFIC_RESERVATION",
            "key": "compute.googleapis.com/reservation-name",
            "values": [AFFINITY],
        },
        "scheduling": {
            "provisioningModel": "RESERVATION_BOUND",
            "instanceTerminationAction": "STOP",
            "onHostMaintenance": "TERMINATE",
            "automaticRestart": True,
        },
        "resourcePolicies": [POLICY],
        "serviceAccounts": [
            {
                "email": "nodes@demo-project.iam.gserviceaccount.com",
                "scopes": ["https://www.googleapis.com/auth/cloud-platform"],
            }
        ],
        "labels": {"role": "worker"},
        "tags": {"items": ["fleet"]},
        "metadata": {"items": [{"key": "enable-oslogin", "value": "TRUE"}]},
    }


def test_words_are_those_of_the_official_client() -> None:
    statuses = {status.name for status in compute_v1.Instance.Status}
    assert set(PASSING) < statuses
    assert statuses - set(PASSING) == {"UNDEFINED_STATUS", "RUNNING", "REPAIRING", "STOPPED", "SUSPENDED", "TERMINATED"}
    options = {
        compute_v1.NetworkInterface.NicType: NIC_TYPES,
        compute_v1.Scheduling.ProvisioningModel: MODELS,
        compute_v1.Scheduling.InstanceTerminationAction: ["STOP", "DELETE"],
        compute_v1.Scheduling.OnHostMaintenance: ["TERMINATE", "MIGRATE"],
    }
    for enum, words in options.items():
        assert set(words) == {word.name for word in enum if not UNSAID.search(word.name)}


def test_made_once_and_found_again(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    dry = run_module(capsys, fake, "gce_instance", check=True, **A4X)
    assert (dry["changed"], names(dry), fake.writes) == (True, {"w0": ["create"], "w1": ["create"]}, [])
    made = run_module(capsys, fake, "gce_instance", **A4X)
    assert names(made, "status") == {"w0": "RUNNING", "w1": "RUNNING"}
    assert all(names(made, "address").values())
    assert (in_use(fake), len(fake.writes)) == (2, 2)
    again = run_module(capsys, fake, "gce_instance", **A4X)
    assert (again["changed"], names(again), again["diff"], len(fake.writes)) == (False, {"w0": [], "w1": []}, [], 2)


def test_bulk_makes_a_domain_by_one_request(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    options = {**A4X, "names": [f"w{number}" for number in range(16)], "bulk": True}
    result = run_module(capsys, fake, "gce_instance", **options)
    assert (result["failed"], set(map(tuple, names(result).values()))) == (False, {("create",)})
    assert set(names(result, "status").values()) == {"RUNNING"}
    (request,) = fake.writes
    assert (request.path, request.body["count"], request.body["minCount"]) == (
        zone_path("instances", "bulkInsert"),
        "16",
        "16",
    )
    assert request.body["instanceProperties"]["machineType"] == "a4x-highgpu-4g"
    assert run_module(capsys, fake, "gce_instance", **options)["changed"] is False


def test_a_control_plane_is_an_ordinary_machine(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    assert run_module(capsys, fake, "gce_instance", **CONTROL_PLANE)["failed"] is False
    assert fake.writes[0].body["scheduling"] == {
        "provisioningModel": "STANDARD",
        "onHostMaintenance": "MIGRATE",
        "automaticRestart": True,
    }
    assert "reservationAffinity" not in fake.writes[0].body


WRONG = {
    "standard": (
        {"provisioning_model": "STANDARD", "on_host_maintenance": "MIGRATE"},
        "provisioningModel RESERVATION_BOUND, onHostMaintenance TERMINATE, instanceTerminationAction STOP or DELETE",
    ),
    "order": ({"interfaces": INTERFACES[::-1]}, "takes 2 GVNIC and then 4 MRDMA interfaces, not MRDMA"),
    "one card": ({"interfaces": INTERFACES[:1]}, "takes 2 GVNIC and then 4 MRDMA interfaces, not GVNIC"),
    "persistent disk": ({"disk_type": "pd-ssd"}, "takes Hyperdisk only, not pd-ssd"),
    "no reservation": ({"reservation": None}, "comes from a reservation only"),
    "join token in metadata": ({"metadata": {"join-token": "x"}}, "metadata join-token looks like a secret"),
    "token's form in metadata": (
        {"metadata": {"join": "abcdef.0123456789abcdef"}},
        "metadata join looks like a secret",
    ),
    "private key in metadata": (
        {"metadata": {"k": "-----BEGIN EC PRIVATE KEY-----"}},
        "metadata k looks like a secret",
    ),
    "dense without gpu": (
        {"machine_type": "n2-standard-4", "interfaces": INTERFACES[:1]},
        "a DENSE reservation needs provisioningModel RESERVATION_BOUND",
    ),
    "addresses": (
        {"addresses": {"w0": ["10.10.0.5"], "w1": ["10.10.0.6", "x", *(f"10.2{rail}.0.6" for rail in range(4))]}},
        "w0 has 6 interfaces, but addresses for 1; w1: 'x' is no IPv4 address",
    ),
    "one address twice": (
        {"addresses": {name: [f"10.10.{card}.5" for card in range(6)] for name in ("w0", "w1")}},
        "w0 and w1 both want 10.10.0.5",
    ),
    "no list": ({"addresses": {"w0": "10.10.0.5"}}, "addresses of w0: write a list"),
    "bulk": (
        {"bulk": True, "addresses": {"w0": [f"10.10.{card}.5" for card in range(6)]}},
        "a bulk request cannot give fixed addresses",
    ),
    "path with a zone": (
        {"reservation": f"projects/{PROJECT}/zones/{ZONE}/reservations/{RESERVATION}"},
        "is neither a name nor projects/PROJECT/reservations/NAME",
    ),
    "unknown reservation": ({"reservation": "other"}, "reservations/other' was not found"),
}


@pytest.mark.parametrize("name", WRONG)
def test_f19_wishes_that_are_refused_before_anything_is_made(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, name: str
) -> None:
    """Also join tokens and private keys in metadata: everybody who may view the machine can read them there."""
    changes, why = WRONG[name]
    for check in (True, False):
        result = run_module(capsys, fake, "gce_instance", check=check, **{**A4X, **changes})
        assert result["failed"] is True
        assert why in result["msg"]
    assert fake.writes == []


def test_fixed_addresses(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    plan = {"w0": [f"10.{10 + card}.0.5" for card in range(6)], "other": ["not ours"]}
    result = run_module(capsys, fake, "gce_instance", **A4X, addresses=plan)
    assert result["failed"] is False
    sent = {
        request.body["name"]: [nic.get("networkIP") for nic in request.body["networkInterfaces"]]
        for request in fake.writes
    }
    assert sent == {"w0": plan["w0"], "w1": [None] * 6}
    assert names(result, "address")["w0"] == "10.10.0.5"
    assert run_module(capsys, fake, "gce_instance", **A4X, addresses=plan)["changed"] is False
    moved = {"w0": ["10.10.0.99", *plan["w0"][1:]]}
    refused = run_module(capsys, fake, "gce_instance", **A4X, addresses=moved)
    assert "w0 exists, and Compute cannot change in place: networkInterfaces is 'GVNIC:fleet-gvnic-0:10.10.0.5" in str(
        refused["msg"]
    )
    assert len(fake.writes) == 2


def test_all_that_is_wrong_is_said_at_once(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    changes = {"interfaces": INTERFACES[:1], "disk_type": "pd-ssd", "metadata": {"token": "x"}}
    text = run_module(capsys, fake, "gce_instance", **{**A4X, **changes})["msg"]
    assert all(part in text for part in ("2 GVNIC", "Hyperdisk only", "metadata token"))


def test_one_failing_machine_is_repaired_by_running_again(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute
) -> None:
    options = {**A4X, "names": [f"w{number}" for number in range(4)]}
    fake.store.fail_operation("instances/w2", "ZONE_RESOURCE_POOL_EXHAUSTED", "no capacity")
    result = run_module(capsys, fake, "gce_instance", **options)
    assert result["failed"] is True
    assert "1 of 4 machines failed, run again to repair: w2:" in result["msg"]
    assert "ZONE_RESOURCE_POOL_EXHAUSTED: no capacity" in result["msg"]
    assert names(result, "status") == {"w0": "RUNNING", "w1": "RUNNING", "w2": None, "w3": "RUNNING"}
    assert in_use(fake) == 3
    again = run_module(capsys, fake, "gce_instance", **options)
    assert (again["failed"], names(again)) == (False, {"w0": [], "w1": [], "w2": ["create"], "w3": []})
    assert in_use(fake) == 4
    assert len([path for path in fake.store.resources if "/instances/" in path]) == 4


def test_a_cut_connection_after_acceptance_makes_no_second_machine(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute
) -> None:
    fake.script.plant("POST", "instances$", Answer(cut="after"), Answer(cut="after"))
    result = run_module(capsys, fake, "gce_instance", **A4X)
    assert (result["failed"], in_use(fake)) == (False, 2)
    ids = {request.body["name"]: request.query["requestId"] for request in fake.writes}
    assert {(request.body["name"], request.query["requestId"]) for request in fake.writes} == set(ids.items())


def test_work_that_a_killed_run_left_is_waited_for(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    run_module(capsys, fake, "gce_instance", **{**A4X, "names": ["w0"]})
    fake.store.drop(zone_path("instances", "w0"))
    fake.store.get(sub_block_path(1))["inUseCount"] = 0
    insert = fake.writes[0].body
    fake.store.operation_reads = 4
    with fake.store.lock:
        fake._change("POST", zone_path("instances"), "instances", insert)  # accepted, and then nobody waited
    assert fake.store.resources[zone_path("instances", "w0")]["status"] == "PROVISIONING"
    result = run_module(capsys, fake, "gce_instance", **{**A4X, "names": ["w0"]})
    assert (result["changed"], names(result, "status"), in_use(fake)) == (False, {"w0": "RUNNING"}, 1)


def test_somebody_else_was_faster(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    run_module(capsys, fake, "gce_instance", **{**A4X, "names": ["w0"]})
    fake.script.plant("GET", "instances/w0$", Answer.error(404, "notFound", "not yet"))
    result = run_module(capsys, fake, "gce_instance", **{**A4X, "names": ["w0"]})
    assert (result["failed"], names(result, "status"), in_use(fake)) == (False, {"w0": "RUNNING"}, 1)


def test_labels_tags_and_metadata_change_in_place(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    run_module(capsys, fake, "gce_instance", **A4X)
    machine = fake.store.get(zone_path("instances", "w0"))
    machine["metadata"]["items"].append({"key": "agent", "value": "theirs"})
    options = {**A4X, "names": ["w0"], "labels": {"role": "spare"}, "tags": [], "metadata": {"enable-oslogin": "FALSE"}}
    dry = run_module(capsys, fake, "gce_instance", check=True, **options)
    assert (names(dry), len(fake.writes)) == ({"w0": ["setLabels", "setTags", "setMetadata"]}, 2)
    result = run_module(capsys, fake, "gce_instance", **options)
    assert result["diff"] == [
        {
            "before_header": "w0",
            "after_header": "w0",
            "before": {"labels": {"role": "worker"}, "tags": ["fleet"], "metadata": {"enable-oslogin": "TRUE"}},
            "after": {"labels": {"role": "spare"}, "tags": [], "metadata": {"enable-oslogin": "FALSE"}},
        }
    ]
    assert machine["metadata"]["items"] == [
        {"key": "agent", "value": "theirs"},
        {"key": "enable-oslogin", "value": "FALSE"},
    ]
    assert run_module(capsys, fake, "gce_instance", **options)["changed"] is False


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"machine_type": "a4x-highgpu-8g"}, "machineType is 'a4x-highgpu-4g'"),
        ({"reservation": RESERVATION}, "reservationAffinity is"),
        ({"placement_policy": "domain-b"}, "resourcePolicies is"),
        ({"termination_action": "DELETE"}, "scheduling is"),
        ({"service_account": "other@demo-project.iam.gserviceaccount.com"}, "serviceAccounts is"),
        ({"interfaces": INTERFACES[:2] + INTERFACES[:1:-1]}, "networkInterfaces is"),
    ],
    ids=["machine type", "reservation", "policy", "scheduling", "service account", "order of the rails"],
)
def test_what_cannot_change_is_refused(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, changes: dict[str, Any], why: str
) -> None:
    run_module(capsys, fake, "gce_instance", **A4X)
    result = run_module(capsys, fake, "gce_instance", **{**A4X, **changes})
    assert result["failed"] is True
    assert why in result["msg"]
    assert len(fake.writes) == 2


def test_stop_start_and_delete(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    run_module(capsys, fake, "gce_instance", **A4X)
    for state, action, status in (("stopped", "stop", "TERMINATED"), ("running", "start", "RUNNING")):
        dry = run_module(capsys, fake, "gce_instance", check=True, **A4X, state=state)
        result = run_module(capsys, fake, "gce_instance", **A4X, state=state)
        assert names(dry) == names(result) == {"w0": [action], "w1": [action]}
        assert names(result, "status") == {"w0": status, "w1": status}
        assert run_module(capsys, fake, "gce_instance", **A4X, state=state)["changed"] is False
    gone = {"zone": ZONE, "names": ["w0", "w1"], "state": "absent"}
    assert names(run_module(capsys, fake, "gce_instance", check=True, **gone)) == {"w0": ["delete"], "w1": ["delete"]}
    assert run_module(capsys, fake, "gce_instance", **gone)["changed"] is True
    assert in_use(fake) == 0
    assert run_module(capsys, fake, "gce_instance", **gone)["changed"] is False


def test_a_machine_under_repair_is_left_alone(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    run_module(capsys, fake, "gce_instance", **A4X)
    fake.store.get(zone_path("instances", "w0"))["status"] = "REPAIRING"
    result = run_module(capsys, fake, "gce_instance", **A4X)
    assert (result["changed"], names(result, "status")["w0"]) == (False, "REPAIRING")


def test_a_builder_with_a_second_disk(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    run_module(capsys, fake, "gce_disk", zone=ZONE, name="builder-root", size_gb=50)
    result = run_module(capsys, fake, "gce_instance", **{**CONTROL_PLANE, "names": ["b1"], "disks": ["builder-root"]})
    assert result["failed"] is False
    disk = fake.store.get(zone_path("instances", "b1"))["disks"][1]
    assert disk == {"source": zone_path("disks", "builder-root"), "boot": False, "autoDelete": False}
    assert COMPUTE not in disk["source"]
