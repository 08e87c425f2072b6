# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""linux-rdma/perftest: bandwidth and latency, as text, as JSON of all ages, and as a bare number."""

from __future__ import annotations

from itertools import chain
from typing import Iterable

from ..document import opens_json
from .json_report import read_json_report
from .report import PerftestReport, PerftestRow, Setup, reading
from .stream import TextReader

__all__ = ["PerftestReport", "PerftestRow", "Setup", "parse_perftest", "reading"]


def parse_perftest(lines: Iterable[str]) -> PerftestReport:
    """Raises ParseError when no line of it comes from perftest."""
    rest = iter(lines)
    first = next((line for line in rest if line.strip()), "")
    again = chain([first], rest)
    return read_json_report(again) if opens_json(first) else TextReader().read(again)
