# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.imex_members``; documentation: imex_members.yml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

PREFIX = "nvl_"


def imex_members(groups: Any, host: str, networks: Any, network: str) -> dict[str, list[str]]:
    domains = sorted(name for name, hosts in groups.items() if name.startswith(PREFIX) and host in hosts)
    if not domains:
        return {}
    if len(domains) > 1:
        raise AnsibleFilterError(f"imex_members: {host} is in several NVLink domains: {', '.join(domains)}")
    try:
        hosts = networks[network]["hosts"]
    except (KeyError, TypeError) as exc:
        known = ", ".join(sorted(networks or ()))
        raise AnsibleFilterError(f"imex_members: no network {network!r}; there are {known}") from exc
    members = groups[domains[0]]
    without = [member for member in members if not hosts.get(member, {}).get("addresses")]
    if without:
        raise AnsibleFilterError(f"imex_members: {', '.join(without)} of {domains[0]} has no address on {network}")
    return {member: [each.partition("/")[0] for each in hosts[member]["addresses"]] for member in members}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., dict[str, list[str]]]]:
        return {"imex_members": imex_members}
