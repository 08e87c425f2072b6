"""The live state against the plan, one deviation at a time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import MeasureError
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.live import (
    bonds_to_recreate,
    compare_live,
    read_live,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.plan import resolve_plan
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult

from tests.fakes.node import live_json
from tests.fakes.runner import FakeRunner
from tests.unit.network_examples import EXAMPLE, HOST, networks, rail_host, rails

PLAN = resolve_plan(networks(EXAMPLE), HOST)
ASKED = {
    "address": ("address", "show"),
    "route": ("-4", "route", "show", "table", "all"),
    "rule": ("-4", "rule", "show"),
}


def runner(live: dict[str, Any]) -> FakeRunner:
    answers = {("ip", "-j", "-N", *words): CommandResult(0, json.dumps(live[key]), "") for key, words in ASKED.items()}
    for words in (("-6", "route", "show", "table", "all"), ("-6", "rule", "show")):
        answers["ip", "-j", "-N", *words] = CommandResult(0, "", "")
    return FakeRunner(answers)


def bond_files(root: Path, **values: str) -> None:
    folder = root / "sys/class/net/bond0/bonding"
    folder.mkdir(parents=True)
    good = {
        "mode": "802.3ad 4",
        "lacp_rate": "fast 1",
        "min_links": "1",
        "xmit_hash_policy": "layer3+4 1",
        "miimon": "100",
    }
    for name, value in {**good, **values}.items():
        (folder / name).write_text(value + "\n")


def named(live: dict[str, Any], name: str) -> dict[str, Any]:
    return next(entry for entry in live["address"] if entry["ifname"] == name)


def drop(key: str, **values: Any) -> Callable[[dict[str, Any]], None]:
    def change(live: dict[str, Any]) -> None:
        live[key] = [e for e in live[key] if any(e.get(k) != v for k, v in values.items())]

    return change


def extra_address(device: str, address: str, **values: Any) -> Callable[[dict[str, Any]], None]:
    local, prefix = address.split("/")
    entry = {"local": local, "prefixlen": int(prefix), "scope": "0", **values}
    return lambda live: named(live, device)["addr_info"].append(entry)


CASES: dict[str, tuple[Callable[[dict[str, Any]], None], list[str]]] = {
    "as planned": (lambda live: None, []),
    "member's MTU": (
        lambda live: named(live, "enp2s0").update(mtu=1500),
        ["enp2s0: MTU is 1500, the plan says 9000"],
    ),
    "bond's MTU": (lambda live: named(live, "bond0").update(mtu=1500), ["bond0: MTU is 1500, the plan says 9000"]),
    "member outside the bond": (
        lambda live: named(live, "enp1s0").update(master=None),
        ["enp1s0: is a member of no bond, the plan says bond0"],
    ),
    "no address": (
        lambda live: named(live, "mgmt").update(addr_info=[]),
        ["mgmt: address 10.0.1.11/24 is missing"],
    ),
    "address by DHCP": (
        extra_address("mgmt", "10.0.1.99/24", dynamic=True),
        ["mgmt: address 10.0.1.99/24 is not in the plan"],
    ),
    "virtual IP of a control plane": (extra_address("mgmt", "10.0.1.5/32"), []),
    "link-local": (extra_address("mgmt", "fe80::1/64", scope="253"), []),
    "no VLAN": (drop("address", ifname="bond0.30"), ["bond0.30: there is no such device"]),
    "no default route in the own table": (
        drop("route", dst="default", dev="bond0"),
        ["bond0: route default via 10.0.2.1 in table 200 is missing"],
    ),
    "no default route": (drop("route", dev="mgmt"), ["mgmt: route default via 10.0.1.1 in table 254 is missing"]),
    "no rule": (
        drop("rule", priority=1000),
        ["bond0: rule 1000 from 10.0.2.11/32 to all table 200 is missing"],
    ),
    "default route of a router advertisement": (
        lambda live: live["route"].append({"dst": "default", "gateway": "10.0.1.254", "dev": "mgmt"}),
        ["mgmt: default route via 10.0.1.254 is not in the plan"],
    ),
}


@pytest.mark.parametrize(("change", "expected"), CASES.values(), ids=CASES)
def test_differences(change: Callable[[dict[str, Any]], None], expected: list[str], tmp_path: Path) -> None:
    bond_files(tmp_path)
    live = live_json(PLAN)
    change(live)
    state = read_live(runner(live), PLAN, str(tmp_path))
    assert compare_live(PLAN, state) == (expected, [])
    assert bonds_to_recreate(PLAN, state) == []


def test_no_carrier_is_a_note(tmp_path: Path) -> None:
    live = live_json(PLAN)
    named(live, "mgmt").update(flags=["BROADCAST", "UP", "NO-CARRIER"], addr_info=[])
    assert compare_live(PLAN, read_live(runner(live), PLAN, str(tmp_path))) == (
        [],
        ["mgmt: no carrier, so its addresses and routes could not be seen in effect"],
    )


def test_bond_with_other_parameters_is_made_anew(tmp_path: Path) -> None:
    bond_files(tmp_path, lacp_rate="slow 0")
    state = read_live(runner(live_json(PLAN)), PLAN, str(tmp_path))
    assert compare_live(PLAN, state)[0] == ["bond0: lacp_rate is slow, the plan says fast"]
    assert bonds_to_recreate(PLAN, state) == ["bond0"]


def test_sysctls_of_shared_subnets(tmp_path: Path) -> None:
    plan = resolve_plan(networks(rails("10.10.0.1%d/22", tables=True, count=2)), rail_host(["a", "b"]))
    for n in range(2):
        folder = tmp_path / f"proc/sys/net/ipv4/conf/rail{n}"
        folder.mkdir(parents=True)
        for key, value in (("rp_filter", "2"), ("arp_ignore", str(n)), ("arp_announce", "2")):
            (folder / key).write_text(value + "\n")
    state = read_live(runner(live_json(plan)), plan, str(tmp_path))
    assert compare_live(plan, state)[0] == ["sysctl net/ipv4/conf/rail0/arp_ignore is 0, the plan says 1"]


def test_without_iproute2() -> None:
    with pytest.raises(MeasureError, match="ip: not installed: is iproute2 installed"):
        read_live(FakeRunner({}), PLAN)
