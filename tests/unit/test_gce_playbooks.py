"""The playbooks for Google Cloud, run by ansible-playbook against the fake API."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.fakes.gce import FakeCompute
from tests.fakes.gce.inventory import config
from tests.fakes.gce.scenario import (
    PROJECT,
    RESERVATION,
    ZONE,
    a4x,
    add_networks,
    empty,
    sub_block,
    sub_block_path,
    zone_path,
)

ROOT = Path(__file__).parents[2]
WHERE = {"project": PROJECT, "zone": ZONE, "reservation": RESERVATION}


def play(fake: FakeCompute, playbook: str, *arguments: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    inventory = [] if "-i" in arguments else ["-i", "localhost,"]
    argv = [str(Path(sys.executable).with_name("ansible-playbook")), f"playbooks/{playbook}.yml"]
    argv += [*inventory, *arguments, "-e", json.dumps(variables)]
    env = {**os.environ, "GCP_AUTH_KIND": "anonymous", "GPUFLEET_GCE_ENDPOINT": fake.url, "ANSIBLE_NOCOLOR": "1"}
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT, env=env, timeout=600)


def fleet(**domains: int) -> dict[str, Any]:
    wanted = [{"name": name, "machines": [f"w-{name}-{n:02d}" for n in range(size)]} for name, size in domains.items()]
    network = {f"gce_network_{key}": value for key, value in WHERE.items() if key != "reservation"}
    nodes = {f"gce_nodes_{key}": value for key, value in WHERE.items()}
    return {**network, **nodes, "gce_nodes_domains": wanted, "provision_site": False}


def changed(done: subprocess.CompletedProcess[str]) -> int:
    found = re.search(r"localhost\s+: ok=\d+\s+changed=(\d+)", done.stdout)
    assert found, done.stdout + done.stderr
    return int(found.group(1))


def machines(fake: FakeCompute) -> dict[str, str]:
    """Machine -> the last part of the sub-block that it consumes."""
    found = {}
    for path, body in fake.store.resources.items():
        if "/instances/" in path:
            info = body.get("resourceStatus", {}).get("reservationConsumptionInfo", {})
            found[body["name"]] = info.get("consumedReservationSubBlock", "").rsplit("/", 1)[-1]
    return found


def test_from_nothing_to_a_domain_of_sixteen() -> None:
    with FakeCompute(empty()) as fake:
        fake.store.operation_reads = 1
        wanted = fleet(a=16)
        dry = play(fake, "provision", "--check", "--diff", **wanted)
        assert dry.returncode == 0, dry.stdout + dry.stderr
        assert fake.writes == []
        made = play(fake, "provision", **wanted)
        assert made.returncode == 0, made.stdout + made.stderr
        assert machines(fake) == {"cp-1": "", **{f"w-a-{n:02d}": sub_block(1) for n in range(16)}}
        writes = len(fake.writes)
        again = play(fake, "provision", **wanted)
        assert (again.returncode, changed(again), len(fake.writes)) == (0, 0, writes)


def test_two_domains_and_a_failure_in_the_middle() -> None:
    store = empty()
    add_networks(store)
    store.fail_operation("instances/w-b-03", "ZONE_RESOURCE_POOL_EXHAUSTED", "no capacity")
    with FakeCompute(store) as fake:
        store.operation_reads = 1
        wanted = fleet(a=8, b=8)
        failed = play(fake, "provision", "--tags", "gce_nodes", **wanted)
        assert failed.returncode != 0
        assert "1 of 8 machines failed, run again to repair: w-b-03" in failed.stdout
        assert "w-b-03" not in machines(fake)
        repaired = play(fake, "provision", "--tags", "gce_nodes", **wanted)
        assert repaired.returncode == 0, repaired.stdout
        both = {f"w-{name}-{n:02d}": sub_block(index) for index, name in ((1, "a"), (2, "b")) for n in range(8)}
        assert machines(fake) == {"cp-1": "", **both}
        inserts = [request.body["name"] for request in fake.writes if request.path.endswith("/instances")]
        assert sorted(inserts) == sorted([*machines(fake), "w-b-03"])
        assert store.get(sub_block_path(1))["inUseCount"] == store.get(sub_block_path(2))["inUseCount"] == 8


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
