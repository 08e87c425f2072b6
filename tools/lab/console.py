# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A person at a machine's serial console, through its unix socket. Ctrl-] leaves, as in telnet."""

from __future__ import annotations

import os
import select
import socket
import sys
import termios
import tty
from pathlib import Path

from .errors import LabError

__all__ = ["attach"]

LEAVE = b"\x1d"


def attach(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(path))
        except OSError as error:
            raise LabError(
                f"connecting to the console {path}: {error}. Is the machine on? ('scripts/lab status')"
            ) from error
        terminal = sys.stdin.fileno()
        if not os.isatty(terminal):
            _relay(connection, terminal)
            return
        sys.stdout.write("Console of the machine. Enter wakes it, Ctrl-] leaves.\r\n")
        sys.stdout.flush()
        before = termios.tcgetattr(terminal)
        tty.setraw(terminal)
        try:
            _relay(connection, terminal)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _relay(connection: socket.socket, terminal: int) -> None:
    far = connection.fileno()
    while True:
        readable, _, _ = select.select([far, terminal], [], [])
        if far in readable:
            data = connection.recv(4096)
            if not data:
                return
            os.write(sys.stdout.fileno(), data)
        if terminal in readable:
            typed = os.read(terminal, 4096)
            if not typed or LEAVE in typed:
                return
            connection.sendall(typed)
