# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ibstat``: RDMA adapters and their ports, from old InfiniBand-only versions to RoCE and Soft-RoCE."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..errors import ParseError
from .text import unprefixed

__all__ = ["Adapter", "AdapterPort", "IbstatReport", "parse_ibstat", "reading"]

TOOL = "ibstat"

_ADAPTER = re.compile(r"\s*CA:? '([^']+)'")
_PORT = re.compile(r"\s*Port (\d+):\s*$")
_PAIR = re.compile(r"\s*([A-Z][A-Za-z ]+?):[ \t]*(.*?)\s*$")
_KEYS = (
    "CA type|Number of ports|Firmware version|Hardware version|Node GUID|System image GUID|State|Physical state|Rate"
    "|Base lid|LMC|SM lid|Capability mask|Port GUID|Link layer"
)
_KNOWN = re.compile(r"\s*(?:CA:? '|Port \d+:\s*$|(?:%s):)" % _KEYS)


@dataclass(frozen=True)
class AdapterPort:
    """``rate_gbps`` of a port that is down is a default, no measurement. Old versions print no ``link_layer``."""

    port: int
    state: Optional[str]
    physical_state: Optional[str]
    rate_gbps: Optional[int]
    link_layer: Optional[str]
    base_lid: Optional[int]
    sm_lid: Optional[int]
    guid: Optional[str]

    @property
    def active(self) -> bool:
        return self.state == "Active"

    @property
    def zero_guid(self) -> bool:
        return self.guid is not None and set(self.guid) <= set("0x")


@dataclass(frozen=True)
class Adapter:
    name: str
    type: Optional[str]
    firmware: Optional[str]
    ports: Tuple[AdapterPort, ...]


@dataclass(frozen=True)
class IbstatReport:
    adapters: Tuple[Adapter, ...]

    @property
    def active_ports(self) -> int:
        return sum(port.active for adapter in self.adapters for port in adapter.ports)

    @property
    def failure(self) -> Optional[str]:
        return None if self.active_ports else "no_active_port"

    @property
    def ok(self) -> bool:
        return self.failure is None


def parse_ibstat(lines: Iterable[str]) -> IbstatReport:
    adapters: List[Tuple[str, Dict[str, str], List[Tuple[int, Dict[str, str]]]]] = []
    for line_number, _label, text in unprefixed(lines, _KNOWN):
        adapter, port = _ADAPTER.match(text), _PORT.match(text)
        if adapter:
            adapters.append((adapter.group(1), {}, []))
        elif not adapters:
            raise ParseError(TOOL, line_number, "a value before the first adapter: give the whole output of ibstat")
        elif port:
            adapters[-1][2].append((int(port.group(1)), {}))
        else:
            pair = _PAIR.match(text)
            if pair:
                target = adapters[-1][2][-1][1] if adapters[-1][2] else adapters[-1][1]
                target[pair.group(1)] = pair.group(2)
    if not adapters:
        raise ParseError(TOOL, 0, "no adapter in it: give the whole output of ibstat")
    return IbstatReport(tuple(_adapter(*adapter) for adapter in adapters))


def _adapter(name: str, values: Dict[str, str], ports: List[Tuple[int, Dict[str, str]]]) -> Adapter:
    return Adapter(
        name=name,
        type=values.get("CA type") or None,
        firmware=values.get("Firmware version") or None,
        ports=tuple(_port(number, port) for number, port in ports),
    )


def _port(number: int, values: Dict[str, str]) -> AdapterPort:
    return AdapterPort(
        port=number,
        state=values.get("State") or None,
        physical_state=values.get("Physical state") or None,
        rate_gbps=_integer(values.get("Rate")),
        link_layer=values.get("Link layer") or None,
        base_lid=_integer(values.get("Base lid")),
        sm_lid=_integer(values.get("SM lid")),
        guid=values.get("Port GUID") or None,
    )


def _integer(value: Optional[str]) -> Optional[int]:
    match = re.match(r"\d+", value or "")
    return int(match.group()) if match else None


def reading(report: IbstatReport) -> Dict[str, Any]:
    return {
        "tool": TOOL,
        "cas": [_adapter_reading(adapter) for adapter in report.adapters],
        "active_ports": report.active_ports,
        "zero_port_guid": any(port.zero_guid for adapter in report.adapters for port in adapter.ports),
        "ok": report.ok,
        "failure": report.failure,
    }


def _adapter_reading(adapter: Adapter) -> Dict[str, Any]:
    keys = ("port", "state", "physical_state", "rate_gbps", "link_layer", "base_lid", "sm_lid")
    return {
        "name": adapter.name,
        "type": adapter.type,
        "firmware": adapter.firmware,
        "ports": [{key: getattr(port, key) for key in keys} for port in adapter.ports],
    }
