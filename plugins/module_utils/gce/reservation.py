# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reservations as they matter for NVL72: capacity by sub-block, and machines placed into whole domains.

A reservation's own count says nothing about a domain: 16 free hosts in two domains may hold no job of 15.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import ConfigError
from .client import Compute, below_v1
from .errors import ApiError

__all__ = ["Domain", "Placement", "Report", "SubBlock", "place", "read_reservation", "read_sub_blocks", "table"]

Json = Dict[str, Any]
COLUMNS = ("sub_block", "domain", "hosts", "in_use", "degraded", "free", "health")


@dataclass(frozen=True)
class SubBlock:
    """One NVL72 domain of a reservation. ``degraded`` hosts do not count as free."""

    reservation: str
    block: str
    sub_block: str
    path: str
    cluster: Optional[str]
    topology_block: Optional[str]
    domain: Optional[str]
    hosts: int
    in_use: int
    degraded: int
    health: str

    @property
    def free(self) -> int:
        return max(0, self.hosts - self.in_use - self.degraded)

    @property
    def affinity(self) -> str:
        """The value of an instance's reservation affinity that asks for this sub-block."""
        parts = self.path.split("/")
        return "/".join(parts[:2] + parts[4:])

    def as_dict(self) -> Json:
        return dict(asdict(self), free=self.free, affinity=self.affinity)


@dataclass(frozen=True)
class Report:
    """A reservation. ``start`` and ``end`` are set for a calendar reservation, as far as Compute tells them."""

    name: str
    path: str
    status: str
    deployment_type: str
    machine_type: Optional[str]
    hosts: int
    in_use: int
    start: Optional[str]
    end: Optional[str]
    sub_blocks: Tuple[SubBlock, ...]

    def as_dict(self) -> Json:
        known = {key: value for key, value in vars(self).items() if key != "sub_blocks"}
        return dict(known, sub_blocks=[sub_block.as_dict() for sub_block in self.sub_blocks])

    def ends_within(self, limit: timedelta, now: datetime) -> bool:
        return self.end is not None and parse_time(self.end) - now <= limit


@dataclass(frozen=True)
class Domain:
    """Machines that must share one NVLink domain. ``placed`` says where those that exist already are."""

    name: str
    machines: Tuple[str, ...]
    placed: Mapping[str, str]  # machine -> path of the sub-block that it consumes, '' where it consumes none

    @property
    def missing(self) -> List[str]:
        return [machine for machine in self.machines if machine not in self.placed]


@dataclass(frozen=True)
class Placement:
    """The sub-block that a domain's missing machines go into."""

    name: str
    sub_block: Optional[SubBlock]
    machines: Tuple[str, ...]
    missing: Tuple[str, ...]

    def as_dict(self) -> Json:
        spot = self.sub_block
        return {
            "name": self.name,
            "sub_block": spot.sub_block if spot else None,
            "affinity": spot.affinity if spot else None,
            "machines": list(self.machines),
            "missing": list(self.missing),
        }


def read_reservation(compute: Compute, project: str, zone: str, name: str) -> Report:
    path = "projects/%s/zones/%s/reservations/%s" % (project, zone, name)
    raw = compute.get(path)
    specific = raw.get("specificReservation") or {}
    start, end = _window(compute, project, zone, name)
    return Report(
        name=name,
        path=path,
        status=raw.get("status", "UNKNOWN"),
        deployment_type=raw.get("deploymentType", "UNSPECIFIED"),
        machine_type=(specific.get("instanceProperties") or {}).get("machineType"),
        hosts=int(specific.get("count", 0)),
        in_use=int(specific.get("inUseCount", 0)),
        start=start,
        end=raw.get("deleteAtTime") or end,
        sub_blocks=tuple(read_sub_blocks(compute, path)),
    )


def read_sub_blocks(compute: Compute, reservation: str) -> List[SubBlock]:
    """All sub-blocks of a reservation, by name."""
    found = []
    for block in compute.items(reservation + "/reservationBlocks"):
        path = "%s/reservationBlocks/%s" % (reservation, block["name"])
        found += [_sub_block(raw, path) for raw in compute.items(path + "/reservationSubBlocks")]
    return sorted(found, key=lambda sub_block: sub_block.path)


