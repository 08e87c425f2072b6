# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NCCL tests (and RCCL tests): the log in all its layouts and wrappings, and the JSON report."""

from __future__ import annotations

from itertools import chain
from typing import Iterable

from ..document import opens_json
from .json_report import read_json_report
from .report import NcclReport, Point, RunReport, reading
from .stream import LogReader

__all__ = ["NcclReport", "Point", "RunReport", "parse_nccl", "reading"]


def parse_nccl(lines: Iterable[str]) -> NcclReport:
    """Raises ParseError when no line of it comes from NCCL tests."""
    rest = iter(lines)
    first = next((line for line in rest if line.strip()), "")
    again = chain([first], rest)
    return read_json_report(again) if opens_json(first) else LogReader().read(again)
