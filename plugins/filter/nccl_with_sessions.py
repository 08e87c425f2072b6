# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.nccl_with_sessions``; documentation: nccl_with_sessions.yml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..plugin_utils.fleet import plain


def nccl_with_sessions(
    hosts: Sequence[Mapping[str, Any]], hostvars: Mapping[str, Any], variable: str
) -> list[dict[str, Any]]:
    """A host that failed or was not asked has none; whoever needs it says so."""
    result = []
    for host in hosts:
        variables = hostvars[host["name"]]
        registered = plain(variables[variable]) if variable in variables else {}
        result.append({**plain(host), "session": registered.get("session") or {}})
    return result


class FilterModule:
    def filters(self) -> dict[str, Callable[..., list[dict[str, Any]]]]:
        return {"nccl_with_sessions": nccl_with_sessions}
