"""200 hosts, the full path-MTU matrix of one network in one task, three planted faults: exactly those are found.

Run as root from the checkout: ``.venv/bin/python -m tests.integration.mtu_scale [--library]``, the latter without
Ansible. Exit status 1: something else was found, or a fault was missed.
"""

from __future__ import annotations

import sys

from tests.integration.mtu_run import Run, check_mtu, library
from tests.integration.netns import PORT, Fleet, fleet

HOSTS = 200
FORKS = 50
SMALL_DEVICE, SMALL_PORT, MUTE = "node-017", "node-101", "node-180"

Faults = dict[tuple[str, str], tuple[str, int | None]]


def names(count: int) -> tuple[str, ...]:
    return tuple(f"node-{number:03}" for number in range(1, count + 1))


def plant(hosts: Fleet) -> None:
    """A device at 1500, a switch port that drops jumbo frames (1496 and room for a VLAN tag), a host that is mute."""
    hosts.ip(SMALL_DEVICE, "link", "set", PORT, "mtu", "1500")
    hosts.ip("switch", "link", "set", f"p{hosts.names.index(SMALL_PORT)}", "mtu", "1496")
    hosts.run(MUTE, "sysctl", "-q", "-w", "net.ipv4.icmp_echo_ignore_all=1")


def planted(hosts: Fleet) -> Faults:
    """The rows and columns of the matrix that the three faults spoil."""
    return {
        (host, hosts.ipv4(peer)): state
        for host in hosts.names
        for peer in hosts.names
        if host != peer and (state := _state(host, peer)) is not None
    }


def _state(host: str, peer: str) -> tuple[str, int | None] | None:
    if host == SMALL_DEVICE:
        return "local_mtu", 1500
    if peer == MUTE:
        return "no_reply", None
    if SMALL_PORT in (host, peer) or peer == SMALL_DEVICE:
        return "path_mtu", 1500
    return None


def differences(hosts: Fleet, run: Run) -> list[str]:
    """What was found and not planted, planted and not found, or not measured at all."""
    want, got = planted(hosts), run.faults()
    lines = [
        f"{host} -> {address}: planted {want.get(path, 'nothing')}, found {got.get(path, 'nothing')}"
        for path in sorted({*want, *got})
        for host, address in [path]
        if want.get(path) != got.get(path)
    ]
    pairs = len(hosts.names) * (len(hosts.names) - 1)
    if run.paths() != pairs:
        lines.append(f"{run.paths()} paths measured, expected {pairs}")
    devices = {
        (host, row["interface"], row["measured"])
        for host, result in run.results.items()
        for row in result["report"]["interfaces"]
        if row["measured"] != row["expected"]
    }
    if devices != {(SMALL_DEVICE, PORT, 1500)}:
        lines.append(f"devices with a wrong MTU: {sorted(devices)}, planted {SMALL_DEVICE} {PORT} 1500")
    return lines


def main() -> int:
    with fleet(names(HOSTS), acquainted=True) as hosts:
        plant(hosts)
        run = (library if "--library" in sys.argv else check_mtu)(hosts, forks=FORKS)
    lines = differences(hosts, run)
    print("\n".join(lines[:20] + ([f"and {len(lines) - 20} more"] if len(lines) > 20 else [])))
    print(f"{HOSTS} hosts, {run.paths()} paths, {run.seconds:.1f} s, controller {run.controller_mib:.0f} MiB at most")
    print("exactly the planted faults were found" if not lines else f"{len(lines)} differences")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
