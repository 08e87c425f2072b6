# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counters of ``nvidia-smi nvlink --errorcounters``: which are errors, and how bad it is when one grows."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Tuple

from ..finding import Severity

__all__ = ["NVLINK_COUNTERS", "NvlinkCounter", "counted", "severity_of"]


class NvlinkCounter(NamedTuple):
    name: str
    severity: Severity
    meaning: str
    source: str


_DCGM = "DCGM health watch for NVLink"
_NVML = "NVML field values, NVLink 5"
_WARN, _FAIL = Severity.WARN, Severity.FAIL

NVLINK_COUNTERS: Tuple[NvlinkCounter, ...] = (
    # Up to NVLink 4 (Hopper).
    NvlinkCounter("Replay Errors", _WARN, "packets that were sent again", _DCGM),
    NvlinkCounter("CRC Errors", _WARN, "packets that arrived damaged and were sent again", _DCGM),
    NvlinkCounter("Recovery Errors", _FAIL, "the link had to be trained again", _DCGM),
    # From NVLink 5 (Blackwell) on.
    NvlinkCounter("Malformed packet Errors", _FAIL, "packets that make no sense", _NVML),
    NvlinkCounter("Buffer overrun Errors", _FAIL, "packets lost for want of space", _NVML),
    NvlinkCounter("Local link integrity Errors", _FAIL, "errors beyond what the link may have", _NVML),
    NvlinkCounter("Link recovery failed events", _FAIL, "the link could not be trained again", _NVML),
    NvlinkCounter("Link recovery successful events", _WARN, "the link was trained again", _NVML),
    NvlinkCounter("Rx Errors", _WARN, "packets that arrived damaged", _NVML),
    NvlinkCounter("Rx remote Errors", _WARN, "packets that were marked as damaged on their way", _NVML),
    NvlinkCounter("Rx General Errors", _WARN, "packets that could not be taken", _NVML),
    NvlinkCounter("Tx discards", _WARN, "packets that were not sent", _NVML),
    NvlinkCounter("Effective Errors", _WARN, "errors that forward error correction did not mend", _NVML),
    NvlinkCounter("Symbol Errors", _WARN, "errors left after all correction", _NVML),
)
_BY_NAME: Dict[str, NvlinkCounter] = {counter.name: counter for counter in NVLINK_COUNTERS}
# What was corrected on the wire counts up on every healthy link; a sum of others would be told twice.
_NO_ERRORS = re.compile(r"FEC Errors|Raw Errors|Total link recovery events|.*\bBER\b|[TR]x (?:packets|bytes)")
_ERRORS = re.compile(r".*(?:errors|events|discards)$", re.IGNORECASE)


def counted(name: str) -> bool:
    """Is it a count of errors? One that the table does not have counts too, by its name."""
    return name in _BY_NAME or (_NO_ERRORS.match(name) is None and _ERRORS.match(name) is not None)


def severity_of(name: str) -> Severity:
    return _BY_NAME[name].severity if name in _BY_NAME else _WARN
