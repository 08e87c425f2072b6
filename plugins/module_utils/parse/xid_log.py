# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kernel log that somebody has already: which Xid and SXid are in it, and whether it goes back to the boot.

The check reads the log of a machine in ``gpu.kernel``; the severity of a number is that of ``gpu.xid_table`` in both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, Optional

from ..errors import ParseError
from ..finding import PASSING, Severity
from ..gpu.xid_table import judged
from .kernel_log import KernelLog, parse_kernel_log
from .text import Ending, Prefixes, clean

__all__ = ["XidReport", "parse_xid_log", "reading"]

TOOL = "kernel log"

# [171167.620236] ...     [Mon Nov 30 23:00:01 2026] ...     2026-11-30T23:00:01+00:00 w1 kernel: ...     Nov 30 ...
_LINE = re.compile(
    r"\[\s*\d+\.\d+\] |\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] "
    r"|(?:\d{4}-\d\d-\d\dT\S+|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) \S+ kernel: "
)


@dataclass(frozen=True)
class XidReport:
    """``cut``: the last line has no end, so an event may be lost."""

    log: KernelLog
    cut: bool

    @property
    def severity(self) -> Severity:
        return max((judged(events).severity for events in self.log.events), default=Severity.OK)

    @property
    def failure(self) -> Optional[str]:
        bad = [events for events in self.log.events if judged(events).severity is not Severity.OK]
        if bad:
            words = ("%s %d on %s (%s)" % (one.kind, one.number, one.device, judged(one).meaning) for one in bad)
            return "xid: %s" % ", ".join(words)
        if self.cut:
            return "partial_output: the last line was cut"
        return None if self.log.whole else "log_without_boot: nothing is known of the time before %s" % self.log.begins

    @property
    def ok(self) -> Optional[bool]:
        """None: no event in a log that does not go back to the boot."""
        if self.failure is None:
            return True
        return None if self.severity in PASSING and self.failure.startswith("log_without_boot") else False


def parse_xid_log(lines: Iterable[str]) -> XidReport:
    ending = Ending(lines)
    log = parse_kernel_log(_bare(ending))
    if not log.recognised:
        raise ParseError(TOOL, 0, "no line of a kernel log: give the output of 'journalctl -k' or 'dmesg'")
    return XidReport(log, ending.cut)


def _bare(lines: Iterable[str]) -> Iterator[str]:
    """Without what a launcher put before the kernel's own time."""
    prefixes = Prefixes(_LINE)
    for raw in lines:
        line = clean(raw)
        text = prefixes.strip(line)
        yield (line if text is None else text).strip()


def reading(report: XidReport) -> Dict[str, Any]:
    rows = []
    for events in report.log.events:
        row = judged(events)
        rows.append({**vars(events), "severity": row.severity.name, "meaning": row.meaning, "remedy": row.remedy})
    return {
        "tool": TOOL,
        "lines": report.log.lines,
        "whole": report.log.whole,
        "begins": report.log.begins,
        "events": rows,
        "ok": report.ok,
        "failure": report.failure,
    }
