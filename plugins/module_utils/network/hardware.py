# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What network devices a host has, read from /sys/class/net, and how a member of the plan is found among them."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import Dict, List, Optional, Sequence, Tuple

from ..errors import ConfigError
from .model import Member

__all__ = ["Device", "find_device", "parse_altnames", "read_hardware"]

_PCI = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\Z")
# include/uapi/linux/if_arp.h
_TYPES = {"1": "ethernet", "32": "infiniband", "772": "loopback"}


@dataclass(frozen=True)
class Device:
    """``mac`` is the permanent one where the kernel knows it: a bond gives its members the bond's own address."""

    name: str
    mac: Optional[str] = None
    pci: Optional[str] = None
    altnames: Tuple[str, ...] = ()
    mtu: int = 1500
    driver: Optional[str] = None
    type: str = "ethernet"
    physical: bool = True
    # False: the address was made up or set by software (veth), so nothing can be matched by it over a reboot.
    mac_permanent: bool = True


def read_hardware(root: str = "/", altnames: Optional[Dict[str, Tuple[str, ...]]] = None) -> Tuple[Device, ...]:
    """Every device but loopback, in the order of names. ``altnames``: see ``parse_altnames`` (sysfs has none)."""
    base = os.path.join(root, "sys/class/net")
    names = sorted(os.listdir(base)) if os.path.isdir(base) else []
    devices = (_device(base, name, (altnames or {}).get(name, ())) for name in names if name != "lo")
    return tuple(device for device in devices if device is not None)


def _device(base: str, name: str, altnames: Tuple[str, ...]) -> Optional[Device]:
    path = os.path.join(base, name)
    if not os.path.isdir(path):  # bonding_masters is a file
        return None
    bound = os.path.join(path, "device")
    member_of_bond = _read(path, "bonding_slave/perm_hwaddr")
    mac = member_of_bond or _read(path, "address") or None
    return Device(
        name=name,
        mac=mac,
        pci=_pci_address(bound),
        altnames=altnames,
        mtu=int(_read(path, "mtu") or 0),
        driver=os.path.basename(os.path.realpath(os.path.join(bound, "driver"))) if os.path.exists(bound) else None,
        type=_TYPES.get(_read(path, "type"), "other"),
        physical=os.path.exists(bound),
        mac_permanent=bool(member_of_bond) or _read(path, "addr_assign_type") == "0",
    )


def _pci_address(bound: str) -> Optional[str]:
    """The last PCI address on the device's path: a virtio device hangs one level below its PCI function."""
    if not os.path.exists(bound):
        return None
    parts = [part for part in os.path.realpath(bound).split("/") if _PCI.match(part)]
    return parts[-1] if parts else None


def _read(path: str, name: str) -> str:
    try:
        with open(os.path.join(path, name), encoding="ascii", errors="replace") as stream:
            return stream.read().strip().lower()
    except OSError:
        return ""


def parse_altnames(text: str) -> Dict[str, Tuple[str, ...]]:
    """``ip -j link show`` -> name to alternative names. Some versions print empty objects between the devices."""
    found: Dict[str, Tuple[str, ...]] = {}
    for entry in json.loads(text or "[]"):
        if entry.get("ifname"):
            found[entry["ifname"]] = tuple(entry.get("altnames", ()))
    return found


def find_device(member: Member, hardware: Sequence[Device]) -> Device:
    """The one device that all given marks of ``member`` name. MAC and PCI address outrank the name, which may change.

    Raises ConfigError that names the slot and what the host has instead.
    """
    candidates = [device for device in hardware if device.physical or member.name in (device.name, *device.altnames)]
    if member.mac is not None:
        candidates = [device for device in candidates if device.mac == member.mac]
    if member.pci is not None:
        candidates = [device for device in candidates if device.pci == member.pci]
    if member.name is not None and member.mac is None and (member.pci is None or len(candidates) > 1):
        candidates = [device for device in candidates if member.name in (device.name, *device.altnames)]
    if len(candidates) == 1:
        return candidates[0]
    slot = ", ".join(
        "%s %s" % (k, v) for k, v in (("mac", member.mac), ("pci", member.pci), ("name", member.name)) if v
    )
    if candidates:
        names = ", ".join(device.name for device in candidates)
        raise ConfigError("%s fits %s: name one of them by its mac" % (slot, names))
    raise ConfigError("%s: no such port on this host, which has %s" % (slot, _listing(hardware)))


def _listing(hardware: Sequence[Device]) -> str:
    ports: List[str] = [
        "%s (mac %s, pci %s)" % (device.name, device.mac or "-", device.pci or "-")
        for device in hardware
        if device.physical
    ]
    return "; ".join(ports) or "no physical port at all"
