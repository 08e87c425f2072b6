# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RDMA devices out of sysfs, and the choice of device and GID behind a network."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import MeasureError
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.devices import (
    Device,
    Endpoint,
    Gid,
    Port,
    PortDownError,
    choose,
    read_devices,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.info import read_rdma
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult

from tests.fakes.infiniband import mapped, nic, numa_nodes
from tests.fakes.runner import FakeRunner

LINK_LOCAL = "fe80:0000:0000:0000:5054:00ff:fe4c:1504"
V6 = "fd00:0000:0000:0000:0000:0000:0000:0011"
# Two entries for each address, v1 before v2; a VLAN on the same port has its own.
TABLE = {
    0: (LINK_LOCAL, "IB/RoCE v1", "rail0"),
    1: (mapped("10.0.5.11"), "RoCE v2", "rail0.30"),
    2: (mapped("10.0.4.11"), "IB/RoCE v1", "rail0"),
    3: (mapped("10.0.4.11"), "RoCE v2", "rail0"),
}
DEVINFO = """hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.43.2026
\tnode_guid:\t\t\t5254:00ff:fe4c:1504
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tsm_lid:\t\t\t0
\t\t\tport_lid:\t\t0
\t\t\tport_lmc:\t\t0x00
\t\t\tlink_layer:\t\tEthernet
"""


def test_hardware_and_soft_roce_look_alike(tmp_path: Path) -> None:
    nic(tmp_path, "mlx5_0", "rail0", {3: TABLE[3]}, numa=1)
    nic(tmp_path, "rxe_rail1", "rail1", {1: (mapped("10.0.6.11"), "RoCE v2", "rail1")}, rate="2.5 Gb/sec", soft=True)
    numa_nodes(tmp_path, {0: "0-71", 1: "72-143"})
    assert read_devices(str(tmp_path)) == (
        Device(
            name="mlx5_0", firmware="28.43.2026", board=None, node_guid=None, pci="0000:3b:00.0", numa_node=1,
            cpus="72-143", netdevs=("rail0",),
            ports=(Port(1, "ACTIVE", "LinkUp", 400.0, "Ethernet", (Gid(3, mapped("10.0.4.11"), "RoCE v2", "rail0"),)),),
        ),
        Device(
            name="rxe_rail1", firmware=None, board=None, node_guid=None, pci=None, numa_node=None, cpus=None,
            netdevs=("rail1",),
            ports=(Port(1, "ACTIVE", "LinkUp", 2.5, "Ethernet", (Gid(1, mapped("10.0.6.11"), "RoCE v2", "rail1"),)),),
        ),
    )  # fmt: skip


def test_a_host_without_rdma_has_no_devices(tmp_path: Path) -> None:
    assert read_devices(str(tmp_path)) == ()


@pytest.mark.parametrize(
    ("interface", "addresses", "wanted"),
    [
        pytest.param("rail0", ["10.0.4.11/24"], Endpoint("mlx5_0", 1, 3, "400G"), id="not-v1-not-the-vlan"),
        pytest.param("rail0.30", ["10.0.5.11/24"], Endpoint("mlx5_0", 1, 1, "400G"), id="the-vlan-has-its-own"),
        pytest.param("rail0", [f"{V6}/64", "10.0.4.11/24"], Endpoint("mlx5_0", 1, 3, "400G"), id="ipv4-first"),
        pytest.param("rail1", [f"{V6}/64"], Endpoint("mlx5_1", 1, 0, "200G"), id="ipv6-alone"),
        pytest.param("ib0", [], Endpoint("mlx5_2", 1, None, "400G"), id="infiniband-needs-none"),
    ],
)
def test_the_gid_is_found_by_looking(tmp_path: Path, interface: str, addresses: list[str], wanted: Endpoint) -> None:
    nic(tmp_path, "mlx5_0", "rail0", TABLE)
    nic(tmp_path, "mlx5_1", "rail1", {0: (V6, "RoCE v2", "rail1")}, rate="200 Gb/sec (4X HDR)", pci="0000:af:00.0")
    ib = {0: (LINK_LOCAL, "IB/RoCE v1", "")}
    nic(tmp_path, "mlx5_2", "ib0", ib, link_layer="InfiniBand", pci="0000:b0:00.0")
    assert choose(interface, addresses, read_devices(str(tmp_path))) == wanted


@pytest.mark.parametrize(
    ("interface", "address", "state", "error", "words"),
    [
        pytest.param(
            "eth9", "10.0.4.11/24", "4: ACTIVE", MeasureError, "no RDMA device behind eth9.*mlx5_0", id="none"
        ),
        pytest.param(
            "rail0",
            "10.0.4.12/24",
            "4: ACTIVE",
            MeasureError,
            "no GID of RoCE v2 for 10.0.4.12.*3 RoCE v2 10.0.4.11",
            id="no-gid",
        ),
        pytest.param("rail0", "10.0.4.11/24", "1: DOWN", PortDownError, "mlx5_0 port 1 of rail0 is DOWN", id="down"),
    ],
)
def test_what_cannot_be_measured_says_what_is_there(
    tmp_path: Path, interface: str, address: str, state: str, error: type[MeasureError], words: str
) -> None:
    nic(tmp_path, "mlx5_0", "rail0", TABLE, state=state)
    with pytest.raises(MeasureError, match=words) as caught:
        choose(interface, [address], read_devices(str(tmp_path)))
    assert caught.type is error


def test_a_nic_of_the_only_numa_node_is_not_pinned(tmp_path: Path) -> None:
    nic(tmp_path, "mlx5_0", "rail0", TABLE)
    numa_nodes(tmp_path, {0: "0-7"})
    assert read_devices(str(tmp_path))[0].cpus is None


@pytest.mark.parametrize(
    ("answer", "mtu", "unread"),
    [
        pytest.param(CommandResult(0, DEVINFO, ""), 4096, {}, id="installed"),
        pytest.param(
            CommandResult(127, "", "ibv_devinfo: not installed"),
            None,
            {"ibv_devinfo": "ibv_devinfo: ibv_devinfo: not installed"},
            id="not-installed",
        ),
        pytest.param(
            CommandResult(127, "", "ibv_devinfo: Permission denied"),
            None,
            {"ibv_devinfo": "ibv_devinfo: ibv_devinfo: Permission denied"},
            id="not-executable",
        ),
        pytest.param(
            CommandResult(0, "", ""),
            None,
            {"ibv_devinfo": "ibv_devinfo: no hca_id in it: give the whole output of ibv_devinfo"},
            id="prints-nothing",
        ),
        pytest.param(
            CommandResult(0, "Failed to get IB devices list: Function not implemented\n", ""),
            None,
            {"ibv_devinfo": "ibv_devinfo: no hca_id in it: give the whole output of ibv_devinfo"},
            id="exit-0-with-an-error-text",
        ),
        pytest.param(
            CommandResult(1, DEVINFO, "Failed to query device props"),
            None,
            {"ibv_devinfo": "ibv_devinfo: Failed to query device props"},
            id="exit-1-with-a-good-text",
        ),
        pytest.param(
            CommandResult(124, DEVINFO, "ibv_devinfo: no end after 30 s"),
            None,
            {"ibv_devinfo": "ibv_devinfo: ibv_devinfo: no end after 30 s"},
            id="hangs",
        ),
        pytest.param(
            CommandResult(153, DEVINFO, "ibv_devinfo: ended after 64 MiB of output"),
            None,
            {"ibv_devinfo": "ibv_devinfo: ibv_devinfo: ended after 64 MiB of output"},
            id="floods",
        ),
    ],
)
def test_info_has_the_active_mtu_where_the_tool_is(
    tmp_path: Path, answer: CommandResult, mtu: int | None, unread: dict[str, str]
) -> None:
    nic(tmp_path, "mlx5_0", "rail0", TABLE)
    told = read_rdma(FakeRunner({("ibv_devinfo",): answer}), str(tmp_path))
    assert [port["active_mtu"] for device in told["devices"] for port in device["ports"]] == [mtu]
    assert told["unread"] == unread
