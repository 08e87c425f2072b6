# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""QEMU's machine protocol over its unix socket: one connection for each command."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import LabError

__all__ = ["execute", "human"]


class _Session:
    def __init__(self, connection: socket.socket, path: Path) -> None:
        self._file = connection.makefile("rwb")
        self._path = path

    def read(self) -> dict[str, Any]:
        line = self._file.readline()
        if not line:
            raise LabError(f"the machine closed its monitor {self._path}: it ended meanwhile")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, command: str, arguments: dict[str, Any]) -> Any:
        self._file.write(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        self._file.flush()
        while "event" in (answer := self.read()):
            pass
        if "error" in answer:
            raise LabError(f"QEMU refused {command}: {answer['error']['desc']} ({self._path})")
        return answer["return"]


@contextmanager
def _session(path: Path, timeout: float) -> Iterator[_Session]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(str(path))
            session = _Session(connection, path)
            session.read()  # the greeting
            session.ask("qmp_capabilities", {})
            yield session
        except OSError as error:
            raise LabError(f"talking to the monitor {path}: {error}") from error


def execute(path: Path, command: str, timeout: float = 60, **arguments: Any) -> Any:
    with _session(path, timeout) as session:
        return session.ask(command, arguments)


def human(path: Path, line: str, timeout: float = 120) -> None:
    """A command of the human monitor, which is silent when all is well (savevm, loadvm, set_link)."""
    said = execute(path, "human-monitor-command", timeout, **{"command-line": line})
    if said.strip():
        raise LabError(f"QEMU refused '{line}': {said.strip()} ({path})")
