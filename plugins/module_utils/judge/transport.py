# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge the way that NCCL's data took between each pair of nodes: NVLink inside a domain, RDMA between domains."""

from __future__ import annotations

import re
from typing import Dict, FrozenSet, Iterable, List, Mapping, Optional, Tuple

from ..finding import Finding, Severity, Subject
from ..parse.nccl.transport import TransportReport

__all__ = ["CHECK", "judge_bootstrap", "judge_settings", "judge_transport"]

CHECK = "nccl_transport"

_MNNVL = "P2P/MNNVL"
# NCCL's own network, and plugins that speak RDMA: gIB (Google), IBext (HPC-X), OFI (libfabric).
_RDMA = re.compile(r"NET/(?:IB|gIB|IBext(?:_v\d+)?|OFI)(?:/GDRDMA)?\Z")
_MODE = "NCCL_MNNVL_ENABLE"


def judge_transport(
    report: TransportReport, domains: Mapping[str, str], mnnvl: bool = True, host: str = "fleet"
) -> List[Finding]:
    """``domains``: node -> NVLink domain. With ``mnnvl`` False (NCCL_MNNVL_ENABLE=0) RDMA is expected everywhere."""
    seen = {pair: ways for pair, ways in report.by_hosts.items() if pair[0] != pair[1]}
    findings = [_pair(pair, ways, domains, mnnvl) for pair, ways in sorted(seen.items())]
    silent = sorted(set(domains) - {name for pair in seen for name in pair})
    if len(domains) > 1:
        findings += [_silent(name) for name in silent]
    if not findings:
        findings.append(Finding(CHECK, Severity.UNKNOWN, Subject(host), "no line tells how two nodes are joined"))
    return findings


def _pair(pair: Tuple[str, str], ways: FrozenSet[str], domains: Mapping[str, str], mnnvl: bool) -> Finding:
    first, second = pair
    subject = Subject(first, peer=second)
    known: Dict[str, Optional[str]] = {name: domains.get(name) for name in pair}
    if None in known.values():
        missing = ", ".join(name for name, domain in known.items() if domain is None)
        return Finding(CHECK, Severity.UNKNOWN, subject, "the NVLink domain of %s is not known" % missing)
    inside = mnnvl and known[first] == known[second]
    good = ways == {_MNNVL} if inside else all(_RDMA.match(way) for way in ways)
    wanted = _MNNVL if inside else "NET/IB (RDMA)"
    measured = ", ".join(sorted(ways))
    if good:
        return Finding(CHECK, Severity.OK, subject, "%s as expected" % wanted, measured, wanted)
    remedy = (
        "Look at the fabric state, the clique of both nodes and the IMEX domain; run with NCCL_MNNVL_ENABLE=1."
        if inside
        else "Look at the RDMA devices in the job and at NCCL_IB_HCA; NET/Socket means that NCCL found none."
    )
    return Finding(
        CHECK, Severity.FAIL, subject, "%s instead of %s" % (measured, wanted), measured, wanted, remedy=remedy
    )


def _silent(name: str) -> Finding:
    message = "no line tells how %s is joined to another node" % name
    return Finding(CHECK, Severity.UNKNOWN, Subject(name), message, remedy="Run with NCCL_DEBUG=INFO on every rank.")


def judge_settings(report: TransportReport, wanted: Mapping[str, str], host: str = "fleet") -> List[Finding]:
    """Were the job's NCCL_* variables forwarded to the ranks? mpirun forwards only what -x names."""
    findings = []
    for name, value in sorted(wanted.items()):
        got = report.settings.get(name, frozenset())
        good = got == {value}
        severity = Severity.OK if good else (Severity.FAIL if got else Severity.UNKNOWN)
        remedy = "" if good else "Forward it to every rank (-x %s)." % name
        text = ", ".join(sorted(got)) or None
        message = "%s is %s" % (name, text or "named by no rank")
        findings.append(Finding(CHECK, severity, Subject(host, item=name), message, text, value, remedy=remedy))
    if "2" in report.settings.get(_MODE, frozenset()):
        message = "%s=2 falls back to the network without a word; a test needs 1 or 0" % _MODE
        findings.append(Finding(CHECK, Severity.WARN, Subject(host, item=_MODE), message, "2", "1"))
    return findings


def judge_bootstrap(report: TransportReport, allowed: Iterable[str]) -> List[Finding]:
    """The bootstrap wants the management or compute Ethernet, by its exact name (NCCL_SOCKET_IFNAME is a prefix)."""
    names = tuple(allowed)
    return [
        Finding(
            CHECK,
            Severity.OK if interface in names else Severity.FAIL,
            Subject(host, interface=interface),
            "bootstrap over %s" % interface,
            interface,
            ", ".join(names),
            remedy="" if interface in names else "Set NCCL_SOCKET_IFNAME==%s (with two equal signs: exact)." % names[0],
        )
        for host, interface in sorted(report.bootstrap.items())
    ]
