# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings: what a check says about a machine, and the verdict over many of them.

Shape of a finding as a dict (RETURN of every check module, ``findings.json``)::

    {"check": "mtu", "severity": "FAIL",
     "subject": {"host": "w1", "network": "storage", "interface": "bond0", "peer": "w2"},
     "measured": 1500, "expected": 9000, "unit": "bytes",
     "message": "...", "remedy": "..."}

Keys of ``subject`` that do not apply are absent.
"""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterable, Mapping, Optional

__all__ = ["PASSING", "Finding", "Severity", "Subject", "check_result", "verdict"]


class Severity(enum.IntEnum):
    """Ordered from good to bad. UNKNOWN means "could not measure" and does not pass."""

    OK = 0
    WARN = 1
    UNKNOWN = 2
    FAIL = 3


PASSING = (Severity.OK, Severity.WARN)


@dataclass(frozen=True)
class Subject:
    """What a finding is about. Only the keys that apply are set."""

    host: str
    network: Optional[str] = None
    interface: Optional[str] = None
    peer: Optional[str] = None
    port: Optional[str] = None
    gpu: Optional[int] = None
    item: Optional[str] = None  # anything else with a name: a sysctl key, a unit, a file

    def as_dict(self) -> Dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Finding:
    """One judgement. ``measured`` and ``expected`` are JSON values in ``unit`` (empty for plain words)."""

    check: str
    severity: Severity
    subject: Subject
    message: str
    measured: Any = None
    expected: Any = None
    unit: str = ""
    remedy: str = ""

    def as_dict(self) -> Dict[str, Any]:
        return {
            "check": self.check,
            "severity": self.severity.name,
            "subject": self.subject.as_dict(),
            "measured": self.measured,
            "expected": self.expected,
            "unit": self.unit,
            "message": self.message,
            "remedy": self.remedy,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Finding":
        """Inverse of ``as_dict``. Raises KeyError or ValueError on an unknown severity or a missing key."""
        return cls(
            check=data["check"],
            severity=Severity[data["severity"]],
            subject=Subject(**data["subject"]),
            message=data["message"],
            measured=data.get("measured"),
            expected=data.get("expected"),
            unit=data.get("unit", ""),
            remedy=data.get("remedy", ""),
        )


def verdict(findings: Iterable[Finding]) -> Severity:
    """The worst finding. Nothing measured is UNKNOWN: an empty list never passes."""
    return max((finding.severity for finding in findings), default=Severity.UNKNOWN)


def check_result(check: str, run_id: str, report: Mapping[str, Any], findings: Iterable[Finding]) -> Dict[str, Any]:
    """What every check module returns (``exit_json(**check_result(...))``).

    ``report`` is JSON data of the check's own documented shape. ``verdict`` is None when the check does not apply to
    the host (no findings), which is not a pass: the report simply has no row for it.
    """
    kept = list(findings)
    return {
        "changed": False,
        "check": check,
        "run_id": run_id,
        "report": dict(report),
        "findings": [finding.as_dict() for finding in kept],
        "verdict": verdict(kept).name if kept else None,
    }
