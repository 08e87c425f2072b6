"""The playbooks for Google Cloud, run by ansible-playbook against the fake API. More: tests/integration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.gce import FakeCompute
from tests.fakes.gce.inventory import config
from tests.fakes.gce.playbooks import fleet, play
from tests.fakes.gce.scenario import PROJECT, ZONE, a4x, add_networks, empty, instance, sub_block, zone_path


def test_capacity_is_judged_before_anything_is_made() -> None:
    with FakeCompute(empty()) as fake:
        done = play(fake, "create", "--tags", "gce_nodes", **fleet(a=19))
        assert done.returncode != 0
        assert "19 machines of domain a do not fit into any sub-block" in done.stdout
        assert sub_block(2) in done.stdout
        assert fake.writes == []


def test_topology_as_table_and_json(tmp_path: Path) -> None:
    target = tmp_path / "topology.json"
    with FakeCompute(a4x()) as fake:
        done = play(fake, "topology", topology_project=PROJECT, topology_zone=ZONE, topology_file=str(target))
        assert done.returncode == 0, done.stdout + done.stderr
    assert "machines in no domain: bastion, cp-1, stopped-1" in done.stdout
    assert "maintenance is announced for: a4x-b-03" in done.stdout
    assert len(json.loads(target.read_text())["domains"]) == 2


def test_a_faulty_host_is_reported_once_it_is_confirmed(tmp_path: Path) -> None:
    finding = {"check": "gpu", "severity": "FAIL", "subject": {"host": "a4x-a-03"}, "message": "XID 79 on GPU 2"}
    findings, drain, source = tmp_path / "findings.json", tmp_path / "drain.yml", tmp_path / "f.gce_nvl72.yml"
    findings.write_text(json.dumps({"findings": [finding]}))
    drain.write_text('- ansible.builtin.debug: {msg: "DRAINED {{ report_faulty_host }}"}\n')
    with FakeCompute(a4x()) as fake:
        fake.store.operation_reads = 1
        source.write_text(json.dumps(config(fake)))
        options = {
            "report_faulty_host": "a4x-a-03",
            "report_faulty_findings": str(findings),
            "report_faulty_drain": str(drain),
        }
        asked = play(fake, "report_faulty", "-i", str(source), **options)
        assert asked.returncode != 0
        assert "would be reported as UNRECOVERABLE_GPU_ERROR (gpu: XID 79 on GPU 2)" in asked.stdout
        assert (fake.writes, "DRAINED" in asked.stdout) == ([], False)
        done = play(fake, "report_faulty", "-i", str(source), report_faulty_confirm=True, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "DRAINED a4x-a-03" in done.stdout
        assert "the repair takes 3 to 14 days, and the same host comes back" in done.stdout  # A33
        assert len(fake.writes) == 1
        assert fake.store.get(zone_path("instances", "a4x-a-03"))["status"] == "REPAIRING"


BOOT = {
    "test_boot_project": PROJECT,
    "test_boot_zone": ZONE,
    "test_boot_image": "fleet-arm64-v1",
    "test_boot_connection": "local",
    "test_boot_timeout": 1,
}
GOOD, BAD = {"name": "kernel", "argv": ["uname", "-s"], "matches": "^Linux$"}, {"name": "word", "argv": ["echo", "no"]}
BOOTS: dict[str, tuple[dict[str, Any], int, str]] = {
    "good": ({"test_boot_checks": [GOOD]}, 0, "=> (item=kernel)"),
    "one bad": ({"test_boot_checks": [{**BAD, "matches": "yes"}, GOOD]}, 2, "failed: [localhost -> test-boot"),
    "unreachable": ({"test_boot_connection": "ssh"}, 2, "timed out waiting for ping module test"),
}


@pytest.mark.parametrize("name", BOOTS)
def test_an_image_is_booted_checked_and_removed(name: str) -> None:
    options, code, text = BOOTS[name]
    store = empty()
    add_networks(store)
    left = instance("test-boot", networkInterfaces=[])  # by a killed run, from whatever image
    store.put(zone_path("instances", "test-boot"), left)
    with FakeCompute(store) as fake:
        store.operation_reads = 1
        done = play(fake, "test_boot", env={"ANSIBLE_SSH_EXECUTABLE": "/bin/false"}, **{**BOOT, **options})
        assert done.returncode == code, done.stdout + done.stderr
        assert text in done.stdout
        assert [request.method for request in fake.writes] == ["DELETE", "POST", "DELETE"]
        image = fake.writes[1].body["disks"][0]["initializeParams"]["sourceImage"]
        assert image == f"projects/{PROJECT}/global/images/fleet-arm64-v1"
        assert zone_path("instances", "test-boot") not in store.resources


def test_an_image_is_not_booted_in_check_mode() -> None:
    store = empty()
    add_networks(store)
    with FakeCompute(store) as fake:
        done = play(fake, "test_boot", "--check", **BOOT)
        assert (done.returncode, fake.writes) == (0, []), done.stdout
