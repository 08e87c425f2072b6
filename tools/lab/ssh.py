# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys, and the way into a node: 127.0.0.1:22NN, through the switch."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Sequence

from .command import environment, run
from .errors import LabError
from .paths import Paths
from .plan import Node

__all__ = ["answers", "make_keys", "run_on", "ssh_argv", "wait_for_ssh"]

# Under emulation on a busy machine a boot takes up to two minutes.
BOOT_TIMEOUT_S = 300.0


def make_keys(paths: Paths, nodes: Sequence[Node]) -> None:
    """One key for the user, one host key for each node, and the known_hosts file that makes checking possible."""
    (paths.lab / "keys").mkdir(parents=True, exist_ok=True)
    paths.lab.chmod(0o700)
    for key, comment in [(paths.user_key, "gpufleet-lab"), *((paths.host_key(n.name), n.name) for n in nodes)]:
        if not key.exists():
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", key], f"making the key {key}")
    lines = []
    for node in nodes:
        public = paths.host_key(node.name).with_suffix(".pub").read_text().split()[:2]
        lines.append(f"[127.0.0.1]:{node.ssh_port} {' '.join(public)}\n")
    paths.known_hosts.write_text("".join(lines))


def ssh_argv(paths: Paths, node: Node, command: Sequence[str] = (), connect_timeout: int = 20) -> list[str]:
    options = {
        "BatchMode": "yes",
        "ConnectTimeout": str(connect_timeout),
        "ControlPath": "none",
        "IdentitiesOnly": "yes",
        "LogLevel": "ERROR",
        "ServerAliveInterval": "10",
        "StrictHostKeyChecking": "yes",
        "UserKnownHostsFile": str(paths.known_hosts),
    }
    words = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    target = ["-p", str(node.ssh_port), "root@127.0.0.1"]
    return ["ssh", "-F", "none", "-i", str(paths.user_key), *words, *target, *command]


def answers(node: Node, timeout: float = 30) -> bool:
    """Does an SSH server say hello? Cheap for the machine: no key exchange.

    Patient, because under emulation it may think for long, and asking again too early only gives it more to do.
    """
    try:
        with socket.create_connection(("127.0.0.1", node.ssh_port), timeout) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def run_on(paths: Paths, node: Node, command: str, timeout: float = 60) -> str:
    """Run a shell line on the node; its output, or LabError with what it said."""
    argv = ssh_argv(paths, node, [command])
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout, env=environment(), check=False)
    except subprocess.TimeoutExpired:
        raise LabError(f"{node.name} did not finish '{command}' in {timeout:.0f} s") from None
    if done.returncode != 0:
        raise LabError(f"{node.name} answered '{command}' with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def wait_for_ssh(paths: Paths, node: Node, timeout: float = BOOT_TIMEOUT_S) -> None:
    deadline = time.monotonic() + timeout
    while not answers(node):
        if time.monotonic() > deadline:
            raise LabError(
                f"{node.name} does not answer SSH on 127.0.0.1:{node.ssh_port} after {timeout:.0f} s. "
                f"'scripts/lab console {node.name}' is its console; its output: {paths.machine(node.name)}/console.log"
            )
        time.sleep(0.5)
