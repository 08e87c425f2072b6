# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds: each leg with its LACP port states bit by bit. Bonds with a finding first, the others folded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....module_utils.finding import Severity
from ..model import FleetReport, rows

__all__ = ["BITS", "Bit", "context", "port_state"]


@dataclass(frozen=True)
class Bit:
    """A bit of the 802.3ad port state; ``wanted`` None: both values are right."""

    value: int
    letter: str
    name: str
    wanted: bool | None
    lacking: str = ""


@dataclass(frozen=True)
class _Shown:
    bit: Bit
    set: bool

    @property
    def bad(self) -> bool:
        return self.bit.wanted not in (None, self.set)


BITS = (
    Bit(0x01, "A", "LACP active", None),
    Bit(0x02, "T", "short timeout", None),
    Bit(0x04, "G", "aggregation", True, "no aggregation"),
    Bit(0x08, "S", "in sync", True, "not in sync"),
    Bit(0x10, "C", "collecting", True, "not collecting"),
    Bit(0x20, "D", "distributing", True, "not distributing"),
    Bit(0x40, "F", "defaulted", False),
    Bit(0x80, "E", "expired", False),
)


def context(report: FleetReport) -> dict[str, Any]:
    told = {
        (finding.subject.host, finding.subject.network)
        for finding in report.findings
        if finding.check == "bond" and finding.severity is not Severity.OK
    }
    bonds = [
        _bond(host, reading) | {"bad": bool(told & {(host, str(reading.get("network"))), (host, None)})}
        for host, data in report.reports("bond").items()
        for reading in rows(data, "bonds")
    ]
    return {
        "bad": [bond for bond in bonds if bond["bad"]],
        "good": [bond for bond in bonds if not bond["bad"]],
        "bits": BITS,
    }


def _bond(host: str, reading: dict[str, Any]) -> dict[str, Any]:
    slaves = [
        {
            "name": slave.get("name"),
            "mii": slave.get("mii"),
            "speed": _speed(slave.get("speed_mbps")),
            "actor": port_state(slave.get("actor_state")),
            "partner": port_state(slave.get("partner_state")),
        }
        for slave in rows(reading, "slaves")
    ]
    names = ("network", "interface", "mode", "mii", "lacp_rate", "hash_policy", "ports_in_aggregator", "partner_mac")
    return {"host": host, "slaves": slaves} | {name: reading.get(name) for name in names}


def port_state(value: Any) -> dict[str, Any] | None:
    """The state's number, its bits with what is wrong about each, and the wrongs in words. None: not to be read."""
    if not isinstance(value, int):
        return None
    bits = [_Shown(bit, bool(value & bit.value)) for bit in BITS]
    wrong = [shown.bit.name if shown.set else shown.bit.lacking for shown in bits if shown.bad]
    return {"value": value, "bits": bits, "wrong": ", ".join(wrong)}


def _speed(mbps: Any) -> str:
    if not isinstance(mbps, int):
        return "speed unknown"
    return f"{mbps / 1000:g} Gbit/s" if mbps >= 1000 else f"{mbps} Mbit/s"
