# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection between two agents: JSON objects, one a line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from typing import Any, Dict, Optional, Sequence, Tuple

__all__ = ["Link", "LinkLostError", "dial"]

_MOST_LINE = 16 * 1024
_CONNECT_S = 1.0

Message = Dict[str, Any]


class LinkLostError(Exception):
    """The other side is gone, or does not speak our language."""


class Link:
    """``address`` is the other end's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, patience: float) -> None:
        self._reader = reader
        self._writer = writer
        peer: Optional[Tuple[Any, ...]] = writer.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        _keep_alive(writer.get_extra_info("socket"), patience)

    async def send(self, message: Message) -> None:
        try:
            self._writer.write(json.dumps(message).encode() + b"\n")
            await self._writer.drain()
        except OSError as exc:
            raise LinkLostError(exc.strerror or str(exc)) from exc

    async def receive(self, limit: Optional[float] = None) -> Message:
        try:
            line = await asyncio.wait_for(self._reader.readline(), limit)
            message = json.loads(line) if line.endswith(b"\n") else None
        except asyncio.TimeoutError as exc:
            raise LinkLostError("no word from it in %g s" % (limit or 0)) from exc
        except (OSError, ValueError) as exc:  # ValueError: no JSON, or a line that is too long
            raise LinkLostError(str(exc)) from exc
        if not isinstance(message, dict):
            raise LinkLostError("it closed the connection")
        return message

    def close(self) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.close()


async def dial(addresses: Sequence[str], port: int, patience: float) -> Optional[Link]:
    """To the first address that answers; None if none does."""
    for address in addresses:
        try:
            opening = asyncio.open_connection(address, port, limit=_MOST_LINE)
            reader, writer = await asyncio.wait_for(opening, _CONNECT_S)
        except (OSError, asyncio.TimeoutError):
            continue
        return Link(reader, writer, patience)
    return None


def _keep_alive(connection: Optional[socket.socket], patience: float) -> None:
    """A machine that lost its power sends no farewell: the kernel asks for a sign of life every second."""
    if connection is None:
        return
    for option, value in (("TCP_KEEPIDLE", 1), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", max(2, int(patience)))):
        if hasattr(socket, option):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
