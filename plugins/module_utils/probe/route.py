# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which device the kernel would send by, asked over netlink (what ``ip route get ADDRESS from SOURCE`` does)."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import struct
from typing import Optional, Tuple

from ..errors import MeasureError

__all__ = ["Routes"]

RTM_NEWROUTE, RTM_GETROUTE, NLMSG_ERROR, NLM_F_REQUEST = 24, 26, 2, 1
RTA_DST, RTA_SRC, RTA_OIF = 1, 2, 4
_HEADER = struct.Struct("=IHHII")
# family, dst_len, src_len, tos, table, protocol, scope, type, flags
_ROUTE = struct.Struct("=BBBBBBBBI")
_ATTRIBUTE = struct.Struct("=HH")


class Routes:
    """A netlink socket. ``device`` answers for one pair of addresses, policy rules included."""

    def __init__(self) -> None:
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        except OSError as exc:
            raise MeasureError("asking the kernel for routes: %s" % exc.strerror) from exc

    def close(self) -> None:
        self._socket.close()

    def device(self, source: str, destination: str) -> Tuple[Optional[str], str]:
        """The device's name, or None and why there is no route."""
        self._socket.send(_request(source, destination))
        return _read(self._socket.recv(65536))


def _request(source: str, destination: str) -> bytes:
    attributes = b""
    for kind, address in ((RTA_DST, destination), (RTA_SRC, source)):
        packed = ipaddress.ip_address(address).packed
        attributes += _ATTRIBUTE.pack(_ATTRIBUTE.size + len(packed), kind) + packed
    bits = len(ipaddress.ip_address(destination).packed) * 8
    family = socket.AF_INET if bits == 32 else socket.AF_INET6
    body = _ROUTE.pack(family, bits, bits, 0, 0, 0, 0, 0, 0) + attributes
    return _HEADER.pack(_HEADER.size + len(body), RTM_GETROUTE, NLM_F_REQUEST, 1, 0) + body


def _read(reply: bytes) -> Tuple[Optional[str], str]:
    length, kind, _flags, _sequence, _pid = _HEADER.unpack_from(reply)
    if kind == NLMSG_ERROR:
        code = -struct.unpack_from("=i", reply, _HEADER.size)[0]
        return None, "no route (%s)" % (os.strerror(code) if code != errno.ENETUNREACH else "network is unreachable")
    place = _HEADER.size + _ROUTE.size
    while kind == RTM_NEWROUTE and place + _ATTRIBUTE.size <= min(length, len(reply)):
        size, attribute = _ATTRIBUTE.unpack_from(reply, place)
        if attribute == RTA_OIF:
            return socket.if_indextoname(struct.unpack_from("=i", reply, place + _ATTRIBUTE.size)[0]), ""
        place += max((size + 3) & ~3, _ATTRIBUTE.size)
    return None, "no route (the kernel names no device)"
