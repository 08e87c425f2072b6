# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Xid and SXid in the kernel's log since boot."""

from __future__ import annotations

from typing import Any, Dict, List

from ...finding import Finding, Severity
from ...gpu.kernel import sysfs_address
from ...gpu.xid_table import judged
from ...parse.kernel_log import XidEvents
from .base import GpuExpected, Judge

__all__ = ["judge_xid"]

_LOG = "keep more of the log (SystemMaxUse in journald.conf, log_buf_len for the kernel)"


def judge_xid(host: str, reading: Dict[str, Any], _expected: GpuExpected) -> List[Finding]:
    judge = Judge(host, "xid")
    log = reading["kernel_log"]
    if log is None:
        return []
    index_of = {sysfs_address(str(gpu["pci.bus_id"])).rpartition(".")[0]: gpu["index"] for gpu in reading["gpus"]}
    found: List[Finding] = []
    for event in log["events"]:
        events = XidEvents(**event)
        row = judged(events)
        if row.severity is Severity.OK:
            continue
        times = "" if events.count == 1 else ", %d times" % events.count
        message = "%s %d on %s%s: %s; last at %s: %s" % (
            events.kind,
            events.number,
            events.device,
            times,
            row.meaning,
            events.last_time or "an unknown time",
            events.last[:200],
        )
        gpu = index_of.get(events.device)
        found.append(judge.bad(row.severity, message, events.number, "none", row.remedy, gpu=gpu, port=events.device))
    if not log["whole"]:
        message = "the kernel's log (%s) has lost its beginning: it shows nothing before %s" % (
            log["source"],
            log["begins"] or "an unknown time",
        )
        found.append(judge.warn(message, log["begins"], "since boot", _LOG))
    return judge.or_ok(found, "no Xid since boot (%s, %d lines)" % (log["source"], log["lines"]))
