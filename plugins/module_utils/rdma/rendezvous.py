# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How agents meet: who is there, who calls whom, and when a partner is given up.

Agents talk over a connection of their own, beside the measured rails. Whoever is there first waits as long as the
other shows life; all watch everybody whom they still have to meet, so that a dead partner costs one time limit.
"""

from __future__ import annotations

import asyncio
from typing import Callable, Dict, Iterable, List, Optional, Set, Tuple

from .link import Link, LinkLostError, Message, dial
from .plan import Plan
from .presence import Presence

__all__ = ["TALK_S", "Key", "Rendezvous", "UnansweredError"]

TALK_S = 10.0
_RETRY_S = 0.25
_WATCHED_AT_ONCE = 16

Key = Tuple[int, str]


class UnansweredError(Exception):
    """The partner is dead, or has given us up."""


class Rendezvous:
    """``partners`` of ``open``: those who are still to be met; ``met`` takes one off."""

    def __init__(self, plan: Plan, clock: Callable[[], float]) -> None:
        self._plan = plan
        self._presence = Presence(plan.patience, clock)
        self._arrivals: Dict[Tuple[Key, str], "asyncio.Queue[Link]"] = {}
        self._passed: Set[Tuple[Key, str]] = set()
        self._ahead: Set[str] = set()
        self._servers: List[asyncio.AbstractServer] = []
        self._watching: Optional["asyncio.Future[None]"] = None

    async def open(self, partners: Iterable[str]) -> None:
        """Listen on all own addresses, and begin to watch."""
        self._ahead = set(partners)
        for address in self._plan.addresses[self._plan.host]:
            server = await asyncio.start_server(self._incoming, address, self._plan.port, limit=16 * 1024)
            self._servers.append(server)
        self._watching = asyncio.ensure_future(self._watch())

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
        for server in self._servers:
            server.close()

    def met(self, partner: str) -> None:
        self._ahead.discard(partner)

    async def meet(self, key: Key, partner: str) -> Link:
        """The later name calls the earlier one; whoever is there first waits as long as the other shows life."""
        link = await (self._call(key, partner) if self._plan.host > partner else self._await(key, partner))
        self._presence.saw(partner)
        return link

    async def _call(self, key: Key, partner: str) -> Link:
        while True:
            link = await dial(self._plan.addresses[partner], self._plan.port, self._plan.patience)
            if link is not None:
                try:
                    await link.send(self._greeting(meet=list(key)))
                    answer = await link.receive()
                    if answer.get("ready"):
                        return link
                    if answer.get("passed"):
                        raise UnansweredError("%s waited, gave up and went on" % partner)
                except LinkLostError:
                    pass
                link.close()
            if self._presence.dead(partner):
                raise UnansweredError(self._presence.words(partner))
            await asyncio.sleep(_RETRY_S)

    async def _await(self, key: Key, partner: str) -> Link:
        queue = self._queue(key, partner)
        while True:
            try:
                link = await asyncio.wait_for(queue.get(), _RETRY_S)
                await link.send({"ready": True})
                return link
            except asyncio.TimeoutError:
                if self._presence.dead(partner):
                    self._passed.add((key, partner))
                    raise UnansweredError(self._presence.words(partner)) from None
            except LinkLostError:
                continue

    def _queue(self, key: Key, partner: str) -> "asyncio.Queue[Link]":
        return self._arrivals.setdefault((key, partner), asyncio.Queue())

    def _greeting(self, **more: object) -> Message:
        return {"run": self._plan.run_id, "from": self._plan.host, **more}

    async def _incoming(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Somebody connects: to see whether we are alive, or to meet. Strangers and other runs are sent away."""
        link = Link(reader, writer, self._plan.patience)
        try:
            message = await link.receive(TALK_S)
            sender = str(message.get("from"))
            if message.get("run") != self._plan.run_id or sender not in self._plan.addresses:
                raise LinkLostError("another run")
            self._presence.saw(sender)
            if "meet" not in message:
                await link.send(self._greeting())
                raise LinkLostError("only a sign of life")
            key = (int(message["meet"][0]), str(message["meet"][1]))
            if (key, sender) in self._passed:
                await link.send({"passed": True})
                raise LinkLostError("too late")
            self._queue(key, sender).put_nowait(link)
        except (LinkLostError, ValueError, TypeError, LookupError):
            link.close()

    async def _watch(self) -> None:
        """Ask everybody whom we still have to meet for a sign of life, again and again."""
        places = asyncio.Semaphore(_WATCHED_AT_ONCE)
        while True:
            silent = [partner for partner in sorted(self._ahead) if not self._presence.fresh(partner)]
            await asyncio.gather(*(self._look_at(partner, places) for partner in silent))
            await asyncio.sleep(self._presence.interval / 2)

    async def _look_at(self, partner: str, places: asyncio.Semaphore) -> None:
        async with places:
            link = await dial(self._plan.addresses[partner], self._plan.port, self._plan.patience)
            if link is None:
                return
            try:
                await link.send(self._greeting())
                if (await link.receive(TALK_S)).get("run") == self._plan.run_id:
                    self._presence.saw(partner)
            except LinkLostError:
                pass
            finally:
                link.close()
