"""The controller's half as Ansible calls it: options, order of questions, the result's shape, errors."""

from __future__ import annotations

from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.gpufleet.cluster.plugins.action.containerd_config import ActionModule
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.drop_ins import MAIN

from tests.unit.test_containerd_settings import FIXTURES

LOADED = {"rc": 0, "stdout": (FIXTURES / "1.7.24-wanted.toml").read_text(), "stderr": ""}
STATE = {
    "version": "containerd github.com/containerd/containerd 1.7.24~ds1 1\n",
    "files": {MAIN: "version = 2\n"},
    "matches": {"/etc/containerd/conf.d/*.toml": []},
    "hosts": {},
    "dump": LOADED,
    "changed_at": 1,
    "started": 2,
    "active": True,
    "absent": ["/usr/bin/nvidia-container-runtime"],
}
ARGS = {
    "sandbox_image": "registry.k8s.io/pause:3.10.1",
    "root": "/data/containerd",
    "runtimes": {"nvidia": "/usr/bin/nvidia-container-runtime"},
    "default_runtime": "nvidia",
    "further": {"debug": {"level": "info"}},
}


class Scripted(ActionModule):
    """A machine's answer by operation."""

    def __init__(self, answers: dict[str, Any], **args: Any) -> None:
        task = MagicMock(args={**ARGS, **args}, async_val=0, delegate_to=None, check_mode=False)
        super().__init__(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), MagicMock())
        self.answers = answers
        self.orders: list[Any] = []
        self._display = MagicMock()

    def _execute_module(self, module_args: dict[str, Any] | None = None, **_ignored: Any) -> dict[str, Any]:
        arguments = dict(module_args or {})
        self.orders.append((arguments["operation"], sorted(arguments["order"])))
        return dict(self.answers[arguments["operation"]])


def test_asked_tried_written() -> None:
    action = Scripted(
        {"read": {"answer": STATE}, "dump": {"answer": LOADED}, "write": {"answer": {"remarks": [], "dump": LOADED}}}
    )
    result = action.run(task_vars={})
    assert {key: result[key] for key in ("changed", "restart", "version", "format", "files", "set_aside")} == {
        "changed": True,
        "restart": True,
        "version": "1.7.24~ds1",
        "format": 2,
        "files": [MAIN],
        "set_aside": [],
    }
    assert action.orders == [("read", ["patterns", "programs"]), ("dump", ["text"]), ("write", ["files", "set_aside"])]
    action._display.warning.assert_called_once_with(
        "containerd_config: the runtime's program /usr/bin/nvidia-container-runtime is not on the machine; "
        "its pods will not start"
    )


def test_a_word_that_is_no_choice() -> None:
    with pytest.raises(AnsibleActionFail, match="value of unread must be one of: report, import, fail, got: ignore"):
        Scripted({}, unread="ignore").run(task_vars={})


def test_options_alone() -> None:
    action = Scripted({}, validate_only=True)
    result = action.run(task_vars={})
    assert (result["changed"], result["restart"], result["version"], action.orders) == (False, False, None, [])


@pytest.mark.parametrize(
    ("answers", "args", "message"),
    [
        ({}, {"root": "data"}, "containerd_config: root: 'data' is no absolute path"),
        (
            {},
            {"further": {"plugins": {"io.containerd.cri.v1.runtime": {"enable_cdi": False}}}},
            "containerd_config: further: plugins io.containerd.cri.v1.runtime enable_cdi = False, but",
        ),
        (
            {},
            {"further": {"debug": {"level": None}}},
            "containerd_config: write debug.level as TOML: None is no string",
        ),
        (
            {"read": {"failed": True, "msg": "write /etc/containerd/config.toml: No space left on device"}},
            {},
            "containerd_config: write /etc/containerd/config.toml: No space left on device",
        ),
    ],
    ids=[
        "bad input asks nobody",
        "against an option, whatever the release",
        "no TOML",
        "the machine fails",
    ],
)
def test_failures(answers: dict[str, Any], args: dict[str, Any], message: str) -> None:
    action = Scripted(answers, **args)
    result = action.run(task_vars={})
    assert result["failed"] is True
    assert message in result["msg"]
    assert len(action.orders) == len(answers)
