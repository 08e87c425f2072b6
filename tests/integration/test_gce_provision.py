"""provision.yml from nothing to machines in NVLink domains, against the fake API. Slow: some 50 module runs."""

from __future__ import annotations

import re
import subprocess

from tests.fakes.gce import FakeCompute
from tests.fakes.gce.playbooks import fleet, play
from tests.fakes.gce.scenario import add_networks, empty, sub_block, sub_block_path


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
        dry = play(fake, "provision", "--tags", "gce_nodes", "--check", "--diff", **wanted)
        assert dry.returncode == 0, dry.stdout + dry.stderr
        assert (changed(dry), fake.writes) == (3, [])
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
