# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From an instance as Compute writes it to host variables: flat, JSON-safe, ordered, every key always there."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from .client import below_v1, region_of

__all__ = ["RDMA_TYPES", "Topology", "health_by_path", "host_variables", "read_topology"]

Json = Dict[str, Any]
RDMA_TYPES = ("MRDMA", "IRDMA")
_EMPTY: Json = {}


@dataclass(frozen=True)
class Topology:
    """Where a machine stands. For A4X a sub-block is one NVL72 domain. ``note`` tells of a contradiction."""

    cluster: Optional[str]
    block: Optional[str]
    sub_block: Optional[str]
    host: Optional[str]
    note: str = ""

    def as_dict(self) -> Json:
        return {"block": self.block, "cluster": self.cluster, "host": self.host, "sub_block": self.sub_block}


def read_topology(status: Mapping[str, Any]) -> Optional[Topology]:
    """From ``resourceStatus``: the structured field, else the path ``physicalHost``, else None."""
    fields = status.get("physicalHostTopology") or _EMPTY
    cluster, block, sub_block, host = (fields.get(name) or None for name in ("cluster", "block", "subblock", "host"))
    place, path = (cluster, block, sub_block, host), _read_path(status.get("physicalHost"))
    if not any(place):
        return Topology(*path) if any(path) else None
    note = ""
    pairs = ((cluster, path[0]), (block, path[1]), (sub_block, path[2]), (host, path[3]))
    if any(a and b and a != b for a, b in pairs):
        note = "physicalHost %r contradicts physicalHostTopology, which is used" % status["physicalHost"]
    return Topology(cluster, block, sub_block, host, note)


def _read_path(path: Any) -> Tuple[Optional[str], Optional[str], Optional[str], Optional[str]]:
    """``/cluster/block/sub-block/host``; the older form has no sub-block, and a short path is read from the left."""
    parts = [part for part in path.split("/") if part] if isinstance(path, str) else []
    if len(parts) == 3:
        return parts[0], parts[1], None, parts[2]
    padded: List[Optional[str]] = [*parts[:4], None, None, None, None]
    return padded[0], padded[1], padded[2], padded[3]


def health_by_path(sub_blocks: Iterable[Json]) -> Dict[str, Json]:
    """Sub-block path -> what the cloud says about its health."""
    return {below_v1(raw.get("selfLink", "")): _health(raw) for raw in sub_blocks}


def _health(raw: Json) -> Json:
    info = raw.get("healthInfo") or _EMPTY
    return {
        "degraded_hosts": info.get("degradedHostCount"),
        "healthy_hosts": info.get("healthyHostCount"),
        "hosts": raw.get("count"),
        "hosts_in_use": raw.get("inUseCount"),
        "status": info.get("healthStatus"),
    }


