# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of ``gpufleet.cluster.fleet_report``; documentation: plugins/modules/fleet_report.py."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils.errors import ClusterError
from ..plugin_utils.report import collect
from ..plugin_utils.report.formats import FORMATS, render
from ..plugin_utils.report.model import Check, FleetReport, Run
from ..plugin_utils.report.run import RUN_ID, collection_version, inventory_name, timestamp
from ..plugin_utils.report.table import headline, table
from ..plugin_utils.report.write import read_report, write_report

CHECK = {
    **{name: {"type": "str", "required": True} for name in ("name", "tag", "variable")},
    "group": {"type": "str"},
    "on_request": {"type": "bool", "default": False},
}
SPEC = {
    "run_id": {"type": "str", "required": True},
    "started": {"type": "str", "required": True},
    "checks": {"type": "list", "elements": "dict", "options": CHECK, "required": True},
    "groups": {"type": "list", "elements": "str", "default": ["control_plane", "workers"]},
    "hosts": {"type": "list", "elements": "str"},
    "directory": {"type": "str", "default": "reports"},
    "enforce": {"type": "bool", "default": True},
    "compare": {"type": "str", "default": ""},
    "formats": {"type": "list", "elements": "str", "choices": list(FORMATS), "default": list(FORMATS)},
}


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        variables = task_vars or {}
        _, params = self.validate_argument_spec(SPEC)
        checks = [Check(**check) for check in params["checks"]]
        hosts = _hosts(variables, params, checks)
        seen = {name for host in hosts for name in host.results}
        selected = collect.selected_checks(checks, variables["ansible_run_tags"], variables["ansible_skip_tags"], seen)
        if not selected:
            return {
                "changed": False,
                "skipped": True,
                "skip_reason": "No check was selected, so there is nothing to report.",
            }
        report = collect.collect(selected, hosts, self._describe_run(params, variables))
        report = dataclasses.replace(report, earlier=_earlier(params["compare"]))
        return _publish(report, params)

    def _describe_run(self, params: Mapping[str, Any], variables: Mapping[str, Any]) -> Run:
        if not RUN_ID.fullmatch(params["run_id"]):
            raise AnsibleActionFail(
                f"The run id {params['run_id']!r} cannot name a report. Start the playbook with "
                "gpufleet.cluster.fleet_run (tag always), register it as fleet_run, and pass fleet_run.id."
            )
        return Run(
            id=params["run_id"],
            started=params["started"],
            finished=timestamp(datetime.now(UTC)),
            inventory=inventory_name(variables.get("ansible_inventory_sources") or ()),
            check_mode=bool(self._task.check_mode),
            ansible_version=str(variables["ansible_version"]["full"]),
            collection_version=collection_version(Path(__file__).parents[2]),
        )


def _earlier(path: str) -> dict[str, Any]:
    try:
        return read_report(Path(path)) if path else {}
    except ClusterError as exc:
        raise AnsibleActionFail(str(exc)) from exc


def _hosts(variables: Mapping[str, Any], params: Mapping[str, Any], checks: Iterable[Check]) -> list[collect.HostInput]:
    """Every host of the fleet, dead or alive. Only the checks' variables are read."""
    fleet = {name for group in params["groups"] for name in variables["groups"].get(group, ())}
    asked = fleet if params["hosts"] is None else set(params["hosts"])
    selected = asked & set(variables["ansible_play_hosts_all"])
    alive = set(variables["ansible_play_hosts"])
    return [
        collect.HostInput(
            name=name,
            groups=tuple(variables["hostvars"][name]["group_names"]),
            selected=name in selected,
            dropped=name not in alive,
            results=_results(variables["hostvars"][name], checks),
            reach=variables["hostvars"][name].get("fleet_reach"),
        )
        for name in fleet | asked
    ]


def _results(host: Mapping[str, Any], checks: Iterable[Check]) -> dict[str, Any]:
    return {check.name: host[check.variable] for check in checks if check.variable in host}


def _publish(report: FleetReport, params: Mapping[str, Any]) -> dict[str, Any]:
    """Write first, judge afterwards: a run that fails leaves its report."""
    directory = Path(params["directory"]) / report.run.inventory / report.run.id
    files = render(report, params["formats"])
    try:
        write_report(directory, files)
    except ClusterError as exc:
        raise AnsibleActionFail(str(exc)) from exc
    shown = "report.html" if "report.html" in files else next(iter(files), "")
    return {
        "changed": False,
        "failed": params["enforce"] and not report.passed,
        "verdict": report.verdict.name,
        "directory": str(directory),
        "msg": f"{headline(report)} Report: {directory / shown}",
        "table": table(report),
        # The verdict is what the run was for: show it without -v.
        "_ansible_verbose_always": True,
    }
