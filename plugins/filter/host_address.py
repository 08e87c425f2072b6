# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.host_address``; documentation: host_address.yml."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError


def host_address(cidr: Any, number: Any, prefix: bool = True) -> str:
    try:
        network = ipaddress.ip_network(str(cidr))
        address = network[int(number)]
    except (ValueError, IndexError) as exc:
        raise AnsibleFilterError(f"host_address: address number {number!r} of {cidr!r}: {exc}") from exc
    return f"{address}/{network.prefixlen}" if prefix else str(address)


class FilterModule:
    def filters(self) -> dict[str, Callable[..., str]]:
        return {"host_address": host_address}
