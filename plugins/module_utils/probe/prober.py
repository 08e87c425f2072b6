# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the path MTU to many peers at once, at a bounded rate. Knows neither sockets nor the clock.

A host's packets a second are bounded by ``Pace.rate``, those after a loss by a quarter of it, and those without an
answer by ``Pace.window``. A reply that comes late still proves that its size passes, whatever was concluded meanwhile.
"""

from __future__ import annotations

import errno
import heapq
import os
from collections import deque
from dataclasses import dataclass
from typing import Callable, Deque, Iterable, List, Optional, Protocol, Sequence, Tuple

from ..errors import ConfigError
from .packet import SMALL, Answer, Event, Refusal
from .search import Search

__all__ = ["Outcome", "Pace", "Target", "Wire", "probe"]

# A burst makes up for the coarse timer of a busy machine.
BURST = 8
AFTER_A_LOSS = 4
# Errors of a send that another try does not change. EPERM: a packet filter of this host.
_LOCAL_ERRORS = (
    errno.ENETUNREACH,
    errno.EHOSTUNREACH,
    errno.ENETDOWN,
    errno.ENODEV,
    errno.EADDRNOTAVAIL,
    errno.EACCES,
    errno.EPERM,
    errno.EINVAL,
)


@dataclass(frozen=True)
class Target:
    """One path to measure. ``device_mtu`` is what the sending device has now, ``expected`` what should pass."""

    network: str
    peer: str
    source: str
    interface: str
    address: str
    expected: int
    device_mtu: Optional[int] = None

    @property
    def version(self) -> int:
        return 6 if ":" in self.address else 4


@dataclass(frozen=True)
class Outcome:
    """``measured``: the largest packet that passes, None if none does. ``detail`` says more about what is not ok."""

    target: Target
    state: str
    measured: Optional[int] = None
    rtt_us: Optional[float] = None
    detail: str = ""


@dataclass(frozen=True)
class Pace:
    rate: float = 500.0
    retries: int = 2
    timeout: float = 1.0  # of the last try
    window: int = 128
    phase: float = 0.0  # 0 to 1: this host's place in the first interval, so that hosts started at once do not beat

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.timeout > 0 and self.retries >= 0):
            raise ConfigError(
                "rate %s, timeout %s, retries %s: rate and timeout must be above 0, retries 0 or more"
                % (self.rate, self.timeout, self.retries)
            )

    def patience(self, tries: int) -> float:
        """Seconds to wait after so many tries. Asking again early does no harm: late replies count."""
        return self.timeout / 2.0 ** min(self.retries - tries, 2)


class Wire(Protocol):
    """The outside world."""

    def send(self, target: Target, number: int, size: int) -> int:
        """0, or the errno of the send."""

    def receive(self) -> Iterable[Event]:
        """All that has come in. Does not wait."""

    def wait(self, seconds: float) -> None:
        """Until something can be received, ``seconds`` at the most."""


class _Path:
    """A path while it is being measured."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.search = Search(target.expected, SMALL[target.version])
        self.tries = 0
        self.awaited: Optional[int] = None  # number of the probe whose answer decides the next step
        self.rtt_us: Optional[float] = None
        self.reason = ""  # who refuses to carry packets to the peer
        self.detail = ""
        self.outcome: Optional[Outcome] = None

    def judged(self) -> Outcome:
        found, target = self.search.passed, self.target
        if found >= target.expected:
            return Outcome(target, "ok", found, self.rtt_us)
        if found:
            return Outcome(target, "path_mtu", found, self.rtt_us, self.detail)
        return Outcome(target, "no_route" if self.reason else "no_reply", detail=self.reason or self.detail)


@dataclass
class _Probe:
    path: _Path
    size: int
    sent: float
    answered: bool = False


class _Pacer:
    def __init__(self, interval: float, start: float) -> None:
        self.interval = interval
        self.due = start

    def take(self, now: float) -> bool:
        if now < self.due:
            return False
        self.due = max(self.due, now - BURST * self.interval) + self.interval
        return True


def probe(targets: Sequence[Target], wire: Wire, pace: Pace, clock: Callable[[], float]) -> List[Outcome]:
    """One outcome for each target, in their order."""
    return _Prober(targets, wire, pace, clock).run()


def last_with(sequence: int, count: int) -> int:
    """The latest of the probes 0 to count - 1 that went out with this 16-bit sequence; negative: none did."""
    return count - 1 - ((count - 1 - sequence) & 0xFFFF)


