# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.hosts_entries``; documentation: hosts_entries.yml."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError


def hosts_entries(networks: Any, network: str) -> list[dict[str, Any]]:
    try:
        hosts = networks[network]["hosts"]
    except (KeyError, TypeError) as exc:
        raise AnsibleFilterError(
            f"hosts_entries: no network {network!r}; there are {', '.join(sorted(networks or ()))}"
        ) from exc
    return [
        {"address": address.partition("/")[0], "names": [host]}
        for host in sorted(hosts)
        for address in hosts[host]["addresses"]
    ]


class FilterModule:
    def filters(self) -> dict[str, Callable[..., list[dict[str, Any]]]]:
        return {"hosts_entries": hosts_entries}
