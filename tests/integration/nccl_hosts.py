"""Two cheap hosts for collectives: namespaces of this computer (network, processes, name, files), each with sshd."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BRIDGE = "gpunccl0"
PRIVATE = ("/root/.ssh", "/run/gpufleet", "/var/log/gpufleet", "/tmp")
SSHD = "-D -e -o PidFile=none -o PermitRootLogin=prohibit-password -o StrictModes=yes"


def run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=60).stdout


@dataclass
class Host:
    name: str
    number: int
    key: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"10.199.7.{self.number}"

    def ssh(self, command: str, check: bool = True) -> str:
        options = ["-i", str(self.key), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        done = subprocess.run(
            ["ssh", "-q", *options, f"root@{self.address}", command],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not check or done.returncode == 0, f"{self.name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self, public_key: str) -> None:
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"{self.name}-v", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", f"{self.name}-v", "master", BRIDGE, "up")
        inside = ["ip", "netns", "exec", self.name]
        run(*inside, "ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        run(*inside, "ip", "link", "set", "eth0", "up")
        run(*inside, "ip", "link", "set", "lo", "up")
        mounts = "".join(f"mkdir -p {path}; mount -t tmpfs -o mode=0700 none {path}; " for path in PRIVATE)
        script = (
            f"hostname {self.name}; {mounts} echo {public_key!r} > /root/.ssh/authorized_keys; mkdir -p /run/sshd; "
        )
        script += f"exec /usr/sbin/sshd {SSHD} -o ListenAddress={self.address}"
        unshare = ["unshare", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script]
        self.process = subprocess.Popen([*inside, *unshare], stderr=subprocess.DEVNULL)

    def wait(self) -> None:
        deadline = time.monotonic() + 20
        while self.ssh("echo up", check=False) != "up\n":
            assert time.monotonic() < deadline, f"{self.name}: no sshd"
            time.sleep(0.1)

    def stop(self) -> None:
        """As if its power was cut: all its processes at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def left(self) -> list[str]:
        """Processes of a run, and traces of its key."""
        found = self.ssh(
            "cat /proc/[0-9]*/comm; ls /run/gpufleet; grep gpufleet: /root/.ssh/authorized_keys", check=False
        )
        words = ("mpirun", "orted", "prted", "prterun", "all_reduce_perf", "timeout")
        return [line for line in found.splitlines() if line in words or "T" in line[:20]]


@contextmanager
def two_hosts(folder: Path) -> Iterator[tuple[Host, Host]]:
    key = folder / "id"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    hosts = Host("nccl-a", 11, key), Host("nccl-b", 12, key)
    _take_down(hosts)  # what a killed test run has left
    try:
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", "10.199.7.1/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        for host in hosts:
            host.start((folder / "id.pub").read_text().strip())
        for host in hosts:
            host.wait()
        yield hosts
    finally:
        _take_down(hosts)


def _take_down(hosts: tuple[Host, ...]) -> None:
    for host in hosts:
        host.stop()
        subprocess.run(["ip", "netns", "delete", host.name], check=False, capture_output=True)
    subprocess.run(["ip", "link", "delete", BRIDGE], check=False, capture_output=True)


def write_inventory(folder: Path, hosts: tuple[Host, ...], **variables: object) -> Path:
    (folder / "fleet").mkdir()
    path = folder / "fleet" / "hosts.yml"
    rows = [{host.name: {"ansible_host": host.address, "number": host.number}} for host in hosts]
    groups = {"control_plane": {"hosts": rows[0]}, "workers": {"hosts": rows[1]}}
    common = {
        "ansible_user": "root",
        "ansible_python_interpreter": "/usr/bin/python3",
        "ansible_ssh_private_key_file": str(hosts[0].key),
        "ansible_ssh_common_args": "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null",
        "node_networks": [
            {
                "name": "compute",
                "interface": "eth0",
                "members": [{"name": "eth0"}],
                "address": "10.199.7.{{ number }}/24",
            }
        ],
        "nccl_benchmark_network": "compute",
        "nccl_benchmark_data_network": "compute",
        "nccl_benchmark_sku": "stand-in",
        "nccl_benchmark_ranks_per_host": 1,
        **variables,
    }
    path.write_text(yaml.safe_dump({"all": {"children": groups, "vars": common}}))
    return path


def playbook(inventory: Path, name: str, *options: str) -> subprocess.Popen[str]:
    reports = inventory.parent.parent / "reports"
    return subprocess.Popen(
        [str(ROOT / ".venv/bin/ansible-playbook"), f"playbooks/{name}", "-i", str(inventory), *options]
        + ["-e", f"report_directory={reports}"],
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_FORCE_COLOR": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
