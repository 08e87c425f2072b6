# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's exceptions. A message says what was being done, to what, and what to do next."""

from __future__ import annotations

__all__ = ["ClusterError", "ConfigError", "MeasureError", "ParseError"]


class ClusterError(Exception):
    """Base of every error that the collection raises on purpose."""


class ConfigError(ClusterError):
    """What a person wrote (inventory, recipe, option) cannot be used."""


class MeasureError(ClusterError):
    """Something could not be measured: becomes an UNKNOWN finding, never OK."""


class ParseError(ClusterError):
    """A tool's output is not readable. Names the tool and the offending line (1-based; 0 = the text as a whole)."""

    def __init__(self, tool: str, line: int, message: str) -> None:
        super().__init__("%s: line %d: %s" % (tool, line, message) if line else "%s: %s" % (tool, message))
        self.tool = tool
        self.line = line
