"""The playbooks for Google Cloud, run by ansible-playbook against the fake API. More: tests/integration."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.gce import FakeCompute
from tests.fakes.gce.inventory import config
from tests.fakes.gce.playbooks import fleet, play
from tests.fakes.gce.scenario import PROJECT, ZONE, a4x, empty, sub_block, zone_path


def test_capacity_is_judged_before_anything_is_made() -> None:
    with FakeCompute(empty()) as fake:
        done = play(fake, "provision", "--tags", "gce_nodes", **fleet(a=19))
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
