# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Controller side of ``gpufleet.cluster.network_config``; documentation: plugins/modules/network_config.py.

The module starts a change and answers before the network changes. Here the old connection is thrown away, and the host
is asked over new ones until it answers that its network is the plan's. That answer came through the new network, so it
proves the way back; the connection after it, over which the change is confirmed, proves the way there. A connection
alone proves neither: it may have been made in the moment before the new network took effect. If no confirmation comes
about, the host restores its old network by itself, and this says so.
"""

from __future__ import annotations

import time
from typing import Any

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible.plugins.connection import ConnectionBase

from ..module_utils.network.agent import APPLY_SECONDS

# After the window the host needs a while to take its old configuration into effect.
GRACE_SECONDS = 90
POLL_SECONDS = 2
# An attempt at a host whose network is gone must not use up the time.
CONNECT_SECONDS = 15
# With less than this left, a live state that is not the plan's is given up before the host's own timer acts.
GIVE_UP_SECONDS = 15


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        result = self._begin(task_vars)
        if result.get("failed") or result.get("state") != "pending":
            return result
        timeout = int(self._task.args.get("confirm_timeout", 60))
        outcome = self._wait(result["transaction"], APPLY_SECONDS + timeout, task_vars)
        result.update(state=outcome["state"], message=outcome.get("message", ""))
        result["notes"] = result["notes"] + [note for note in outcome.get("notes", []) if note not in result["notes"]]
        if outcome["state"] != "confirmed":
            result.update(failed=True, differences=outcome.get("differences", []), msg=_failure(outcome, timeout))
        return result

    def _begin(self, task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """A connection that broke may have broken after the change began: asked again, the module finds it."""
        try:
            return self._module({}, task_vars)
        except AnsibleConnectionFailure as exc:
            self._display.vv(f"network_config: asking once more: {exc}", host=self._host_name(task_vars))
            self._new_connection()
            return self._module({}, task_vars)

    def _module(self, extra: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        return self._execute_module(
            module_name="gpufleet.cluster.network_config",
            module_args={**self._task.args, **extra},
            task_vars=task_vars,
        )

    def _wait(self, transaction: str, window: int, task_vars: dict[str, Any] | None) -> dict[str, Any]:
        """Ask over new connections until the host says that the change is confirmed, or undone."""
        started = time.monotonic()
        outcome: dict[str, Any] = {"state": "unreachable"}
        settled = False
        differences: list[str] = []
        while time.monotonic() - started < window + GRACE_SECONDS:
            time.sleep(POLL_SECONDS)
            late = window - (time.monotonic() - started) < GIVE_UP_SECONDS
            settled = settled or outcome["state"] == "settled"
            operation = "restore" if outcome["state"] == "differs" and late else "confirm" if settled else "look"
            answer = self._ask(operation, transaction, task_vars)
            if answer is None:
                continue
            outcome = answer
            differences = outcome.get("differences") or differences
            if outcome["state"] in ("confirmed", "restored"):
                break
        return {**outcome, "differences": differences}

    def _ask(self, operation: str, transaction: str, task_vars: dict[str, Any] | None) -> dict[str, Any] | None:
        try:
            self._new_connection()
            answer = self._module({"operation": operation, "transaction": transaction}, task_vars)
        except AnsibleConnectionFailure as exc:
            self._display.vv(f"network_config: no new connection yet: {exc}", host=self._host_name(task_vars))
            return None
        return answer if answer.get("state") else None

    def _host_name(self, task_vars: dict[str, Any] | None) -> str:
        return str((task_vars or {}).get("inventory_hostname", ""))

    def _new_connection(self) -> None:
        # Connections that have nothing to reset (local, containers) inherit a method that only warns about it.
        if type(self._connection).reset is not ConnectionBase.reset:
            if self._connection.has_option("timeout"):
                seconds = int(self._connection.get_option("timeout"))
                self._connection.set_option("timeout", min(seconds, CONNECT_SECONDS))
            self._connection.reset()


def _failure(outcome: dict[str, Any], timeout: int) -> str:
    differences = "; ".join(outcome["differences"])
    if outcome["state"] == "restored" and differences:
        return (
            f"The new network did not become what the plan says, and the node restored its old one: {differences}. "
            "Compare these values with node_networks."
        )
    if outcome["state"] == "restored":
        return (
            "The node restored its old network by itself: "
            f"{outcome['message']} (confirm timeout {timeout} s). With the new one it could not be reached. "
            "Look at the management network of this host in node_networks: gateway, address and prefix length, "
            "members (MAC or PCI address), VLAN and bond."
        )
    return (
        f"The node did not answer for {APPLY_SECONDS + timeout + GRACE_SECONDS} s after its network was changed, "
        "and it has not come back to its old network either. Look at its console: "
        "/var/lib/gpufleet/network/pending names the open change; a restart restores the old network."
    )
