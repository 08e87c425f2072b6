# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes of a run on this host, found by the mark in their environment; never by name."""

from __future__ import annotations

import os
import signal
import time
from typing import Callable, Iterable, List

from .environment import MARK

__all__ = ["end_marked", "marked"]

_GRACE = 3.0
_STEP = 0.1


def marked(run_id: str, proc: str = "/proc") -> List[int]:
    wanted = ("%s=%s" % (MARK, run_id)).encode()
    found = []
    for name in os.listdir(proc):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("%s/%s/environ" % (proc, name), "rb") as stream:
                if wanted in stream.read().split(b"\0"):
                    found.append(int(name))
        except OSError:
            continue  # it has ended, or it is not ours
    return sorted(found)


def end_marked(run_id: str, clock: Callable[[], float] = time.monotonic) -> List[str]:
    """End what is left of the run: politely, then not. Returns what had to be ended, as "PID name"."""
    names = {pid: _name(pid) for pid in marked(run_id)}
    _signal(names, signal.SIGTERM)
    deadline = clock() + _GRACE
    left = marked(run_id)
    while left and clock() < deadline:
        time.sleep(_STEP)
        left = marked(run_id)
    # A killed process is there for a moment longer, and may just have started another one.
    deadline = clock() + _GRACE
    while left and clock() < deadline:
        for pid in left:
            names.setdefault(pid, _name(pid))
        _signal(left, signal.SIGKILL)
        time.sleep(_STEP)
        left = marked(run_id)
    return ["%d %s" % pair for pair in sorted(names.items())]


def _name(pid: int) -> str:
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8", errors="replace") as stream:
            return stream.read().strip()
    except OSError:
        return "?"


def _signal(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue
