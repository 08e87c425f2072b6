"""Collectives in the lab: the stand-in over rail 0, a slow rail, a rank that dies, a controller that stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.lab import INVENTORY, ROOT, command, play, ssh

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]

NODES = ("cp-1", "worker-1")
CHECK = ("playbooks/verify.yml", "--tags", "nccl_check")
LONG = ("-e", "nccl_benchmark_iterations=500", "-e", "nccl_benchmark_timeout=40")
BASELINE = INVENTORY.parent / "baselines" / "lab.json"


@pytest.fixture(scope="module", autouse=True)
def measured_with(lab: None) -> Iterator[None]:
    """Networks are up, Open MPI and the stand-in are there, and a baseline is recorded."""
    subprocess.run([str(ROOT / "scripts" / "stand-in")], check=True, capture_output=True)
    play("playbooks/site.yml", "--tags", "node_baseline,node_network")  # MPI takes hosts of one name for one host
    BASELINE.unlink(missing_ok=True)
    play("playbooks/benchmark.yml", "-e", "fleet_baseline=record")
    yield
    BASELINE.unlink(missing_ok=True)


def left(node: str) -> list[str]:
    """Processes and keys of a run. The brackets keep grep from finding itself."""
    words = "mpirun|orted|prted|prterun|all_reduce_perf"
    found = ssh(
        node,
        f"grep -lsE '^({words})$' /proc/[0-9]*/comm; ls /run/gpufleet; grep -h gpufleet: .ssh/authorized_keys",
        check=False,
    )
    return found.split()


def wait_until_nothing_is_left(seconds: float) -> None:
    begin = time.monotonic()
    while any(left(node) for node in NODES):
        assert time.monotonic() - begin < seconds, {node: left(node) for node in NODES}
        time.sleep(3)


def start(*options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(ROOT / ".venv/bin/ansible-playbook"), *CHECK, "-i", str(INVENTORY), *LONG, *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for_ranks(process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 300
    while "/proc/" not in ssh("worker-1", "grep -ls '^all_reduce_perf$' /proc/[0-9]*/comm", check=False):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(2)


def test_real_figures_over_the_rail() -> None:
    assert BASELINE.stat().st_mode & 0o777 == 0o600
    before = json.loads(ssh("worker-1", "ip -j -s link show rail0"))[0]["stats64"]["tx"]["bytes"]
    played = play(*CHECK)
    after = json.loads(ssh("worker-1", "ip -j -s link show rail0"))[0]["stats64"]["tx"]["bytes"]
    assert played.report is not None
    (run,) = played.report["reports"]["nccl"]["cp-1"]["runs"]
    assert (run["stand_in"], run["sku"], run["hosts"]) == (True, "stand-in", list(NODES))
    assert [point["size_bytes"] for point in run["points"]] == [16384, 65536, 262144, 1048576, 4194304]
    assert all(point["busbw"] > 0 for point in run["points"])
    assert after - before > 4 * 4194304, "the data went over rail 0"
    assert "# stand-in for nccl-tests" in ssh("cp-1", f"cat '{run['attempts'][0]['log']}'")
    assert [left(node) for node in NODES] == [[], []]


def test_a_rail_that_became_slow_is_a_drop_with_its_hosts() -> None:
    ssh("worker-1", "tc qdisc add dev rail0 root tbf rate 10mbit burst 16kb latency 200ms")
    try:
        played = play(*CHECK, check_rc=False)
    finally:
        ssh("worker-1", "tc qdisc del dev rail0 root")
    (finding,) = played.findings("FAIL")
    assert finding["message"].startswith("stand-in, cp-1, worker-1: all_reduce on 2 ranks")
    assert "% below" in finding["message"]


def test_a_rank_that_dies_is_unknown_in_time() -> None:
    process = start("-e", "report_directory=tests/output/nccl")
    wait_for_ranks(process)
    ssh("worker-1", "kill -9 $(pidof all_reduce_perf)")
    output, _errors = process.communicate(timeout=40 + 180)
    assert process.returncode != 0
    assert "UNKNOWN" in output
    assert [left(node) for node in NODES] == [[], []]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_controller_that_stops_leaves_nothing_running(number: signal.Signals) -> None:
    process = start("-e", "nccl_benchmark_lifetime=120", "-e", "report_directory=tests/output/nccl")
    wait_for_ranks(process)
    os.killpg(process.pid, number)
    process.communicate(timeout=300)
    wait_until_nothing_is_left(300)
    assert not Path(f"/proc/{process.pid}").exists()


def test_missing_program_is_unknown_and_named() -> None:
    ssh("worker-1", "mv /opt/stand-in/all_reduce_perf /opt/stand-in/aside")
    try:
        played = play(*CHECK, check_rc=False)
    finally:
        ssh("worker-1", "mv /opt/stand-in/aside /opt/stand-in/all_reduce_perf")
    (finding,) = played.findings("UNKNOWN")
    assert "worker-1: /opt/stand-in/all_reduce_perf: no such file or directory" in finding["message"]
    command("status")
