# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ibv_devinfo``: RDMA devices with the MTU that a port really uses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..errors import ParseError
from .text import unprefixed

__all__ = ["Device", "DevicePort", "DevinfoReport", "parse_ibv_devinfo", "reading"]

TOOL = "ibv_devinfo"

_PAIR = re.compile(r"\s*([a-z_]+):\s*(.*?)\s*$")
# "-v" prints some seventy keys; all are lower case with underscores and start a line.
_KNOWN = re.compile(r"\s*(?:hca_id:\s|Device ports:|port:\s*\d+\s*$|[a-z]+(?:_[a-z0-9]+)+:\s|(?:transport|state):\s)")
_GUID = re.compile(r"[0-9a-f]{4}(?::[0-9a-f]{4}){3}$")
_PORT_KEYS = ("state", "active_mtu", "link_layer", "port_lid", "sm_lid")


@dataclass(frozen=True)
class DevicePort:
    """``active_mtu`` is in bytes (the number in brackets is an enum) and means nothing while the port is down."""

    port: int
    state: Optional[str]
    active_mtu: Optional[int]
    max_mtu: Optional[int]
    link_layer: Optional[str]
    port_lid: Optional[int]
    sm_lid: Optional[int]

    @property
    def active(self) -> bool:
        return self.state == "PORT_ACTIVE"

    @property
    def whole(self) -> bool:
        return self.state is not None and self.active_mtu is not None and self.port_lid is not None


@dataclass(frozen=True)
class Device:
    name: str
    fw_ver: Optional[str]
    vendor_part_id: Optional[int]
    board_id: Optional[str]
    node_guid: Optional[str]
    port_count: Optional[int]
    ports: Tuple[DevicePort, ...]


@dataclass(frozen=True)
class DevinfoReport:
    devices: Tuple[Device, ...]

    @property
    def active_ports(self) -> int:
        return sum(port.active for device in self.devices for port in device.ports)

    @property
    def failure(self) -> Optional[str]:
        for device in self.devices:
            if len(device.ports) != device.port_count or not all(port.whole for port in device.ports):
                return "partial_output: %s" % device.name
        down = [
            "%s/%d" % (device.name, port.port) for device in self.devices for port in device.ports if not port.active
        ]
        return "port_down: %s" % ", ".join(down) if down else None

    @property
    def ok(self) -> bool:
        return self.failure is None


def parse_ibv_devinfo(lines: Iterable[str]) -> DevinfoReport:
    devices: List[Tuple[str, Dict[str, str], List[Tuple[int, Dict[str, str]]]]] = []
    for line_number, _label, text in unprefixed(lines, _KNOWN):
        pair = _PAIR.match(text)
        if pair is None:
            continue
        key, value = pair.groups()
        if key == "hca_id":
            devices.append((value, {}, []))
        elif not devices:
            raise ParseError(TOOL, line_number, "a value before the first hca_id: give the whole output of ibv_devinfo")
        elif key == "port":
            devices[-1][2].append((int(value), {}))
        else:
            target = devices[-1][2][-1][1] if devices[-1][2] else devices[-1][1]
            target[key] = value
    if not devices:
        raise ParseError(TOOL, 0, "no hca_id in it: give the whole output of ibv_devinfo")
    return DevinfoReport(tuple(_device(*device) for device in devices))


def _device(name: str, values: Dict[str, str], ports: List[Tuple[int, Dict[str, str]]]) -> Device:
    guid = values.get("node_guid", "")
    return Device(
        name=name,
        fw_ver=values.get("fw_ver") or None,
        vendor_part_id=_integer(values.get("vendor_part_id")),
        board_id=values.get("board_id") or None,
        node_guid=guid if _GUID.match(guid) else None,
        port_count=_integer(values.get("phys_port_cnt")),
        ports=tuple(_port(number, port) for number, port in ports),
    )


def _port(number: int, values: Dict[str, str]) -> DevicePort:
    state = values.get("state", "").split(" (", 1)[0]
    return DevicePort(
        port=number,
        state=state or None,
        active_mtu=_integer(values.get("active_mtu")),
        max_mtu=_integer(values.get("max_mtu")),
        link_layer=values.get("link_layer") or None,
        port_lid=_integer(values.get("port_lid")),
        sm_lid=_integer(values.get("sm_lid")),
    )


def _integer(value: Optional[str]) -> Optional[int]:
    match = re.match(r"\d+", value or "")
    return int(match.group()) if match else None


def reading(report: DevinfoReport) -> Dict[str, Any]:
    return {
        "tool": TOOL,
        "devices": [_device_reading(device) for device in report.devices],
        "active_ports": report.active_ports,
        "ok": report.ok,
        "failure": report.failure,
    }


def _device_reading(device: Device) -> Dict[str, Any]:
    return {
        "name": device.name,
        "fw_ver": device.fw_ver,
        "vendor_part_id": device.vendor_part_id,
        "board_id": device.board_id,
        "node_guid": device.node_guid,
        "ports": [{"port": port.port, **{key: getattr(port, key) for key in _PORT_KEYS}} for port in device.ports],
    }
