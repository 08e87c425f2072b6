"""check_mtu against real kernels: planted faults, exactly those found. Needs root and network namespaces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.mtu_run import Run, check_mtu
from tests.integration.netns import PORT, Fleet, fleet

pytestmark = pytest.mark.netns

HOSTS = ("well-1", "well-2", "small-device", "small-port", "mute", "unrouted", "unplugged")
NO_ECHO = ("net.ipv4.icmp_echo_ignore_all=1", "net.ipv6.icmp.echo_ignore_all=1")


@pytest.fixture(scope="module")
def made() -> Iterator[Fleet]:
    with fleet(HOSTS) as hosts:
        hosts.ip("small-device", "link", "set", PORT, "mtu", "1500")
        # Bridge ports leave room for a VLAN tag, so that 1500 bytes pass with 1496.
        hosts.ip("switch", "link", "set", f"p{HOSTS.index('small-port')}", "mtu", "1496")
        hosts.run("mute", "sysctl", "-q", "-w", *NO_ECHO)
        hosts.ip("unrouted", "route", "del", "10.201.0.0/16", "dev", PORT)
        hosts.ip("unrouted", "-6", "route", "del", "fd00:201::/64", "dev", PORT)
        hosts.ip("switch", "link", "set", f"p{HOSTS.index('unplugged')}", "nomaster")
        yield hosts


@pytest.fixture(scope="module")
def measured(made: Fleet) -> Run:
    return check_mtu(made, ipv6=True)


def state(host: str, peer: str) -> tuple[str, int | None]:
    """What a path must look like; the first rule that fits is the one that the prober meets first."""
    if host == "unrouted":
        return "no_route", None
    if host == "small-device":
        return "local_mtu", 1500
    if "unplugged" in (host, peer) or peer in ("mute", "unrouted"):
        return "no_reply", None
    if "small-port" in (host, peer) or peer == "small-device":
        return "path_mtu", 1500
    return "ok", 9000


def test_every_path_has_the_state_of_its_planted_fault(made: Fleet, measured: Run) -> None:
    want = {
        (host, address(peer)): state(host, peer)
        for host in HOSTS
        for peer in HOSTS
        for address in (made.ipv4, made.ipv6)
        if host != peer and state(host, peer)[0] != "ok"
    }
    assert measured.faults() == want
    assert measured.paths() == len(HOSTS) * (len(HOSTS) - 1) * 2


def test_the_small_device_is_named(measured: Run) -> None:
    wrong = {
        host: [row for row in result["report"]["interfaces"] if row["measured"] != row["expected"]]
        for host, result in measured.results.items()
    }
    assert {host: rows for host, rows in wrong.items() if rows} == {
        "small-device": [
            {"network": "fabric", "interface": PORT, "role": "network", "measured": 1500, "expected": 9000}
        ]
    }


def test_one_finding_for_each_kind_of_fault(measured: Run) -> None:
    found = [
        (finding["severity"], finding["message"].split(";")[0]) for finding in measured.results["well-1"]["findings"]
    ]
    assert sorted(found) == [
        ("FAIL", "fabric: mute, unplugged, unrouted: no reply, even to small packets"),
        (
            "FAIL",
            "fabric: small-device, small-port: small packets pass, those of 9000 bytes do not"
            " (largest that passes: 1500)",
        ),
        ("OK", "fabric: 2 paths carry packets of 9000 bytes"),
        ("OK", f"fabric: MTU 9000 on {PORT}"),
    ]


def test_a_router_with_a_small_way_out() -> None:
    """One direction only is small, and the router tells so. Replies are cut there: both ends see the same."""
    with fleet(("left", "right", "router")) as hosts:
        hosts.run("router", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.send_redirects=0")
        hosts.run("router", "sysctl", "-q", "-w", f"net.ipv4.conf.{PORT}.send_redirects=0")
        hosts.ip("router", "route", "add", hosts.ipv4("right"), "dev", PORT, "mtu", "lock", "1400")
        hosts.ip("left", "route", "add", hosts.ipv4("right"), "via", hosts.ipv4("router"), "dev", PORT)
        hosts.ip("right", "route", "add", hosts.ipv4("left"), "via", hosts.ipv4("router"), "dev", PORT)
        measured = check_mtu(hosts)
    ends = {("left", hosts.ipv4("right")), ("right", hosts.ipv4("left"))}
    faults = {path: found for path, found in measured.faults().items() if path in ends}
    assert faults == dict.fromkeys(ends, ("path_mtu", 1400))
