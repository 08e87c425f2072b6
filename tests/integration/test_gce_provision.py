"""From nothing to machines in NVLink domains (create.yml), and on to site.yml (provision.yml), against the fake API."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.fakes.gce import FakeCompute
from tests.fakes.gce.playbooks import ROOT, command, fleet, play, ssh_to_here
from tests.fakes.gce.scenario import PROJECT, add_networks, empty, sub_block, sub_block_path, zone_path
from tests.fakes.gce.server import Request


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


def let_in(fake: FakeCompute) -> dict[str, tuple[str, Any, Any]]:
    """Firewall rule -> its network, where from, and what."""
    rules = [body for path, body in fake.store.resources.items() if "/firewalls/" in path]
    return {rule["name"]: (rule["network"].rsplit("/", 1)[1], rule["sourceRanges"], rule["allowed"]) for rule in rules}


def test_from_nothing_to_a_domain_of_sixteen() -> None:
    with FakeCompute(empty()) as fake:
        fake.store.operation_reads = 1
        wanted = fleet(a=16)
        made = play(fake, "create", **wanted)
        assert made.returncode == 0, made.stdout + made.stderr
        assert machines(fake) == {"cp-1": "", **{f"w-a-{n:02d}": sub_block(1) for n in range(16)}}
        assert let_in(fake) == {
            "fleet-ssh-iap": ("fleet-gvnic-0", ["35.235.240.0/20"], [{"IPProtocol": "tcp", "ports": ["22"]}]),
            "fleet-internal-0": ("fleet-gvnic-0", ["10.10.0.0/16", "10.244.0.0/16"], [{"IPProtocol": "all"}]),
            "fleet-internal-1": ("fleet-gvnic-1", ["10.11.0.0/16"], [{"IPProtocol": "all"}]),
        }
        writes = len(fake.writes)
        again = play(fake, "create", **wanted)
        assert (again.returncode, changed(again), len(fake.writes)) == (0, 0, writes)


def test_two_domains_and_a_failure_in_the_middle() -> None:
    store = empty()
    add_networks(store)
    store.fail_operation("instances/w-b-03", "ZONE_RESOURCE_POOL_EXHAUSTED", "no capacity")
    with FakeCompute(store) as fake:
        store.operation_reads = 1
        wanted = fleet(a=8, b=8)
        dry = play(fake, "create", "--tags", "gce_nodes", "--check", "--diff", **wanted)
        assert dry.returncode == 0, dry.stdout + dry.stderr
        assert (changed(dry), fake.writes) == (3, [])
        failed = play(fake, "create", "--tags", "gce_nodes", **wanted)
        assert failed.returncode != 0
        assert "1 of 8 machines failed, run again to repair: w-b-03" in failed.stdout
        assert "w-b-03" not in machines(fake)
        repaired = play(fake, "create", "--tags", "gce_nodes", **wanted)
        assert repaired.returncode == 0, repaired.stdout
        both = {f"w-{name}-{n:02d}": sub_block(index) for index, name in ((1, "a"), (2, "b")) for n in range(8)}
        assert machines(fake) == {"cp-1": "", **both}
        inserts = [request.body["name"] for request in fake.writes if request.path.endswith("/instances")]
        assert sorted(inserts) == sorted([*machines(fake), "w-b-03"])
        assert store.get(sub_block_path(1))["inUseCount"] == store.get(sub_block_path(2))["inUseCount"] == 8


def test_a_killed_run_is_repaired_by_running_again(tmp_path: Path) -> None:
    """Killed (SIGKILL, all its processes) when the third machine was accepted: some are made, some are half made."""
    store = empty()
    add_networks(store)
    with FakeCompute(store) as fake:
        store.operation_reads = 3
        argv, env = command(fake, "create", "--tags", "gce_nodes", **fleet(a=16))
        with (tmp_path / "output").open("wb") as output:
            run = subprocess.Popen(argv, cwd=ROOT, env=env, stdout=output, stderr=output, start_new_session=True)

            def kill(request: Request, _status: int) -> None:
                workers = [
                    sent for sent in fake.writes if sent.path.endswith("/instances") and "w-a" in sent.body["name"]
                ]
                if request in workers and len(workers) >= 3:  # several are on their way at once
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(run.pid, signal.SIGKILL)

            fake.on_request = kill
            assert run.wait(timeout=300) == -signal.SIGKILL, (tmp_path / "output").read_text()
        fake.on_request = lambda _request, _status: None
        half_made = [name for name in machines(fake) if name.startswith("w-")]
        assert 3 <= len(half_made) < 16
        repaired = play(fake, "create", "--tags", "gce_nodes", **fleet(a=16))
        assert repaired.returncode == 0, repaired.stdout
        assert machines(fake) == {"cp-1": "", **{f"w-a-{n:02d}": sub_block(1) for n in range(16)}}
        inserts = [request.body["name"] for request in fake.writes if request.path.endswith("/instances")]
        assert sorted(inserts) == sorted(machines(fake))
        assert store.get(sub_block_path(1))["inUseCount"] == 16


def test_the_example_inventory_is_made_as_planned_and_handed_over(tmp_path: Path) -> None:
    """inventories/a4x: addresses of the plan, then reached by SSH through IAP, then site.yml's preflight."""
    ssh, seen = ssh_to_here(tmp_path)
    env = {"GCP_PROJECT": PROJECT, "ANSIBLE_SSH_EXECUTABLE": str(ssh)}
    with FakeCompute(empty()) as fake:
        fake.store.operation_reads = 1
        wanted = {
            "fleet_through_iap": True,
            "ansible_become": False,
            "fleet_stack": "none",
            "fleet_hosts": "a4x-cp-1:a4x-d1-w01",
            "ansible_python_interpreter": sys.executable,
            "provision_boot_timeout": 120,
        }
        made = play(fake, "provision", "-i", "inventories/a4x", env=env, **wanted)
        # site.yml begins with its preflight, which stops at this recipe before it changes the machines.
        assert made.returncode != 0
        assert "fleet_stack = 'none': no recipe of that name" in made.stdout, made.stdout + made.stderr
        reached = set(
            re.findall(r"start-iap-tunnel (\S+) 22 --listen-on-stdin --project=demo-project", seen.read_text())
        )
        assert reached == {"a4x-cp-1", "a4x-d1-w01"}
        assert len(machines(fake)) == 37
        assert addresses(fake, "a4x-cp-1") == ["10.10.1.11"]
        assert addresses(fake, "a4x-d2-w18") == [f"10.10.{network}.58" for network in (1, 2, 10, 11, 12, 13)]
        writes = len(fake.writes)
        again = play(fake, "create", "-i", "inventories/a4x", env=env)
        assert (again.returncode, changed(again), len(fake.writes)) == (0, 0, writes), again.stdout
        live = listed(fake, **env)
        assert live["a4x-d2-w18"]["gce_domain"] == {
            "__ansible_unsafe": "2f3c77aa"
        }  # as Ansible lists what is no template
        assert live["a4x-d2-w18"]["ansible_host"] == {"__ansible_unsafe": "10.10.1.58"}
        asked = len(fake.log)
        assert "gce_domain" not in listed(fake)["a4x-d2-w18"]  # no project, no request
        assert len(fake.log) == asked


def test_machines_are_not_handed_to_an_inventory_that_does_not_know_them() -> None:
    store = empty()
    add_networks(store)
    with FakeCompute(store) as fake:
        store.operation_reads = 1
        done = play(fake, "provision", "--tags", "gce_nodes,provision_reach", **fleet())
        assert done.returncode != 0
        assert "The inventory has no cp-1. The machines exist" in done.stdout


def addresses(fake: FakeCompute, name: str) -> list[str]:
    return [nic["networkIP"] for nic in fake.store.get(zone_path("instances", name))["networkInterfaces"]]


def listed(fake: FakeCompute, **env: str) -> dict[str, dict[str, object]]:
    argv, environment = command(fake, "none")
    program = Path(argv[0]).with_name("ansible-inventory")
    environment = {name: value for name, value in environment.items() if name != "GCP_PROJECT"} | env
    done = subprocess.run(
        [program, "-i", "inventories/a4x", "--list"], capture_output=True, check=True, cwd=ROOT, env=environment
    )
    found: dict[str, dict[str, object]] = json.loads(done.stdout)["_meta"]["hostvars"]
    return found
