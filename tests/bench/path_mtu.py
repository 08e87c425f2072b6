"""How long the full path-MTU matrix takes, against one ping a pair and one fping a host, and in how much memory.

Run as root from the checkout: ``.venv/bin/python -m tests.bench.path_mtu [HOSTS]``. The hosts are network namespaces
on one bridge of this machine, so all of them share its cores. The loop is timed on a sample of pairs in the same run
and extrapolated; all else is run in full. Needs ping and fping.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.integration.mtu_run import NOTHING, ROOT, Run, check_mtu, library
from tests.integration.mtu_scale import FORKS, HOSTS, names
from tests.integration.netns import Fleet, fleet

MTU = 9000
PAYLOAD = str(MTU - 28)
SAMPLED_HOSTS, SAMPLED_PEERS = 5, 40
# One host's part without Ansible: the library alone, as the module calls it.
ALONE = """
import json, sys
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import parse_networks
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.mtu import measure
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.prober import Pace
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import SubprocessRunner
host, path = sys.argv[1:]
plan = json.load(open(path))
networks, _ = parse_networks(host, plan["networks"][host])
measured = measure(host, networks, plan["fleet"], Pace(), SubprocessRunner())
sys.exit(any(outcome.state != "ok" for outcome in measured.paths))
"""


@dataclass(frozen=True)
class Cost:
    """Wall time says little on a machine that others use; the processors' time says what the work is."""

    seconds: float
    cpu_seconds: float

    def times(self, factor: float) -> Cost:
        return Cost(self.seconds * factor, self.cpu_seconds * factor)


class Memory(threading.Thread):
    """Peak of the proportional set size of this process's descendants."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_mib = 0.0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(1.0):
            self.peak_mib = max(self.peak_mib, sum(map(_pss_kib, _descendants(os.getpid()))) / 1024)

    def __enter__(self) -> Memory:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.join()


def _descendants(root: int) -> set[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it ended meanwhile
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def _pss_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def cost(action: Callable[[], object]) -> Cost:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    action()
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    return Cost(ended - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def peers(hosts: Fleet, name: str) -> list[str]:
    return [hosts.ipv4(peer) for peer in hosts.names if peer != name]


def loop(hosts: Fleet) -> Cost:
    """All pairs, by the sample: one shell that runs one ping for each pair, one after the other."""
    ping = f"ping -M do -s {PAYLOAD} -c 1 -W 1 -q"
    script = f'while read -r host peer; do ip netns exec "$host" {ping} "$peer" </dev/null >/dev/null || exit 1; done'
    step = max(1, len(hosts.names) // SAMPLED_HOSTS)
    sample = [(name, peer) for name in hosts.names[::step] for peer in peers(hosts, name)[:SAMPLED_PEERS]]
    lines = "".join(f"{hosts.namespace(name)} {peer}\n" for name, peer in sample)
    sampled = cost(lambda: subprocess.run(["sh", "-c", script], input=lines, text=True, check=True))
    return sampled.times(len(hosts.names) * (len(hosts.names) - 1) / len(sample))


def at_once(action: Callable[[str], object], hosts: Sequence[str]) -> Cost:
    """As many hosts together as Ansible has forks."""
    with ThreadPoolExecutor(FORKS) as pool:
        return cost(lambda: list(pool.map(action, hosts)))


def fping(hosts: Fleet) -> Cost:
    """One fping a host, 1 ms between packets."""
    command = ("fping", "-q", "-M", "-b", PAYLOAD, "-i", "1", "-r", "3")
    return at_once(lambda name: hosts.run(name, *command, *peers(hosts, name)), hosts.names)


def alone(hosts: Fleet) -> tuple[Cost, Cost, float]:
    """What all hosts together cost, what a single one does, and the largest prober's peak memory in MiB."""
    with tempfile.TemporaryDirectory(prefix="gpufleet-bench-") as folder:
        plan = Path(folder, "plan.json")
        networks = {name: hosts.networks(name, MTU, ipv6=False) for name in hosts.names}
        plan.write_text(json.dumps({"networks": networks, "fleet": hosts.fleet_networks(MTU, ipv6=False)}))
        peaks: list[float] = []

        def one(name: str) -> None:
            argv = ["ip", "netns", "exec", hosts.namespace(name), sys.executable, "-c", ALONE, name, str(plan)]
            environment = {**os.environ, "PYTHONPATH": str(ROOT / ".ansible/collections")}
            process = subprocess.Popen(argv, env=environment)
            _pid, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            peaks.append(usage.ru_maxrss / 1024)
            if process.returncode:
                raise RuntimeError(f"{name}: not all paths are ok")

        single = cost(lambda: one(hosts.names[0]))
        return at_once(one, hosts.names), single, max(peaks)


def nothing(count: int) -> Cost:
    """A host's share of an Ansible task that does nothing, by a run on a tenth of the hosts."""
    with fleet(names(max(count // 10, 2))) as few:
        return cost(lambda: check_mtu(few, MTU, forks=FORKS, task=NOTHING)).times(1 / len(few.names))


def tell(way: str, spent: Cost, plain: Cost, one_fping: Cost) -> None:
    """At once: on a busy machine the next way may take minutes."""
    line = f"{way:38}"
    for mine, of_loop, of_fping in (
        (spent.seconds, plain.seconds, one_fping.seconds),
        (spent.cpu_seconds, plain.cpu_seconds, one_fping.cpu_seconds),
    ):
        line += f"{mine:9.1f}{of_loop / mine:8.1f}x{of_fping / mine:9.2f}x"
    print(line, flush=True)


def main() -> int:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else HOSTS
    print(f"{count} hosts, {count * (count - 1)} paths of {MTU} bytes, {FORKS} at once, {os.cpu_count()} cores")
    print(
        f"{'way':38}{'seconds':>9}{'loop is':>9}{'fping is':>10}{'CPU s':>9}{'loop is':>9}{'fping is':>10}", flush=True
    )
    with fleet(names(count), acquainted=True) as hosts:
        plain, one_fping = loop(hosts), fping(hosts)
        tell("one ping a pair (extrapolated)", plain, plain, one_fping)
        tell("one fping a host", one_fping, plain, one_fping)
        tell(
            "the prober, Python started once", cost(lambda: healthy(library(hosts, MTU, forks=FORKS))), plain, one_fping
        )
        prober, single, prober_mib = alone(hosts)
        tell("the prober, a new Python for each host", prober, plain, one_fping)
        tell("one host's prober, nothing else runs", single, plain, one_fping)
        runs = []
        with Memory() as memory:
            whole = cost(lambda: runs.append(healthy(check_mtu(hosts, MTU, forks=FORKS))))
        tell("check_mtu, one Ansible task", whole, plain, one_fping)
    print(
        f"peak memory: {prober_mib:.0f} MiB a prober, {runs[0].controller_mib:.0f} MiB the controller's main process,"
    )
    print(
        f"{memory.peak_mib:.0f} MiB all processes of the Ansible run together, those of {FORKS} hosts among them",
        flush=True,
    )
    idle, share = nothing(count).cpu_seconds, whole.cpu_seconds / count
    print(f"Ansible's part: an empty task takes {idle:.2f} CPU s a host, check_mtu {share:.2f}")
    return 0


def healthy(run: Run) -> Run:
    if run.faults():
        raise RuntimeError(f"a healthy fleet has faults: {list(run.faults().items())[:5]}")
    return run


if __name__ == "__main__":
    sys.exit(main())
