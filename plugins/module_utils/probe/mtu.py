# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check_mtu measures: the MTU of this host's devices, and of the paths to its peers."""

from __future__ import annotations

import errno
import ipaddress
import os
import random
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import ConfigError, MeasureError
from ..network.model import Member, Network
from ..runner import Runner
from .links import Link, describe, find_member, find_name, read_links
from .prober import Outcome, Pace, Target, probe
from .route import Routes
from .sockets import Sockets

__all__ = ["InterfaceMtu", "Measured", "interface_mtus", "measure", "measure_paths", "targets"]

# When neither plan nor device says: every Ethernet carries this.
DEFAULT_MTU = 1500
_ROLES = {"bond": "bond", "vlan": "vlan"}

Fleet = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class InterfaceMtu:
    """A device against the plan (``role``: member, bond, vlan, network). ``measured`` None: there is no such device."""

    network: str
    interface: str
    role: str
    measured: Optional[int]
    expected: int


@dataclass(frozen=True)
class Measured:
    """``unmeasured``: networks whose paths are not known, and why; ``devices``: why no device is known, or empty."""

    interfaces: Sequence[InterfaceMtu]
    paths: Sequence[Outcome]
    unmeasured: Mapping[str, str]
    devices: str = ""

    def report(self) -> Dict[str, Any]:
        return {
            "interfaces": [asdict(row) for row in self.interfaces],
            "paths": [_path_row(outcome) for outcome in self.paths],
        }


def measure(host: str, networks: Sequence[Network], fleet: Fleet, pace: Pace, runner: Runner) -> Measured:
    """Raises ConfigError when the fleet's addresses cannot be read."""
    devices = ""
    links: Sequence[Link] = ()
    interfaces: Sequence[InterfaceMtu] = ()
    try:
        links = read_links(runner)
        interfaces = interface_mtus(networks, links)
    except MeasureError as exc:
        devices = str(exc)
    paths, unmeasured = measure_paths(targets(host, networks, fleet, links), _in_phase(pace, host, fleet))
    return Measured(interfaces, paths, unmeasured, devices)


def interface_mtus(networks: Sequence[Network], links: Sequence[Link]) -> List[InterfaceMtu]:
    """Networks whose plan names no MTU are left aside."""
    rows = []
    for network in networks:
        if network.mtu is None:
            continue
        link = device_of(network, links)
        role = _ROLES.get(network.kind, "network")
        rows.append(_row(network, role, link, network.interface))
        if network.kind == "bond":
            for member in network.members:
                found = find_member(links, member)
                rows.append(_row(network, "member", found, member.name or describe(member)))
    return rows


def _row(network: Network, role: str, link: Optional[Link], planned: str) -> InterfaceMtu:
    name, measured = (planned, None) if link is None else (link.name, link.mtu)
    return InterfaceMtu(network.name, name, role, measured, network.mtu or 0)


def device_of(network: Network, links: Sequence[Link]) -> Optional[Link]:
    """The network's device by its planned name; a plain port also by what identifies its member."""
    link = find_name(links, network.interface)
    if link is None and network.kind in ("ethernet", "ipoib") and network.members != (Member(name=network.interface),):
        link = find_member(links, network.members[0])
    return link


def targets(host: str, networks: Sequence[Network], fleet: Fleet, links: Sequence[Link]) -> List[Target]:
    """All paths of this host, one for each peer and IP version.

    Each host begins with the one after it in the alphabet, so that hosts that start together do not all probe the
    same peer at the same moment.
    """
    found = []
    for network in networks:
        link = device_of(network, links)
        peers = fleet.get(network.name, {}).get("hosts", {})
        after = sorted(name for name in peers if name > host) + sorted(name for name in peers if name < host)
        for version, source in _by_version([str(address) for address in network.addresses]).items():
            for peer in after:
                address = _by_version(peers[peer].get("addresses") or []).get(version)
                if address is None:
                    continue
                device_mtu = None if link is None else link.mtu
                known = [mtu for mtu in (network.mtu or device_mtu, peers[peer].get("mtu")) if mtu]
                found.append(
                    Target(
                        network=network.name,
                        peer=peer,
                        source=source,
                        interface=network.interface if link is None else link.name,
                        address=address,
                        expected=min(known, default=DEFAULT_MTU),
                        device_mtu=device_mtu,
                    )
                )
    return found


def _by_version(addresses: Sequence[str]) -> Dict[int, str]:
    """The first address of each IP version, without its prefix length."""
    found: Dict[int, str] = {}
    for text in addresses:
        try:
            address = ipaddress.ip_interface(text)
        except ValueError as exc:
            raise ConfigError("reading the peers' addresses: %s; expected an address as 10.0.2.11/24" % exc) from exc
        found.setdefault(address.version, str(address.ip))
    return found


def measure_paths(paths: Sequence[Target], pace: Pace) -> Tuple[List[Outcome], Dict[str, str]]:
    """Outcomes in the order of the paths, and for each network that could not be measured the reason."""
    unmeasured: Dict[str, str] = {}
    outcomes: Dict[Target, Outcome] = {}
    sockets = Sockets(random.SystemRandom().randrange(1 << 16), os.urandom(8))
    try:
        routes = Routes()
        for target in paths:
            try:
                sockets.open(target.source, target.interface)
                reason = _route_fault(target, routes)
            except MeasureError as exc:
                unmeasured[target.network] = str(exc)
                continue
            except OSError as exc:
                reason = _open_fault(target, exc)
            if reason:
                outcomes[target] = Outcome(target, "no_route", detail=reason)
        routes.close()
        open_paths = [path for path in paths if path not in outcomes and path.network not in unmeasured]
        for outcome in probe(open_paths, sockets, pace, time.monotonic):
            outcomes[outcome.target] = outcome
    finally:
        sockets.close()
    return [outcomes[path] for path in paths if path in outcomes], unmeasured


def _open_fault(target: Target, exc: OSError) -> str:
    if exc.errno == errno.EADDRNOTAVAIL:
        return "address %s is not on this host" % target.source
    if exc.errno == errno.ENODEV:
        return "there is no device %s on this host" % target.interface
    return "binding to %s on %s: %s" % (target.source, target.interface, exc.strerror)


def _route_fault(target: Target, routes: Routes) -> str:
    """A socket bound to a device sends even without a route; real traffic does not, so the route is asked first."""
    device, why = routes.device(target.source, target.address)
    if device is None:
        return why
    if device != target.interface:
        return "the route leaves by %s instead of %s" % (device, target.interface)
    return ""


def _path_row(outcome: Outcome) -> Dict[str, Any]:
    """A path as the report keeps it."""
    return {
        "network": outcome.target.network,
        "peer": outcome.target.peer,
        "address": outcome.target.address,
        "expected": outcome.target.expected,
        "measured": outcome.measured,
        "state": outcome.state,
        "rtt_us": outcome.rtt_us,
    }


def _in_phase(pace: Pace, host: str, fleet: Fleet) -> Pace:
    """The host's place among all, as a part of the interval between two packets."""
    names = sorted({name for network in fleet.values() for name in network.get("hosts", {})})
    return replace(pace, phase=names.index(host) / len(names)) if host in names else pace
