# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of ``gpufleet.cluster.fleet_run``; documentation: plugins/modules/fleet_run.py."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

from ansible.plugins.action import ActionBase

from ..plugin_utils.report.run import new_run


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        self.validate_argument_spec({})
        return {"changed": False, **new_run(datetime.now(UTC), secrets.token_hex(2))}
