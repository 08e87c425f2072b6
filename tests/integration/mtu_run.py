"""Runs check_mtu over a fleet of network namespaces: in one task of one ansible-playbook, or its library alone."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ansible/collections"))  # for runs without pytest

from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import check_result
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.mtu import judge_mtu
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import parse_networks
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.mtu import measure
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.prober import Pace
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import SubprocessRunner

from tests.integration.netns import Fleet

CHECK_MTU = {
    "name": "Measure MTUs",
    "gpufleet.cluster.check_mtu": {
        "host": "{{ inventory_hostname }}",
        "run_id": "test",
        "networks": "{{ node_networks }}",
        "fleet": "{{ fleet }}",
    },
    "register": "check_mtu_result",
}
# What Ansible costs for a task that does nothing.
NOTHING = {"name": "Do nothing", "ansible.builtin.ping": {}}


@dataclass(frozen=True)
class Run:
    """``results``: what each host's check returned. ``controller_mib``: peak memory of the largest Ansible process."""

    results: dict[str, dict[str, Any]]
    seconds: float
    controller_mib: float

    def faults(self) -> dict[tuple[str, str], tuple[str, int | None]]:
        """(host, address of the peer) -> (state, measured), for every path that is not ok."""
        return {
            (host, path["address"]): (path["state"], path["measured"])
            for host, result in self.results.items()
            for path in result["report"]["paths"]
            if path["state"] != "ok"
        }

    def paths(self) -> int:
        return sum(len(result["report"]["paths"]) for result in self.results.values())


def check_mtu(
    fleet: Fleet, mtu: int = 9000, *, ipv6: bool = False, forks: int = 10, task: dict[str, Any] = CHECK_MTU
) -> Run:
    """Raises RuntimeError with Ansible's output when the run itself fails."""
    with tempfile.TemporaryDirectory(prefix="gpufleet-mtu-") as folder:
        hosts = {
            name: {
                "ansible_connection": "local",
                "ansible_python_interpreter": fleet.interpreter(name, sys.executable, Path(folder)),
                "node_networks": fleet.networks(name, mtu, ipv6),
            }
            for name in fleet.names
        }
        inventory = {"all": {"hosts": hosts, "vars": {"fleet": fleet.fleet_networks(mtu, ipv6)}}}
        play = {"name": "Run one task on all hosts", "hosts": "all", "gather_facts": False, "tasks": [task]}
        Path(folder, "hosts.json").write_text(json.dumps(inventory))
        Path(folder, "play.json").write_text(json.dumps([play]))
        playbook = str(Path(sys.executable).with_name("ansible-playbook"))
        argv = [playbook, "-i", f"{folder}/hosts.json", "-f", str(forks), f"{folder}/play.json"]
        environment = {
            **os.environ,
            "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.jsonl",
            "ANSIBLE_PIPELINING": "1",
            "ANSIBLE_LOCAL_TEMP": folder,
        }
        return _run(argv, environment, Path(folder, "out"))


def _run(argv: list[str], environment: dict[str, str], out: Path) -> Run:
    began = time.monotonic()
    with out.open("w") as stdout:
        process = subprocess.Popen(
            argv, cwd=ROOT, env=environment, stdout=stdout, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            _pid, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    results: dict[str, dict[str, Any]] = {}
    for line in out.read_text().splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("_event") == "v2_runner_on_ok":
            results.update(event["hosts"])
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit status {process.returncode}\n{out.read_text()[-3000:]}")
    return Run(results, seconds, usage.ru_maxrss / 1024)


def library(fleet: Fleet, mtu: int = 9000, *, forks: int = 10) -> Run:
    """The same without Ansible and without a new Python for each host: what is left is the probing itself."""
    plan = fleet.fleet_networks(mtu, ipv6=False)
    began = time.monotonic()
    # The hosts' signal handler is not for the workers: it would keep them from ending.
    with multiprocessing.get_context("fork").Pool(forks, signal.signal, (signal.SIGTERM, signal.SIG_DFL)) as pool:
        results = dict(pool.starmap(_inside, [(fleet, name, mtu, plan) for name in fleet.names], chunksize=1))
    return Run(results, time.monotonic() - began, 0.0)


def _inside(fleet: Fleet, name: str, mtu: int, plan: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What the module does, in a process that moves from host to host."""
    with open(f"/run/netns/{fleet.namespace(name)}") as namespace:
        os.setns(namespace.fileno(), os.CLONE_NEWNET)
    networks, _problems = parse_networks(name, fleet.networks(name, mtu, ipv6=False))
    measured = measure(name, networks, plan, Pace(), SubprocessRunner())
    return name, check_result("mtu", "test", measured.report(), judge_mtu(name, measured))
