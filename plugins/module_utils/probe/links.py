# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network devices of this host, and which of them a planned member is."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Any, Iterable, List, Mapping, Optional, Tuple

from ..errors import MeasureError
from ..network.model import Member
from ..runner import Runner

__all__ = ["Link", "describe", "find_member", "find_name", "parse_links", "read_links"]

IP_LINK = ("ip", "-j", "-d", "link", "show")
SYSFS = "/sys/class/net"
# Devices made on top of another one: they borrow its MAC address and are never a planned member.
_STACKED = ("bond", "bridge", "vlan", "macvlan", "ipvlan", "vxlan")
_PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")


@dataclass(frozen=True)
class Link:
    """``mac`` is the permanent one where the kernel tells it apart (a bond gives all its legs one address)."""

    name: str
    mtu: int
    mac: Optional[str] = None
    altnames: Tuple[str, ...] = ()
    kind: Optional[str] = None
    pci: Optional[str] = None


def parse_links(text: str, pci: Mapping[str, str]) -> Tuple[Link, ...]:
    """Read ``ip -j -d link show``. ``pci`` maps device names to PCI addresses (sysfs knows them, ip does not)."""
    try:
        entries = json.loads(text)
        return tuple(_link(entry, pci) for entry in entries if entry)
    except (ValueError, KeyError, TypeError) as exc:
        raise MeasureError(
            "reading the network devices: the output of '%s' is not understood (%s); iproute2 5.0 or later is needed"
            % (" ".join(IP_LINK), exc)
        ) from exc


def _link(entry: Mapping[str, Any], pci: Mapping[str, str]) -> Link:
    name = str(entry["ifname"]).partition("@")[0]
    mac = entry.get("permaddr", entry.get("address"))
    return Link(
        name=name,
        mtu=int(entry["mtu"]),
        mac=None if mac is None else str(mac).lower(),
        altnames=tuple(entry.get("altnames", ())),
        kind=entry.get("linkinfo", {}).get("info_kind"),
        pci=pci.get(name),
    )


def read_links(runner: Runner, sysfs: str = SYSFS) -> Tuple[Link, ...]:
    """Raises MeasureError when the devices cannot be listed."""
    result = runner.run(IP_LINK, timeout=30)
    if result.rc != 0:
        raise MeasureError("listing network devices with '%s': %s" % (" ".join(IP_LINK), result.stderr.strip()))
    return parse_links(result.stdout, pci_addresses(sysfs))


def pci_addresses(sysfs: str) -> Mapping[str, str]:
    """The last PCI address in a device's path (a virtio port is a child of its PCI function)."""
    found = {}
    for name in sorted(os.listdir(sysfs)) if os.path.isdir(sysfs) else []:
        parts: List[str] = os.path.realpath(os.path.join(sysfs, name, "device")).split(os.sep)
        addresses = [part for part in parts if _PCI.match(part)]
        if addresses:
            found[name] = addresses[-1]
    return found


def find_name(links: Iterable[Link], name: str) -> Optional[Link]:
    """By name or by one of its alternative names."""
    return next((link for link in links if name == link.name or name in link.altnames), None)


def find_member(links: Iterable[Link], member: Member) -> Optional[Link]:
    """All that the plan says must fit: a MAC that sits at another PCI address is another port."""
    for link in links:
        fits = (
            (member.mac is None or (member.mac == link.mac and link.kind not in _STACKED))
            and (member.pci is None or member.pci == link.pci)
            and (member.name is None or member.name == link.name or member.name in link.altnames)
        )
        if fits:
            return link
    return None


def describe(member: Member) -> str:
    """ "mac 52:54:00:..., name enp1s0": how the plan finds the port."""
    return ", ".join("%s %s" % (k, v) for k, v in sorted(vars(member).items()) if v is not None)
