# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``chronyc -c tracking``: whether the clock follows somebody, and how far it is off."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import ParseError

__all__ = ["ChronyTracking", "parse_chronyc_tracking"]

_TOOL = "chronyc -c tracking"
# 127.127.1.1, chrony's own reference clock: `local stratum N`.
_LOCAL = "7F7F0101"
_FIELDS = 14


@dataclass(frozen=True)
class ChronyTracking:
    """``offset_s``: system clock against the reference; ``source``: its name or address ("" for none or local)."""

    reference_id: str
    source: str
    stratum: int
    offset_s: float
    root_delay_s: float
    root_dispersion_s: float
    leap: str

    @property
    def local(self) -> bool:
        """The machine follows its own clock only."""
        return self.reference_id == _LOCAL

    @property
    def synchronised(self) -> bool:
        return self.leap != "Not synchronised" and self.reference_id != "00000000"


def parse_chronyc_tracking(text: str) -> ChronyTracking:
    """One line of 14 fields (chrony 2.2 to 4.6)::

    C0A80001,192.168.0.1,3,1701360000.123456789,0.000012,-0.000003,0.00002,-1.2,0.001,0.05,0.0004,0.0003,64.2,Normal
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) != 1:
        raise ParseError(_TOOL, 0, "want one line, got %d" % len(lines))
    fields = lines[0].split(",")
    if len(fields) != _FIELDS:
        raise ParseError(_TOOL, 1, "want %d fields, got %d: %s" % (_FIELDS, len(fields), lines[0]))
    try:
        return ChronyTracking(
            reference_id=fields[0].upper(),
            source=fields[1],
            stratum=int(fields[2]),
            offset_s=float(fields[4]),
            root_delay_s=float(fields[10]),
            root_dispersion_s=float(fields[11]),
            leap=fields[13],
        )
    except ValueError as exc:
        raise ParseError(_TOOL, 1, "%s: %s" % (exc, lines[0])) from exc
