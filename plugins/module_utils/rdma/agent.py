# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The agent of one host: follows the schedule by itself, with one partner at a time.

Agents meet (``rendezvous``); then the server's side tells when its program listens, the client's side measures and
keeps the result. A partner that dies is noticed by the end of their connection or, before they meet, by its silence.
Whatever happens, the agent ends at its deadline and leaves no program running.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Callable, List, Mapping, NamedTuple, Optional, Protocol, Sequence, Set, Tuple

from ..runner import CommandResult
from .link import Link, LinkLostError
from .outcome import Outcome, Reading
from .plan import Plan, Step
from .ports import listening
from .process import Program
from .rendezvous import TALK_S, Key, Rendezvous, UnansweredError

__all__ = ["Agent", "Tool"]

_LISTEN_S = 15.0
_POLL_S = 0.05
_RETRY_S = 0.25
_LINGER_S = 3.0
_SERVER_TRIES = 3
_MOST_DETAIL = 400


class Tool(Protocol):
    """The measuring program: what to start, and what its output says."""

    def ready(self, network: str) -> str:
        """Why this host cannot take part on that rail; empty if it can."""

    def device(self, network: str) -> Optional[str]: ...

    def command(self, network: str, step: Step, address: Optional[str]) -> Sequence[str]:
        """argv of the server (no address) or of the client."""

    def environment(self) -> Mapping[str, str]: ...

    def read(self, test: str, result: CommandResult) -> Reading: ...


class Tries(NamedTuple):
    number: int = 0
    seconds: float = 0.0


class Agent:
    """``listens`` tells whether a port of this host is listened on."""

    def __init__(
        self,
        plan: Plan,
        tool: Tool,
        clock: Callable[[], float] = time.monotonic,
        listens: Callable[[int], bool] = listening,
    ) -> None:
        self._plan = plan
        self._tool = tool
        self._clock = clock
        self._listens = listens
        self._rendezvous = Rendezvous(plan, clock)
        self._finished: Set[Tuple[str, Step]] = set()
        self.outcomes: List[Outcome] = []

    async def run(self) -> List[Outcome]:
        """Outcomes of which this host is the sender, and those that failed for want of a partner."""
        meetings = self._plan.meetings()
        try:
            await self._rendezvous.open({partner for _number, partner, _rails in meetings})
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._follow(meetings), self._plan.deadline)
        finally:
            self._rendezvous.close()
        self._note_unfinished(meetings)
        return self.outcomes

    async def _follow(self, meetings: Sequence[Tuple[int, str, Tuple[str, ...]]]) -> None:
        for number, partner, rails in meetings:
            if self._plan.together:
                await asyncio.gather(*(self._on_rail((number, rail), partner) for rail in rails))
            else:
                for rail in rails:
                    await self._on_rail((number, rail), partner)
            self._rendezvous.met(partner)

    def _note_unfinished(self, meetings: Sequence[Tuple[int, str, Tuple[str, ...]]]) -> None:
        reading = Reading("no_time", detail="the run's time was over (%.0f s)" % self._plan.deadline)
        for _number, partner, rails in meetings:
            for rail in rails:
                self._note_rest(rail, partner, reading)

    # meeting

    async def _on_rail(self, key: Key, partner: str) -> None:
        rail = key[1]
        try:
            link = await self._rendezvous.meet(key, partner)
        except UnansweredError as exc:
            self._note_rest(rail, partner, Reading("no_answer", detail=str(exc)))
            return
        try:
            await self._measure(link, rail, partner)
        except LinkLostError as exc:
            reading = Reading("no_answer", detail="%s went away in the middle: %s" % (partner, exc))
            self._note_rest(rail, partner, reading)
        finally:
            link.close()

    # measuring

    async def _measure(self, link: Link, rail: str, partner: str) -> None:
        mine = self._tool.ready(rail)
        await link.send({"unable": mine})
        theirs = str((await link.receive(TALK_S)).get("unable") or "")
        reasons = ["%s: %s" % (host, why) for host, why in ((self._plan.host, mine), (partner, theirs)) if why]
        if reasons:
            self._note_rest(rail, partner, Reading("unknown", detail="; ".join(reasons)), clients_only=True)
            return
        for step in self._plan.steps(partner, rail):
            if step.client == self._plan.host:
                await self._as_client(link, rail, step)
            else:
                await self._as_server(link, rail, step)
            self._finished.add((rail, step))

    async def _as_server(self, link: Link, rail: str, step: Step) -> None:
        again = True
        while again:
            program = self._program(rail, step, None)
            running = asyncio.ensure_future(program.run())
            try:
                fault = await self._until_listening(running, self._plan.rail_port(rail))
                await link.send({"go": not fault, "fault": fault})
                again = bool((await link.receive(self._plan.limit + TALK_S)).get("again"))
                await asyncio.wait({running}, timeout=0 if fault else _LINGER_S)
            finally:
                program.stop()
                await asyncio.wait({running})

    async def _until_listening(self, running: "asyncio.Future[CommandResult]", port: int) -> str:
        """Why the server cannot be used; empty when it listens."""
        if self._listens(port):
            running.cancel()
            return "port %d is in use" % port
        end = self._clock() + _LISTEN_S
        while self._clock() < end:
            if running.done():
                return _tail(running.result())
            if self._listens(port):
                return ""
            await asyncio.sleep(_POLL_S)
        return "the server did not listen on port %d within %.0f s" % (port, _LISTEN_S)

    async def _as_client(self, link: Link, rail: str, step: Step) -> None:
        began = self._clock()
        tries = Tries()
        again = True
        while again:
            message = await link.receive(_LISTEN_S + TALK_S)
            if message.get("go"):
                left = max(1.0, began + self._plan.limit - self._clock())
                result = await self._program(rail, step, link.address, left).run()
                reading = self._tool.read(step.test, result)
            else:
                result = CommandResult(1, "", "")
                why = "%s: the server did not start: %s" % (step.server, message.get("fault"))
                reading = Reading("unknown", detail=why, again=tries.number < _SERVER_TRIES - 1)
            tries = Tries(tries.number + 1, self._clock() - began)
            again = reading.again and tries.seconds + 1 < self._plan.limit
            if again:
                await asyncio.sleep(_RETRY_S)
            await link.send({"again": again})
        self._keep(rail, step, reading, result, tries)

    def _program(self, rail: str, step: Step, address: Optional[str], limit: Optional[float] = None) -> Program:
        argv = self._tool.command(rail, step, address)
        return Program(argv, self._plan.limit + TALK_S if limit is None else limit, self._tool.environment())

    # results

    def _keep(self, rail: str, step: Step, reading: Reading, result: CommandResult, tries: Tries) -> None:
        raw = (result.stdout + result.stderr).strip()
        device = self._tool.device(rail)
        self.outcomes.append(Outcome(rail, step, reading, tries.number, tries.seconds, device, raw))

    def _note_rest(self, rail: str, partner: str, reading: Reading, clients_only: bool = False) -> None:
        """What of this pair and rail will never be measured. Without a partner both directions are ours to tell."""
        for step in self._plan.steps(partner, rail):
            if (rail, step) in self._finished:
                continue
            self._finished.add((rail, step))
            if not clients_only or step.client == self._plan.host:
                self.outcomes.append(Outcome(rail, step, reading, device=self._tool.device(rail)))


def _tail(result: CommandResult) -> str:
    text = (result.stderr.strip() or result.stdout.strip())[-_MOST_DETAIL:]
    return "exit status %d%s" % (result.rc, ": " + text if text else ", no output")
