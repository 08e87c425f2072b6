# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubectl: its command lines, what it says about pods, and what its refusals mean."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..errors import MeasureError
from ..runner import CommandResult, Runner
from .run import Pods

__all__ = ["Kubectl"]

_TIMEOUT = 60.0
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_FORBIDDEN = "; the user of this kubeconfig needs get on pods and create on pods/exec"


class Kubectl:
    """All calls give up after a minute: an API server that is gone does not hold a run."""

    def __init__(self, runner: Runner, pods: Pods) -> None:
        self._runner = runner
        self._pods = pods

    def exec_argv(self, pod: str, words: Sequence[str], stdin: bool = False) -> List[str]:
        argv = [*self._argv(), "exec", *(["--stdin"] if stdin else []), pod]
        if self._pods.container:
            argv += ["--container", self._pods.container]
        return [*argv, "--", *words]

    def exec(self, pod: str, words: Sequence[str], stdin: Optional[str] = None) -> CommandResult:
        argv = self.exec_argv(pod, words, stdin is not None)
        return self._runner.run(argv, timeout=_TIMEOUT, stdin=stdin)

    def output(self, pod: str, words: Sequence[str], stdin: Optional[str] = None) -> str:
        """What a command in the pod prints. Raises MeasureError unless it ends well."""
        result = self.exec(pod, words, stdin)
        if result.rc != 0:
            raise MeasureError("pod %s: %s" % (pod, self.why(result)))
        return result.stdout

    def not_running(self, names: Sequence[str]) -> List[str]:
        """What keeps these pods from being used; empty when all are there and run. Raises MeasureError."""
        result = self._runner.run([*self._argv(), "get", "pods", "--output=json", *names], timeout=_TIMEOUT)
        try:
            found = json.loads(result.stdout) if result.stdout.strip() else {}
            rows = found.get("items", [found] if found else [])
            seen = {row["metadata"]["name"]: row for row in rows}
        except (ValueError, KeyError, TypeError, AttributeError) as exc:
            raise MeasureError("kubectl get pods printed what is no list of pods (%s)" % exc) from exc
        # With some pods found and others not, it prints the list and ends with 1.
        if result.rc != 0 and "(NotFound)" not in result.stderr:
            raise MeasureError("looking for the pods: %s" % self.why(result))
        problems = [_pod_problem(name, seen.get(name), self._pods.container) for name in names]
        return [problem for problem in problems if problem]

    def _argv(self) -> List[str]:
        options = (
            ("--kubeconfig", self._pods.kubeconfig),
            ("--context", self._pods.context),
            ("--namespace", self._pods.namespace),
        )
        return ["kubectl", *("%s=%s" % (name, value) for name, value in options if value)]

    @staticmethod
    def why(result: CommandResult) -> str:
        """In one line, why a call of kubectl went wrong."""
        # 127 is also what a shell in the pod answers; then kubectl says that a command was terminated.
        if result.missing and result.stderr.startswith("kubectl: "):
            return "kubectl is not installed on this host (%s)" % result.stderr.strip()
        if result.timed_out:
            return "kubectl gave no answer within %d s" % _TIMEOUT
        lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        said = "; ".join(lines[-3:]) or "nothing was said"
        hint = _FORBIDDEN if "(Forbidden)" in said or "is forbidden" in said else ""
        return "kubectl ended with exit status %d: %s%s" % (result.rc, said[-600:], hint)


def _pod_problem(name: str, pod: Optional[Mapping[str, Any]], container: Optional[str]) -> Optional[str]:
    if pod is None:
        return "pod %s is not there: look at namespace and name" % name
    status, metadata = pod.get("status", {}), pod["metadata"]
    if metadata.get("deletionTimestamp"):
        return "pod %s is being deleted" % name
    if status.get("phase") != "Running":
        return "pod %s is %s, not Running" % (name, status.get("phase", "in no known phase"))
    names = [one["name"] for one in pod.get("spec", {}).get("containers", [])]
    wanted = container or metadata.get("annotations", {}).get(_DEFAULT_CONTAINER) or (names[0] if names else None)
    if container is None and len(names) > 1 and _DEFAULT_CONTAINER not in metadata.get("annotations", {}):
        return "pod %s has several containers; say which: %s" % (name, ", ".join(names))
    if wanted not in names:
        return "pod %s has no container %s; it has: %s" % (name, wanted, ", ".join(names))
    states: Dict[str, Mapping[str, Any]] = {
        one["name"]: one.get("state", {}) for one in status.get("containerStatuses", [])
    }
    if "running" not in states.get(str(wanted), {"running": {}}):
        return "container %s of pod %s does not run: %s" % (wanted, name, _reason(states[str(wanted)]))
    return None


def _reason(state: Mapping[str, Any]) -> str:
    return ", ".join("%s %s" % (key, value.get("reason", "")) for key, value in state.items()).strip() or "no state"
