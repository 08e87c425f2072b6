# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the judges of GPUs share: what is expected, what differs over the run, and how a finding is made."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ...errors import ConfigError
from ...finding import Finding, Severity, Subject

__all__ = ["ITEMS", "Difference", "GpuExpected", "Judge", "active"]

CHECK = "gpu"
ITEMS = (
    "count",
    "product",
    "driver",
    "recovery",
    "ecc",
    "remapped_rows",
    "inforom",
    "pcie",
    "aer",
    "clocks",
    "nvlink",
    "nvlink_errors",
    "fabric",
    "domain",
    "topology",
    "xid",
)


@dataclass(frozen=True)
class GpuExpected:
    """None: nothing is known, so what depends on it is judged only against itself, or is UNKNOWN (count, product)."""

    count: Optional[int] = None
    product: Optional[str] = None
    driver: Optional[str] = None
    nvlinks: Optional[int] = None
    fabric: Optional[str] = None  # none, nvswitch, mnnvl
    gpu_link: Optional[str] = None  # NV18
    nic_link: Optional[str] = None  # the farthest that the nearest NIC may be: PIX, PXB, PHB, NODE, SYS
    pcie_gen: Optional[int] = None
    pcie_width: Optional[int] = None
    ecc: bool = True
    skip: Tuple[str, ...] = ()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "GpuExpected":
        known = {each.name for each in fields(cls)}
        values = {key: value for key, value in data.items() if key in known and value is not None}
        wrong = sorted(set(values.get("skip", ())) - set(ITEMS))
        if wrong:
            raise ConfigError("expected.skip names %s: allowed are %s" % (", ".join(wrong), ", ".join(ITEMS)))
        return cls(**dict(values, skip=tuple(values.get("skip", ()))))


@dataclass(frozen=True)
class Difference:
    """Counters at the beginning and at the end. Without a beginning only what stands there now is known."""

    after: Mapping[str, int]
    before: Optional[Mapping[str, int]] = None
    seconds: float = 0.0
    reason: str = ""  # why there is no beginning although one was meant to be

    def growth(self, key: str) -> Optional[int]:
        """None: not to be told. A counter that began again has grown by what it shows now."""
        if self.before is None:
            return None
        now, then = self.after[key], self.before.get(key)
        if then is None:
            return None
        return now - then if now >= then else now

    @classmethod
    def between(cls, before: Optional[Mapping[str, Any]], after: Mapping[str, Any]) -> "Difference":
        counters: Dict[str, int] = dict(after["counters"])
        if before is None:
            return cls(counters)
        if not isinstance(before.get("counters"), Mapping):
            return cls(counters, reason="the reading at the beginning of the run failed")
        if before.get("boot_id") != after["boot_id"]:
            return cls(counters, reason="the machine was booted during the run")
        return cls(counters, dict(before["counters"]), max(0.0, after["at"] - float(before["at"])))


@dataclass(frozen=True)
class Judge:
    """Makes findings of one item of one host."""

    host: str
    item: str

    def ok(self, message: str, measured: Any = None, expected: Any = None) -> Finding:
        return Finding(CHECK, Severity.OK, Subject(self.host, item=self.item), message, measured, expected)

    def bad(
        self,
        severity: Severity,
        message: str,
        measured: Any,
        expected: Any,
        remedy: str,
        *,
        gpu: Optional[int] = None,
        port: Optional[str] = None,
        unit: str = "",
    ) -> Finding:
        subject = Subject(self.host, gpu=gpu, port=port, item=self.item)
        return Finding(CHECK, severity, subject, message, measured, expected, unit, remedy)

    def fail(self, message: str, measured: Any, expected: Any, remedy: str, **where: Any) -> Finding:
        return self.bad(Severity.FAIL, message, measured, expected, remedy, **where)

    def warn(self, message: str, measured: Any, expected: Any, remedy: str, **where: Any) -> Finding:
        return self.bad(Severity.WARN, message, measured, expected, remedy, **where)

    def unknown(self, message: str, remedy: str, **where: Any) -> Finding:
        return self.bad(Severity.UNKNOWN, message, None, where.pop("expected", None), remedy, **where)

    def or_ok(self, found: List[Finding], message: str, measured: Any = None, expected: Any = None) -> List[Finding]:
        return found or [self.ok(message, measured, expected)]


def active(value: Any) -> Optional[bool]:
    """Active, Yes and 1 of nvidia-smi; None where it does not say."""
    if value is None:
        return None
    return value in ("Active", "Yes", 1, "Enabled")
