# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ibdev2netdev`` and its ``-v``: which network interface belongs to an RDMA device.

(Up) and (Down) are the network interface's; the RDMA port's own state only ``-v`` tells.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..errors import ParseError
from .text import unprefixed

__all__ = ["Ibdev2netdevReport", "Mapping", "parse_ibdev2netdev", "reading"]

TOOL = "ibdev2netdev"

_SHORT = re.compile(r"\s*([\w.-]+) port (\d+) ==> (\S*)\s*\((\w+)\s*\)\s*$")
# The description in the middle is free text with brackets of its own.
_VERBOSE = re.compile(
    r"\s*([0-9a-f]+:[0-9a-f]+:[0-9a-f]+\.\d) (\S+) \((\S+?)(?: - (.*?))?\) .*fw (\S+) port (\d+) \((\w+)\s*\)"
    r" ==> (\S*)\s*\((\w+)\s*\)\s*$"
)
_KNOWN = re.compile(r"\s*(?:[\w.-]+ port \d+ ==> |[0-9a-f]+:[0-9a-f]+:[0-9a-f]+\.\d \S+ \(.* port \d+ )")


@dataclass(frozen=True)
class Mapping:
    """The last four only with ``-v``."""

    device: str
    port: int
    netdev: Optional[str]
    link: str
    pci: Optional[str] = None
    part: Optional[str] = None
    firmware: Optional[str] = None
    port_state: Optional[str] = None


@dataclass(frozen=True)
class Ibdev2netdevReport:
    mappings: Tuple[Mapping, ...]
    damaged: int

    @property
    def up(self) -> int:
        return sum(mapping.link.lower() == "up" for mapping in self.mappings)

    @property
    def failure(self) -> Optional[str]:
        """A port that is down is a fact here, no failure: spare ports are normal."""
        if self.damaged:
            return "partial_output: %d lines cut" % self.damaged
        return None if self.up else "no_interface_up"

    @property
    def ok(self) -> bool:
        return self.failure is None


def parse_ibdev2netdev(lines: Iterable[str]) -> Ibdev2netdevReport:
    mappings: List[Mapping] = []
    damaged = 0
    for _line_number, _label, text in unprefixed(lines, _KNOWN):
        mapping = _mapping(text)
        if mapping is None:
            damaged += 1
        else:
            mappings.append(mapping)
    if not mappings and not damaged:
        raise ParseError(TOOL, 0, "no line 'DEVICE port N ==> INTERFACE (Up)' in it: give the output of ibdev2netdev")
    return Ibdev2netdevReport(tuple(mappings), damaged)


def _mapping(text: str) -> Optional[Mapping]:
    verbose = _VERBOSE.match(text)
    if verbose:
        pci, device, part, _name, firmware, port, state, netdev, link = verbose.groups()
        return Mapping(device, int(port), netdev or None, link, pci, part, firmware, state)
    short = _SHORT.match(text)
    if short:
        device, port, netdev, link = short.groups()
        return Mapping(device, int(port), netdev or None, link)
    return None


def reading(report: Ibdev2netdevReport) -> Dict[str, Any]:
    rows = [{key: value for key, value in asdict(mapping).items() if value is not None} for mapping in report.mappings]
    return {"tool": TOOL, "map": rows, "up": report.up, "ok": report.ok, "failure": report.failure}
