# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of ``gpufleet.cluster.containerd_config``; documentation: plugins/modules/containerd_config.py.

Where nothing is to be changed, the machine is asked once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible.plugins.action import ActionBase

from ..module_utils.containerd.settings import parse_settings
from ..module_utils.containerd.spec import OPTIONS
from ..module_utils.errors import ClusterError
from ..plugin_utils.containerd import Outcome, check_formats, configure


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result = super().run(tmp, task_vars)
        _result, params = self.validate_argument_spec(OPTIONS)
        try:
            settings = parse_settings(params)
            check_formats(settings)
            if params["validate_only"]:
                return {**result, **asdict(Outcome())}
            outcome = configure(
                settings,
                _Remote(self, params, task_vars or {}),
                params["conflicts"],
                params["unread"],
                self._task.check_mode,
            )
        except ClusterError as exc:
            # Not raised: failed_when is for results only.
            return {**result, "failed": True, "msg": f"containerd_config: {exc}"}
        for note in outcome.notes:
            self._display.warning(f"containerd_config: {note}")
        return {**result, **asdict(outcome)}


class _Remote:
    def __init__(self, action: ActionModule, params: Mapping[str, Any], task_vars: Mapping[str, Any]) -> None:
        self._action, self._params, self._task_vars = action, params, task_vars

    def read(self, patterns: Sequence[str]) -> dict[str, Any]:
        programs = sorted(set(self._params["runtimes"].values()))
        return self._call("read", {"patterns": list(patterns), "programs": programs})

    def dump(self, text: str) -> dict[str, Any]:
        return self._call("dump", {"text": text})

    def write(self, files: Mapping[str, str | None], set_aside: Sequence[str]) -> dict[str, Any]:
        return self._call("write", {"files": dict(files), "set_aside": list(set_aside)})

    def _call(self, operation: str, order: dict[str, Any]) -> dict[str, Any]:
        answer = self._action._execute_module(
            module_name="gpufleet.cluster.containerd_config",
            module_args={**self._params, "operation": operation, "order": order},
            task_vars=self._task_vars,
        )
        if "answer" not in answer:
            raise ClusterError(answer.get("msg", f"the machine did not answer: {answer}"))
        return dict(answer["answer"])
