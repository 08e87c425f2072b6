# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ``dcgmi diag`` within a time limit, and keep what it printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Tuple

from ..errors import ClusterError, MeasureError
from ..host.files import Root
from ..parse.dcgmi_diag import DiagReport, parse_dcgmi_diag
from ..runner import CommandResult, Runner

__all__ = ["LEVELS", "DiagPlan", "DiagRun", "busy", "run_diag"]

# Seconds by run level: about four times what NVIDIA's documentation gives as usual (seconds, 2 min, 15 min, 1 to 2 h).
LEVELS = {1: 120, 2: 600, 3: 3600, 4: 14400}
# For dcgmi to stop the diagnostic in the host engine by itself, before it is ended.
_GRACE = 30


@dataclass(frozen=True)
class DiagPlan:
    level: int
    time_limit: float
    json: bool = True

    def argv(self, own_limit: bool = False) -> Tuple[str, ...]:
        """``own_limit``: dcgmi knows --timeout, and then also stops what it started in the host engine."""
        limit = ("--timeout", "%d" % self.time_limit) if own_limit else ()
        return ("dcgmi", "diag", "-r", str(self.level), *(("-j",) if self.json else ()), *limit)


@dataclass(frozen=True)
class DiagRun:
    """``report`` None: nothing readable came, for the ``reason``. With both, the report is not to be trusted alone."""

    argv: Tuple[str, ...]
    rc: Optional[int]
    report: Optional[DiagReport]
    reason: str = ""
    log: str = ""


def busy(runner: Runner) -> List[str]:
    """Processes that compute on a GPU now. Raises MeasureError if that cannot be told."""
    argv = ["nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader"]
    result = runner.run(argv, timeout=60)
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    if result.rc != 0 or not all(line[:1].isdigit() for line in lines):
        raise MeasureError("whether the GPUs are in use is not known: %s" % _words(result))
    return lines


def run_diag(root: Root, runner: Runner, plan: DiagPlan, log: str) -> DiagRun:
    own_limit = "--timeout" in runner.run(["dcgmi", "diag", "--help"], timeout=30).stdout
    argv = plan.argv(own_limit)
    result = runner.run(argv, timeout=plan.time_limit + (_GRACE if own_limit else 0))
    kept = _keep(root, log, argv, result)
    report: Optional[DiagReport] = None
    reason = ""
    try:
        report = parse_dcgmi_diag(result.stdout.splitlines(keepends=True))
    except ClusterError:
        reason = "dcgmi diag: %s" % _words(result)
    if result.missing or result.timed_out or result.flooded:
        reason = _words(result)
    elif report is not None and result.rc != 0 and not report.failed:
        reason = "dcgmi diag: rc %d although no test failed: %s" % (result.rc, _words(result))
    return DiagRun(argv, result.rc, report, reason, kept)


def _keep(root: Root, log: str, argv: Tuple[str, ...], result: CommandResult) -> str:
    """The path, or "" when it could not be written: a full disk is no reason to lose the result."""
    text = "$ %s\nrc %d\n--- stdout\n%s\n--- stderr\n%s\n" % (" ".join(argv), result.rc, result.stdout, result.stderr)
    try:
        root.write(log, text, 0o640)
    except ClusterError:
        return ""
    return log


def _words(result: CommandResult) -> str:
    lines = [line.strip() for line in (result.stderr + "\n" + result.stdout).splitlines() if line.strip()]
    if result.missing or result.timed_out or result.flooded:
        return lines[-1] if result.timed_out or result.flooded else (lines or ["dcgmi: not installed"])[0]
    return lines[0][:300] if lines else "it printed nothing"
