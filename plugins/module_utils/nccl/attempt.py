# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the log of one attempt says: the table, the ways that the data took, and whether it was the real tool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional

from ..errors import ParseError
from ..parse.nccl import NcclReport, parse_nccl
from ..parse.nccl.transport import TransportReport, parse_nccl_transport
from ..parse.source import BoundedLines

__all__ = ["STAND_IN", "Attempt", "read_attempt"]

# The stand-in says so itself, in the first lines of its output; so does its sku in the limits.
STAND_IN = "stand-in"
_HEAD_BYTES = 65536


@dataclass(frozen=True)
class Attempt:
    """``problem`` is why there is no table, or why the table does not count."""

    state: str
    problem: Optional[str] = None
    report: Optional[NcclReport] = None
    transport: Optional[TransportReport] = None
    stand_in: bool = False


def read_attempt(record: Mapping[str, Any]) -> Attempt:
    """``record`` is one of the attempts in the record of a run."""
    state, problem, log = record["state"], record.get("problem"), record.get("log")
    if log is None:
        return Attempt(state, problem or "it was not started")
    try:
        with open(log, "rb") as stream:
            stand_in = b"# " + STAND_IN.encode() in stream.read(_HEAD_BYTES)
            stream.seek(0)
            report = parse_nccl(BoundedLines(stream))
    except (OSError, ParseError) as exc:
        return Attempt(state, "%s (%s)" % (problem, exc) if problem else str(exc))
    return Attempt(state, problem, report, None if stand_in else _transport(log), stand_in)


def _transport(log: str) -> Optional[TransportReport]:
    try:
        with open(log, "rb") as stream:
            return parse_nccl_transport(BoundedLines(stream))
    except ParseError:
        return None
