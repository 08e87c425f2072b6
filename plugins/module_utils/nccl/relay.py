# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carries requests of mpirun's agent out of the first pod: each becomes a kubectl exec into the pod that is asked for.

So no pod needs a key, an SSH server, kubectl, or rights of its own: what the run may do is what the user of the
kubeconfig may do, and only in the run's own pods.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import IO, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple, cast

from ..process import end_with_parent, signal_group

__all__ = ["Relay"]

_BLOCK = 65536
# The command of a daemon has some kilobytes.
_MOST_REQUEST = 1 << 20
_TAIL = 2000


class Relay:
    """``exec_argv(pod, words)`` is the command line that runs words in a pod. Never waits: ``turn`` does what there is
    to do, and says what went wrong."""

    def __init__(
        self,
        exec_argv: Callable[[str, Sequence[str]], List[str]],
        pods: FrozenSet[str],
        prefix: Sequence[str],
    ) -> None:
        self._exec_argv = exec_argv
        self._pods = pods
        self._prefix = list(prefix)
        self._watch: Optional[_Child] = None
        self._buffer = b""
        self._daemons: Dict[str, _Child] = {}

    def start(self, pod: str, words: Sequence[str]) -> None:
        """Begin to listen in the first pod."""
        self._watch = _Child(self._exec_argv(pod, words))

    def turn(self) -> Optional[str]:
        trouble = self._listen()
        for pod, child in list(self._daemons.items()):
            child.read()
            status = child.status()
            if status is not None:
                self._daemons.pop(pod).end()
            if status:
                said = child.tail.decode("utf-8", "replace").strip()
                trouble = trouble or "pod %s: kubectl exec of MPI's daemon ended with exit status %d: %s" % (
                    pod,
                    status,
                    said or "nothing was said",
                )
        return trouble

    def close(self) -> None:
        for child in [*self._daemons.values(), *([self._watch] if self._watch is not None else [])]:
            child.end()
        self._daemons, self._watch = {}, None

    def _listen(self) -> Optional[str]:
        if self._watch is None:
            return None
        self._buffer += self._watch.read()
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            pod, _space, command = line.decode("utf-8", "replace").partition(" ")
            if pod not in self._pods or pod in self._daemons:
                return "mpirun asked for a process in %r, which is no pod of the run, or has one already" % pod[:100]
            self._daemons[pod] = _Child(self._exec_argv(pod, [*self._prefix, "sh", "-c", command]))
        if len(self._buffer) > _MOST_REQUEST:
            return "the agent in the first pod writes without end"
        status = self._watch.status()
        if status is not None:
            said = self._watch.tail.decode("utf-8", "replace").strip()
            return "kubectl exec of the agent's listener ended with exit status %d: %s" % (status, said)
        return None


class _Child:
    """A process whose output is read without waiting; its own group, which ends with this process."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=end_with_parent(signal.SIGKILL, 1),  # noqa: PLW1509  (a module has one thread)
        )
        self._streams = cast(Tuple[IO[bytes], IO[bytes]], (self._process.stdout, self._process.stderr))
        self.tail = b""
        for stream in self._streams:
            os.set_blocking(stream.fileno(), False)

    def read(self) -> bytes:
        """What it has written to stdout since; the end of everything it says is kept in ``tail``."""
        said, errors = (_read(stream) for stream in self._streams)
        self.tail = (self.tail + said + errors)[-_TAIL:]
        return said

    def status(self) -> Optional[int]:
        status = self._process.poll()
        if status is not None:
            self.read()
        return status

    def end(self) -> None:
        signal_group(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in self._streams:
            stream.close()


def _read(stream: IO[bytes]) -> bytes:
    try:
        return os.read(stream.fileno(), _BLOCK)
    except BlockingIOError:
        return b""
