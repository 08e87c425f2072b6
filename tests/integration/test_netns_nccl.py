"""Collectives between two hosts that are namespaces: the stand-in through mpirun and SSH, faults and aborts planted."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.nccl_hosts import BRIDGE, ROOT, Host, playbook, run, two_hosts, write_inventory

pytestmark = pytest.mark.netns

PAIR = "all_reduce cross_domain nccl-a to nccl-b"
LONG = ("-e", "nccl_benchmark_iterations=2000", "-e", "nccl_benchmark_timeout=25")
Fleet = tuple[Path, Host, Host]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    if os.geteuid() != 0 or shutil.which("mpicc") is None or not Path("/usr/sbin/sshd").exists():
        pytest.fail("needs root, mpicc and sshd: scripts/packages installs them")
    folder = tmp_path_factory.mktemp("nccl")
    program = Path(run(str(ROOT / "scripts" / "stand-in")).strip())
    with two_hosts(folder) as hosts:
        inventory = write_inventory(
            folder,
            hosts,
            nccl_benchmark_directory=str(program.parent),
            nccl_benchmark_runs=[{"scope": "cross_domain", "hosts": [host.name for host in hosts], "mnnvl": []}],
            nccl_benchmark_min_bytes="64K",
            nccl_benchmark_max_bytes="4M",
            nccl_benchmark_step_factor=4,
            nccl_benchmark_iterations=3,
            nccl_benchmark_warmup=1,
            nccl_benchmark_timeout=60,
            nccl_benchmark_tolerance_percent=60,
        )
        yield (inventory, *hosts)


def play(inventory: Path, name: str, *options: str) -> tuple[int, dict[str, Any]]:
    process = playbook(inventory, name, *options)
    output, _errors = process.communicate(timeout=300)
    found = sorted(inventory.parent.parent.glob("reports/*/*/findings.json"), key=lambda path: path.stat().st_mtime)
    assert found, output
    return process.returncode, json.loads(found[-1].read_text())


def nccl(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["severity"], each["message"]) for each in report["findings"] if each["check"] == "nccl"]


def test_real_figures_and_nothing_left(fleet: Fleet) -> None:
    inventory, *hosts = fleet
    code, report = play(inventory, "verify.yml", "--tags", "nccl_check")
    ((severity, message),) = nccl(report)
    assert (code, severity) == (0, "OK"), message
    assert message.startswith("stand-in, nccl-a, nccl-b: all_reduce on 2 ranks")
    (found,) = report["reports"]["nccl"]["nccl-a"]["runs"]
    assert [point["size_bytes"] for point in found["points"]] == [65536, 262144, 1048576, 4194304]
    assert all(point["busbw"] > 0 for point in found["points"])
    assert "# stand-in for nccl-tests" in hosts[0].ssh(f"cat '{found['attempts'][0]['log']}'")
    assert [host.left() for host in hosts] == [[], []]


def test_a_link_that_became_slow_is_a_drop_from_the_baseline(fleet: Fleet) -> None:
    inventory, _first, second = fleet
    code, _report = play(inventory, "benchmark.yml", "-e", "fleet_baseline=record")
    assert code == 0
    (kept,) = inventory.parent.glob("baselines/*.json")
    assert kept.stat().st_mode & 0o777 == 0o600
    shaped = ["dev", f"{second.name}-v", "root"]
    run("tc", "qdisc", "add", *shaped, "tbf", "rate", "40mbit", "burst", "32kb", "latency", "50ms")
    try:
        code, report = play(inventory, "verify.yml", "--tags", "nccl_check")
    finally:
        run("tc", "qdisc", "del", *shaped)
        kept.unlink()
    ((severity, message),) = nccl(report)
    assert (code, severity) == (2, "FAIL"), message
    assert message.startswith("stand-in, nccl-a, nccl-b: all_reduce on 2 ranks")
    assert "% below" in message
    assert "the baseline of these hosts, recorded" in message


def wait_for(host: Host, what: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 180
    while what not in host.ssh("cat /proc/[0-9]*/comm", check=False):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.3)


def wait_until_nothing_is_left(hosts: list[Host], seconds: float) -> float:
    begin = time.monotonic()
    while any(host.left() for host in hosts):
        assert time.monotonic() - begin < seconds, [host.left() for host in hosts]
        time.sleep(0.5)
    return time.monotonic() - begin


def test_time_limit_is_unknown_and_ends_everything(fleet: Fleet) -> None:
    inventory, *hosts = fleet
    _code, report = play(inventory, "verify.yml", "--tags", "nccl_check", *LONG, "-e", "nccl_benchmark_timeout=5")
    ((severity, message),) = nccl(report)
    assert (severity, message) == ("UNKNOWN", f"{PAIR} on nccl-a, nccl-b: no end after 5 s")
    assert [host.left() for host in hosts] == [[], []]


def test_a_rank_that_dies_is_unknown_at_once(fleet: Fleet) -> None:
    inventory, *hosts = fleet
    process = playbook(inventory, "verify.yml", "--tags", "nccl_check", *LONG)
    wait_for(hosts[1], "all_reduce_perf", process)
    begin = time.monotonic()
    hosts[1].ssh("kill -9 $(pidof all_reduce_perf)")
    process.communicate(timeout=120)
    assert time.monotonic() - begin < 25 + 30
    found = sorted(inventory.parent.parent.glob("reports/*/*/findings.json"), key=lambda path: path.stat().st_mtime)
    assert [severity for severity, _message in nccl(json.loads(found[-1].read_text()))] == ["UNKNOWN"]
    assert [host.left() for host in hosts] == [[], []]


def test_interrupted_controller_leaves_nothing(fleet: Fleet) -> None:
    inventory, *hosts = fleet
    process = playbook(inventory, "verify.yml", "--tags", "nccl_check", *LONG)
    wait_for(hosts[1], "all_reduce_perf", process)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=120)
    ranks_gone_and_keys_too(hosts, 60)


def test_killed_controller_leaves_nothing_that_runs_after_the_time_limit(fleet: Fleet) -> None:
    inventory, *hosts = fleet
    process = playbook(inventory, "verify.yml", "--tags", "nccl_check", *LONG)
    wait_for(hosts[1], "all_reduce_perf", process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    ranks_gone_and_keys_too(hosts, 60)


def ranks_gone_and_keys_too(hosts: list[Host], seconds: float) -> None:
    """Without systemd in these hosts no timer takes the key away: it is dead by its expiry, and by the next run."""
    begin = time.monotonic()
    words = ("mpirun", "orted", "prted", "all_reduce_perf")
    while any(word in host.ssh("cat /proc/[0-9]*/comm") for host in hosts for word in words):
        assert time.monotonic() - begin < seconds
        time.sleep(0.5)


def test_a_host_that_loses_its_power_is_unknown_in_time(fleet: Fleet) -> None:
    """Last: the second host does not come back."""
    inventory, first, second = fleet
    process = playbook(inventory, "verify.yml", "--tags", "nccl_check", *LONG)
    wait_for(second, "all_reduce_perf", process)
    run("ip", "link", "set", f"{second.name}-v", "down")
    begin = time.monotonic()
    second.stop()
    process.communicate(timeout=240)
    assert time.monotonic() - begin < 25 + 120, "the time limit, and Ansible's own patience with a lost host"
    found = sorted(inventory.parent.parent.glob("reports/*/*/findings.json"), key=lambda path: path.stat().st_mtime)
    report = json.loads(found[-1].read_text())
    assert "UNKNOWN" in [severity for severity, _message in nccl(report)]
    assert first.left() == []
    assert BRIDGE in run("ip", "link")
