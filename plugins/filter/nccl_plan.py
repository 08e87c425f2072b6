# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.nccl_plan``; documentation: nccl_plan.yml."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.errors import ConfigError
from ..plugin_utils.fleet import plain
from ..plugin_utils.nccl_plan import Fleet, plan_runs


def nccl_plan(
    wanted: Any,
    defaults: Mapping[str, Any],
    networks: Mapping[str, Any],
    groups: Mapping[str, Sequence[str]],
    available: Sequence[str],
) -> dict[str, Any]:
    if not isinstance(wanted, Sequence) or isinstance(wanted, str):
        raise AnsibleFilterError(f"nccl_plan: takes a list of runs, not {wanted!r}")
    try:
        return plan_runs(plain(wanted), plain(defaults), Fleet(plain(networks), plain(groups), plain(available)))
    except ConfigError as exc:
        raise AnsibleFilterError(f"nccl_benchmark_runs: {exc}") from exc


class FilterModule:
    def filters(self) -> dict[str, Callable[..., dict[str, Any]]]:
        return {"nccl_plan": nccl_plan}
