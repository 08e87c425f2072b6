# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error of the lab: a line for a person, without a traceback."""

from __future__ import annotations


class LabError(Exception):
    """What was being done, to what, and what to do next."""
