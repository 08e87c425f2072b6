"""A real kernel: the plan is made by hand in a network namespace, seen as in effect, and taken away again."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.network import agent
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.hardware import Device
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.live import compare_live, read_live
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import parse_networks
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.plan import Plan, resolve_plan
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.transaction import footprint_of
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult, SubprocessRunner

pytestmark = pytest.mark.netns

NAMESPACE = "gpufleet-network"
PORTS = ("port0", "port1")
RAW = [
    {"name": "management", "interface": "port0", "address": "10.0.1.11/24", "mtu": 1500, "gateway": "10.0.1.1"},
    {
        "name": "rail0", "interface": "port1", "addresses": ["10.0.2.11/24", "fd00:2::11/64"], "mtu": 9000,
        "gateway": "10.0.2.1", "table": 200, "rules": [{"from": "10.0.2.0/24", "priority": 200}, {"to": "10.9.0.0/16"}],
    },
]  # fmt: skip


class InNamespace(SubprocessRunner):
    def run(self, argv: Sequence[str], timeout: float | None = None, stdin: str | None = None) -> CommandResult:
        return super().run(["ip", "netns", "exec", NAMESPACE, *argv], timeout, stdin)


def run(argv: Sequence[str]) -> tuple[int, str]:
    done = InNamespace().run(argv, 10)
    assert done.rc == 0, (argv, done.stderr)
    return done.rc, done.stdout


@pytest.fixture
def plan() -> Iterator[Plan]:
    """The plan, and a namespace in which it is in effect."""
    networks, problems = parse_networks("w1", RAW)
    assert problems == []
    plan = resolve_plan(networks, tuple(Device(name, physical=False, mac_permanent=False) for name in PORTS))
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        for link in plan.links:
            far, mtu = f"{link.interface}far", str(link.mtu)
            run(["ip", "link", "add", link.interface, "mtu", mtu, "up", "type", "veth", "peer", "name", far])
            run(["ip", "link", "set", far, "mtu", mtu, "up"])
            for address in link.addresses:
                run(["ip", "address", "add", str(address), "dev", link.interface])
            for route in link.routes:
                via = ["via", route.via] if route.via else []
                family = "-6" if ":" in route.to else "-4"
                table = str(route.table or 254)
                run(["ip", family, "route", "add", route.to, *via, "dev", link.interface, "table", table])
        for family, *rule in footprint_of(plan).rules:
            run(["ip", family, "rule", "add", *rule])
        yield plan
    finally:
        subprocess.run(["ip", "netns", "delete", NAMESPACE], check=True)


def test_plan_in_effect_is_seen(plan: Plan) -> None:
    assert compare_live(plan, read_live(InNamespace(), plan)) == ([], [])


def test_deviations_are_seen(plan: Plan) -> None:
    run(["ip", "link", "set", "port1", "mtu", "1500"])
    run(["ip", "route", "add", "default", "via", "10.0.1.254", "metric", "50"])
    run(["ip", "-6", "rule", "del", "priority", "1000"])
    assert compare_live(plan, read_live(InNamespace(), plan))[0] == [
        "port1: MTU is 1500, the plan says 9000",
        "port1: rule 1000 from fd00:2::11/128 to all table 200 is missing",
        "port0: default route via 10.0.1.254 is not in the plan",
    ]


def test_nothing_of_it_is_left(plan: Plan) -> None:
    footprint = footprint_of(plan)
    agent.retire(run, {"rules": footprint.rules, "tables": footprint.tables, "devices": ["port1"]})
    for family, tables in (("-4", ["local", "main", "default"]), ("-6", ["local", "main"])):
        rules = json.loads(run(["ip", "-j", family, "rule", "show"])[1])
        assert [rule["table"] for rule in rules] == tables
        assert '"table":"200"' not in run(["ip", "-j", "-N", family, "route", "show", "table", "all"])[1]
