# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run from beginning to end on the host that launches it: prove, start, wait, end, keep the log."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ..errors import ConfigError, MeasureError
from ..host.files import Root
from ..runner import Runner
from .backend import Backend, HostsBackend
from .environment import shown, variables
from .in_pods import PodsBackend
from .launch import Ended, Launcher
from .processes import end_marked
from .run import Run, slug

__all__ = ["Measurement", "Place", "Tools", "describe", "keep", "measure", "planned", "read_records"]

_TAIL_LINES = 30
_TAIL_BYTES = 16384
# Beyond the run's own limit: for the launcher to notice, and to end what it started.
_MARGIN = 20


@dataclass(frozen=True)
class Place:
    """Where the run's files are: ``session`` is private and goes away, ``logs`` stays."""

    run_id: str
    session: str
    logs: str


@dataclass(frozen=True)
class Measurement:
    """``state``: measured (it ended; the log tells the rest), timeout, flood, abandoned, not_started, planned."""

    state: str
    problem: Optional[str] = None
    command: Tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    rc: Optional[int] = None
    seconds: float = 0.0
    log: Optional[str] = None
    log_bytes: int = 0
    killed: Tuple[str, ...] = ()
    tail: Tuple[str, ...] = ()

    def as_dict(self) -> Dict[str, Any]:
        return {
            **vars(self),
            "command": list(self.command),
            "environment": dict(self.environment),
            "killed": list(self.killed),
            "tail": list(self.tail),
        }


@dataclass(frozen=True)
class Tools:
    """What touches the machine. ``inherited`` is the environment of the launcher's host."""

    runner: Runner
    launcher: Launcher
    inherited: Mapping[str, str]
    sweep: Callable[[str], List[str]] = end_marked


def planned(run: Run, tools: Tools, place: Place) -> Measurement:
    """What would be run. It only looks: at the version of mpirun, and at pods."""
    backend = _backend(run, tools, place)
    values: Dict[str, str] = {}
    try:
        values = variables(run, backend.inherited())
        argv = backend.argv(values)
    except MeasureError as exc:
        return Measurement("not_started", str(exc), environment=shown(values))
    return Measurement("planned", command=tuple(argv), environment=shown(values))


def measure(run: Run, tools: Tools, place: Place, attempt: int = 1) -> Measurement:
    """Raises ConfigError for what cannot be asked for. All that goes wrong on the way is in the result."""
    backend = _backend(run, tools, place)
    known = Measurement("not_started")
    try:
        values = variables(run, backend.inherited())
        known = replace(known, environment=shown(values))
        problems = backend.problems()
        if problems:
            return replace(known, problem="; ".join(problems))
        known = replace(known, command=tuple(backend.argv(values)), log=_log(run, place, attempt))
        ended, killed, left = _launched(run, backend, values, known, tools.launcher)
    except MeasureError as exc:
        return replace(known, problem=str(exc), log=None)
    found = _result(run, replace(known, killed=tuple(killed)), ended)
    problem = "; ".join([*([found.problem] if found.problem else []), *left])
    return replace(found, problem=problem or None)


def _launched(
    run: Run, backend: Backend, values: Mapping[str, str], known: Measurement, launcher: Launcher
) -> Tuple[Ended, List[str], List[str]]:
    """How it ended, what was still running then, and what may be running even now."""
    try:
        environment = backend.prepare(values)
        timeout = run.timeout + _MARGIN
        ended = launcher.launch(known.command, environment, str(known.log), timeout, backend.beside)
    finally:
        killed, left = backend.sweep()
    return ended, killed, left


def _backend(run: Run, tools: Tools, place: Place) -> Backend:
    if run.launcher == "pods":
        return PodsBackend(run, tools.runner, tools.inherited, place.run_id)
    return HostsBackend(run, tools.runner, tools.inherited, place.run_id, place.session, tools.sweep)


def _log(run: Run, place: Place, attempt: int) -> str:
    os.makedirs(place.logs, mode=0o755, exist_ok=True)
    return "%s/%s.%d.log" % (place.logs, slug(run.name), attempt)


_PROBLEMS = {
    "timeout": "no end after %d s",
    "flood": "ended after %d s for writing more than is kept",
    "abandoned": "ended after %d s because the controller had gone",
}


_LAUNCHERS = {"mpirun": "mpirun", "srun": "srun", "pods": "kubectl exec of mpirun"}


def _result(run: Run, started: Measurement, ended: Ended) -> Measurement:
    state, problem = "measured", None
    if ended.reason in ("missing", "beside"):
        state, problem = "not_started", ended.detail
    elif ended.reason != "ended":
        state, problem = ended.reason, _PROBLEMS[ended.reason] % ended.seconds
    elif ended.rc in (124, 137) and ended.seconds >= run.timeout:
        # The guard on a host was faster than ours.
        state, problem = "timeout", "no end after %d s" % run.timeout
    elif ended.rc is not None and ended.rc < 0:
        problem = "%s was killed by signal %d" % (_LAUNCHERS[run.launcher], -ended.rc)
    elif ended.rc:
        problem = "%s ended with exit status %d" % (_LAUNCHERS[run.launcher], ended.rc)
    return replace(
        started,
        state=state,
        problem=problem,
        rc=ended.rc,
        seconds=round(ended.seconds, 3),
        log_bytes=ended.size,
        tail=_tail(started.log) if problem and started.log else (),
    )


def _tail(log: str) -> Tuple[str, ...]:
    try:
        with open(log, "rb") as stream:
            stream.seek(max(0, os.path.getsize(log) - _TAIL_BYTES))
            lines = stream.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ()
    return tuple(lines[-_TAIL_LINES:])


def describe(run: Run, measurements: List[Measurement]) -> Dict[str, Any]:
    """The record of a run: what was asked, and each attempt at it. JSON data; it lies beside the logs, too."""
    return {
        "name": run.name,
        "scope": run.scope,
        "collective": run.collective,
        "sku": run.sku,
        "mnnvl": run.mnnvl,
        "checked": run.check,
        "launcher": run.launcher,
        "program": run.program,
        "ranks": run.ranks,
        "nodes": run.nodes,
        "interface": run.interface,
        "hosts": [
            {"name": host.name, "address": host.address, "slots": host.slots, "domain": host.domain}
            for host in run.hosts
        ],
        "attempts": [each.as_dict() for each in measurements],
    }


def keep(record: Mapping[str, Any], logs: str) -> None:
    os.makedirs(logs, mode=0o755, exist_ok=True)
    Root().write("%s/%s.json" % (logs, slug(record["name"])), json.dumps(record, indent=1) + "\n")


def read_records(logs: str) -> List[Dict[str, Any]]:
    """The records of the runs that were launched on this host."""
    found = []
    for name in Root().names(logs, ".json"):
        text = Root().read("%s/%s" % (logs, name)) or ""
        try:
            found.append(json.loads(text))
        except ValueError as exc:
            raise ConfigError("%s/%s is not the record of a run: %s" % (logs, name, exc)) from exc
    return found
