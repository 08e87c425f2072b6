# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of ``gpufleet.cluster.preflight``; documentation: plugins/modules/preflight.py."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils.fleet import read_fleet
from ..plugin_utils.preflight import advise, check_inventory, in_order, message
from ..plugin_utils.recipe import check_stack, recipe_folders


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        self.validate_argument_spec({})
        variables = task_vars or {}
        fleet = read_fleet(variables["hostvars"], variables["groups"])
        folders = recipe_folders(variables.get("ansible_inventory_sources") or ())
        problems = in_order(check_inventory(fleet) + check_stack(fleet, folders))
        advice = advise(fleet)
        for entry in advice:
            self._display.warning(str(entry))
        result = {
            "changed": False,
            "failed": bool(problems),
            "checked": len(fleet.hosts),
            "problems": [asdict(problem) for problem in problems],
            "advice": [asdict(entry) for entry in advice],
        }
        if problems:
            result["msg"] = message(problems)
        return result