class _Prober:
    def __init__(self, targets: Sequence[Target], wire: Wire, pace: Pace, clock: Callable[[], float]) -> None:
        self.wire, self.pace, self.clock = wire, pace, clock
        self.paths = [_Path(target) for target in targets]
        self.probes: List[_Probe] = []
        self.deadlines: List[Tuple[float, int]] = []
        self.waiting = 0
        self.unfinished = len(self.paths)
        start = clock() + pace.phase / pace.rate
        # First questions, and those after a loss or an answer: (who may ask now, when the next one may be asked).
        self.fresh: Tuple[Deque[_Path], _Pacer] = (deque(self.paths), _Pacer(1 / pace.rate, start))
        self.again: Tuple[Deque[_Path], _Pacer] = (deque(), _Pacer(AFTER_A_LOSS / pace.rate, start))

    def run(self) -> List[Outcome]:
        while self.unfinished:
            # Replies first: on a machine that was busy they may have come in time, only we were late.
            for event in self.wire.receive():
                self._on_answer(event) if isinstance(event, Answer) else self._on_refusal(event)
            now = self.clock()
            self._expire(now)
            self._ask(now)
            if self.unfinished:
                self.wire.wait(self._pause(now))
        return [path.outcome or path.judged() for path in self.paths]

    def _pause(self, now: float) -> float:
        times = [self.deadlines[0][0]] if self.deadlines else []
        if self.waiting < self.pace.window:
            times += [pacer.due for queue, pacer in (self.fresh, self.again) if queue]
        return max(0.0, min(times, default=now) - now)

    def _ask(self, now: float) -> None:
        for queue, pacer in (self.again, self.fresh):
            while queue and self.waiting < self.pace.window and pacer.take(now):
                self._send(queue.popleft(), now)

    def _send(self, path: _Path, now: float) -> None:
        size = path.search.next()
        if size is None or path.awaited is not None:
            return  # a late reply settled it while it stood in the queue
        number = len(self.probes)
        error = self.wire.send(path.target, number, size)
        if error == errno.EMSGSIZE:
            self._finish(path, Outcome(path.target, "local_mtu", path.target.device_mtu))
            return
        if error in _LOCAL_ERRORS:
            self._finish(path, Outcome(path.target, "no_route", detail=os.strerror(error)))
            return
        self.probes.append(_Probe(path, size, now))
        path.awaited = number
        self.waiting += 1
        heapq.heappush(self.deadlines, (now + self.pace.patience(path.tries), number))

    def _settled(self, number: int) -> bool:
        return self.probes[number].path.awaited != number

    def _expire(self, now: float) -> None:
        while self.deadlines and (self.deadlines[0][0] <= now or self._settled(self.deadlines[0][1])):
            _deadline, number = heapq.heappop(self.deadlines)
            if self._settled(number):
                continue
            lost = self.probes[number]
            self._stop_waiting(lost.path)
            lost.path.tries += 1
            if lost.path.tries > self.pace.retries:
                self._no(lost)
            else:
                self.again[0].append(lost.path)

    def _on_answer(self, answer: Answer) -> None:
        if answer.number >= len(self.probes):
            return
        asked = self.probes[answer.number]
        if asked.answered or answer.size != asked.size:
            return
        asked.answered = True
        path = asked.path
        if not answer.whole:
            path.detail = "larger ones come back in fragments: the peer's own device or the way back is small"
            if path.awaited == answer.number:
                self._no(asked)
            return
        path.search.answered(asked.size)
        path.reason = ""
        path.rtt_us = round((self.clock() - asked.sent) * 1e6, 1)
        self._next(path)

    def _on_refusal(self, refusal: Refusal) -> None:
        """Noted only. The probe still runs into its time limit and is asked again: anybody can forge such a packet."""
        asked = self._by_sequence(refusal)
        if asked is None:
            return
        if refusal.mtu is not None:
            asked.path.search.hint(refusal.mtu)
        elif refusal.sender == asked.path.target.source:
            asked.path.detail = "no neighbour answers for that address"
        else:
            asked.path.reason = "%s says: %s" % (refusal.sender, refusal.reason)

    def _by_sequence(self, refusal: Refusal) -> Optional[_Probe]:
        number = last_with(refusal.sequence, len(self.probes))
        if number < 0 or self.probes[number].path.target.address != refusal.destination:
            return None
        return self.probes[number]

    def _no(self, lost: _Probe) -> None:
        lost.path.search.lost(lost.size)
        self._next(lost.path)

    def _next(self, path: _Path) -> None:
        """The last question is settled (or a late reply settled more): ask the next, or finish."""
        self._stop_waiting(path)
        path.tries = 0
        if path.search.next() is None:
            self._finish(path, path.judged())
            return
        if path.outcome is not None:
            path.outcome = None
            self.unfinished += 1
        self.again[0].append(path)

    def _stop_waiting(self, path: _Path) -> None:
        if path.awaited is not None:
            path.awaited = None
            self.waiting -= 1

    def _finish(self, path: _Path, outcome: Outcome) -> None:
        if path.outcome is None:
            self.unfinished -= 1
        path.outcome = outcome
