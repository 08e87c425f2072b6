# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of ``gpufleet.cluster.fleet_networks``; documentation: plugins/modules/fleet_networks.py."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils.fleet import fleet_networks, read_fleet
from ..plugin_utils.preflight import message


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        self.validate_argument_spec({})
        variables = task_vars or {}
        networks, problems = fleet_networks(read_fleet(variables["hostvars"], variables["groups"], ["node_networks"]))
        if problems:
            raise AnsibleActionFail(message(problems))
        return {"changed": False, "networks": networks}
