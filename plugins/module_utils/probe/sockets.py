# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Raw ICMP sockets, one for each network of this host, bound to its address and device.

Linux only; needs CAP_NET_RAW. Numbers that Python's ``socket`` lacks are from the kernel's uapi headers.
"""

from __future__ import annotations

import errno
import select
import socket
import struct
from typing import Dict, Iterator, List, Tuple

from ..errors import MeasureError
from .packet import Event, echo_request, read_packet
from .prober import Target

__all__ = ["Sockets"]

# Send with DF set, and neither use nor learn a cached path MTU: it is the path that is asked, not the cache.
IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, PMTUDISC_PROBE = 10, 23, 3
IPV6_DONTFRAG = 62
# A reassembled packet comes with the size of its largest fragment.
IP_RECVFRAGSIZE, IPV6_RECVFRAGSIZE = 25, 77
SOL_RAW, ICMP_FILTER, ICMPV6_FILTER = 255, 1, 1
SO_RCVBUFFORCE = 33
RECEIVE_BUFFER = 4 << 20
# Let in echo replies and errors. The requests of all the peers stay out, they would fill the buffer.
_WANTED_V4 = (0, 3)
_WANTED_V6 = (1, 2, 129)
_BATCH = 256

Place = Tuple[str, str]  # source address, device


class Sockets:
    """The Wire of the prober. ``ident`` and ``token`` tell this run's replies from all others."""

    def __init__(self, ident: int, token: bytes) -> None:
        self.ident, self.token = ident, token
        self._sockets: Dict[Place, socket.socket] = {}
        self._epoll = select.epoll()
        self._by_fd: Dict[int, Tuple[int, socket.socket]] = {}
        self._ready: List[int] = []
        self._buffer = bytearray(65536)

    def open(self, source: str, interface: str) -> None:
        """Raises MeasureError when raw sockets are not permitted, OSError when address or device are not there."""
        if (source, interface) in self._sockets:
            return
        version = 6 if ":" in source else 4
        try:
            sock = _raw_socket(version)
        except PermissionError as exc:
            raise MeasureError("opening a raw ICMP socket: %s; the check needs root (CAP_NET_RAW)" % exc) from exc
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode() + b"\0")
            sock.bind((source, 0))
        except OSError:
            sock.close()
            raise
        self._sockets[source, interface] = sock
        self._by_fd[sock.fileno()] = (version, sock)
        self._epoll.register(sock.fileno(), select.EPOLLIN)

    def close(self) -> None:
        for sock in self._sockets.values():
            sock.close()
        self._epoll.close()

    def send(self, target: Target, number: int, size: int) -> int:
        packet = echo_request(target.version, self.ident, self.token, number, size)
        try:
            self._sockets[target.source, target.interface].sendto(packet, (target.address, 0))
        except OSError as exc:
            return exc.errno or errno.EIO
        return 0

    def wait(self, seconds: float) -> None:
        self._ready = [fd for fd, _mask in self._epoll.poll(seconds)]

    def receive(self) -> Iterator[Event]:
        for fd in self._ready:
            version, sock = self._by_fd[fd]
            for _ in range(_BATCH):
                try:
                    size, control, _flags, sender = sock.recvmsg_into([self._buffer], 128)
                except OSError:
                    break  # nothing more, or an error that concerns no probe
                packet = memoryview(self._buffer)[:size]
                whole = not _fragmented(control)
                event = read_packet(version, self.ident, self.token, packet, sender[0], whole=whole)
                if event is not None:
                    yield event


def _raw_socket(version: int) -> socket.socket:
    if version == 4:
        sock = socket.socket(socket.AF_INET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.IPPROTO_ICMP)
        sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_PROBE)
        sock.setsockopt(socket.IPPROTO_IP, IP_RECVFRAGSIZE, 1)
        blocked = 0xFFFFFFFF & ~sum(1 << kind for kind in _WANTED_V4)
        sock.setsockopt(SOL_RAW, ICMP_FILTER, struct.pack("=I", blocked))
    else:
        sock = socket.socket(socket.AF_INET6, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.IPPROTO_ICMPV6)
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_PROBE)
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_DONTFRAG, 1)
        sock.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVFRAGSIZE, 1)
        words = [0xFFFFFFFF] * 8
        for kind in _WANTED_V6:
            words[kind >> 5] &= ~(1 << (kind & 31))
        sock.setsockopt(socket.IPPROTO_ICMPV6, ICMPV6_FILTER, struct.pack("=8I", *words))
    try:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
    except PermissionError:  # CAP_NET_RAW without CAP_NET_ADMIN: the ordinary limit has to do
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    return sock


def _fragmented(control: List[Tuple[int, int, bytes]]) -> bool:
    return any(
        (level, kind) in ((socket.IPPROTO_IP, IP_RECVFRAGSIZE), (socket.IPPROTO_IPV6, IPV6_RECVFRAGSIZE))
        and struct.unpack("=i", data[:4])[0] > 0
        for level, kind, data in control
    )
