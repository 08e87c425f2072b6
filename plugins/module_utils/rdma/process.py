# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs measuring programs beside each other, each in a process group of its own that never outlives its run.

The same promise as ``runner.Runner``, for asyncio: an argv list, the C locale, a time limit. On top of it the output is
bounded: a program that floods is stopped, and its exit status is no success.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import Dict, List, Mapping, Optional, Sequence

from ..process import end_with_parent, signal_group
from ..runner import RC_FLOODED, RC_NOT_FOUND, RC_TIMEOUT, CommandResult

__all__ = ["MOST_OUTPUT", "RC_NOT_EXECUTABLE", "Program"]

MOST_OUTPUT = 256 * 1024
# What a shell answers for a file that may not be executed.
RC_NOT_EXECUTABLE = 126
_BLOCK = 64 * 1024


class Program:
    """One start of a program: ``await Program(argv, limit).run()``. Cancelling the task kills the group."""

    def __init__(self, argv: Sequence[str], limit: float, environment: Optional[Mapping[str, str]] = None) -> None:
        self._argv = list(argv)
        self._limit = limit
        self._environment = _environment(environment or {})
        self._process: Optional[asyncio.subprocess.Process] = None
        self._stopped: Optional[int] = None

    async def run(self) -> CommandResult:
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=self._environment,
                start_new_session=True,
                preexec_fn=end_with_parent(signal.SIGKILL, RC_TIMEOUT),
            )
        except PermissionError as exc:
            return CommandResult(RC_NOT_EXECUTABLE, "", "%s: %s" % (self._argv[0], exc.strerror))
        except OSError as exc:
            return CommandResult(RC_NOT_FOUND, "", "%s: %s" % (self._argv[0], exc.strerror))
        try:
            return await self._wait(self._process)
        finally:
            self._kill()
            with contextlib.suppress(asyncio.CancelledError):
                await self._process.wait()

    def stop(self) -> None:
        """End it without calling that a time limit: its partner is done."""
        self._kill()

    async def _wait(self, process: asyncio.subprocess.Process) -> CommandResult:
        kept: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        streams = (("stdout", process.stdout), ("stderr", process.stderr))
        reading = [self._read(stream, kept[name]) for name, stream in streams if stream is not None]
        try:
            await asyncio.wait_for(asyncio.gather(*reading, process.wait()), self._limit)
        except asyncio.TimeoutError:
            self._stopped = self._stopped or RC_TIMEOUT
            self._kill()
            await process.wait()
        stdout, stderr = (b"".join(kept[name]).decode("utf-8", "replace") for name in ("stdout", "stderr"))
        if self._stopped == RC_TIMEOUT:
            stderr += "\n%s: no end after %g s" % (self._argv[0], self._limit)
        if self._stopped == RC_FLOODED:
            stderr += "\n%s: stopped after %d bytes of output" % (self._argv[0], MOST_OUTPUT)
        return CommandResult(self._stopped or process.returncode or 0, stdout, stderr)

    async def _read(self, stream: asyncio.StreamReader, kept: List[bytes]) -> None:
        size = 0
        while True:
            block = await stream.read(_BLOCK)
            if not block:
                return
            kept.append(block[: max(0, MOST_OUTPUT - size)])
            size += len(block)
            if size > MOST_OUTPUT and self._stopped is None:
                self._stopped = RC_FLOODED
                self._kill()

    def _kill(self) -> None:
        """The whole group, also when its leader has ended and left a child behind."""
        if self._process is not None:
            signal_group(self._process.pid, signal.SIGKILL)


def _environment(extra: Mapping[str, str]) -> Dict[str, str]:
    """``extra`` with an empty value takes a variable away."""
    merged = dict(os.environ, LC_ALL="C", LANGUAGE="C", **extra)
    return {key: value for key, value in merged.items() if value or key not in extra}
