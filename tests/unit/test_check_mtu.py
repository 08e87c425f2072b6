"""check_mtu: which devices and paths the plan means, and how what was measured is told."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError, MeasureError
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.mtu import judge_mtu
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import Member, Network, parse_networks
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.links import (
    IP_LINK,
    Link,
    find_member,
    find_name,
    parse_links,
    pci_addresses,
    read_links,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.mtu import (
    InterfaceMtu,
    Measured,
    interface_mtus,
    targets,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.prober import Outcome, Target
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult

from tests.fakes.runner import FakeRunner

# A bond gives its legs one address: only permaddr tells them apart. Names with '@' are how ip's text shows a parent.
IP_JSON = [
    {"ifname": "lo", "mtu": 65536, "address": "00:00:00:00:00:00"},
    {"ifname": "ens3", "mtu": 1460, "address": "52:54:00:00:00:01", "altnames": ["enp0s3"]},
    {"ifname": "ens4", "mtu": 9000, "address": "52:54:00:00:00:02"},
    {"ifname": "ens5", "mtu": 1500, "address": "52:54:00:00:00:02", "permaddr": "52:54:00:00:00:03"},
    {"ifname": "bond0", "mtu": 9000, "address": "52:54:00:00:00:02", "linkinfo": {"info_kind": "bond"}},
    {
        "ifname": "eth2-01.100",
        "link": "bond0",
        "mtu": 1500,
        "address": "52:54:00:00:00:02",
        "linkinfo": {"info_kind": "vlan"},
    },
    {"ifname": "cali0a1b2c@if3", "mtu": 8846, "address": "ee:ee:ee:ee:ee:ee", "linkinfo": {"info_kind": "veth"}},
    {},
]
LINKS = parse_links(json.dumps(IP_JSON), {"ens5": "0000:03:00.0"})
PLAN: list[dict[str, Any]] = [
    {"name": "management", "interface": "enp0s3", "address": "10.0.1.11/24", "mtu": 1460},
    {
        "name": "storage",
        "kind": "bond",
        "interface": "bond0",
        "members": [{"mac": "52:54:00:00:00:02"}, {"pci": "0000:03:00.0"}],
        "addresses": ["10.0.2.11/24", "fd00::11/64"],
        "mtu": 9000,
    },
    {
        "name": "inference",
        "kind": "vlan",
        "interface": "eth2-01.100",
        "parent": "storage",
        "vlan_id": 100,
        "address": "10.0.3.11/24",
        "mtu": 1500,
    },
    {"name": "rail0", "interface": "rail0", "members": [{"mac": "52:54:00:00:00:09"}], "mtu": 9000},
    {"name": "spare", "interface": "ens9"},
]
FLEET = {
    "storage": {
        "hosts": {
            "n1": {"addresses": ["10.0.2.11/24", "fd00::11/64"], "mtu": 9000},
            "n0": {"addresses": ["10.0.2.10/24"], "mtu": 9000},
            "n2": {"addresses": ["fd00::12/64", "10.0.2.12/24"], "mtu": 8896},
            "n3": {"addresses": [], "mtu": 9000},
        }
    },
    "elsewhere": {"hosts": {"n1": {"addresses": ["10.9.9.1/24"]}, "n2": {"addresses": ["10.9.9.2/24"]}}},
}


def plan() -> tuple[Network, ...]:
    networks, problems = parse_networks("n1", PLAN)
    assert problems == []
    return networks


def test_every_device_of_the_plan_is_measured() -> None:
    assert interface_mtus(plan(), LINKS) == [
        InterfaceMtu("management", "ens3", "network", 1460, 1460),
        InterfaceMtu("storage", "bond0", "bond", 9000, 9000),
        InterfaceMtu("storage", "ens4", "member", 9000, 9000),
        InterfaceMtu("storage", "ens5", "member", 1500, 9000),
        InterfaceMtu("inference", "eth2-01.100", "vlan", 1500, 1500),
        InterfaceMtu("rail0", "rail0", "network", None, 9000),
    ]


def test_paths_begin_with_the_next_host_and_use_the_smaller_mtu() -> None:
    common = {"network": "storage", "interface": "bond0", "device_mtu": 9000}
    four = {**common, "source": "10.0.2.11"}
    assert targets("n1", plan(), FLEET, LINKS) == [
        Target(**four, peer="n2", address="10.0.2.12", expected=8896),
        Target(**four, peer="n0", address="10.0.2.10", expected=9000),
        Target(**common, source="fd00::11", peer="n2", address="fd00::12", expected=8896),
    ]


def test_a_bad_peer_address_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"10\.0\.2\.300"):
        targets("n1", plan(), {"storage": {"hosts": {"n2": {"addresses": ["10.0.2.300/24"]}}}}, LINKS)


@pytest.mark.parametrize(
    ("member", "name"),
    [
        pytest.param(Member(mac="52:54:00:00:00:02"), "ens4", id="mac-is-not-the-bond"),
        pytest.param(Member(mac="52:54:00:00:00:03"), "ens5", id="permanent-mac"),
        pytest.param(Member(pci="0000:03:00.0"), "ens5", id="pci"),
        pytest.param(Member(name="enp0s3"), "ens3", id="altname"),
        pytest.param(Member(mac="52:54:00:00:00:02", pci="0000:03:00.0"), None, id="mac-at-another-slot"),
        pytest.param(Member(name="gone"), None, id="gone"),
    ],
)
def test_members_are_found(member: Member, name: str | None) -> None:
    found = find_member(LINKS, member)
    assert (found and found.name) == name


def test_names_have_no_parent_part() -> None:
    assert find_name(LINKS, "cali0a1b2c") == Link("cali0a1b2c", 8846, mac="ee:ee:ee:ee:ee:ee", kind="veth")


def test_pci_address_of_a_virtio_port(tmp_path: Any) -> None:
    device = tmp_path / "pci0000:00" / "0000:00:02.0" / "virtio1"
    device.mkdir(parents=True)
    for name in ("eth0", "lo"):
        (tmp_path / "net" / name).mkdir(parents=True)
    (tmp_path / "net" / "eth0" / "device").symlink_to(device)
    assert pci_addresses(str(tmp_path / "net")) == {"eth0": "0000:00:02.0"}


@pytest.mark.parametrize(
    "result", [None, CommandResult(0, "1: lo: <LOOPBACK>", ""), CommandResult(0, '[{"a": 1}]', "")]
)
def test_devices_that_cannot_be_listed(result: CommandResult | None) -> None:
    with pytest.raises(MeasureError, match="network devices"):
        read_links(FakeRunner({} if result is None else {IP_LINK: result}))


def path(peer: str, state: str = "ok", measured: int | None = 9000, detail: str = "", expected: int = 9000) -> Outcome:
    target = Target("storage", peer, "10.0.2.11", "bond0", f"10.0.2.{peer[1:]}", expected, 9000)
    return Outcome(target, state, measured, detail=detail)


def told(findings: list[Finding]) -> list[tuple[str, str | None, Any, Any, str]]:
    return [(f.severity.name, f.subject.peer, f.measured, f.expected, f.message) for f in findings]


@pytest.mark.parametrize(
    ("measured", "want"),
    [
        pytest.param(
            Measured([], [path("p1"), path("p2")], {}),
            [("OK", None, 9000, 9000, "storage: 2 paths carry packets of 9000 bytes")],
            id="all-well",
        ),
        pytest.param(
            Measured([], [path("p1", measured=8896, expected=8896), path("p2")], {}),
            [("OK", None, 8896, 9000, "storage: 2 paths carry what both ends plan, 8896 to 9000 bytes")],
            id="two-sizes",
        ),
        pytest.param(
            Measured([], [path(f"p{i}", "path_mtu", 1500) for i in range(1, 11)] + [path("p99")], {}),
            [
                (
                    "FAIL",
                    None,
                    1500,
                    9000,
                    "storage: p1, p10, p2, p3, p4, p5, p6, p7 and 2 more: small packets pass, those of 9000 bytes "
                    "do not (largest that passes: 1500)",
                ),
                ("OK", "p99", 9000, 9000, "storage: 1 paths carry packets of 9000 bytes"),
            ],
            id="many-peers-one-finding",
        ),
        pytest.param(
            Measured([], [path("p1", "no_reply", None), path("p2", "no_route", None, "no route (x)")], {}),
            [
                ("FAIL", "p1", None, 9000, "storage: p1: no reply, even to small packets"),
                ("FAIL", "p2", None, 9000, "storage: p2: no route; no route (x)"),
            ],
            id="two-kinds-two-findings",
        ),
        pytest.param(
            Measured([], [path("p1", "local_mtu", 1500)], {}),
            [
                (
                    "FAIL",
                    "p1",
                    1500,
                    9000,
                    "storage: p1: bond0 itself sends no packet of 9000 bytes (largest that passes: 1500)",
                )
            ],
            id="local-names-the-device",
        ),
        pytest.param(
            Measured([], [], {"storage": "not permitted"}, "no ip"),
            [
                ("UNKNOWN", None, None, None, "storage: the paths could not be measured: not permitted"),
                ("UNKNOWN", None, None, None, "the devices could not be measured: no ip"),
            ],
            id="could-not-measure",
        ),
        pytest.param(
            Measured([InterfaceMtu("storage", "bond0", "bond", 9000, 9000)], [], {}),
            [("OK", None, 9000, 9000, "storage: MTU 9000 on bond0")],
            id="devices-well",
        ),
        pytest.param(
            Measured(
                [
                    InterfaceMtu("storage", "bond0", "bond", 9000, 9000),
                    InterfaceMtu("storage", "ens5", "member", 1500, 9000),
                    InterfaceMtu("rail0", "rail0", "network", None, 9000),
                ],
                [],
                {},
            ),
            [
                ("FAIL", None, 1500, 9000, "storage: member ens5 has MTU 1500, planned is 9000"),
                ("FAIL", None, None, 9000, "rail0: network rail0 is not on this host"),
            ],
            id="devices-wrong",
        ),
        pytest.param(Measured([], [], {}), [], id="nothing-planned"),
    ],
)
def test_findings(measured: Measured, want: list[Any]) -> None:
    assert told(judge_mtu("n1", measured)) == want


def test_report_keeps_every_path() -> None:
    measured = Measured([InterfaceMtu("storage", "bond0", "bond", 9000, 9000)], [path("p1", "path_mtu", 1500)], {})
    assert measured.report() == {
        "interfaces": [
            {"network": "storage", "interface": "bond0", "role": "bond", "measured": 9000, "expected": 9000}
        ],
        "paths": [
            {
                "network": "storage",
                "peer": "p1",
                "address": "10.0.2.1",
                "expected": 9000,
                "measured": 1500,
                "state": "path_mtu",
                "rtt_us": None,
            }
        ],
    }
