# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""External programs behind one small protocol: libraries never see Ansible, tests start no process."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Protocol, Sequence

from .process import Conversation

__all__ = ["CommandResult", "ModuleRunner", "Runner", "SubprocessRunner"]

# What a shell answers for a program that is not there, what timeout(1) answers for one that took too long, and what a
# shell answers for one that wrote more than it may (128 + SIGXFSZ).
RC_NOT_FOUND = 127
RC_TIMEOUT = 124
RC_FLOODED = 153


@dataclass(frozen=True)
class CommandResult:
    """``rc`` 127: the program is missing; 124: it was killed at the time limit; 153: for saying too much."""

    rc: int
    stdout: str
    stderr: str

    @property
    def missing(self) -> bool:
        return self.rc == RC_NOT_FOUND

    @property
    def timed_out(self) -> bool:
        return self.rc == RC_TIMEOUT

    @property
    def flooded(self) -> bool:
        return self.rc == RC_FLOODED


class Runner(Protocol):
    def run(self, argv: Sequence[str], timeout: Optional[float] = None, stdin: Optional[str] = None) -> CommandResult:
        """Run argv (never a shell) in the C locale and wait for it, ``timeout`` seconds at the most."""


def _environment() -> Dict[str, str]:
    return dict(os.environ, LC_ALL="C", LANGUAGE="C")


class SubprocessRunner:
    """Runs for real. At the time limit, or after ``most_bytes`` of output, the whole process group is ended."""

    most_bytes = 64 * 1024 * 1024

    def run(self, argv: Sequence[str], timeout: Optional[float] = None, stdin: Optional[str] = None) -> CommandResult:
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as exc:
            return CommandResult(RC_NOT_FOUND, "", "%s: %s" % (argv[0], exc.strerror))
        talk = Conversation(process, self.most_bytes)
        talk.hold((stdin or "").encode("utf-8"), timeout)
        stdout, stderr = talk.text("stdout"), talk.text("stderr")
        if talk.ended == "timeout":
            return CommandResult(RC_TIMEOUT, stdout, stderr + "\n%s: no end after %s s" % (argv[0], timeout))
        if talk.ended == "flood":
            limit = "%d MiB" % (self.most_bytes >> 20)
            return CommandResult(RC_FLOODED, stdout, stderr + "\n%s: ended after %s of output" % (argv[0], limit))
        return CommandResult(process.returncode, stdout, stderr)


class ModuleRunner(SubprocessRunner):
    """On a target, inside a module. ``get_bin_path`` also looks in /sbin and /usr/sbin, which PATH may lack."""

    def __init__(self, module: Any) -> None:
        self._find: Callable[[str], Optional[str]] = module.get_bin_path

    def run(self, argv: Sequence[str], timeout: Optional[float] = None, stdin: Optional[str] = None) -> CommandResult:
        program = argv[0] if "/" in argv[0] else self._find(argv[0])
        if program is None:
            return CommandResult(RC_NOT_FOUND, "", "%s: not installed" % argv[0])
        return super().run([program, *argv[1:]], timeout=timeout, stdin=stdin)
