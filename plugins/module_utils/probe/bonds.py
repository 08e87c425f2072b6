# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the planned bonds of this host and judges them."""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from ..errors import MeasureError, ParseError
from ..finding import PASSING, Finding, verdict
from ..judge.bond import absent_bond, judge_bond, unreadable_bond
from ..network.model import Member, Network
from ..parse.bonding import BondReading, parse_bonding, reading
from .links import Link, find_member

__all__ = ["BONDING", "check_bonds"]

BONDING = "/proc/net/bonding"
RE_READ_S = 0.5

Row = Dict[str, Any]


def check_bonds(
    host: str,
    networks: Sequence[Network],
    links: Callable[[], Sequence[Link]],
    *,
    settle: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    folder: str = BONDING,
) -> Tuple[List[Row], List[Finding]]:
    """Rows of the report and findings. Bonds that are not good yet are read again until ``settle`` seconds are over."""
    bonds = [network for network in networks if network.kind == "bond"]
    end = clock() + settle
    rows, findings = _once(host, bonds, links, folder)
    while findings and verdict(findings) not in PASSING and clock() < end:
        sleep(RE_READ_S)
        rows, findings = _once(host, bonds, links, folder)
    return rows, findings


def _once(
    host: str, bonds: Sequence[Network], links: Callable[[], Sequence[Link]], folder: str
) -> Tuple[List[Row], List[Finding]]:
    rows: List[Row] = []
    findings: List[Finding] = []
    for network in bonds:
        try:
            bond = read_bond(os.path.join(folder, network.interface))
            if bond is None:
                findings.append(absent_bond(host, network))
                continue
            members = _devices(network, links())
        except (MeasureError, ParseError) as exc:
            findings.append(unreadable_bond(host, network, str(exc)))
            continue
        shown = {key: value for key, value in reading(bond).items() if key != "tool"}
        rows.append({"network": network.name, "interface": network.interface, **shown})
        findings += judge_bond(host, network, bond, members)
    return rows, findings


def _devices(network: Network, links: Sequence[Link]) -> List[Tuple[Member, Optional[str]]]:
    found = [(member, find_member(links, member)) for member in network.members]
    return [(member, None if link is None else link.name) for member, link in found]


def read_bond(path: str) -> Optional[BondReading]:
    """None when there is no such bond. Raises MeasureError or ParseError when it is there but cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            return parse_bonding(lines)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise MeasureError("reading %s: %s" % (path, exc.strerror)) from exc
