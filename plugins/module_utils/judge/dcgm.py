# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge a run of ``dcgmi diag``. Pure. Skipped tests are no pass, and an exit status must fit the table."""

from __future__ import annotations

from typing import Any, Dict, List, Optional

from ..finding import Finding, Severity, Subject
from ..gpu.dcgm import DiagRun
from ..parse.dcgmi_diag import DiagReport, DiagTest

__all__ = ["dcgm_report", "judge_busy", "judge_dcgm"]

CHECK = "dcgm"
_REPORT = "drain the node; run the test again alone; if it fails again report the host as faulty, with the log"
_TOOL = (
    "install datacenter-gpu-manager and start nvidia-dcgm; where the GPU operator runs DCGM, dcgmi is in its own pod "
    "(nvidia-dcgm), not in those of the device plugin or the exporter"
)
_LIMIT = "look whether nvvs still runs on the host (end it by restarting nvidia-dcgm); set a longer time limit"


def judge_busy(host: str, users: List[str], reason: str) -> List[Finding]:
    """Empty: nobody uses the GPUs."""
    if not users and not reason:
        return []
    message = reason or "not run: %d processes use the GPUs: %s" % (len(users), ", ".join(users[:4]))
    remedy = "drain the node first, or set allow_busy: the diagnostic disturbs what runs, and that disturbs it"
    return [Finding(CHECK, Severity.UNKNOWN, Subject(host, item="busy"), message, len(users), 0, "processes", remedy)]


def judge_dcgm(host: str, run: DiagRun) -> List[Finding]:
    report = run.report
    findings = _tests(host, report) if report is not None else []
    if run.reason:
        remedy = _LIMIT if run.rc in (124, 153) else _TOOL
        findings.append(Finding(CHECK, Severity.UNKNOWN, Subject(host, item="run"), run.reason, run.rc, 0, "", remedy))
    elif report is not None and not report.failed and not report.ok:
        message = "dcgmi diag: %s" % report.failure
        findings.append(Finding(CHECK, Severity.UNKNOWN, Subject(host, item="run"), message, remedy=_LIMIT))
    if findings or report is None:
        return findings
    passed = [test.name for test in report.tests if test.word == "pass"]
    others = [test.name for test in report.tests if test.word != "pass"]
    message = "%d tests passed" % len(passed)
    if others:
        message += "; not run: %s" % ", ".join(others)
    return [Finding(CHECK, Severity.OK, Subject(host, item="run"), message, len(passed), None, "tests")]


def _tests(host: str, report: DiagReport) -> List[Finding]:
    findings: List[Finding] = []
    for test in report.tests:
        if test.word == "fail":
            gpus: List[Optional[int]] = list(test.failed_gpus) or [None]
            findings.extend(_finding(host, test, Severity.FAIL, gpu) for gpu in gpus)
        elif test.word not in ("pass", "skip", "not run"):
            findings.append(_finding(host, test, Severity.WARN, None))
    return findings


def _finding(host: str, test: DiagTest, severity: Severity, gpu: Optional[int]) -> Finding:
    details = ": %s" % "; ".join(test.details)[:500] if test.details else ""
    message = "%s: %s%s" % (test.name, test.word, details)
    return Finding(CHECK, severity, Subject(host, gpu=gpu, item=test.name), message, test.word, "pass", "", _REPORT)


def dcgm_report(run: DiagRun) -> Dict[str, Any]:
    tests = run.report.tests if run.report is not None else ()
    return {
        "command": " ".join(run.argv),
        "rc": run.rc,
        "version": run.report.version if run.report is not None else None,
        "tests": [
            {
                "name": test.name,
                "state": test.word,
                "failed_gpus": list(test.failed_gpus),
                "details": list(test.details),
            }
            for test in tests
        ],
        "log": run.log,
    }
