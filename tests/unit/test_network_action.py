"""The controller's half: what it does with each series of answers, on a clock of its own."""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import MagicMock

import pytest
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.gpufleet.cluster.plugins.action.network_config import ActionModule

PENDING = {"state": "pending", "changed": True, "transaction": "t1", "notes": [], "differences": ["mgmt: no address"]}
DIFFERS = {"state": "differs", "message": "", "differences": ["bond0: MTU is 1500, the plan says 9000"], "notes": []}
GONE = AnsibleConnectionFailure("no route to host")
RESTORED = {"state": "restored", "message": "no confirmation came over a new connection in time", "differences": []}
SETTLED = {"state": "settled", "message": "", "notes": [], "differences": []}
CONFIRMED = {"state": "confirmed", "message": "", "notes": ["rail1: no carrier"], "differences": []}


class Scripted(ActionModule):
    """The answers of a host, one for each time it is asked; the last one stays."""

    def __init__(self, answers: list[Any]) -> None:
        task = MagicMock(args={"networks": [], "confirm_timeout": 60}, async_val=0, delegate_to=None)
        super().__init__(task, MagicMock(), MagicMock(), MagicMock(), MagicMock(), MagicMock())
        self.answers = list(answers)
        self.asked: list[Any] = []

    def _execute_module(self, module_args: dict[str, Any] | None = None, **_ignored: Any) -> dict[str, Any]:
        self.asked.append((module_args or {}).get("operation", "configure"))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    def _new_connection(self) -> None:
        self.asked.append("reset")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    return now


def run(answers: list[Any]) -> tuple[dict[str, Any], list[Any]]:
    action = Scripted(answers)
    return action.run(task_vars={"inventory_hostname": "w1"}), action.asked


def test_nothing_to_do(clock: list[float]) -> None:
    unchanged = {"state": "unchanged", "changed": False}
    assert run([unchanged]) == (unchanged, ["configure"])


def test_confirmed_over_a_new_connection(clock: list[float]) -> None:
    result, asked = run([PENDING, GONE, {"state": "applying", "message": ""}, DIFFERS, SETTLED, CONFIRMED])
    assert (result["state"], result["notes"], result.get("failed")) == ("confirmed", ["rail1: no carrier"], None)
    assert asked == ["configure"] + ["reset", "look"] * 4 + ["reset", "confirm"]


def test_no_confirmation_before_an_answer_came_through_the_new_network(clock: list[float]) -> None:
    """A question can get through in the last moment of the old network; its answer does not come back."""
    result, asked = run([PENDING, *[GONE] * 30, RESTORED])
    assert result["state"] == "restored"
    assert "confirm" not in asked


def test_lost_answer_to_the_confirmation_is_asked_for_again(clock: list[float]) -> None:
    result, asked = run([PENDING, SETTLED, GONE, CONFIRMED])
    assert result["state"] == "confirmed"
    assert asked == ["configure"] + ["reset", "look"] + ["reset", "confirm"] * 2


def test_connection_that_breaks_once_is_tried_again(clock: list[float]) -> None:
    result, asked = run([GONE, PENDING, SETTLED, CONFIRMED])
    assert result["state"] == "confirmed"
    assert asked == ["configure", "reset", "configure", "reset", "look", "reset", "confirm"]


def test_host_that_is_not_there_is_unreachable(clock: list[float]) -> None:
    with pytest.raises(AnsibleConnectionFailure):
        run([GONE])


def test_node_restored_itself(clock: list[float]) -> None:
    result, _asked = run([PENDING, *[GONE] * 30, RESTORED])
    assert (result["failed"], result["state"]) == (True, "restored")
    assert result["msg"].startswith("The node restored its old network by itself: no confirmation came")
    assert "gateway" in result["msg"]


def test_wrong_live_state_is_given_up_before_the_timer(clock: list[float]) -> None:
    result, asked = run([PENDING, *[DIFFERS] * 52, {**RESTORED, "message": "live"}])
    assert asked[-1] == "restore"
    assert clock[0] < 120
    assert "bond0: MTU is 1500, the plan says 9000" in result["msg"]


def test_node_that_never_comes_back(clock: list[float]) -> None:
    result, _asked = run([PENDING, GONE])
    assert (result["failed"], result["state"], clock[0]) == (True, "unreachable", 210.0)
    assert "console" in result["msg"]


def test_failure_of_the_module_is_passed_on(clock: list[float]) -> None:
    assert run([{"failed": True, "msg": "x"}])[0] == {"failed": True, "msg": "x"}
