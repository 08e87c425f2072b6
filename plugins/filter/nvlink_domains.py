# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.nvlink_domains``; documentation: nvlink_domains.yml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.judge.gpu.domain import domains_of

PREFIX = "nvl_"


def nvlink_domains(groups: Any, host: str, hostvars: Any, variable: str) -> dict[str, list[str]]:
    own = sorted(name for name, hosts in groups.items() if name.startswith(PREFIX) and host in hosts)
    if not own:
        return {}
    if len(own) > 1:
        raise AnsibleFilterError(f"nvlink_domains: {host} is in several NVLink domains: {', '.join(own)}")
    return {member: _domains(hostvars[member], variable) for member in groups[own[0]]}


def _domains(variables: Any, variable: str) -> list[str]:
    """Nothing for a member that was not asked, or whose fabric could not be read."""
    reading = variables.get(variable)
    return domains_of(reading.get("fabric")) if isinstance(reading, Mapping) else []


class FilterModule:
    def filters(self) -> dict[str, Callable[..., dict[str, list[str]]]]:
        return {"nvlink_domains": nvlink_domains}
