"""What a host has: sysfs trees, altnames of `ip -j link`, and members found among them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.hardware import (
    Device,
    find_device,
    parse_altnames,
    read_hardware,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import Member

IP_LINKS = json.dumps(
    [
        {"ifname": "eth2-01.100", "link": "eth2-01", "mtu": 1500},
        {},
        {"ifname": "cali0a1b2c", "link_index": 3},
        {"ifname": "ens3", "altnames": ["enp0s3"]},
    ]
)


def device(root: Path, name: str, bound: str | None = None, **attributes: str) -> None:
    base = root / "sys/class/net" / name
    base.mkdir(parents=True)
    for key, value in {"type": "1", "mtu": "1500", "addr_assign_type": "0", **attributes}.items():
        path = base / key.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(value + "\n")
    if bound:
        (root / bound).mkdir(parents=True, exist_ok=True)
        (root / bound / "driver").symlink_to(root / "sys/bus/drivers/virtio_net")
        (base / "device").symlink_to(root / bound)


def test_sysfs(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/drivers/virtio_net").mkdir(parents=True)
    device(tmp_path, "lo", type="772", address="00:00:00:00:00:00")
    device(tmp_path, "ens3", "sys/devices/pci0000:00/0000:00:03.0/virtio1", address="52:54:00:4C:15:00", mtu="1460")
    bond = {"address": "52:54:00:4c:15:01", "bonding_slave__perm_hwaddr": "52:54:00:4c:15:02"}
    device(tmp_path, "ens5", "sys/devices/pci0000:00/0000:00:1c.0/0000:05:00.1", **bond)
    device(tmp_path, "cali0a1b2c", address="ee:ee:ee:ee:ee:ee", addr_assign_type="3")
    device(tmp_path, "tunl0", type="768", address="0.0.0.0")
    (tmp_path / "sys/class/net/bonding_masters").write_text("bond0\n")
    assert read_hardware(str(tmp_path), parse_altnames(IP_LINKS)) == (
        Device("cali0a1b2c", "ee:ee:ee:ee:ee:ee", physical=False, mac_permanent=False),
        Device("ens3", "52:54:00:4c:15:00", "0000:00:03.0", ("enp0s3",), 1460, "virtio_net"),
        Device("ens5", "52:54:00:4c:15:02", "0000:05:00.1", driver="virtio_net"),
        Device("tunl0", "0.0.0.0", type="other", physical=False),
    )


def test_a_host_without_sysfs_has_nothing(tmp_path: Path) -> None:
    assert read_hardware(str(tmp_path)) == ()


def test_altnames() -> None:
    assert parse_altnames(IP_LINKS) == {"eth2-01.100": (), "cali0a1b2c": (), "ens3": ("enp0s3",)}


TWO_PORTS = (
    Device("ens3", "52:54:00:00:00:01", "0000:00:03.0", ("enp0s3",)),
    Device("p0", "52:54:00:00:00:02", "0000:01:00.0"),
    Device("p1", "52:54:00:00:00:03", "0000:01:00.0"),
    Device("bond0", "52:54:00:00:00:02", physical=False, mac_permanent=False),
)


@pytest.mark.parametrize(
    ("member", "name"),
    [
        (Member(mac="52:54:00:00:00:02"), "p0"),
        (Member(pci="0000:00:03.0"), "ens3"),
        (Member(pci="0000:01:00.0", name="p1"), "p1"),
        (Member(pci="0000:01:00.0", mac="52:54:00:00:00:03"), "p1"),
        (Member(name="enp0s3"), "ens3"),
        (Member(name="bond0"), "bond0"),
        (Member(mac="52:54:00:00:00:01", name="renamed"), "ens3"),
    ],
    ids=["mac, not the bond on it", "pci", "pci and name", "pci and mac", "altname", "not physical", "mac before name"],
)
def test_find(member: Member, name: str) -> None:
    assert find_device(member, TWO_PORTS).name == name


def test_two_fit() -> None:
    with pytest.raises(ConfigError, match=r"pci 0000:01:00.0 fits p0, p1: name one of them by its mac"):
        find_device(Member(pci="0000:01:00.0"), TWO_PORTS)
