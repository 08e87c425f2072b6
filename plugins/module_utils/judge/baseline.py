# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge a machine's baseline: host name, swap, kernel modules, sysctls, limits, clock, holds. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ..finding import Finding, Severity, Subject
from ..host.swap import TARGET, SwapState
from ..parse.chrony import ChronyTracking

__all__ = ["BaselineReading", "BaselineWanted", "SysctlReading", "judge_baseline", "report_items"]

ROLE = "run role gpufleet.cluster.node_baseline"


@dataclass(frozen=True)
class SysctlReading:
    """``live``: in the kernel now; ``boot``: after a boot; ``place``: the file and line that decide; ``undoing``: lines
    of other files that would set another value."""

    live: Optional[str]
    boot: Optional[str]
    place: str = ""
    undoing: Tuple[str, ...] = ()


@dataclass(frozen=True)
class BaselineReading:
    """What was measured. Where a string stands in place of a value, it says why that could not be measured."""

    hostname: str
    static_hostname: str
    addresses: Tuple[str, ...]  # of the own name in /etc/hosts
    swap: Union[SwapState, str]
    modules_loaded: Tuple[str, ...] = ()
    modules_persistent: Tuple[str, ...] = ()
    sysctls: Dict[str, SysctlReading] = field(default_factory=dict)
    limits: Union[Dict[str, str], str] = field(default_factory=dict)
    clock: Union[ChronyTracking, str, None] = None
    holds: Union[Tuple[str, ...], str] = ()


@dataclass(frozen=True)
class BaselineWanted:
    """What should be. None or empty: that part is not judged."""

    hostname: Optional[str] = None
    swap_off: bool = True
    modules: Tuple[str, ...] = ()
    sysctls: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    clock: bool = True
    clock_local: bool = False
    clock_offset_max_ms: float = 100.0
    holds: Tuple[str, ...] = ()


@dataclass(frozen=True)
class _Judge:
    host: str

    def finding(
        self,
        item: str,
        severity: Severity,
        measured: Any,
        expected: Any,
        *,
        message: str = "",
        remedy: str = ROLE,
        unit: str = "",
    ) -> Finding:
        good = severity is Severity.OK
        text = message or ("%s is as wanted" % item if good else "%s is %s, not %s" % (item, measured, expected))
        subject = Subject(self.host, item=item)
        return Finding("baseline", severity, subject, text, measured, expected, unit, "" if good else remedy)

    def same(self, item: str, measured: Any, expected: Any) -> Finding:
        return self.finding(item, Severity.OK if measured == expected else Severity.FAIL, measured, expected)

    def unknown(self, item: str, expected: Any, reason: str) -> Finding:
        return self.finding(
            item, Severity.UNKNOWN, None, expected, message="%s could not be measured: %s" % (item, reason)
        )


def judge_baseline(host: str, reading: BaselineReading, wanted: BaselineWanted) -> List[Finding]:
    judge = _Judge(host)
    return [
        *_names(judge, reading, wanted),
        *_swap(judge, reading, wanted),
        *_modules(judge, reading, wanted),
        *(_sysctl(judge, key, reading.sysctls[key], value) for key, value in sorted(wanted.sysctls.items())),
        *_limits(judge, reading, wanted),
        *_clock(judge, reading, wanted),
        *_holds(judge, reading, wanted),
    ]


def report_items(findings: List[Finding]) -> List[Dict[str, Any]]:
    """Rows of the check's report."""
    return [
        {
            "item": finding.subject.item,
            "measured": finding.measured,
            "expected": finding.expected,
            "state": finding.severity.name.lower(),
        }
        for finding in findings
    ]


def _names(judge: _Judge, reading: BaselineReading, wanted: BaselineWanted) -> List[Finding]:
    if wanted.hostname is None:
        return []
    found = [
        judge.same("hostname", reading.hostname, wanted.hostname),
        judge.same("static hostname", reading.static_hostname, wanted.hostname),
    ]
    loopback = [a for a in reading.addresses if a.startswith("127.") or a == "::1"]
    if loopback:
        message = "%s is %s in /etc/hosts: services will announce loopback" % (wanted.hostname, ", ".join(loopback))
        # With another address beside it, it depends on the resolver which one is taken.
        severity = Severity.WARN if len(loopback) < len(reading.addresses) else Severity.FAIL
        remedy = "put the management address into node_baseline_hosts_entries and " + ROLE
        found.append(judge.finding("hosts", severity, loopback, "no loopback address", message=message, remedy=remedy))
    return found