def host_variables(raw: Json, health: Mapping[str, Json]) -> Tuple[Json, Optional[Topology]]:
    """All ``gce_`` variables of one machine, by name."""
    path = below_v1(raw["selfLink"]).split("/")
    zone = path[3]
    status = raw.get("resourceStatus") or _EMPTY
    scheduling = raw.get("scheduling") or _EMPTY
    nics = [_nic(nic) for nic in raw.get("networkInterfaces") or ()]
    management = next((nic for nic in nics if nic["type"] not in RDMA_TYPES and nic["address"]), _EMPTY)
    first = next((nic for nic in nics if nic["type"] not in RDMA_TYPES), _EMPTY)
    topology = read_topology(status) if status else None
    sub_block_path, reservation = _reservation(raw, status)
    variables = {
        "gce_block": topology.block if topology else None,
        "gce_cluster": topology.cluster if topology else None,
        "gce_created": raw.get("creationTimestamp"),
        "gce_domain": topology.sub_block if topology else None,
        "gce_external_ip": next((nic["external_address"] for nic in nics if nic["external_address"]), None),
        "gce_hostname": raw.get("hostname"),
        "gce_id": raw.get("id"),
        "gce_internal_ip": management.get("address"),
        "gce_internal_ipv6": first.get("ipv6_address"),
        "gce_labels": dict(sorted((raw.get("labels") or _EMPTY).items())),
        "gce_machine_type": _last(raw.get("machineType")),
        "gce_maintenance": _maintenance(status.get("upcomingMaintenance")),
        "gce_metadata": dict(sorted((raw.get("metadata") or _EMPTY).items())),
        "gce_name": raw["name"],
        "gce_network_interfaces": nics,
        "gce_placement_policies": [_last(url) for url in raw.get("resourcePolicies") or ()],
        "gce_project": path[1],
        "gce_provisioning_model": scheduling.get("provisioningModel"),
        # The same objects again, in the order of the interfaces, which is the order of the rails.
        "gce_rails": [nic for nic in nics if nic["type"] in RDMA_TYPES],
        "gce_region": _region(zone),
        "gce_reservation": reservation,
        "gce_status": raw.get("status") or "UNKNOWN",
        "gce_sub_block_health": health.get(sub_block_path),
        "gce_tags": sorted((raw.get("tags") or _EMPTY).get("items") or ()),
        "gce_topology": topology.as_dict() if topology else None,
        "gce_zone": _same(zone),
    }
    return variables, topology


def _nic(raw: Json) -> Json:
    return {
        "address": raw.get("networkIP"),
        "external_address": _first(raw.get("accessConfigs"), "natIP"),
        "ipv6_address": raw.get("ipv6Address") or _first(raw.get("ipv6AccessConfigs"), "externalIpv6"),
        "name": raw.get("name"),
        "network": _last(raw.get("network")),
        "network_attachment": _last(raw.get("networkAttachment")),
        "subnetwork": _last(raw.get("subnetwork")),
        "type": raw.get("nicType"),
    }


def _reservation(raw: Json, status: Json) -> Tuple[str, Optional[Json]]:
    """(path of the consumed sub-block, {name, block, sub_block}); what is asked for where nothing is consumed."""
    info = status.get("reservationConsumptionInfo") or _EMPTY
    longest = next((info[key] for key in _CONSUMED if info.get(key)), "")
    if not longest:
        values = (raw.get("reservationAffinity") or _EMPTY).get("values") or ()
        longest = values[0] if values else ""
        if longest and "reservations/" not in longest:
            longest = "reservations/" + longest
    if not longest:
        return "", None
    path = below_v1(longest)
    parts = path.split("/")
    named = {parts[index]: parts[index + 1] for index in range(0, len(parts) - 1, 2)}
    found = {
        "block": named.get("reservationBlocks"),
        "name": named.get("reservations"),
        "sub_block": named.get("reservationSubBlocks"),
    }
    return path, found


_CONSUMED = ("consumedReservationSubBlock", "consumedReservationBlock", "consumedReservation")


def _maintenance(raw: Optional[Json]) -> Optional[Json]:
    if not raw:
        return None
    return {
        "can_reschedule": raw.get("canReschedule"),
        "reasons": sorted(raw.get("maintenanceReasons") or ()),
        "status": raw.get("maintenanceStatus"),
        "type": raw.get("type"),
        "window_end": raw.get("windowEndTime"),
        "window_start": raw.get("windowStartTime"),
    }


def _first(configs: Optional[List[Json]], key: str) -> Optional[str]:
    if not configs:  # most interfaces have none, and there are many interfaces
        return None
    return next((config[key] for config in configs if config.get(key)), None)


@functools.lru_cache(maxsize=4096)
def _last(url: Optional[str]) -> Optional[str]:
    """The last part of a URL; the cache also makes ten thousand machines share one string."""
    return url.rsplit("/", 1)[-1] if url else None


@functools.lru_cache(maxsize=4096)
def _same(text: str) -> str:
    return text


_region = functools.lru_cache(maxsize=4096)(region_of)
