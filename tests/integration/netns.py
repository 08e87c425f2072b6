"""Cheap hosts: network namespaces on one bridge. Needs root. Everything is removed again, also after a failure."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PORT = "eth0"
# The neighbour table is shared by all namespaces of a kernel: N hosts that know each other make N * (N - 1) entries.
NEIGHBOURS = ("net.ipv4.neigh.default.gc_thresh", "net.ipv6.neigh.default.gc_thresh")

_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Fleet:
    """Hosts ``names`` with one device on one bridge; ``prefix`` keeps this fleet's namespaces apart from others'."""

    prefix: str
    names: tuple[str, ...]

    @property
    def switch(self) -> str:
        return f"{self.prefix}switch"

    def namespace(self, name: str) -> str:
        return f"{self.prefix}{name}"

    def ipv4(self, name: str) -> str:
        index = self.names.index(name) + 1
        return f"10.201.{index // 250}.{index % 250 + 1}"

    def ipv6(self, name: str) -> str:
        return f"fd00:201::{self.names.index(name) + 1:x}"

    def mac(self, name: str) -> str:
        index = self.names.index(name) + 1
        return f"02:00:00:00:{index >> 8:02x}:{index & 255:02x}"

    def ip(self, name: str, *argv: str) -> None:
        """Run ip inside a host, or inside the switch (name "switch")."""
        subprocess.run(["ip", "-n", self.namespace(name), *argv], check=True)

    def run(self, name: str, *argv: str) -> str:
        """Run a program inside a host."""
        command = ["ip", "netns", "exec", self.namespace(name), *argv]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def interpreter(self, name: str, python: str, folder: Path) -> str:
        """A program that Ansible runs modules with, so that a local connection lands inside the host."""
        path = folder / f"python-{name}"
        path.write_text(f'#!/bin/sh\nexec ip netns exec {self.namespace(name)} {python} "$@"\n')
        path.chmod(0o755)
        return str(path)

    def networks(self, name: str, mtu: int, ipv6: bool) -> list[dict[str, object]]:
        """The host's ``node_networks``."""
        addresses = [f"{self.ipv4(name)}/16"] + ([f"{self.ipv6(name)}/64"] if ipv6 else [])
        return [{"name": "fabric", "interface": PORT, "addresses": addresses, "mtu": mtu}]

    def fleet_networks(self, mtu: int, ipv6: bool) -> dict[str, object]:
        """What the action plugin of this name makes of all hosts' ``node_networks``."""
        hosts = {name: self.networks(name, mtu, ipv6)[0] for name in self.names}
        return {
            "fabric": {
                "hosts": {
                    name: {"addresses": data["addresses"], "interface": PORT, "mtu": mtu, "kind": "ethernet"}
                    for name, data in hosts.items()
                }
            }
        }


@contextlib.contextmanager
def fleet(names: Sequence[str], mtu: int = 9000, *, acquainted: bool = False) -> Iterator[Fleet]:
    """Make the hosts, all of them healthy, and remove them at the end, also when the run is ended by SIGTERM.

    ``acquainted``: they know each other's link addresses. On a bridge of 200 ports the broadcasts that ask for them are
    8 million deliveries, which switches do in passing and one computer does not.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    made = Fleet(f"gpf{os.getpid()}-{next(_NUMBERS)}-", tuple(names))
    with _room_for_neighbours(len(names)):
        try:
            _batch(_hosts(made, mtu) + (_neighbours(made) if acquainted else []))
            _plain_switch(made)
            yield made
        finally:
            _remove(made)


def _hosts(made: Fleet, mtu: int) -> list[str]:
    lines = [f"netns add {made.namespace(name)}" for name in (*made.names, "switch")]
    switch = f"-n {made.switch}"
    lines.append(f"{switch} link add br0 type bridge forward_delay 0 stp_state 0")
    lines.append(f"{switch} link set br0 mtu {mtu} up")
    for index, name in enumerate(made.names):
        host = f"-n {made.namespace(name)}"
        lines += [
            f"{switch} link add p{index} mtu {mtu} type veth peer name {PORT} netns {made.namespace(name)}",
            f"{switch} link set p{index} master br0 up",
            f"{host} link set {PORT} address {made.mac(name)} mtu {mtu}",
            f"{host} addr add {made.ipv4(name)}/16 dev {PORT}",
            f"{host} addr add {made.ipv6(name)}/64 dev {PORT} nodad",
            f"{host} link set {PORT} up",
            f"{host} link set lo up",
        ]
    return lines


def _neighbours(made: Fleet) -> list[str]:
    return [
        f"-n {made.namespace(name)} neigh add {made.ipv4(peer)} lladdr {made.mac(peer)} dev {PORT} nud permanent"
        for name in made.names
        for peer in made.names
        if name != peer
    ]


def _plain_switch(made: Fleet) -> None:
    """A kernel with br_netfilter would send bridged packets through the IP layer, which drops those with DF set."""
    made.run(
        "switch", "sh", "-c", "for f in /proc/sys/net/bridge/bridge-nf-call-*; do test ! -e $f || echo 0 > $f; done"
    )


def _batch(lines: Sequence[str]) -> None:
    """``ip -batch`` does not take -n, so the lines of one namespace go in one call."""
    groups: dict[str, list[str]] = {}
    for line in lines:
        words = line.split()
        where, rest = (words[1], words[2:]) if words[0] == "-n" else ("", words)
        groups.setdefault(where, []).append(" ".join(rest))
    for where, group in groups.items():
        command = ["ip", *(["-n", where] if where else []), "-batch", "-"]
        subprocess.run(command, input="\n".join(group) + "\n", text=True, check=True)


def _remove(made: Fleet) -> None:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout.splitlines()
    mine = [line.split()[0] for line in listed if line.startswith(made.prefix)]
    subprocess.run(
        ["ip", "-force", "-batch", "-"], input="".join(f"netns del {n}\n" for n in mine), text=True, check=True
    )


@contextlib.contextmanager
def _room_for_neighbours(hosts: int) -> Iterator[None]:
    """Raise the kernel's limits for neighbour entries while the fleet stands. Small fleets fit the default."""
    wanted = hosts * hosts * 2
    before: dict[str, str] = {}
    try:
        for name in [f"{key}{level}" for key in NEIGHBOURS for level in (3, 2, 1)]:
            path = "/proc/sys/" + name.replace(".", "/")
            with open(path) as value:
                now = value.read().strip()
            if int(now) < wanted:
                before[path] = now
                _write(path, str(wanted))
        yield
    finally:
        for path, value in before.items():
            _write(path, value)


def _write(path: str, value: str) -> None:
    with open(path, "w") as file:
        file.write(value)
