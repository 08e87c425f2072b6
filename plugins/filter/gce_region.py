# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.gce_region``; documentation: gce_region.yml."""

from __future__ import annotations

from collections.abc import Callable

from ..module_utils.gce.client import region_of


class FilterModule:
    def filters(self) -> dict[str, Callable[..., str]]:
        return {"gce_region": region_of}
