# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``netplan status``: JSON (``--format json``) and the text with a bullet for each interface."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..errors import ParseError
from .document import mapping, opens_json, read_document, sequence, words
from .text import unprefixed

__all__ = ["NetplanInterface", "NetplanReport", "parse_netplan_status", "reading"]

TOOL = "netplan"

_GLOBAL = "netplan-global-state"
_KNOWN = re.compile(r"\s*(?:Online state:|\S?\s*\d+: \S+ \S+ [A-Z-]+|(?:[A-Z]\w*(?: \w+){0,2}): )|\s{8,}\S")
_INTERFACE = re.compile(r"\s*\S?\s*\d+: (\S+) (\S+) ([A-Z-]+)(?:/([A-Z-]+))?(?: \(([^:)]+)(?:: ([^)]+))?\))?")
_KEY = re.compile(r"\s*([A-Z]\w*(?: \w+){0,2}): +(.*)")


@dataclass(frozen=True)
class NetplanInterface:
    """``id`` is netplan's own name for it and need not be the kernel's; unmanaged interfaces have no backend."""

    name: str
    type: Optional[str]
    operstate: Optional[str]
    adminstate: Optional[str]
    backend: Optional[str]
    id: Optional[str]
    addresses: Tuple[str, ...] = ()
    members: Tuple[str, ...] = ()
    bond: Optional[str] = None

    @property
    def link_down(self) -> bool:
        return self.backend is not None and self.adminstate == "UP" and self.operstate == "DOWN"


@dataclass(frozen=True)
class NetplanReport:
    online: Optional[bool]
    interfaces: Tuple[NetplanInterface, ...]
    default_gateways: Tuple[str, ...]
    complete: bool

    @property
    def failure(self) -> Optional[str]:
        down = [interface.name for interface in self.interfaces if interface.link_down]
        if down:
            return "link_down: %s" % ", ".join(down)
        if not self.complete:
            return "truncated_json"
        if not self.interfaces or self.online is None:
            return "partial_output"
        return None if self.online else "offline"

    @property
    def ok(self) -> bool:
        return self.failure is None


def parse_netplan_status(lines: Iterable[str]) -> NetplanReport:
    rest = iter(lines)
    first = next((line for line in rest if line.strip()), "")
    again = chain([first], rest)
    return _from_json(again) if opens_json(first) else _from_text(again)


def _from_json(lines: Iterable[str]) -> NetplanReport:
    document = read_document(lines, TOOL)
    data = mapping(document.data)
    found = {name: value for name, value in data.items() if name != _GLOBAL and isinstance(value, dict)}
    if _GLOBAL not in data and not any("operstate" in value or "adminstate" in value for value in found.values()):
        raise ParseError(TOOL, 1, "JSON, but no status: give the output of 'netplan status --format json'")
    online = mapping(data.get(_GLOBAL)).get("online")
    routes = (mapping(route) for value in found.values() for route in sequence(value.get("routes")))
    gateways = [str(route["via"]) for route in routes if route.get("to") == "default" and route.get("via")]
    return NetplanReport(
        online=online if isinstance(online, bool) else None,
        interfaces=tuple(_interface(name, value) for name, value in found.items()),
        default_gateways=tuple(dict.fromkeys(gateways)),
        complete=document.complete,
    )


def _interface(name: str, value: Dict[str, Any]) -> NetplanInterface:
    addresses = (item for address in sequence(value.get("addresses")) for item in mapping(address).items())
    return NetplanInterface(
        name=name,
        type=words(value.get("type")),
        operstate=words(value.get("operstate")),
        adminstate=words(value.get("adminstate")),
        backend=words(value.get("backend")),
        id=words(value.get("id")),
        addresses=tuple("%s/%s" % (address, mapping(details).get("prefix")) for address, details in addresses),
        members=tuple(str(member) for member in sequence(value.get("interfaces"))),
        bond=words(value.get("bond")),
    )


def _from_text(lines: Iterable[str]) -> NetplanReport:
    online: Optional[bool] = None
    interfaces: List[NetplanInterface] = []
    values: List[Dict[str, List[str]]] = [{}]
    key = ""
    for _line_number, _label, text in unprefixed(lines, _KNOWN):
        head, pair = _INTERFACE.match(text), _KEY.match(text)
        if head:
            name, kind, oper, admin, backend, netplan_id = head.groups()
            managed = None if backend == "unmanaged" else backend
            interfaces.append(NetplanInterface(name, kind, oper, admin or oper, managed, netplan_id))
            values.append({})
        elif pair and pair.group(1) == "Online state":
            online = {"online": True, "offline": False}.get(pair.group(2).strip())
        elif pair:
            key = pair.group(1)
            values[-1].setdefault(key, []).append(pair.group(2).strip())
        elif key:
            values[-1].setdefault(key, []).append(text.strip())
    if online is None and not interfaces:
        raise ParseError(TOOL, 0, "no 'Online state:' and no interface in it: give the output of 'netplan status'")
    routes = [route.split() for value in values for route in value.get("Routes", [])]
    gateways = [route[2] for route in routes if route[:2] == ["default", "via"] and len(route) > 2]
    filled = tuple(_filled(interface, value) for interface, value in zip(interfaces, values[1:]))  # noqa: B905  (Python 3.9)
    return NetplanReport(online, filled, tuple(dict.fromkeys(gateways)), True)


def _filled(interface: NetplanInterface, values: Dict[str, List[str]]) -> NetplanInterface:
    def first_words(key: str) -> Tuple[str, ...]:
        return tuple(line.split()[0] for line in values.get(key, []) if line.split())

    return replace(
        interface,
        addresses=first_words("Addresses"),
        members=first_words("Interfaces"),
        bond=next(iter(first_words("Bond")), None),
    )


def reading(report: NetplanReport) -> Dict[str, Any]:
    return {
        "tool": TOOL,
        "online": report.online,
        "interfaces": {interface.name: _interface_reading(interface) for interface in report.interfaces},
        "default_gateways": list(report.default_gateways),
        "ok": report.ok,
        "failure": report.failure,
    }


def _interface_reading(interface: NetplanInterface) -> Dict[str, Any]:
    row: Dict[str, Any] = {"operstate": interface.operstate, "addresses": list(interface.addresses)}
    for key, value in (("id", interface.id), ("members", list(interface.members)), ("bond", interface.bond)):
        if value:
            row[key] = value
    return row
