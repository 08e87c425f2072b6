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
from .command import hostfile, mpi_major, mpirun_argv, srun_argv
from .environment import MARK, forwarded, shown, variables
from .launch import Ended, Launcher
from .processes import end_marked
from .program import program_problems
from .run import Run, slug
from .trust import known_hosts, ssh_config

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
    """What would be run, without running anything but ``mpirun --version``."""
    values = variables(run, tools.inherited)
    try:
        argv = _argv(run, tools.runner, place, forwarded(values))
    except MeasureError as exc:
        return Measurement("not_started", str(exc), environment=shown(values))
    return Measurement("planned", command=tuple(argv), environment=shown(values))


def measure(run: Run, tools: Tools, place: Place, attempt: int = 1) -> Measurement:
    """Raises ConfigError for what cannot be asked for. All that goes wrong on the way is in the result."""
    values = variables(run, tools.inherited)
    known = Measurement("not_started", environment=shown(values))
    problems = program_problems(run.hosts, run.program)
    if problems:
        return replace(known, problem="; ".join(problems))
    try:
        argv = _argv(run, tools.runner, place, forwarded(values))
        log = _prepare(run, place, attempt)
    except MeasureError as exc:
        return replace(known, problem=str(exc))
    environment = {**tools.inherited, "LC_ALL": "C", "LANGUAGE": "C", **values, MARK: place.run_id}
    try:
        ended = tools.launcher.launch(argv, environment, log, run.timeout + _MARGIN)
    finally:
        killed = tools.sweep(place.run_id)
    return _result(run, replace(known, command=tuple(argv), log=log, killed=tuple(killed)), ended)


def _argv(run: Run, runner: Runner, place: Place, names: List[str]) -> List[str]:
    if run.launcher == "srun":
        return srun_argv(run)
    version = runner.run(["mpirun", "--version"], timeout=60)
    if version.missing:
        raise MeasureError("mpirun is not installed on this host (%s)" % version.stderr.strip())
    return mpirun_argv(run, names, mpi_major(version.stdout), place.session, remote=run.nodes > 1)


def _prepare(run: Run, place: Place, attempt: int) -> str:
    """Hostfile, SSH configuration and known hosts beside the key; the folder of the logs."""
    files = {"hostfile": hostfile(run.hosts)}
    if run.launcher == "mpirun" and run.nodes > 1:
        without = [host.name for host in run.hosts if not host.session.get("host_keys")]
        if without:
            raise MeasureError("no SSH host key is known of %s" % ", ".join(without))
        identity, known = place.session + "/id_ed25519", place.session + "/known_hosts"
        files["known_hosts"] = known_hosts(run.hosts, run.ssh_port)
        files["ssh_config"] = ssh_config(identity, known, run.ssh_port)
    os.makedirs(place.session, mode=0o700, exist_ok=True)
    for name, text in files.items():
        Root().write("%s/%s" % (place.session, name), text, mode=0o600)
    os.makedirs(place.logs, mode=0o755, exist_ok=True)
    return "%s/%s.%d.log" % (place.logs, slug(run.name), attempt)


_PROBLEMS = {
    "timeout": "no end after %d s",
    "flood": "ended after %d s for writing more than is kept",
    "abandoned": "ended after %d s because the controller had gone",
}


def _result(run: Run, started: Measurement, ended: Ended) -> Measurement:
    state, problem = "measured", None
    if ended.reason == "missing":
        state, problem = "not_started", ended.detail
    elif ended.reason != "ended":
        state, problem = ended.reason, _PROBLEMS[ended.reason] % ended.seconds
    elif ended.rc in (124, 137) and ended.seconds >= run.timeout:
        # The guard on a host was faster than ours.
        state, problem = "timeout", "no end after %d s" % run.timeout
    elif ended.rc is not None and ended.rc < 0:
        problem = "%s was killed by signal %d" % (run.launcher, -ended.rc)
    elif ended.rc:
        problem = "%s ended with exit status %d" % (run.launcher, ended.rc)
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
