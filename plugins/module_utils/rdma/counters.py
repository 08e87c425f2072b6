# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error counters of an RDMA port: which are looked at, and how bad it is when one grows while the port is measured.

They count since the driver was loaded, so only growth tells. Names: Documentation/ABI/stable/sysfs-class-infiniband of
the kernel for ``counters``, and mlx5 for ``hw_counters``.
"""

from __future__ import annotations

import os
from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from ..finding import Finding, Severity, Subject
from ..judge.rdma import CHECK
from .devices import CLASS

__all__ = ["PORT_COUNTERS", "PortCounter", "judge_counters", "read_counters"]


class PortCounter(NamedTuple):
    folder: str
    name: str
    severity: Severity
    meaning: str


_WARN, _FAIL = Severity.WARN, Severity.FAIL

PORT_COUNTERS: Tuple[PortCounter, ...] = (
    PortCounter("counters", "symbol_error", _WARN, "symbols damaged on the wire"),
    PortCounter("counters", "link_error_recovery", _FAIL, "the link had to be trained again"),
    PortCounter("counters", "link_downed", _FAIL, "the link went down"),
    PortCounter("counters", "port_rcv_errors", _WARN, "packets that arrived damaged"),
    PortCounter("counters", "port_rcv_remote_physical_errors", _WARN, "packets marked as damaged on their way"),
    PortCounter("counters", "port_xmit_discards", _WARN, "packets that were not sent: the link was down or congested"),
    PortCounter("counters", "local_link_integrity_errors", _FAIL, "errors beyond what the link may have"),
    PortCounter("counters", "excessive_buffer_overrun_errors", _FAIL, "packets lost for want of space"),
    PortCounter("hw_counters", "out_of_sequence", _WARN, "packets lost on the way here, or overtaken"),
    PortCounter("hw_counters", "packet_seq_err", _WARN, "packets lost on the way to the partner, or overtaken"),
    PortCounter("hw_counters", "implied_nak_seq_err", _WARN, "answers lost on the way"),
    PortCounter("hw_counters", "local_ack_timeout_err", _WARN, "no answer in time"),
    PortCounter("hw_counters", "req_transport_retries_exceeded", _FAIL, "the partner did not answer after all retries"),
    PortCounter("hw_counters", "rx_icrc_encapsulated", _FAIL, "RoCE packets with a wrong check sum"),
)
_REMEDY = "Look at the cable and the switch port (error counters, FEC), at MTU, PFC and ECN; then measure again."
# The classic counters stop at their largest value.
_FULL = (255, 65535, 4294967295)


def read_counters(device: str, port: int, root: str = "/") -> Dict[str, int]:
    """Name -> count of what this port has; empty where the kernel shows none."""
    found = {}
    for counter in PORT_COUNTERS:
        path = os.path.join(root, CLASS, device, "ports", str(port), counter.folder, counter.name)
        try:
            with open(path, encoding="ascii") as stream:
                found[counter.name] = int(stream.read())
        except (OSError, ValueError):
            continue
    return found


def judge_counters(
    host: str, network: str, device: str, before: Mapping[str, int], after: Mapping[str, int]
) -> List[Finding]:
    """A finding for each that grew or cannot grow any more; one that says so when none did. None without counters."""
    findings = []
    for counter in PORT_COUNTERS:
        first, last = before.get(counter.name), after.get(counter.name)
        subject = Subject(host, network=network, port=device, item=counter.name)
        where = "%s: %s of %s" % (network, counter.name, device)
        grown = _growth(first, last)
        if first is not None and last is None:
            findings.append(Finding(CHECK, Severity.UNKNOWN, subject, "%s cannot be read any more" % where))
        elif grown:
            message = "%s grew by %d during the measuring: %s" % (where, grown, counter.meaning)
            findings.append(Finding(CHECK, counter.severity, subject, message, grown, 0, "", _REMEDY))
        elif last in _FULL:
            message = "%s is full (%d) and cannot grow" % (where, last)
            remedy = "Reset the port's counters (perfquery -R, or load the driver anew)."
            findings.append(Finding(CHECK, Severity.UNKNOWN, subject, message, last, None, "", remedy))
    if not findings and after:
        subject = Subject(host, network=network, port=device, item="error counters")
        findings.append(Finding(CHECK, Severity.OK, subject, "%s: no error counter of %s grew" % (network, device)))
    return findings


def _growth(first: Optional[int], last: Optional[int]) -> int:
    """One that is smaller than before was reset in between: all that it shows is new."""
    if last is None:
        return 0
    return last if first is None or last < first else last - first
