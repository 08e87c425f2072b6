# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ICMP echo packets of a wanted size, and what can come back. Sizes are those of the whole IP packet."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass
from typing import Dict, Optional, Tuple, Union

__all__ = ["OVERHEAD", "SMALL", "Answer", "Event", "Refusal", "echo_request", "read_packet"]

# IP header without options, and ICMP header. A packet of 9000 bytes carries 8972 (IPv4) or 8952 (IPv6).
IP_HEADER: Dict[int, int] = {4: 20, 6: 40}
ICMP_HEADER = 8
OVERHEAD: Dict[int, int] = {version: size + ICMP_HEADER for version, size in IP_HEADER.items()}
# What ping sends when it is not told a size: 56 bytes of payload. Every path must carry it.
SMALL: Dict[int, int] = {version: size + 56 for version, size in OVERHEAD.items()}

_REQUEST: Dict[int, int] = {4: 8, 6: 128}
_REPLY: Dict[int, int] = {4: 0, 6: 129}
_PROTOCOL: Dict[int, int] = {4: 1, 6: 58}
_UNREACHABLE: Dict[int, int] = {4: 3, 6: 1}
_PACKET_TOO_BIG_V6 = 2
_FRAGMENTATION_NEEDED_V4 = 4
# RFC 792 and 1812; RFC 4443. Codes that are not here are reported by number.
_REASONS: Dict[int, Dict[int, str]] = {
    4: {0: "net unreachable", 1: "host unreachable", 9: "net prohibited", 10: "host prohibited", 13: "filtered"},
    6: {0: "no route", 1: "prohibited", 3: "address unreachable", 5: "source address refused", 6: "route rejected"},
}
_PAYLOAD = struct.Struct("!8sI")
_ICMP = struct.Struct("!BBHHH")


@dataclass(frozen=True)
class Answer:
    """An echo reply. ``whole`` is False when it came in fragments: then the way back did not carry the size."""

    number: int
    size: int
    whole: bool = True


@dataclass(frozen=True)
class Refusal:
    """Somebody on the way says no. ``mtu`` is set for "too big", ``reason`` for "unreachable"."""

    sequence: int
    destination: str
    sender: str
    mtu: Optional[int] = None
    reason: str = ""


Event = Union[Answer, Refusal]


def checksum(data: bytes) -> int:
    """RFC 1071, over an even number of bytes."""
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def echo_request(version: int, ident: int, token: bytes, number: int, size: int) -> bytes:
    """Payload: the run's token and the probe's number, then zeros, which add nothing to the checksum."""
    payload = _PAYLOAD.pack(token, number)
    kind, sequence = _REQUEST[version], number & 0xFFFF
    # The kernel fills in ICMPv6's checksum: it covers addresses that only the kernel knows.
    total = checksum(_ICMP.pack(kind, 0, 0, ident, sequence) + payload) if version == 4 else 0
    head = _ICMP.pack(kind, 0, total, ident, sequence) + payload
    return head + bytes(size - IP_HEADER[version] - len(head))


def read_packet(
    version: int, ident: int, token: bytes, packet: memoryview, sender: str = "", *, whole: bool = True
) -> Optional[Event]:
    """None for what does not belong to this run. IPv4 raw sockets give the IP header too, IPv6 ones do not."""
    icmp = packet[(packet[0] & 0x0F) * 4 :] if version == 4 and len(packet) else packet
    if len(icmp) < ICMP_HEADER:
        return None
    kind, code, _sum, his_ident, low = _ICMP.unpack_from(icmp)
    if kind == _REPLY[version]:
        if his_ident != ident or len(icmp) < ICMP_HEADER + _PAYLOAD.size:
            return None
        his_token, number = _PAYLOAD.unpack_from(icmp, ICMP_HEADER)
        return Answer(number, IP_HEADER[version] + len(icmp), whole) if his_token == token else None
    quoted = _quoted(version, ident, icmp[ICMP_HEADER:])
    if quoted is None:
        return None
    sequence, destination = quoted
    if version == 6 and kind == _PACKET_TOO_BIG_V6:
        return Refusal(sequence, destination, sender, mtu=(his_ident << 16) | low)
    if kind != _UNREACHABLE[version]:
        return None
    if version == 4 and code == _FRAGMENTATION_NEEDED_V4:
        return Refusal(sequence, destination, sender, mtu=low)
    return Refusal(sequence, destination, sender, reason=_REASONS[version].get(code, "unreachable, code %d" % code))


def _quoted(version: int, ident: int, packet: memoryview) -> Optional[Tuple[int, str]]:
    """Sequence and destination of the request that an error quotes: its IP header and at least 8 bytes more."""
    if len(packet) < OVERHEAD[version]:
        return None
    if version == 4:
        length, protocol, address = (packet[0] & 0x0F) * 4, packet[9], packet[16:20]
    else:
        length, protocol, address = IP_HEADER[6], packet[6], packet[24:40]
    if protocol != _PROTOCOL[version] or len(packet) < length + ICMP_HEADER:
        return None
    kind, _code, _sum, his_ident, sequence = _ICMP.unpack_from(packet, length)
    if kind != _REQUEST[version] or his_ident != ident:
        return None
    return sequence, str(ipaddress.ip_address(bytes(address)))
