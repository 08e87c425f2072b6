# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of one measurement of the plan."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, Optional

from .plan import Step

__all__ = ["STATES", "Outcome", "Reading"]

# From good to bad. "fault": the tool itself found something wrong. All but "ok" have no figure.
STATES = ("ok", "no_time", "no_answer", "unknown", "fault")


@dataclass(frozen=True)
class Reading:
    """What a client's output says. ``again``: the cause may pass, so it is worth another try."""

    state: str
    value: Optional[float] = None
    unit: str = ""
    size_bytes: Optional[int] = None
    detail: str = ""
    again: bool = False


@dataclass(frozen=True)
class Outcome:
    """A row of the report: ``sender`` is the client. ``raw`` is kept where somebody will want to read it."""

    network: str
    step: Step
    reading: Reading
    attempts: int = 0
    seconds: float = 0.0
    device: Optional[str] = None
    raw: str = ""

    def as_dict(self) -> Dict[str, Any]:
        reading = asdict(self.reading)
        reading.pop("again")
        return {
            "network": self.network,
            "test": self.step.test,
            "sender": self.step.client,
            "receiver": self.step.server,
            "device": self.device,
            "attempts": self.attempts,
            "seconds": round(self.seconds, 1),
            "raw": self.raw,
            **reading,
        }
