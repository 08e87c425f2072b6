"""Reports of faulty hosts and sub-blocks: one request when all is right, none otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.faulty import (
    COMPONENTS,
    HOST_BEHAVIORS,
    SUB_BLOCK_BEHAVIORS,
)
from google.cloud import compute_v1

from tests.fakes.gce import Answer, FakeCompute
from tests.fakes.gce.modules import run_module
from tests.fakes.gce.scenario import BLOCK, RESERVATION, ZONE, a4x, sub_block, sub_block_path, zone_path

HOST = {
    "zone": ZONE,
    "instance": "a4x-a-03",
    "behavior": "UNRECOVERABLE_GPU_ERROR",
    "description": "XID 79",
    "confirm": True,
}
PART = {"reservation": RESERVATION, "block": BLOCK, "name": sub_block(2), "component": "NVLINK_SWITCH"}
DOMAIN = {
    "zone": ZONE,
    "sub_block": PART,
    "behavior": "SWITCH_FAILURE",
    "description": "four trays lost NVLink",
    "confirm": True,
}
HOST_PATH = zone_path("instances", "a4x-a-03")
BODY = {
    "disruptionSchedule": "IMMEDIATE",
    "faultReasons": [{"behavior": "UNRECOVERABLE_GPU_ERROR", "description": "XID 79"}],
}


@pytest.fixture
def fake() -> Iterator[FakeCompute]:
    with FakeCompute(a4x()) as running:
        yield running


def test_the_fault_reasons_are_those_of_the_official_client() -> None:
    """compute_v1.FaultReason, which many examples name, does not exist: hosts and sub-blocks have a class each, and
    different words."""
    assert not hasattr(compute_v1, "FaultReason")
    host = compute_v1.InstancesReportHostAsFaultyRequestFaultReason.Behavior
    part = compute_v1.ReservationSubBlocksReportFaultyRequestFaultReason.Behavior
    component = compute_v1.ReservationSubBlocksReportFaultyRequest.FailureComponent
    unspecified = {"UNDEFINED_BEHAVIOR", "BEHAVIOR_UNSPECIFIED", "FAULT_BEHAVIOR_UNSPECIFIED"}
    unspecified |= {"UNDEFINED_FAILURE_COMPONENT", "FAILURE_COMPONENT_UNSPECIFIED"}
    assert set(HOST_BEHAVIORS) == {item.name for item in host} - unspecified
    assert set(SUB_BLOCK_BEHAVIORS) == {item.name for item in part} - unspecified
    assert set(COMPONENTS) == {item.name for item in component} - unspecified


def test_f23_a_good_report_is_one_post(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    dry = run_module(capsys, fake, "gce_report_faulty", check=True, **HOST)
    assert (dry["changed"], dry["request_body"], fake.writes) == (True, BODY, [])
    result = run_module(capsys, fake, "gce_report_faulty", **HOST)
    assert (result["changed"], result["operation"]["operationType"]) == (True, "reportHostAsFaulty")
    (request,) = fake.writes
    assert (request.method, request.path, request.body) == ("POST", f"{HOST_PATH}/reportHostAsFaulty", BODY)


def test_f23_a_report_that_runs_is_not_repeated(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    first = run_module(capsys, fake, "gce_report_faulty", **HOST)["operation"]["name"]
    again = run_module(capsys, fake, "gce_report_faulty", **HOST)
    assert (again["changed"], again["operation"]["name"]) == (False, first)
    assert "is already reported" in again["msg"]
    assert len(fake.writes) == 1


def test_a_report_that_has_just_ended_is_not_repeated(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    result = run_module(capsys, fake, "gce_report_faulty", **HOST, wait=True)
    assert result["operation"]["status"] == "DONE"
    assert fake.store.get(HOST_PATH)["status"] == "REPAIRING"
    fake.store.get(HOST_PATH)["status"] = "RUNNING"  # the minute before the machine goes down
    assert run_module(capsys, fake, "gce_report_faulty", **HOST)["changed"] is False
    operation = next(op for op in fake.store.operations.values() if op.body["operationType"] == "reportHostAsFaulty")
    operation.body["endTime"] = "2026-11-01T00:00:00Z"  # weeks ago: the repaired host is broken again
    fake.store.touch()
    assert run_module(capsys, fake, "gce_report_faulty", **HOST)["changed"] is True


def test_a_report_that_failed_may_be_sent_again(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    fake.store.fail_operation("instances/a4x-a-03", "RESOURCE_NOT_READY", "not now")
    assert "RESOURCE_NOT_READY: not now" in run_module(capsys, fake, "gce_report_faulty", **HOST, wait=True)["msg"]
    assert run_module(capsys, fake, "gce_report_faulty", **HOST)["changed"] is True
    assert len(fake.writes) == 2


@pytest.mark.parametrize("status", [400, 404])
def test_where_permissions_cannot_be_asked_for_compute_judges(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, status: int
) -> None:
    fake.script.plant("POST", "testIamPermissions$", Answer.error(status, "invalid", "not for such a resource"))
    assert run_module(capsys, fake, "gce_report_faulty", **HOST)["changed"] is True


def _set(path: str = HOST_PATH, /, **fields: Any) -> Any:
    return lambda fake: fake.store.get(path).update(fields)


def _deny(permission: str) -> Any:
    return lambda fake: fake.store.denied_permissions.add(permission)


STANDARD = {"provisioningModel": "STANDARD", "onHostMaintenance": "TERMINATE"}
REFUSED = {
    "repairing": (_set(status="REPAIRING"), {}, "it is REPAIRING; only a RUNNING machine"),
    "stopped": (_set(status="TERMINATED"), {}, "it is TERMINATED; only a RUNNING machine"),
    "standard": (_set(scheduling=STANDARD), {}, "its provisioning model is STANDARD; only RESERVATION_BOUND"),
    "no scheduling": (_set(scheduling={}), {}, "its provisioning model is STANDARD"),
    "control plane": (_set(), {"instance": "cp-1"}, "its machine type is e2-standard-4; only A4X, A4 and A3"),
    "not there": (_set(), {"instance": "w99"}, "was not found"),
    "wrong enum": (_set(), {"behavior": "XID_79"}, "choose one of PERFORMANCE, SILENT_DATA_CORRUPTION"),
    "enum of sub-blocks": (_set(), {"behavior": "SWITCH_FAILURE"}, "choose one of PERFORMANCE"),
    "not confirmed": (_set(), {"confirm": False}, "it needs 'confirm: true'"),
    "no permission": (_deny("compute.instances.update"), {}, "the account lacks compute.instances.update"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_f23_refused_before_anything_is_written(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, name: str
) -> None:
    prepare, changes, why = REFUSED[name]
    prepare(fake)
    for check in (True, False):
        if name == "not confirmed" and check:
            continue
        result = run_module(capsys, fake, "gce_report_faulty", check=check, **{**HOST, **changes})
        assert result["failed"] is True
        assert why in result["msg"]
    assert fake.writes == []


def test_a_sub_block_report(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    assert run_module(capsys, fake, "gce_report_faulty", check=True, **DOMAIN)["changed"] is True
    assert fake.writes == []
    assert run_module(capsys, fake, "gce_report_faulty", **DOMAIN)["changed"] is True
    (request,) = fake.writes
    assert (request.path, request.body) == (
        f"{sub_block_path(2)}/reportFaulty",
        {
            "disruptionSchedule": "IMMEDIATE",
            "failureComponent": "NVLINK_SWITCH",
            "faultReasons": [{"behavior": "SWITCH_FAILURE", "description": "four trays lost NVLink"}],
        },
    )
    assert run_module(capsys, fake, "gce_report_faulty", **DOMAIN)["changed"] is False


REFUSED_SUB_BLOCKS = {
    "enum of hosts": (_set(), {"behavior": "UNRECOVERABLE_GPU_ERROR"}, "choose one of GPU_ERROR, NVSWITCH_FAULT_CONTR"),
    "component": (_set(), {"sub_block": {**PART, "component": "FAN"}}, "NVLINK_SWITCH, MULTIPLE_FAULTY_HOSTS"),
    "not there": (_set(), {"sub_block": {**PART, "name": "other"}}, "was not found"),
    "both": (_set(), {"instance": "a4x-a-03"}, "mutually exclusive"),
    "not ready": (_set(sub_block_path(2), status="CREATING"), {}, "it is CREATING; only a READY sub-block"),
    "not confirmed": (_set(), {"confirm": False}, "it needs 'confirm: true'"),
    "no permission": (
        _deny("compute.reservationSubBlocks.reportFaulty"),
        {},
        "the account lacks compute.reservationSubBlocks.reportFaulty",
    ),
}


@pytest.mark.parametrize("name", REFUSED_SUB_BLOCKS)
def test_a_sub_block_report_refused_before_anything_is_written(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, name: str
) -> None:
    prepare, changes, why = REFUSED_SUB_BLOCKS[name]
    prepare(fake)
    result = run_module(capsys, fake, "gce_report_faulty", **{**DOMAIN, **changes})
    assert result["failed"] is True
    assert why in result["msg"]
    assert fake.writes == []
