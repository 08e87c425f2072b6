"""The playbooks for Google Cloud, run by ansible-playbook against the fake API. More: tests/integration."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.gce import FakeCompute
from tests.fakes.gce.inventory import config
from tests.fakes.gce.playbooks import fleet, play, ssh_to_here
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
    assert "spare hosts: 0" in done.stdout
    assert "2f3c77aa: a4x-b-00, a4x-b-01" in done.stdout
    found = json.loads(target.read_text())
    one = [f"a4x-a-{number:02d}" for number in range(18)]
    assert [machine["name"] for machine in found["domains"][0]["machines"]] == one
    assert [(domain["domain"], domain["health"], domain["free"]) for domain in found["domains"]] == [
        ("1f3c77aa", "HEALTHY", 0),
        ("2f3c77aa", "DEGRADED", 0),
    ]
    assert (found["spare_hosts"], found["maintenance"][0]["name"]) == (0, "a4x-b-03")


def test_a_faulty_host_is_reported_once_it_is_confirmed(tmp_path: Path) -> None:
    """From the latest findings to what follows: no spare host moves in, the repair takes 3 to 14 days."""
    finding = {"check": "gpu", "severity": "FAIL", "subject": {"host": "a4x-a-03"}, "message": "XID 79 on GPU 2"}
    latest, drain, source = tmp_path / "reports/demo/latest", tmp_path / "drain.yml", tmp_path / "demo/f.gce_nvl72.yml"
    latest.mkdir(parents=True)
    (latest / "findings.json").write_text(json.dumps({"findings": [finding]}))
    drain.write_text('- ansible.builtin.debug: {msg: "DRAINED {{ report_faulty_host }}"}\n')
    source.parent.mkdir()
    with FakeCompute(a4x()) as fake:
        fake.store.operation_reads = 1
        source.write_text(json.dumps(config(fake)))
        options = {
            "report_faulty_host": "a4x-a-03",
            "report_directory": str(tmp_path / "reports"),
            "report_faulty_drain": str(drain),
        }
        asked = play(fake, "report_faulty", "-i", str(source), **options)
        assert asked.returncode != 0
        assert "would be reported as UNRECOVERABLE_GPU_ERROR (gpu: XID 79 on GPU 2)" in asked.stdout
        assert (fake.writes, "DRAINED" in asked.stdout) == ([], False)
        done = play(fake, "report_faulty", "-i", str(source), report_faulty_confirm=True, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "DRAINED a4x-a-03" in done.stdout
        what_follows = "For A4X no spare host moves in: the repair takes 3 to 14 days, and the same host comes back."
        assert what_follows in done.stdout
        assert len(fake.writes) == 1
        assert fake.store.get(zone_path("instances", "a4x-a-03"))["status"] == "REPAIRING"
        again = play(fake, "report_faulty", "-i", str(source), report_faulty_confirm=True, **options)
        assert again.returncode == 0, again.stdout + again.stderr
        assert ("is already reported" in again.stdout, "DRAINED" in again.stdout) == (True, False)
        assert len(fake.writes) == 1


def test_without_findings_it_is_said_what_to_do(tmp_path: Path) -> None:
    with FakeCompute(a4x()) as fake:
        options = {"report_faulty_host": "a4x-a-03", "report_directory": str(tmp_path)}
        done = play(fake, "report_faulty", "-i", "a4x-a-03,", **options)
        assert (done.returncode, fake.log) == (2, [])
    assert f"There is no {tmp_path}/inline/latest/findings.json. Run verify.yml first" in done.stdout


def test_a_machine_in_no_cluster_is_reported_without_draining() -> None:
    options = {
        "report_faulty_host": "a4x-a-03",
        "report_faulty_project": PROJECT,
        "report_faulty_zone": ZONE,
        "report_faulty_instance": "a4x-a-03",
        "report_faulty_behavior": "PERFORMANCE",
        "report_faulty_description": "half the bandwidth of its neighbours",
        "report_faulty_confirm": True,
    }
    with FakeCompute(a4x()) as fake:
        fake.store.operation_reads = 1
        dry = play(fake, "report_faulty", "-i", "a4x-a-03,", "--check", **options)
        assert (dry.returncode, fake.writes) == (0, []), dry.stdout + dry.stderr
        done = play(fake, "report_faulty", "-i", "a4x-a-03,", **options)
        assert (done.returncode, len(fake.writes)) == (0, 1), done.stdout + done.stderr
        assert "a4x-a-03 is not drained: report_faulty_drain names no tasks" in done.stdout


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


@pytest.mark.parametrize("through", ["internal", "iap"])
def test_a_machine_is_reached_through_iap_or_at_its_internal_address(through: str, tmp_path: Path) -> None:
    store = empty()
    add_networks(store)
    ssh, notes = ssh_to_here(tmp_path)
    options = {"test_boot_connection": "ssh", "test_boot_through": through, "test_boot_checks": [GOOD]}
    with FakeCompute(store) as fake:
        store.operation_reads = 1
        done = play(
            fake, "test_boot", env={"ANSIBLE_SSH_EXECUTABLE": str(ssh)}, **{**BOOT, **options, "test_boot_timeout": 60}
        )
        assert done.returncode == 0, done.stdout + done.stderr
    tunnel = f"gcloud compute start-iap-tunnel test-boot 22 --listen-on-stdin --project={PROJECT} --zone={ZONE}"
    for line in notes.read_text().splitlines():
        assert (tunnel in line) is (through == "iap")
        assert re.search(r" 10\.10\.\d+\.\d+\b", line)


def test_an_image_is_not_booted_in_check_mode() -> None:
    store = empty()
    add_networks(store)
    with FakeCompute(store) as fake:
        done = play(fake, "test_boot", "--check", **BOOT)
        assert (done.returncode, fake.writes) == (0, []), done.stdout
