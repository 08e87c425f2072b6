# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleets as the report sees them: registered results in the form in which the check modules return them.

``lab`` is the smallest fleet with one of each trouble, ``fleet`` grows to any size with a few planted faults.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding, Severity, Subject, check_result
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.collect import HostInput, collect
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.model import Check, FleetReport, Run

RUN = Run(
    id="20261130T201500Z-3f2a",
    started="2026-11-30T20:15:00Z",
    finished="2026-11-30T20:19:30Z",
    inventory="lab",
    check_mode=False,
    ansible_version="2.21.5",
    collection_version="0.1.0",
)
BASELINE = Check("baseline", "baseline_check", "check_baseline_result")
BOND = Check("bond", "bond_check", "check_bond_result")
MTU = Check("mtu", "mtu_check", "check_mtu_result")
CHECKS = (BASELINE, BOND, MTU)
LOST = {
    "unreachable": True,
    "changed": False,
    "msg": "Task failed: Failed to connect to the host via ssh: ssh: connect to host 10.77.0.22 port 22: No route",
}


def host(name: str, *groups: str, selected: bool = True, dropped: bool = False, **results: Any) -> HostInput:
    return HostInput(name, groups, selected, dropped, results)


def baseline(name: str, *items: tuple[str, Any, Any, str]) -> dict[str, Any]:
    """items: (item, measured, expected, state)."""
    findings = [
        Finding(
            "baseline",
            Severity[state.upper()],
            Subject(host=name, item=item),
            f"{item} is as wanted" if state == "ok" else f"{item} is {measured}, not {expected}",
            measured,
            expected,
            remedy="" if state == "ok" else "run role gpufleet.cluster.node_baseline",
        )
        for item, measured, expected, state in items
    ]
    listed = [dict(zip(("item", "measured", "expected", "state"), item, strict=True)) for item in items]
    return check_result("baseline", RUN.id, {"items": listed}, findings)


GOOD_ITEMS = (
    ("swap", "off", "off", "ok"),
    ("time synchronised", "yes", "yes", "ok"),
    ("sysctl net.ipv4.tcp_mtu_probing", "1", "1", "ok"),
    ("sysctl vm.max_map_count", "1048576", "1048576", "ok"),
    ("module br_netfilter", "loaded", "loaded", "ok"),
    ("limit memlock", "unlimited", "unlimited", "ok"),
)


def slave(name: str, actor: int = 63, partner: int = 63, mii: str = "up") -> dict[str, Any]:
    return {
        "name": name,
        "mii": mii,
        "speed_mbps": 100000,
        "duplex": "full",
        "link_failures": 0,
        "permanent_mac": "52:54:00:4c:0b:01",
        "aggregator_id": 1,
        "actor_churn": "none",
        "partner_churn": "none",
        "actor_state": actor,
        "partner_state": partner,
        "partner_mac": "52:54:00:4c:01:01",
    }


def bond(name: str, *slaves: dict[str, Any], partner: str = "52:54:00:4c:01:01") -> dict[str, Any]:
    bad = [each for each in slaves if each["actor_state"] & 0x3C != 0x3C or each["partner_state"] & 0x3C != 0x3C]
    findings = [
        Finding(
            "bond",
            Severity.FAIL,
            Subject(host=name, network="storage", interface="bond0", port=each["name"]),
            f"bond0, leg {each['name']}: has carrier but does not collect and distribute "
            f"(actor state {each['actor_state']:#04x}, partner state {each['partner_state']:#04x}; both need 0x3c)",
            "not_collecting",
            "collecting",
            remedy="check that the switch has this port in the same LACP channel group and has not shut it down",
        )
        for each in bad
    ]
    good = Finding("bond", Severity.OK, Subject(host=name, network="storage", interface="bond0"), "bond0: all legs up")
    reading = {
        "network": "storage",
        "interface": "bond0",
        "mode": "802.3ad",
        "mii": "up",
        "hash_policy": "layer3+4",
        "active_slave": None,
        "lacp_rate": "fast",
        "min_links": 1,
        "active_aggregator": 1,
        "ports_in_aggregator": len(slaves) - len(bad),
        "partner_mac": partner,
        "slaves": list(slaves),
    }
    return check_result("bond", RUN.id, {"bonds": [reading]}, findings or [good])


def path(peer: str, network: str = "storage", state: str = "ok", measured: int | None = 9000) -> dict[str, Any]:
    return {
        "network": network,
        "peer": peer,
        "address": "10.77.2.11",
        "expected": 9000,
        "measured": measured,
        "state": state,
        "rtt_us": 210.0 if measured else None,
    }


TEXTS = {
    "path_mtu": "small packets pass, those of 9000 bytes do not",
    "no_reply": "no reply, even to small packets",
    "no_route": "no route",
    "local_mtu": "bond0 itself sends no packet of 9000 bytes",
}
REMEDIES = {
    "path_mtu": "raise the MTU of the switch ports, routers and tunnels between the two hosts",
    "no_reply": "look whether the peer is switched on, has this address, and is in the same network",
    "no_route": "look at addresses, routes and rules of this network: ip route get PEER from ADDRESS",
    "local_mtu": "set this device's MTU, and that of what it stands on, to the planned value (role node_network)",
}


