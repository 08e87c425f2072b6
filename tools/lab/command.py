# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program to its end, or fail with its own words."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import LabError
from .prerequisites import SEARCH_PATH

__all__ = ["environment", "run"]


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"}


def run(argv: Sequence[str | Path], doing: str, *, stdin: str | None = None, log: Path | None = None) -> str:
    """Standard output; or LabError: ``doing``, the command and the end of what it said. ``log`` takes all it says."""
    words = [str(word) for word in argv]
    done = subprocess.run(
        words, input=stdin, capture_output=True, text=True, errors="replace", env=environment(), check=False
    )
    if log is not None:
        log.write_text(done.stdout + done.stderr)
    if done.returncode != 0:
        said = " | ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        where = f" (all of it: {log})" if log is not None else ""
        raise LabError(f"{doing}: {shlex.join(words[:2])} ended with {done.returncode}: {said}{where}")
    return done.stdout
