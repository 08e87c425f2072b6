# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel's log: Xid of the NVIDIA driver, SXid of its NVSwitch driver. Input: ``journalctl -k`` or ``dmesg``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, Iterable, Optional, Tuple

from .text import clean

__all__ = ["KernelLog", "XidEvents", "parse_kernel_log"]

# NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x00000000)
# NVRM: Xid (PCI:0000:01:00 GPU-I:05): 43, pid=1234, name=python, Ch 00000008
# NVRM: Xid (0000:03:00): 79, GPU has fallen off the bus.
# nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error
_EVENT = re.compile(r"\b(S?Xid) \((?:PCI:)?([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})[^)]*\): (\d+)(?:, (.*))?$")
# 2026-11-30T23:00:01+00:00 w1 kernel: ...      [171167.620236] ...      Nov 30 23:00:01 w1 kernel: ...
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\S+|\[\s*\d+\.\d+\]|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)")
# The first line of a boot on x86 and ARM64; with it at the top nothing of the log is lost.
_BOOT = re.compile(r"\b(?:Linux version \d|Booting Linux on physical CPU)")
_HEAD = 40


@dataclass(frozen=True)
class XidEvents:
    """All events of one kind on one device. ``last`` is the text of the newest, as the kernel wrote it."""

    kind: str  # "Xid" or "SXid"
    device: str  # 0018:01:00
    number: int
    count: int
    first_time: str
    last_time: str
    last: str
    fatal: bool  # any of them says Fatal (Xid 144 to 150 and SXid do)


@dataclass(frozen=True)
class KernelLog:
    """``whole``: begins with the boot. Otherwise the log says nothing about the time before ``begins``."""

    lines: int
    whole: bool
    begins: str
    events: Tuple[XidEvents, ...]

    @property
    def recognised(self) -> bool:
        """Is anything in it that a kernel writes? An error text of the tool that was to show it has nothing."""
        return bool(self.begins or self.whole or self.events)


def parse_kernel_log(lines: Iterable[str]) -> KernelLog:
    events: Dict[Tuple[str, str, int], XidEvents] = {}
    count, whole, begins = 0, False, ""
    for raw in lines:
        count += 1
        if count <= _HEAD and not whole:
            whole = _BOOT.search(raw) is not None
        if not begins:
            begins = _time(raw)
        if "Xid (" in raw:
            _take(events, clean(raw))
    return KernelLog(count, whole, begins, tuple(events.values()))


def _take(events: Dict[Tuple[str, str, int], XidEvents], line: str) -> None:
    match = _EVENT.search(line)
    if match is None:
        return
    kind, device, number = match.group(1), _short(match.group(2)), int(match.group(3))
    text = re.sub(r"\s+", " ", match.group(4) or "").strip()
    time = _time(line)
    fatal = re.search(r"(?<![Nn]on)(?<![Nn]on-)\b[Ff]atal\b", text) is not None
    old: Optional[XidEvents] = events.get((kind, device, number))
    events[kind, device, number] = XidEvents(
        kind=kind,
        device=device,
        number=number,
        count=old.count + 1 if old else 1,
        first_time=old.first_time if old else time,
        last_time=time,
        last=text,
        fatal=fatal or (old is not None and old.fatal),
    )


def _short(device: str) -> str:
    """00000000:07:00 is 0000:07:00, in lower case as in sysfs."""
    domain, _colon, rest = device.lower().partition(":")
    return "%s:%s" % (domain[-4:], rest)


def _time(line: str) -> str:
    match = _TIME.match(line)
    return match.group(1) if match else ""
