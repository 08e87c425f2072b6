# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine as a process: started as a daemon, known by its pid file, ended through its monitor."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from . import qmp
from .command import run
from .errors import LabError

__all__ = ["age", "alive", "kill", "start"]

KILL_AFTER_S = 10.0


def _pid(folder: Path) -> int | None:
    """Of the running machine. A pid file may be older than another process with the same number: look whose it is."""
    try:
        pid = int((folder / "pid").read_text())
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return pid if os.fsencode(folder / "pid") in words else None


def alive(folder: Path) -> bool:
    return _pid(folder) is not None


def age(folder: Path) -> float:
    """Seconds since the start."""
    return time.time() - (folder / "pid").stat().st_mtime


def start(folder: Path, argv: list[str]) -> None:
    """QEMU goes to the background by itself once the machine runs, and fails with its own words before."""
    run(argv, f"starting the machine {folder.name}")


def kill(folder: Path) -> None:
    """Like a power cut for the guest; QEMU itself still writes its disk file properly."""
    pid = _pid(folder)
    if pid is None:
        return
    try:
        qmp.execute(folder / "monitor.sock", "quit", timeout=KILL_AFTER_S)
    except LabError:
        pass  # closed before it answered, or hangs: the wait below decides
    deadline = time.monotonic() + KILL_AFTER_S
    while alive(folder):
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            deadline += KILL_AFTER_S
        time.sleep(0.05)
