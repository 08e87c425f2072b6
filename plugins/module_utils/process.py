# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Talk to a child process whose time and output are bounded. ``Popen.communicate`` bounds only the time."""

from __future__ import annotations

import ctypes
import os
import selectors
import signal
import subprocess
import time
from typing import IO, Any, Callable, Dict, List, Optional, cast

__all__ = ["Conversation", "end_with_parent", "signal_group"]

_PR_SET_PDEATHSIG = 1

_BLOCK = 256 * 1024
# Between the request to end and the end by force: dcgmi and mpirun use it to end what they started elsewhere.
_GRACE = 3.0


class Conversation:
    """``ended``: "exit", "timeout" or "flood". After the last two the whole process group is gone."""

    def __init__(self, process: "subprocess.Popen[bytes]", most_bytes: int) -> None:
        self._process = process
        self._most = most_bytes
        self._kept: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
        self._size = 0
        self.ended = "exit"

    def text(self, stream: str) -> str:
        return b"".join(self._kept[stream]).decode("utf-8", "replace")

    def hold(self, stdin: bytes, timeout: Optional[float]) -> None:
        """Write stdin and read both outputs until they are closed, the time is up or too much was said."""
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            self._exchange(stdin, deadline)
            if self.ended == "exit":
                self._process.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.ended = "timeout"
        finally:
            if self.ended != "exit" or self._process.poll() is None:
                self._end()
            for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
                if stream is not None and not stream.closed:
                    _close(stream)

    def _exchange(self, stdin: bytes, deadline: Optional[float]) -> None:
        with selectors.DefaultSelector() as selector:
            for name in ("stdout", "stderr"):
                selector.register(cast(Any, getattr(self._process, name)), selectors.EVENT_READ, name)
            if self._process.stdin is not None:
                os.set_blocking(self._process.stdin.fileno(), False)
                selector.register(self._process.stdin, selectors.EVENT_WRITE, "stdin")
            while selector.get_map() and self.ended == "exit":
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    self.ended = "timeout"
                    return
                for key, _events in selector.select(left):
                    stream = cast("IO[bytes]", key.fileobj)
                    if key.data == "stdin":
                        stdin = _write(stream, stdin)
                        done = not stdin
                    else:
                        done = not self._take(key.data, os.read(stream.fileno(), _BLOCK))
                    if done:
                        selector.unregister(stream)
                        _close(stream)

    def _take(self, name: str, block: bytes) -> bool:
        room = self._most - self._size
        self._kept[name].append(block[:room])
        self._size += len(block)
        if self._size > self._most:
            self.ended = "flood"
        return bool(block)

    def _end(self) -> None:
        signal_group(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            pass
        # The leader may be gone while others of its group are not.
        signal_group(self._process.pid, signal.SIGKILL)
        self._process.wait()


def end_with_parent(number: int, otherwise: int) -> Callable[[], None]:
    """For ``preexec_fn``: a parent that is killed outright sends its child ``number``; a child whose parent is gone
    already ends with the status ``otherwise``."""
    libc, parent = ctypes.CDLL(None), os.getpid()

    def set_signal() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(otherwise)

    return set_signal


def _write(stream: "IO[bytes]", data: bytes) -> bytes:
    """What is still to be written; nothing once the reader is gone."""
    try:
        return data[os.write(stream.fileno(), data[:_BLOCK]) :] if data else b""
    except BrokenPipeError:
        return b""


def _close(stream: "IO[bytes]") -> None:
    try:
        stream.close()
    except BrokenPipeError:
        pass


def signal_group(group: int, number: int) -> None:
    """To all of a process group; one that has ended already is no error, nor is one that is not ours any more."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass
