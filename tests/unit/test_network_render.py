"""Rendered files: whole texts for the model's example, and what netplan's own generator makes of every kind."""

from __future__ import annotations

import configparser
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.hardware import Device
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.plan import (
    IB_MTU,
    ipoib_largest_mtu,
    management_address,
    resolve_plan,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.render_keyfile import render_keyfiles
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.render_netplan import (
    NETPLAN_FILE,
    render_netplan,
)

from tests.unit.network_examples import EXAMPLE, HOST, INFERENCE, MANAGEMENT, STORAGE, networks, rail_host, rails

IPOIB = [{"name": "compute", "kind": "ipoib", "interface": "ibp3s0", "address": "10.0.4.11/24", "mtu": 2044}]
IB_PORT = [{"name": "ibp3s0"}]
IPV6 = [{**STORAGE, "addresses": ["fd00:2::11/64"], "address": "10.0.2.11/24", "rules": [], "routes": []}]
FIXTURES = Path(__file__).parent / "fixtures" / "network"


def generated(tmp_path: Path, files: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    """File name -> all (section.key, value) that netplan generates from ``files``."""
    for path, text in files.items():
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o600)
    done = subprocess.run(
        ["netplan", "generate", "--root-dir", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    units = {}
    for path in sorted((tmp_path / "run/systemd/network").iterdir()):
        section, pairs = "", []
        for line in path.read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif line:
                key, value = line.split("=", 1)
                pairs.append((f"{section}.{key}", value))
        units[path.name.removeprefix("10-netplan-")] = pairs
    return units


@pytest.mark.parametrize("name", ["example-netplan", "example-keyfiles", "ipoib-netplan", "ipoib-keyfiles"])
def test_whole_text(name: str) -> None:
    example, backend = name.split("-")
    raw = EXAMPLE if example == "example" else [{**IPOIB[0], "ipoib_mode": "connected", "mtu": 65520}]
    render = render_netplan if backend == "netplan" else render_keyfiles
    text = "".join(f"### {path}\n{body}" for path, body in render(networks(raw), HOST).items())
    assert text == (FIXTURES / f"{name}.txt").read_text()


def test_generator_says_what_the_plan_says(tmp_path: Path) -> None:
    units = generated(tmp_path, render_netplan(networks(EXAMPLE), HOST))
    assert sorted(units) == [
        "bond0.30.netdev", "bond0.30.network", "bond0.netdev", "bond0.network", "enp1s0.link", "enp1s0.network",
        "enp2s0.link", "enp2s0.network", "mgmt.link", "mgmt.network",
    ]  # fmt: skip
    assert units["bond0.netdev"] == [
        ("NetDev.Name", "bond0"), ("NetDev.MTUBytes", "9000"), ("NetDev.Kind", "bond"),
        ("Bond.Mode", "802.3ad"), ("Bond.LACPTransmitRate", "fast"), ("Bond.MIIMonitorSec", "100ms"),
        ("Bond.MinLinks", "1"), ("Bond.TransmitHashPolicy", "layer3+4"),
    ]  # fmt: skip
    assert units["bond0.network"] == [
        ("Match.Name", "bond0"), ("Link.MTUBytes", "9000"), ("Network.LinkLocalAddressing", "ipv6"),
        ("Network.Address", "10.0.2.11/24"), ("Network.IPv6AcceptRA", "no"), ("Network.ConfigureWithoutCarrier", "yes"),
        ("Network.VLAN", "bond0.30"),
        ("Route.Destination", "0.0.0.0/0"), ("Route.Gateway", "10.0.2.1"), ("Route.Table", "200"),
        ("Route.Destination", "10.0.2.0/24"), ("Route.Scope", "link"), ("Route.Table", "200"),
        ("Route.Destination", "10.9.0.0/16"), ("Route.Gateway", "10.0.2.1"), ("Route.Table", "200"),
        ("RoutingPolicyRule.From", "10.0.2.11/32"), ("RoutingPolicyRule.Table", "200"),
        ("RoutingPolicyRule.Priority", "1000"),
        ("RoutingPolicyRule.From", "10.0.2.0/24"), ("RoutingPolicyRule.Table", "200"),
        ("RoutingPolicyRule.Priority", "200"),
    ]  # fmt: skip
    for member, mac in (("enp1s0", "52:54:00:00:01:01"), ("enp2s0", "52:54:00:00:01:02")):
        assert ("Link.MTUBytes", "9000") in units[f"{member}.network"]
        assert ("Network.Bond", "bond0") in units[f"{member}.network"]
        assert units[f"{member}.link"][0] == ("Match.PermanentMACAddress", mac)
    assert ("Route.Gateway", "10.0.1.1") in units["mgmt.network"]
    assert ("Network.DNS", "10.0.1.2") in units["mgmt.network"]
    assert units["bond0.30.netdev"][-1] == ("VLAN.Id", "30")


@pytest.mark.parametrize(
    "raw",
    [
        IPOIB,
        IPV6,
        [*EXAMPLE, *IPOIB],
        [{**MANAGEMENT, "routes": [{"to": "10.8.0.0/16", "via": "10.0.1.9", "metric": 5}]}],
    ],
    ids=["ipoib", "ipv6", "everything", "metric"],
)
def test_netplan_takes_it(raw: list[dict[str, Any]], tmp_path: Path) -> None:
    generated(tmp_path, render_netplan(networks(raw), HOST))


def test_four_rails_in_netplan(tmp_path: Path) -> None:
    host = rail_host(["eth0", "eth1", "eth2", "eth3"])
    units = generated(tmp_path, render_netplan(networks(rails("10.10.%d.5/24", tables=True)), host))
    for n in range(4):
        assert units[f"rail{n}.link"][:1] == [("Match.PermanentMACAddress", f"52:54:00:00:02:0{n}")]
        assert ("Link.Name", f"rail{n}") in units[f"rail{n}.link"]
        assert ("RoutingPolicyRule.From", f"10.10.{n}.5/32") in units[f"rail{n}.network"]


@pytest.mark.parametrize("render", [render_netplan, render_keyfiles])
def test_same_files_when_names_rotate(render: Any) -> None:
    plan = networks(rails("10.10.%d.5/24", tables=True))
    first = render(plan, rail_host(["enP2p1s0f0", "eth1", "eth2", "eth3"]))
    assert first == render(plan, rail_host(["eth3", "enP2p1s0f0", "eth1", "eth2"]))
    assert re.findall(r"\beth\d", "".join(first.values())) == []
    assert list(first) == list(render(plan, rail_host(["eth3", "enP2p1s0f0", "eth1", "eth2"])))


@pytest.mark.parametrize("render", [render_netplan, render_keyfiles])
def test_bytes_are_stable(render: Any) -> None:
    assert list(render(networks(EXAMPLE), HOST).items()) == list(render(networks(EXAMPLE), HOST).items())


@pytest.mark.parametrize("marks", [{"mac": "52:54:00:00:01:01"}, {"pci": "0000:01:00.0"}], ids=["mac", "pci"])
def test_mac_and_pci_give_the_same_port(marks: dict[str, str]) -> None:
    by_marks = [{**STORAGE, "members": [{**marks, "name": "enp1s0"}, {"name": "enp2s0"}]}]
    assert render_netplan(networks(by_marks), HOST) == render_netplan(networks([STORAGE]), HOST)


def test_no_obsolete_key() -> None:
    text = render_netplan(networks(EXAMPLE), HOST)[NETPLAN_FILE]
    assert [
        word for word in ("gateway4", "gateway6", "mii-monitor:", "table: storage", "primary") if word in text
    ] == []


PROBLEMS: list[tuple[str, list[dict[str, Any]], str]] = [
    (
        "missing mac",
        [{**MANAGEMENT, "members": [{"mac": "52:54:00:00:01:99"}]}],
        "management.members[0]: mac 52:54:00:00:01:99: no such port on this host, which has "
        "eth0 (mac 52:54:00:00:01:00, pci 0000:00:03.0); enp1s0 (mac 52:54:00:00:01:01, pci 0000:01:00.0); "
        "enp2s0 (mac 52:54:00:00:01:02, pci 0000:02:00.0); "
        "ibp3s0 (mac 00:00:10:29:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:12:34:56, pci 0000:03:00.0)",
    ),
    (
        "vlan above parent, undefined parent",
        [
            STORAGE,
            {**INFERENCE, "mtu": 9100},
            {**INFERENCE, "name": "x", "interface": "x.1", "parent": "nothing", "address": "10.7.1.1/24"},
        ],
        "inference.mtu = 9100: above 9000 of its parent storage\n"
        "x.parent = nothing: no such network; there are storage, inference, x",
    ),
    (
        "own subnet through the gateway",
        [{**STORAGE, "routes": [{"to": "10.0.2.0/24", "via": "10.0.2.1"}]}],
        "storage.routes: 10.0.2.0/24 is the link's own network; a route would send neighbours' traffic through "
        "10.0.2.1: delete it",
    ),
    (
        "two default routes",
        [MANAGEMENT, {**STORAGE, "table": None, "rules": []}],
        "two default routes in the main table, of management and storage: give one network its own `table`",
    ),
    (
        "one port twice",
        [STORAGE, {"name": "x", "interface": "enp2s0", "address": "10.0.9.1/24"}],
        "port enp2s0 is a member of both storage and x\ninterface enp2s0 is named by both storage and x",
    ),
    (
        "ipoib datagram above 4K",
        [{**IPOIB[0], "mtu": 9000}],
        "compute.mtu = 9000: datagram mode carries at most 4092 (2044 on a partition of 2K; connected mode 65520)",
    ),
    (
        "partition keys",
        [
            {**IPOIB[0], "pkey": "0x8002"},
            {**IPOIB[0], "name": "y", "interface": "ib9", "address": "10.0.5.1/24", "pkey": "0x1", "members": IB_PORT},
        ],
        "y.interface = ib9: the partition's interface is ibp3s0.8001 by its nature, or leave ibp3s0",
    ),
    (
        "rule without table",
        [{**MANAGEMENT, "rules": [{"from": "10.0.1.0/24"}]}],
        "management.rules: a rule needs a table, its own or the network's",
    ),
]


@pytest.mark.parametrize(("raw", "message"), [case[1:] for case in PROBLEMS], ids=[case[0] for case in PROBLEMS])
def test_problems_are_all_named(raw: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_plan(networks(raw), HOST)
    assert str(caught.value) == message


def test_partition_key_is_networkmanagers() -> None:
    raw = networks([{**IPOIB[0], "pkey": "0x8001"}])
    with pytest.raises(ConfigError, match="netplan makes no interface for a partition"):
        render_netplan(raw, HOST)
    text = render_keyfiles(raw, HOST)["/etc/NetworkManager/system-connections/gpufleet-compute.nmconnection"]
    assert "interface-name=ibp3s0.8001\n" in text
    assert "p-key=0x8001\nparent=ibp3s0\n" in text


def test_rails_in_one_subnet_get_sysctls() -> None:
    plan = resolve_plan(networks(rails("10.10.0.1%d/22", tables=True)), rail_host(["a", "b", "c", "d"]))
    assert plan.sysctls == {
        f"net/ipv4/conf/rail{n}/{key}": value
        for n in range(4)
        for key, value in (("rp_filter", "2"), ("arp_ignore", "1"), ("arp_announce", "2"))
    }
    assert [rule.table for link in plan.links for rule in link.rules] == [210, 211, 212, 213]


@pytest.mark.parametrize("tables", [True, False], ids=["own tables", "main table"])
def test_rails_in_separate_subnets_get_none(tables: bool) -> None:
    plan = resolve_plan(networks(rails("10.10.%d.5/24", tables=tables)), rail_host(["a", "b", "c", "d"]))
    assert plan.sysctls == {}


def test_rails_in_one_subnet_need_tables() -> None:
    with pytest.raises(
        ConfigError, match=r"rail0 and rail1, rail2, rail3 share 10.10.0.0/22: give each its own `table`"
    ):
        resolve_plan(networks(rails("10.10.0.1%d/22", tables=False)), rail_host(["a", "b", "c", "d"]))


def test_node_address_is_by_network() -> None:
    assert management_address(networks([STORAGE, MANAGEMENT])) == "10.0.1.11"
    with pytest.raises(ConfigError, match="there are: storage"):
        management_address(networks([STORAGE]))


@pytest.mark.parametrize(
    ("mode", "code", "largest"), [("datagram", 5, 4092), ("datagram", 4, 2044), ("connected", 4, 65520)]
)
def test_ipoib_mtu_follows_the_port(mode: str, code: int, largest: int) -> None:
    assert ipoib_largest_mtu(mode, IB_MTU[code]) == largest


def test_port_without_permanent_address_keeps_its_name() -> None:
    veth = (Device("eth7", "aa:bb:cc:dd:ee:ff", physical=False, mac_permanent=False),)
    text = render_netplan(networks([{"name": "x", "interface": "eth7", "address": "10.1.1.1/24"}]), veth)[NETPLAN_FILE]
    assert "match" not in text
    assert "    eth7:\n      dhcp4: false\n" in text


def test_keyfiles_are_readable() -> None:
    for text in render_keyfiles(networks([*EXAMPLE, *IPOIB]), HOST).values():
        configparser.ConfigParser(strict=True, interpolation=None).read_string(text)


@pytest.mark.parametrize("primary", ["enp1s0", "0000:01:00.0", "52:54:00:00:01:02", "52:54:00:00:01:02".upper()])
def test_the_primary_port_is_named_by_its_device(primary: str) -> None:
    """The plan may name it as it names the member, by MAC or PCI address; files know only names."""
    members = [{"pci": "0000:01:00.0", "name": "enp1s0"}, {"mac": "52:54:00:00:01:02"}]
    plan = networks([{**STORAGE, "members": members, "bond": {"mode": "active-backup", "primary": primary}}])
    name = "enp1s0" if primary in ("enp1s0", "0000:01:00.0") else "enp2s0"
    assert f"      primary: {name}\n" in "".join(render_netplan(plan, HOST).values())
    assert f"\nprimary={name}\n" in "".join(render_keyfiles(plan, HOST).values())
