# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of ``gpufleet.cluster.fleet_baseline``; documentation: plugins/modules/fleet_baseline.py."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils.errors import ClusterError
from ..module_utils.nccl.baseline import baseline_of
from ..plugin_utils.fleet import plain
from ..plugin_utils.limits import baseline_file, write_baseline
from ..plugin_utils.report.run import timestamp

VARIABLE = "nccl_benchmark_check_result"


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        variables = task_vars or {}
        _result, params = self.validate_argument_spec({"run_id": {"type": "str", "required": True}})
        document, left_out = baseline_of(
            _reports(variables["hostvars"], params["run_id"]), params["run_id"], timestamp(datetime.now(UTC))
        )
        if left_out or not document["runs"]:
            raise AnsibleActionFail(
                "recording the baseline: not every run has a healthy figure, so the old baseline is kept. "
                f"Repair and run again: {', '.join(left_out) or 'no run was measured (nccl_benchmark_runs)'}"
            )
        path = baseline_file(variables.get("ansible_inventory_sources") or ())
        if not self._task.check_mode:
            try:
                write_baseline(path, document)
            except ClusterError as exc:
                raise AnsibleActionFail(str(exc)) from exc
        return {"changed": True, "path": str(path), "runs": sorted(document["runs"])}


def _reports(hostvars: Mapping[str, Any], run_id: str) -> dict[str, Any]:
    found = {}
    for host in hostvars:
        result = plain(hostvars[host][VARIABLE]) if VARIABLE in hostvars[host] else {}
        if result.get("run_id") == run_id and isinstance(result.get("report"), dict):
            found[host] = result["report"]
    return found
