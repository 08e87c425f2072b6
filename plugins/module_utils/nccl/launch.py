# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a launcher with a log, a time limit and an end: whatever happens, nothing of its process group stays.

Ansible's pipelined modules have no terminal, so nobody tells a module that its controller has gone. The other end of
its standard output goes away, though; that is looked at while waiting.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from types import FrameType
from typing import IO, Any, Callable, Dict, Mapping, Optional, Protocol, Sequence, Tuple

from ..process import end_with_parent, signal_group

__all__ = ["Beside", "Ended", "Launcher", "ProcessLauncher"]

_GRACE = 8.0
_BLOCK = 1 << 16
_WAIT_MS = 500
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
# A launcher that has ended may have left children that hold its output open.
_DRAIN = 1.0
MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True)
class Ended:
    """``reason``: ended, timeout, flood (more output than is kept), abandoned (the controller has gone), missing,
    beside (what goes on beside it went wrong)."""

    rc: Optional[int]
    reason: str
    seconds: float
    size: int = 0
    detail: str = ""


# Called again and again while the launcher runs; says why it has to end, or None.
Beside = Callable[[], Optional[str]]


class Launcher(Protocol):
    def launch(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        log: str,
        timeout: float,
        beside: Optional[Beside] = None,
    ) -> Ended:
        """Run argv with both outputs in the file ``log``, ``timeout`` seconds at the most."""


class ProcessLauncher:
    def __init__(self, most_bytes: int = MOST_BYTES, watched: Optional[int] = 1, grace: float = _GRACE) -> None:
        """``watched``: the descriptor whose far end is the controller."""
        self._most = most_bytes
        self._watched = watched
        self._grace = grace
        self._signal: Optional[int] = None
        self._beside: Optional[Beside] = None
        self._trouble = ""

    def launch(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        log: str,
        timeout: float,
        beside: Optional[Beside] = None,
    ) -> Ended:
        self._beside, self._trouble = beside, ""
        begin = time.monotonic()
        before = self._catch_signals()
        try:
            with open(log, "wb") as stream:
                process, output = _start(argv, environment)
                reason, size = self._follow(process, output, stream, begin + timeout)
        except OSError as exc:
            return Ended(None, "missing", time.monotonic() - begin, detail="%s: %s" % (argv[0], exc.strerror))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return Ended(process.returncode, reason, time.monotonic() - begin, size, self._trouble)

    def _catch_signals(self) -> Dict[int, Any]:
        def note(number: int, _frame: Optional[FrameType]) -> None:
            self._signal = number

        return {number: signal.signal(number, note) for number in _SIGNALS}

    def _follow(
        self, process: subprocess.Popen[bytes], output: IO[bytes], stream: IO[bytes], deadline: float
    ) -> Tuple[str, int]:
        reader = _Reader(output.fileno(), stream, self._most)
        try:
            reason = self._wait(process, reader, deadline)
            if reason != "ended":
                signal_group(process.pid, signal.SIGTERM)
                until = time.monotonic() + self._grace
                while process.poll() is None and time.monotonic() < until:
                    reader.read(_WAIT_MS // 5)
        finally:
            signal_group(process.pid, signal.SIGKILL)
            process.wait()
        until = time.monotonic() + _DRAIN
        while reader.open and time.monotonic() < until:
            reader.read(100)
        output.close()
        return reason, reader.size

    def _wait(self, process: subprocess.Popen[bytes], reader: _Reader, deadline: float) -> str:
        while process.poll() is None:
            if time.monotonic() > deadline:
                return "timeout"
            if self._signal is not None or self._abandoned():
                return "abandoned"
            if reader.full:
                return "flood"
            self._trouble = (self._beside() if self._beside is not None else None) or ""
            if self._trouble:
                return "beside"
            reader.read(_WAIT_MS)
        return "flood" if reader.full else "ended"

    def _abandoned(self) -> bool:
        if self._watched is None:
            return False
        poll = select.poll()
        poll.register(self._watched, 0)
        return any(event & (select.POLLERR | select.POLLHUP) for _descriptor, event in poll.poll(0))


def _start(argv: Sequence[str], environment: Mapping[str, str]) -> Tuple[subprocess.Popen[bytes], IO[bytes]]:
    read, write = os.pipe()
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            env=dict(environment),
            start_new_session=True,
            # Even when this module is killed outright, the launcher is told to end, and ends its ranks.
            preexec_fn=end_with_parent(signal.SIGTERM, 1),  # noqa: PLW1509  (a module has one thread)
        )
    except OSError:
        os.close(read)
        raise
    finally:
        os.close(write)
    return process, os.fdopen(read, "rb")


class _Reader:
    """Copies the output to the log, up to a size; what comes after is read and dropped, so that nobody blocks."""

    def __init__(self, descriptor: int, stream: IO[bytes], most: int) -> None:
        self._descriptor, self._stream, self._most = descriptor, stream, most
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self.size = 0
        self.open = True
        self.full = False

    def read(self, wait_ms: int) -> None:
        if not self.open:
            time.sleep(wait_ms / 1000 / 5)
            return
        if not self._poll.poll(wait_ms):
            return
        block = os.read(self._descriptor, _BLOCK)
        self.open = bool(block)
        kept = block[: self._most - self.size]
        self.full = self.full or len(kept) < len(block)
        self._stream.write(kept)
        self._stream.flush()
        self.size += len(kept)
