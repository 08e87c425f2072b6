# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a finding about IMEX is made."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ...finding import Finding, Severity, Subject

__all__ = ["ROLE", "Judge"]

CHECK = "imex"
ROLE = "run role gpufleet.cluster.node_imex"


class Judge:
    def __init__(self, host: str) -> None:
        self._host = host

    def __call__(
        self,
        severity: Severity,
        item: str,
        message: str,
        values: Tuple[Any, Any] = (None, None),
        remedy: str = "",
        *,
        peer: Optional[str] = None,
    ) -> Finding:
        """``values``: measured and expected."""
        subject = Subject(self._host, peer=peer, item=item)
        return Finding(CHECK, severity, subject, message, values[0], values[1], "", remedy)
