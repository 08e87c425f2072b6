# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands for the switch machine, over its second serial port. The answer's framing: guest/.../lab-switch/commands."""

from __future__ import annotations

import base64
import itertools
import os
import socket
import time
from pathlib import Path

from .errors import LabError
from .paths import Paths
from .plan import SWITCH

__all__ = ["ask_switch", "wait_for_switch"]

_counter = itertools.count(1)


def _exchange(path: Path, line: str, tag: str, timeout: float) -> tuple[int, str]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(str(path))
        connection.sendall(f"{tag} {line}\n".encode())
        for answer in connection.makefile("r", errors="replace"):
            # Only our own answer counts; the rest is an echo, or left over from a caller that was killed.
            if answer.startswith(f"={tag} "):
                _, rc, *output = answer.split()
                return int(rc), base64.b64decode("".join(output)).decode(errors="replace")
    raise ConnectionError("the switch closed the line")


def ask_switch(paths: Paths, command: str, timeout: float = 20) -> str:
    """Run one shell line on the switch; its output, or LabError with it."""
    tag = f"{os.getpid()}.{next(_counter)}"
    try:
        rc, output = _exchange(paths.machine(SWITCH) / "control.sock", command, tag, timeout)
    except OSError as error:
        raise LabError(f"asking the switch to '{command}': {error}. 'scripts/lab status' shows its state") from error
    if rc != 0:
        raise LabError(f"the switch answered '{command}' with {rc}: {output.strip()}")
    return output


def wait_for_switch(paths: Paths, timeout: float = 300) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            ask_switch(paths, "true", timeout=2)
            return
        except LabError:
            if time.monotonic() > deadline:
                raise
