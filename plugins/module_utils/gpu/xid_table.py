# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the numbers in the kernel's ``Xid`` lines mean. One that is not in the table is WARN, not OK.

Source: NVIDIA's Xid catalogue for Ampere and later (docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html),
whose immediate action decides the severity: what asks for a reset, a reboot or a person is FAIL; what ends one process,
or is only told, is WARN.
"""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Tuple

from ..finding import Severity
from ..parse.kernel_log import XidEvents

__all__ = ["SOURCE", "XIDS", "Xid", "judged"]

SOURCE = "NVIDIA Xid catalogue, 2025-10"

_APPLICATION = "look at the program that ran there and start it again; the GPU itself is in order unless it comes again"
_RESET = "drain the node and reset the GPU (nvidia-smi --gpu-reset); if it comes again report the host as faulty"
_REBOOT = "drain the node and boot it; if it comes again report the host as faulty"
_NVLINK = "look at state and error counters of both ends of the link; reset the GPUs; then report the host as faulty"
_WATCH = "nothing to do at once; report the host as faulty if it comes again and again"
_SUPPORT = "collect nvidia-bug-report.sh and report the host as faulty"
_OTHER = "follow the other Xid of the same GPU and moment"
_OK, _WARN, _FAIL = Severity.OK, Severity.WARN, Severity.FAIL


class Xid(NamedTuple):
    number: int
    severity: Severity
    meaning: str
    remedy: str


XIDS: Tuple[Xid, ...] = (
    Xid(8, _WARN, "GPU stopped processing", _APPLICATION),
    Xid(11, _WARN, "invalid or corrupted push buffer stream", _APPLICATION),
    Xid(13, _WARN, "graphics engine exception", _APPLICATION),
    Xid(25, _WARN, "invalid or illegal push buffer stream", _APPLICATION),
    Xid(31, _WARN, "GPU memory page fault", _APPLICATION),
    Xid(32, _WARN, "invalid or corrupted push buffer stream", _APPLICATION),
    Xid(37, _WARN, "driver firmware error", _WATCH),
    Xid(38, _WARN, "driver firmware error", _WATCH),
    Xid(39, _WARN, "copy engine exception", _APPLICATION),
    Xid(40, _WARN, "copy engine exception", _APPLICATION),
    Xid(41, _WARN, "copy engine exception", _APPLICATION),
    Xid(43, _WARN, "GPU stopped processing", _APPLICATION),
    Xid(44, _WARN, "graphics engine fault during context switch", _WATCH),
    Xid(45, _WARN, "clean-up after an earlier error", _OTHER),
    Xid(46, _FAIL, "GPU stopped processing", _RESET),
    Xid(48, _FAIL, "double bit ECC error", _RESET),
    Xid(54, _FAIL, "auxiliary power is not connected to the GPU board", "check the board's power cables"),
    Xid(60, _WARN, "video processor exception", _APPLICATION),
    Xid(62, _FAIL, "internal micro-controller halt", _RESET),
    Xid(63, _WARN, "GPU memory remapping event", "reset the GPU at the next chance: only then is it remapped"),
    Xid(64, _FAIL, "GPU memory remapping failure", _RESET),
    Xid(66, _WARN, "illegal access by driver", _WATCH),
    Xid(67, _WARN, "illegal access by driver", _WATCH),
    Xid(68, _WARN, "NVDEC exception", _APPLICATION),
    Xid(69, _WARN, "graphics engine class error", _APPLICATION),
    Xid(74, _FAIL, "NVLink error", _NVLINK),
    Xid(78, _FAIL, "vGPU start error", "bring the drivers of host and guest to versions that fit"),
    Xid(79, _FAIL, "GPU has fallen off the bus", _REBOOT),
    Xid(80, _WARN, "corrupted data sent to GPU", _APPLICATION),
    Xid(92, _WARN, "high single-bit ECC error rate", _WATCH),
    Xid(93, _WARN, "InfoROM wear limit exceeded", _WATCH),
    Xid(94, _WARN, "contained memory error", _APPLICATION),
    Xid(95, _FAIL, "uncontained memory error", _RESET),
    Xid(106, _OK, "test message of the management interface", ""),
    Xid(107, _OK, "test message of the management interface", ""),
    Xid(109, _FAIL, "context switch timeout", _RESET),
    Xid(110, _FAIL, "security fault", _RESET),
    Xid(119, _FAIL, "GSP firmware does not answer", _RESET),
    Xid(120, _FAIL, "GSP firmware error", _RESET),
    Xid(121, _WARN, "C2C link error that was corrected", _WATCH),
    Xid(136, _FAIL, "NVLink training failed", _NVLINK),
    Xid(137, _WARN, "NVLink access that the other end refused", _APPLICATION),
    Xid(140, _FAIL, "ECC error that was not recovered", _RESET),
    Xid(141, _WARN, "CUDA fast path error", _WATCH),
    Xid(143, _FAIL, "GPU initialization error", _RESET),
    # NVLink 5: the line says Fatal or Nonfatal, and that decides.
    Xid(144, _WARN, "NVLink SAW error", _NVLINK),
    Xid(145, _WARN, "NVLink RLW error", _NVLINK),
    Xid(146, _WARN, "NVLink TLW error", _NVLINK),
    Xid(147, _WARN, "NVLink TREX error", _NVLINK),
    Xid(148, _WARN, "NVLink NVLPW_CTRL error", _NVLINK),
    Xid(149, _WARN, "NVLink NETIR error", _NVLINK),
    Xid(150, _WARN, "NVLink MSE error", _NVLINK),
    Xid(151, _FAIL, "key rotation error", "start the virtual machine again"),
    # Not an error by itself: names what the driver asks for, and that decides.
    Xid(154, _FAIL, "the driver asks for a recovery", "do what the line asks for: reset the GPU, or boot the node"),
    Xid(155, _FAIL, "NVLink error found by software", _RESET),
    Xid(156, _FAIL, "a part of the GPU was retired", _RESET),
    Xid(157, _WARN, "a part of the GPU could not be retired", _SUPPORT),
    Xid(158, _FAIL, "GPU fatal timeout", _RESET),
    Xid(160, _WARN, "a memory channel was retired", _WATCH),
    Xid(161, _WARN, "a memory channel could not be retired", _SUPPORT),
    Xid(167, _FAIL, "PCIe fatal timeout", _SUPPORT),
    Xid(171, _FAIL, "uncorrectable error in DRAM, beside Xid 48", _RESET),
    Xid(172, _FAIL, "uncorrectable error in SRAM, beside Xid 48", _RESET),
)
_BY_NUMBER: Dict[int, Xid] = {xid.number: xid for xid in XIDS}
_NVLINK_5 = range(144, 151)
# GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)
_NOTHING_LEFT = re.compile(r"\bto 0x0 \(None\)")
_SWITCH_REMEDY = "look at the NVSwitch and the link in the line; a fatal SXid needs a reset of all GPUs behind it"


def judged(events: XidEvents) -> Xid:
    """The row for these events, with the severity that they have."""
    if events.kind == "SXid":
        severity = _FAIL if events.fatal else _WARN
        return Xid(events.number, severity, "NVSwitch error", _SWITCH_REMEDY)
    row = _BY_NUMBER.get(events.number)
    if row is None:
        return Xid(events.number, _WARN, "a number that is not in the table", _WATCH)
    if events.number in _NVLINK_5 and events.fatal:
        return row._replace(severity=_FAIL)
    if events.number == 154 and _NOTHING_LEFT.search(events.last):
        return row._replace(severity=_WARN, meaning="a recovery that the driver asked for was done")
    return row
