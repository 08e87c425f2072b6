# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ranks run in pods that are there already: mpirun in the first one, all of it started by kubectl exec from here.

A kubectl that is killed leaves what it started in the pod running. So everything in the pods carries the run's mark
and a time limit of its own, and is looked for in each pod afterwards, however the run came to its end.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..errors import ConfigError, MeasureError
from ..runner import Runner
from .command import KILL_AFTER, guarded, hostfile, mpi_major, mpirun_argv
from .environment import MARK, forwarded
from .kubectl import Kubectl
from .launch import Beside
from .pod_scripts import AGENT, end_words, inspect_words, start_words, store_words, watch_words
from .program import program_problems, read_ldd
from .relay import Relay
from .run import Host, Run

__all__ = ["PodsBackend"]


class PodsBackend:
    """``here`` is the environment for kubectl. Nothing of it reaches the pods."""

    beside: Optional[Beside] = None

    def __init__(self, run: Run, runner: Runner, here: Mapping[str, str], run_id: str) -> None:
        self._run = run
        self._here = here
        self._run_id = run_id
        self._folder = "/tmp/gpufleet-%s" % run_id  # noqa: S108  (in a pod, of one user)
        self._kubectl = Kubectl(runner, run.pods)
        self._first = run.hosts[0].address
        self._names = [host.address for host in run.hosts]
        self._seen: Dict[str, Dict[str, Any]] = {}
        self._relay = Relay(self._kubectl.exec_argv, frozenset(self._names), ["env", "%s=%s" % (MARK, run_id)])

    def inherited(self) -> Mapping[str, str]:
        """NCCL's variables of the first pod's container: its specification or image sets them."""
        return dict(self._look()[self._first]["environment"])

    def problems(self) -> List[str]:
        seen = self._look()
        found = [problem for pod in self._names for problem in seen[pod]["problems"]]
        hosts = [
            Host(host.address, host.address, host.slots, None, {"programs": {self._run.program: seen[host.address]}})
            for host in self._run.hosts
        ]
        for host in self._run.hosts:
            named = seen[host.address]["hostname"]
            if named != host.name:
                found.append("pod %s calls itself %s: give that as its name, NCCL does" % (host.address, named))
        return [*found, *program_problems(hosts, self._run.program)]

    def argv(self, values: Mapping[str, str]) -> List[str]:
        version = self._kubectl.output(self._first, ["mpirun", "--version"])
        remote = self._run.nodes > 1
        mpirun = mpirun_argv(self._run, forwarded(values), mpi_major(version), self._folder, remote)
        return self._kubectl.exec_argv(self._first, start_words(self._folder, mpirun, self._run_id))

    def prepare(self, values: Mapping[str, str]) -> Dict[str, str]:
        lines = ["%s=%s" % pair for pair in sorted({"LC_ALL": "C", **values}.items())]
        broken = [line.partition("=")[0] for line in lines if "\n" in line]
        if broken:
            raise ConfigError("environment: %s holds more than one line" % ", ".join(broken))
        files = {"environment": "".join(line + "\n" for line in lines), "hostfile": hostfile(self._run.hosts)}
        for name, text in {**files, "agent": AGENT}.items():
            self._kubectl.output(self._first, store_words(self._folder, name), stdin=text)
        if self._run.nodes > 1:
            # It outlives mpirun, whose own limit then tells what happened.
            limit = self._run.timeout + 8 * KILL_AFTER
            watch = ["env", "%s=%s" % (MARK, self._run_id), *guarded(watch_words(self._folder), limit)]
            self._relay.start(self._first, watch)
            self.beside = self._relay.turn
        return dict(self._here)

    def sweep(self) -> Tuple[List[str], List[str]]:
        self._relay.close()
        killed, left = [], []
        for pod in self._names:
            result = self._kubectl.exec(pod, end_words(self._run_id, self._folder))
            killed += ["%s in pod %s" % (line, pod) for line in result.stdout.splitlines() if line]
            if result.rc != 0:
                left.append("processes of the run may be left in pod %s: %s" % (pod, self._kubectl.why(result)))
        return killed, left

    def _look(self) -> Dict[str, Dict[str, Any]]:
        """Each pod's container, looked at once. Raises MeasureError unless all of them can be entered."""
        if not self._seen:
            problems = self._kubectl.not_running(self._names)
            if problems:
                raise MeasureError("; ".join(problems))
            words = inspect_words(self._run.program)
            self._seen = {pod: _read(self._run.program, self._kubectl.output(pod, words), pod) for pod in self._names}
        return self._seen


def _read(program: str, text: str, pod: str) -> Dict[str, Any]:
    """What ``inspect_words`` printed, with the keys of ``inspect_program`` and more."""
    rows: Dict[str, List[str]] = {}
    for line in text.splitlines():
        key, _space, value = line.partition(" ")
        rows.setdefault(key, []).append(value)
    problem = "%s: %s" % (program, rows["problem"][0]) if "problem" in rows else None
    lacks = rows.get("lacks", [])
    pairs = (row.partition("=") for row in rows.get("env", []))
    return {
        "path": program,
        "sha256": next(iter(rows.get("sha256", [])), None),
        **read_ldd(program, "\n".join(rows.get("ldd", [])), problem),
        "hostname": next(iter(rows.get("hostname", [])), ""),
        "environment": {name: value for name, _equals, value in pairs},
        "problems": ["pod %s lacks %s" % (pod, ", ".join(lacks))] if lacks else [],
    }