def _swap(judge: _Judge, reading: BaselineReading, wanted: BaselineWanted) -> List[Finding]:
    if not wanted.swap_off:
        return []
    if isinstance(reading.swap, str):
        return [judge.unknown("swap", [], reading.swap)]
    found = []
    for item, places, what in (
        ("swap", reading.swap.active, "swap is on: %s"),
        ("swap at boot", reading.swap.configured, "swap comes back at the next boot by %s"),
    ):
        severity = Severity.FAIL if places else Severity.OK
        found.append(
            judge.finding(item, severity, list(places), [], message=what % ", ".join(places) if places else "")
        )
    if not reading.swap.configured and TARGET in reading.swap.units:
        message = (
            "no swap is configured, but systemd would use a swap partition that it finds (swap.target is not masked)"
        )
        found[-1] = judge.finding("swap at boot", Severity.WARN, [TARGET], [], message=message)
    return found


def _modules(judge: _Judge, reading: BaselineReading, wanted: BaselineWanted) -> List[Finding]:
    found = []
    for name in wanted.modules:
        normal = name.replace("-", "_")
        states = [
            state
            for state, names in (("loaded", reading.modules_loaded), ("persistent", reading.modules_persistent))
            if normal in names
        ]
        found.append(judge.same("module " + name, states, ["loaded", "persistent"]))
    return found


def _sysctl(judge: _Judge, key: str, reading: SysctlReading, value: str) -> Finding:
    item = "sysctl " + key
    if reading.live is None:
        return judge.finding(item, Severity.FAIL, None, value, message="the kernel does not know %s" % key)
    if reading.live != value:
        return judge.finding(item, Severity.FAIL, reading.live, value)
    if reading.undoing:
        message = "%s is %s now, but %s" % (key, reading.live, "; ".join(reading.undoing))
        return judge.finding(item, Severity.FAIL, reading.live, value, message=message, remedy="take those lines out")
    if reading.boot != value:
        message = "%s is %s now, and %s after a boot%s" % (
            key,
            reading.live,
            reading.boot or "the kernel's default",
            " (%s)" % reading.place if reading.place else "",
        )
        return judge.finding(item, Severity.FAIL, reading.live, value, message=message)
    return judge.finding(item, Severity.OK, reading.live, value)


def _limits(judge: _Judge, reading: BaselineReading, wanted: BaselineWanted) -> List[Finding]:
    if isinstance(reading.limits, str):
        return [judge.unknown("limits", dict(wanted.limits), reading.limits)]
    limits = reading.limits
    return [judge.same("limit " + name, limits.get(name), value) for name, value in sorted(wanted.limits.items())]


def _clock(judge: _Judge, reading: BaselineReading, wanted: BaselineWanted) -> List[Finding]:
    if not wanted.clock:
        return []
    clock, limit = reading.clock, wanted.clock_offset_max_ms
    if clock is None or isinstance(clock, str):
        return [judge.unknown("clock", limit, clock or "not read")]
    offset_ms = round(abs(clock.offset_s) * 1000, 3)

    def bad(message: str, remedy: str) -> List[Finding]:
        return [judge.finding("clock", Severity.FAIL, offset_ms, limit, message=message, remedy=remedy, unit="ms")]

    if not clock.synchronised:
        return bad(
            "the clock follows nobody", "see `chronyc sources`; is a server of node_baseline_ntp_servers reached?"
        )
    if clock.local and not wanted.clock_local:
        return bad("the machine follows its own clock only", "see `chronyc sources`; give node_baseline_ntp_servers")
    if offset_ms > limit:
        message = "the clock is %s ms off %s" % (offset_ms, clock.source or "its reference")
        return bad(message, "wait for chrony to slew it, or `chronyc makestep` while nothing runs")
    message = "the clock follows %s, %s ms off" % (clock.source or "itself, as wanted", offset_ms)
    return [judge.finding("clock", Severity.OK, offset_ms, limit, message=message, unit="ms")]


def _holds(judge: _Judge, reading: BaselineReading, wanted: BaselineWanted) -> List[Finding]:
    if not wanted.holds:
        return []
    if isinstance(reading.holds, str):
        return [judge.unknown("holds", list(wanted.holds), reading.holds)]
    return [judge.same("hold " + name, name in reading.holds, True) for name in wanted.holds]