def _sub_block(raw: Json, block: str) -> SubBlock:
    health, place_ = raw.get("healthInfo") or {}, raw.get("physicalTopology") or {}
    return SubBlock(
        reservation=block.split("/")[5],
        block=block.rsplit("/", 1)[1],
        sub_block=raw["name"],
        path="%s/reservationSubBlocks/%s" % (block, raw["name"]),
        cluster=place_.get("cluster"),
        topology_block=place_.get("block"),
        domain=place_.get("subBlock"),
        hosts=int(raw.get("count", 0)),
        in_use=int(raw.get("inUseCount", 0)),
        degraded=int(health.get("degradedHostCount", 0)),
        health=health.get("healthStatus", "UNKNOWN"),
    )


def _window(compute: Compute, project: str, zone: str, name: str) -> Tuple[Optional[str], Optional[str]]:
    """Start and end, from the future reservation that made this one. Not everybody may read those."""
    try:
        future = compute.items("projects/%s/zones/%s/futureReservations" % (project, zone))
    except ApiError as exc:
        if exc.status in (403, 404):
            return None, None
        raise
    for raw in future:
        if name in (raw.get("reservationName"), raw["name"]):
            window = raw.get("timeWindow") or {}
            return window.get("startTime"), window.get("endTime")
    return None, None


def parse_time(text: str) -> datetime:
    """RFC 3339 as Compute writes it."""
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def table(sub_blocks: Sequence[SubBlock]) -> str:
    """The capacity, for people."""
    rows = [COLUMNS] + [tuple(str(item.as_dict()[column]) for column in COLUMNS) for item in sub_blocks]
    widths = [max(len(row[index]) for row in rows) for index in range(len(COLUMNS))]
    lines = ["  ".join(cell.ljust(widths[index]) for index, cell in enumerate(row)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def place(sub_blocks: Sequence[SubBlock], domains: Sequence[Domain]) -> List[Placement]:
    """A sub-block of its own for each domain: where its machines already are, else the fullest that still fits.

    Raises ConfigError with the table when they do not all fit.
    """
    by_path = {sub_block.path: sub_block for sub_block in sub_blocks}
    taken: Dict[str, str] = {}
    result: Dict[str, Placement] = {}
    for domain in sorted(domains, key=lambda item: (not any(item.placed.values()), -len(item.machines))):
        spot = _pinned(domain, by_path) or _best(domain, [b for b in sub_blocks if b.path not in taken])
        if domain.missing and (spot is None or spot.free < len(domain.missing)):
            raise ConfigError(_does_not_fit(domain, spot, sub_blocks, taken))
        if spot and taken.setdefault(spot.path, domain.name) != domain.name:
            raise ConfigError(
                "domains %s and %s are both in sub-block %s: their machines exist already. Name them as one domain, or "
                "delete one's machines.\n%s" % (taken[spot.path], domain.name, spot.sub_block, table(sub_blocks))
            )
        result[domain.name] = Placement(domain.name, spot, domain.machines, tuple(domain.missing))
    return [result[domain.name] for domain in domains]


def _pinned(domain: Domain, by_path: Mapping[str, SubBlock]) -> Optional[SubBlock]:
    where = sorted({path for path in domain.placed.values() if path})
    if len(where) > 1:
        raise ConfigError(
            "machines of domain %s are in several sub-blocks already: %s. They cannot be one NVLink domain."
            % (domain.name, ", ".join("%s in %s" % pair for pair in sorted(domain.placed.items())))
        )
    return by_path.get(where[0]) if where else None


def _best(domain: Domain, candidates: Sequence[SubBlock]) -> Optional[SubBlock]:
    if not domain.missing:
        return None
    fitting = [item for item in candidates if item.free >= len(domain.missing)]
    return min(fitting, key=lambda item: (item.free, item.path)) if fitting else None


def _does_not_fit(
    domain: Domain, spot: Optional[SubBlock], sub_blocks: Sequence[SubBlock], taken: Mapping[str, str]
) -> str:
    where = "sub-block %s, where its other machines are," % spot.sub_block if spot else "any sub-block"
    others = ["%s is for domain %s" % (path.rsplit("/", 1)[1], name) for path, name in sorted(taken.items())]
    return "%d machines of domain %s do not fit into %s%s.\n%s" % (
        len(domain.missing),
        domain.name,
        where,
        " (%s)" % "; ".join(others) if others else "",
        table(sub_blocks),
    )


def consumed_sub_block(instance: Mapping[str, Any]) -> str:
    """Path of the sub-block that a machine consumes, '' without one."""
    info = (instance.get("resourceStatus") or {}).get("reservationConsumptionInfo") or {}
    return below_v1(info.get("consumedReservationSubBlock") or "")
