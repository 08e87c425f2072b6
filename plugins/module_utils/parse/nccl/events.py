# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that say why a run failed, as a table: what it is called, and how much it says about the cause.

The launcher's "Primary job terminated normally" is no success, and the relay lines of the other ranks are no cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, List, Match, Optional, Pattern, Tuple

__all__ = ["Event", "Notices", "read_event"]


@dataclass(frozen=True)
class Event:
    """``weight``: 3 names the cause, 2 names what was asked for wrongly, 1 only says that a process ended."""

    failure: str
    weight: int
    site: Optional[str] = None
    host: Optional[str] = None
    exit_code: Optional[int] = None

    @property
    def is_cause(self) -> bool:
        return self.weight >= 3


# node-a: Test NCCL failure common.cu:392 'unhandled cuda error (run with NCCL_DEBUG=INFO for details) / '
# NCCL failure all_reduce.cu:95 'unhandled cuda error'                      (2017 to 2019)
_LIBRARY = re.compile(r"\s*(?:(\S+): )?(?:Test )?(NCCL|CUDA) failure (\S+:\d+) '(.*?)'?\s*$")
_LIBRARY_END = re.compile(r"\s*/|\s*\(| - ")


def _library(match: Match[str]) -> Event:
    host, library, site, text = match.groups()
    return Event("%s_error: %s" % (library.lower(), _LIBRARY_END.split(text)[0].strip()), 3, site, _short(host))


#  .. node-a pid 5068: Test failure all_reduce.cu:90
_RELAY = re.compile(r"\s*\.\. (\S+?)(?: pid \d+)?: Test failure (\S+:\d+)")
# node-a: Test timeout (30s) common.cu:400
_TIMEOUT = re.compile(r"\s*(\S+): Test timeout \((\d+) ?s\) (\S+:\d+)")
_GPU_COUNT = re.compile(r"\s*Invalid number of GPUs: (\d+) requested but only (\d+) were found")
_ARGUMENT = re.compile(r"\s*(invalid sizes? (?:specified )?for .*|USAGE:.*)")
_MIXED = re.compile(r"\s*(Incompatible NCCL versions.*)")
_EXIT_CODE = re.compile(r"\s*Exit code:\s+(\d+)")
_LAST_ERROR = re.compile(r"\s*# error: (.*\S)")

_TABLE: Tuple[Tuple[Pattern[str], Callable[[Match[str]], Event]], ...] = (
    (_LIBRARY, _library),
    (_RELAY, lambda m: Event("nccl_error: see the log of the other ranks", 1, m.group(2), _short(m.group(1)))),
    (_TIMEOUT, lambda m: Event("timeout: no end after %s s" % m.group(2), 3, m.group(3), _short(m.group(1)))),
    (_GPU_COUNT, lambda m: Event("invalid_gpu_count: %s requested, %s found" % m.groups(), 3)),
    (_ARGUMENT, lambda m: Event("bad_argument: %s" % m.group(1).strip(), 3)),
    (_MIXED, lambda m: Event("incompatible_nccl: %s" % m.group(1).strip(), 3)),
    (_LAST_ERROR, lambda m: Event("nccl_error: %s" % m.group(1), 2)),
    (_EXIT_CODE, lambda m: Event("mpi_abort: exit code %s" % m.group(1), 1, exit_code=int(m.group(1)))),
)


def read_event(text: str) -> Optional[Event]:
    for pattern, make in _TABLE:
        match = pattern.match(text)
        if match:
            return make(match)
    return None


def _short(host: Optional[str]) -> Optional[str]:
    return host.split(".", 1)[0] if host else None


# The launchers' notices are sentences, wrapped at any column: they are put together before they are read.
_NOTICE_START = re.compile(
    r"\s*(?:(?:mpirun|mpiexec|prterun|orterun) |srun: |slurmstepd: |Primary job|MPI_ABORT|Your job has"
    r"|There are not enough|An ORTE daemon|ORTE was unable)"
)
_NOTICE_LINES = 4
_SIGNAL = re.compile(r"on node (\S+) exited on signal (\d+)")
_SRUN = re.compile(
    r"srun: error: (\S+?): tasks? \S+: (Killed|Aborted|Segmentation fault|Bus error|Exited with exit code (\d+))"
)
_SRUN_SIGNALS = {"Killed": 9, "Aborted": 6, "Segmentation fault": 11, "Bus error": 7}
_REFUSED = (
    # Your job has requested more processes than the ppr for this topology can support
    (re.compile(r"requested more processes than the ppr"), "more processes than the ppr allows"),
    (re.compile(r"not enough slots available"), "not enough slots"),
    (re.compile(r"was unable to (?:find|launch) the specified"), "the program was not found on a host"),
    (re.compile(r"attempt to run as root"), "refuses to run as root"),
    (re.compile(r"ORTE (?:daemon has unexpectedly failed|was unable to reliably start)"), "no daemon on a host"),
    (re.compile(r"srun: error: (?:Unable|Invalid|invalid)"), "the job step was not made"),
)


class Notices:
    """Puts a launcher's wrapped sentences together, line by line."""

    def __init__(self) -> None:
        self._parts: List[str] = []

    def feed(self, line: str) -> Optional[Event]:
        """An event once the sentence that it stands in is complete enough to be read."""
        text = line.strip()
        if _NOTICE_START.match(text):
            self._parts = [text]
        elif not self._parts or not text or text.startswith("---") or len(self._parts) >= _NOTICE_LINES:
            self._parts = []
            return None
        else:
            self._parts.append(text)
        event = _notice(" ".join(self._parts))
        if event:
            self._parts = []
        return event


def _notice(sentence: str) -> Optional[Event]:
    signal = _SIGNAL.search(sentence)
    if signal:
        return Event(
            "mpi_abort: signal %s on %s" % (signal.group(2), _short(signal.group(1))), 2, host=_short(signal.group(1))
        )
    task = _SRUN.search(sentence)
    if task:
        host, words, code = _short(task.group(1)), task.group(2), task.group(3)
        if code:
            return Event("mpi_abort: exit code %s on %s" % (code, host), 1, host=host, exit_code=int(code))
        return Event("mpi_abort: signal %d on %s" % (_SRUN_SIGNALS[words], host), 2, host=host)
    for pattern, text in _REFUSED:
        if pattern.search(sentence):
            return Event("launcher_error: %s" % text, 3)
    if "MPI_ABORT was invoked" in sentence:
        return Event("mpi_abort: MPI_ABORT was invoked", 2)
    if "returned a non-zero exit code" in sentence or "exited with non-zero status" in sentence:
        return Event("mpi_abort: a process returned a non-zero exit code", 1)
    return None
