# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.inventory_name``; documentation: inventory_name.yml."""

from __future__ import annotations

from collections.abc import Callable

from ..plugin_utils.report.run import inventory_name


class FilterModule:
    def filters(self) -> dict[str, Callable[..., str]]:
        return {"inventory_name": inventory_name}
