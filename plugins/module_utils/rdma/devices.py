# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The RDMA devices of this host, from sysfs: no tool needs to be installed, and Soft-RoCE looks like any other."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import asdict, dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..errors import MeasureError

__all__ = ["Device", "Endpoint", "Gid", "Port", "PortDownError", "choose", "read_devices"]

CLASS = "sys/class/infiniband"
ROCE_V2 = "RoCE v2"
_PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
_NO_GID = "0000:0000:0000:0000:0000:0000:0000:0000"


class PortDownError(MeasureError):
    """The port is there and has no link: measured, and bad."""


@dataclass(frozen=True)
class Gid:
    """``type``: "RoCE v2", "IB/RoCE v1". ``netdev`` is the device whose address this is: a port, a VLAN, a bond."""

    index: int
    gid: str
    type: Optional[str]
    netdev: Optional[str]

    @property
    def ipv4(self) -> Optional[str]:
        mapped = ipaddress.IPv6Address(self.gid).ipv4_mapped
        return None if mapped is None else str(mapped)


@dataclass(frozen=True)
class Port:
    """``rate_gbps`` of a port that is down is a default, no measurement."""

    port: int
    state: Optional[str]
    physical_state: Optional[str]
    rate_gbps: Optional[float]
    link_layer: Optional[str]
    gids: Tuple[Gid, ...]

    @property
    def active(self) -> bool:
        return self.state == "ACTIVE"

    @property
    def guid(self) -> Optional[str]:
        """That of an InfiniBand port: the lower half of its first GID, with 16 digits."""
        first = next((gid for gid in self.gids if gid.index == 0), None)
        return None if first is None else "%016x" % (int(ipaddress.IPv6Address(first.gid)) & (1 << 64) - 1)

    @property
    def speed(self) -> Optional[str]:
        """As limits name a link: "400G"."""
        return None if self.rate_gbps is None else "%gG" % self.rate_gbps


@dataclass(frozen=True)
class Device:
    """``cpus``: those of the NIC's NUMA node, as the kernel lists them; None where there is only one node."""

    name: str
    firmware: Optional[str]
    board: Optional[str]
    node_guid: Optional[str]
    pci: Optional[str]
    numa_node: Optional[int]
    cpus: Optional[str]
    netdevs: Tuple[str, ...]
    ports: Tuple[Port, ...]

    def as_dict(self) -> Dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Endpoint:
    """What a measurement on one rail needs. ``gid_index`` is None on InfiniBand, where the LID does it."""

    device: str
    port: int
    gid_index: Optional[int]
    speed: Optional[str]
    cpus: Optional[str] = None


def read_devices(root: str = "/") -> Tuple[Device, ...]:
    base = os.path.join(root, CLASS)
    names = sorted(os.listdir(base)) if os.path.isdir(base) else []
    return tuple(_device(root, os.path.join(base, name), name) for name in names)


def choose(interface: str, addresses: Sequence[str], devices: Sequence[Device]) -> Endpoint:
    """The RDMA port behind a network device, and the GID of its address. Raises MeasureError that says what is there.

    RoCE v2 with the network's own address is looked for, never a fixed index: the table's order depends on which
    addresses came first, and an index that is right on one host is another network's on the next.
    """
    found = [(device, port) for device in devices for port in device.ports if _belongs(interface, device, port)]
    if not found:
        raise MeasureError(
            "no RDMA device behind %s (there are: %s); load the NIC's RDMA driver"
            % (interface, ", ".join(device.name for device in devices) or "none at all")
        )
    device, port = next((each for each in found if each[1].active), found[0])
    if not port.active:
        raise PortDownError("%s port %d of %s is %s, not ACTIVE" % (device.name, port.port, interface, port.state))
    if port.link_layer == "InfiniBand":
        return Endpoint(device.name, port.port, None, port.speed, device.cpus)
    wanted = [ipaddress.ip_interface(address).ip for address in addresses]
    for address in sorted(wanted, key=lambda each: each.version):
        for gid in port.gids:
            if gid.type == ROCE_V2 and gid.netdev in (None, interface) and _is(gid, address):
                return Endpoint(device.name, port.port, gid.index, port.speed, device.cpus)
    raise MeasureError(
        "%s has no GID of RoCE v2 for %s on %s (its table: %s)"
        % (
            device.name,
            " or ".join(str(address) for address in wanted) or "an address that the plan does not name",
            interface,
            ", ".join("%d %s %s" % (gid.index, gid.type, gid.ipv4 or gid.gid) for gid in port.gids) or "empty",
        )
    )