def mtu(name: str, *paths: dict[str, Any], interfaces: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    """One finding for each network and state, as check_mtu makes them."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in paths:
        groups.setdefault((each["network"], each["state"]), []).append(each)
    findings = [_mtu_finding(name, network, state, group) for (network, state), group in groups.items()]
    listed = [interface("bond0"), interface("fabric0", "member"), interface("fabric1", "member"), *interfaces]
    return check_result("mtu", RUN.id, {"interfaces": listed, "paths": list(paths)}, findings)


def interface(name: str, role: str = "bond", measured: int = 9000) -> dict[str, Any]:
    return {"network": "storage", "interface": name, "role": role, "measured": measured, "expected": 9000}


def _mtu_finding(name: str, network: str, state: str, group: list[dict[str, Any]]) -> Finding:
    peers = [each["peer"] for each in group]
    measured = min((each["measured"] for each in group if each["measured"]), default=None)
    subject = Subject(name, network, "bond0", peer=peers[0] if len(peers) == 1 else None)
    if state == "ok":
        text = f"{network}: {len(group)} paths carry packets of 9000 bytes"
        return Finding("mtu", Severity.OK, subject, text, measured, 9000, "bytes")
    names = ", ".join(peers[:8]) + (f" and {len(peers) - 8} more" if len(peers) > 8 else "")
    text = f"{network}: {names}: {TEXTS[state]}" + (f" (largest that passes: {measured})" if measured else "")
    return Finding("mtu", Severity.FAIL, subject, text, measured, 9000, "bytes", REMEDIES[state])


def lab() -> list[HostInput]:
    """The path between cp-1 and worker-1 drops jumbo frames, worker-1 has a leg without partner, worker-2 is off."""
    swappiness = ("sysctl vm.swappiness", "60", "10", "warn")
    small = {"state": "path_mtu", "measured": 1500}
    quiet = {"state": "no_reply", "measured": None}
    return [
        host(
            "cp-1",
            "control_plane",
            baseline=baseline("cp-1", *GOOD_ITEMS, swappiness),
            bond=bond("cp-1", slave("fabric0"), slave("fabric1")),
            mtu=mtu("cp-1", path("worker-1", **small), path("worker-2", **quiet), path("worker-1", "rail0")),
        ),
        host(
            "worker-1",
            "workers",
            baseline=baseline("worker-1", *GOOD_ITEMS),
            bond=bond("worker-1", slave("fabric0"), slave("fabric1", 71, 0)),
            mtu=mtu("worker-1", path("cp-1", **small), path("worker-2", **quiet), path("cp-1", "rail0")),
        ),
        host("worker-2", "workers", baseline=LOST, bond=LOST, mtu=LOST),
    ]


def well() -> list[HostInput]:
    """Two hosts without a fault."""
    return [
        host(
            name,
            group,
            baseline=baseline(name, *GOOD_ITEMS),
            bond=bond(name, slave("fabric0"), slave("fabric1")),
            mtu=mtu(name, path(peer), path(peer, "rail0")),
        )
        for name, peer, group in (("cp-1", "worker-1", "control_plane"), ("worker-1", "cp-1", "workers"))
    ]


def fleet(size: int) -> list[HostInput]:
    """At least 40 hosts. 7 has small paths, 12 is lost, 20 to 27 have swap on, 29 is outside --limit, 40 lost a leg."""
    names = [f"{_kind(number, size)}-node-{number:03d}" for number in range(1, size + 1)]
    return [_member(number, name, names) for number, name in enumerate(names, 1)]


def _kind(number: int, size: int) -> str:
    return "train" if number <= size // 2 else "infer" if number <= size * 3 // 4 else "stor"


def _member(number: int, name: str, names: list[str]) -> HostInput:
    groups = (
        "control_plane" if number <= 3 else "workers",
        {"t": "training", "i": "inference", "s": "storage_nodes"}[name[0]],
    )
    if number == 12:
        return host(name, *groups, baseline=LOST, bond=LOST, mtu=LOST)
    if number == 29:
        return host(name, *groups, selected=False)
    swap = ("swap", "on: /dev/nvme0n1p3", "off", "fail") if 20 <= number <= 27 else GOOD_ITEMS[0]
    peers = names if len(names) <= 200 else names[number % 40 :: 40]
    paths = [_path(number, peer, names) for peer in peers if peer != name]
    return host(
        name,
        *groups,
        baseline=baseline(name, swap, *GOOD_ITEMS[1:]),
        bond=bond(name, slave("eth2"), slave("eth3", *((71, 0) if number == 40 else (63, 63)))),
        mtu=mtu(name, *paths),
    )


def _path(number: int, peer: str, names: list[str]) -> dict[str, Any]:
    if peer == names[11]:
        return path(peer, state="no_reply", measured=None)
    if 7 in (number, names.index(peer) + 1) and number != 12:
        return path(peer, state="path_mtu", measured=1500)
    return path(peer)


def report(hosts: list[HostInput], checks: tuple[Check, ...] = CHECKS, run: Run = RUN) -> FleetReport:
    return collect(checks, hosts, run)
