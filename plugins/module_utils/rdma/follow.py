# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the agent to its end, or until a signal or the loss of the controller ends it."""

from __future__ import annotations

import asyncio
import select
import signal
import time
from dataclasses import dataclass
from typing import Any, Optional, Sequence

from ..errors import MeasureError
from .agent import Agent, Tool
from .outcome import Outcome
from .plan import Plan

__all__ = ["Measured", "follow"]

_ORPHAN_POLL_S = 1.0


@dataclass(frozen=True)
class Measured:
    outcomes: Sequence[Outcome]
    seconds: float


def follow(plan: Plan, tool: Tool, caller: Optional[int] = None) -> Measured:
    """Run the agent. Raises MeasureError when a signal ends it, or nobody reads file descriptor ``caller`` any more."""
    began = time.monotonic()
    agent = Agent(plan, tool)
    asyncio.run(_guarded(agent, caller))
    return Measured(agent.outcomes, time.monotonic() - began)


async def _guarded(agent: Agent, caller: Optional[int]) -> None:
    running = asyncio.ensure_future(agent.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, running.cancel)
    watching = asyncio.ensure_future(_watch_caller(running, caller))
    try:
        await running
    except asyncio.CancelledError:
        raise MeasureError("the run was stopped; every program that it had started has been ended") from None
    finally:
        watching.cancel()


async def _watch_caller(running: "asyncio.Future[Any]", caller: Optional[int]) -> None:
    """Where the connection to the controller is cut, sshd sends no signal: it only closes the pipe."""
    if caller is None:
        return
    poll = select.poll()
    poll.register(caller, 0)
    while not any(event & (select.POLLERR | select.POLLHUP) for _fd, event in poll.poll(0)):
        await asyncio.sleep(_ORPHAN_POLL_S)
    running.cancel()