def _belongs(interface: str, device: Device, port: Port) -> bool:
    return interface in device.netdevs or any(gid.netdev == interface for gid in port.gids)


def _is(gid: Gid, address: Any) -> bool:
    full = ipaddress.IPv6Address(gid.gid)
    return full == address if address.version == 6 else full.ipv4_mapped == address


def _device(root: str, path: str, name: str) -> Device:
    bound = os.path.join(path, "device")
    parts = os.path.realpath(bound).split("/") if os.path.exists(bound) else []
    addresses = [part for part in parts if _PCI.match(part)]
    node = _integer(_read(bound, "numa_node"))
    netdevs = set(_names(os.path.join(bound, "net")))
    parent = _read(path, "parent")  # Soft-RoCE and Soft-iWARP hang on a network device instead of the PCI bus
    ports = tuple(_port(os.path.join(path, "ports", number), number) for number in _names(os.path.join(path, "ports")))
    return Device(
        name=name,
        firmware=_read(path, "fw_ver"),
        board=_read(path, "board_id"),
        node_guid=_read(path, "node_guid"),
        pci=addresses[-1] if addresses else None,
        numa_node=node if node is not None and node >= 0 else None,
        cpus=_cpus(root, node),
        netdevs=tuple(sorted(netdevs | ({parent} if parent else set()))),
        ports=ports,
    )


def _cpus(root: str, node: Optional[int]) -> Optional[str]:
    nodes = [name for name in _names(os.path.join(root, "sys/devices/system/node")) if re.match(r"node\d+\Z", name)]
    if node is None or node < 0 or len(nodes) < 2:
        return None
    return _read(os.path.join(root, "sys/devices/system/node/node%d" % node), "cpulist")


def _port(path: str, number: str) -> Port:
    rate = re.match(r"[\d.]+", _read(path, "rate") or "")
    return Port(
        port=int(number),
        state=_word(_read(path, "state")),
        physical_state=_word(_read(path, "phys_state")),
        rate_gbps=float(rate.group()) if rate else None,
        link_layer=_read(path, "link_layer"),
        gids=tuple(_gids(path)),
    )


def _gids(path: str) -> List[Gid]:
    found = []
    for index in sorted((int(name) for name in _names(os.path.join(path, "gids"))), key=int):
        gid = _read(path, "gids/%d" % index)
        if gid is None or gid == _NO_GID:
            continue
        kind, netdev = _read(path, "gid_attrs/types/%d" % index), _read(path, "gid_attrs/ndevs/%d" % index)
        found.append(Gid(index, gid, kind, netdev))
    return found


def _word(text: Optional[str]) -> Optional[str]:
    """ "4: ACTIVE" -> "ACTIVE"."""
    return None if text is None else text.partition(": ")[2] or text


def _integer(text: Optional[str]) -> Optional[int]:
    return int(text) if text is not None and re.match(r"-?\d+\Z", text) else None


def _names(folder: str) -> List[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _read(path: str, name: str) -> Optional[str]:
    """The kernel answers with an error where an entry of the table is empty."""
    try:
        with open(os.path.join(path, name), encoding="ascii", errors="replace") as stream:
            return stream.read().strip() or None
    except (OSError, ValueError):
        return None
