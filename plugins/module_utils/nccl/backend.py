# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the ranks run: on hosts, reached by SSH or Slurm. What differs for pods is in ``in_pods``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Callable, Dict, List, Mapping, Optional, Protocol, Sequence, Tuple

from ..errors import MeasureError
from ..host.files import Root
from ..runner import Runner
from .command import hostfile, mpi_major, mpirun_argv, srun_argv
from .environment import MARK, forwarded
from .launch import Beside
from .program import program_problems
from .run import Host, Run
from .trust import known_hosts, ssh_config

__all__ = ["Backend", "HostsBackend", "namesakes"]


class Backend(Protocol):
    """All but ``sweep`` raise MeasureError for what keeps the run from starting."""

    beside: Optional[Beside]

    def inherited(self) -> Mapping[str, str]:
        """The environment where mpirun starts, of which NCCL's variables are handed on."""

    def problems(self) -> List[str]:
        """Why the ranks would not be one program that speaks MPI."""

    def argv(self, values: Mapping[str, str]) -> List[str]:
        """The command line, to be run on this host."""

    def prepare(self, values: Mapping[str, str]) -> Dict[str, str]:
        """Put down the files that the command line names. Returns the environment to run it in."""

    def sweep(self) -> Tuple[List[str], List[str]]:
        """End what is left. Returns what had to be ended, and what is not known to have ended."""


def namesakes(hosts: Sequence[Host]) -> List[str]:
    """Hosts that call themselves the same. To MPI and NCCL they are one machine, so their ranks wait for each other for
    ever in a shared memory that they do not share."""
    named: Dict[str, List[str]] = {}
    for host in hosts:
        if "hostname" in host.session:
            named.setdefault(host.session["hostname"], []).append(host.name)
    text = "%s all call themselves %s: give each host a name of its own (role node_baseline does)"
    return [text % (", ".join(names), name) for name, names in sorted(named.items()) if len(names) > 1]


@dataclass
class HostsBackend:
    run: Run
    runner: Runner
    here: Mapping[str, str]
    run_id: str
    session: str
    end: Callable[[str], List[str]]
    beside: Optional[Beside] = None

    def inherited(self) -> Mapping[str, str]:
        return self.here

    def problems(self) -> List[str]:
        return [*namesakes(self.run.hosts), *program_problems(self.run.hosts, self.run.program)]

    def argv(self, values: Mapping[str, str]) -> List[str]:
        if self.run.launcher == "srun":
            return srun_argv(self.run)
        version = self.runner.run(["mpirun", "--version"], timeout=60)
        if version.missing:
            raise MeasureError("mpirun is not installed on this host (%s)" % version.stderr.strip())
        major = mpi_major(version.stdout)
        return mpirun_argv(self.run, forwarded(values), major, self.session, remote=self.run.nodes > 1)

    def prepare(self, values: Mapping[str, str]) -> Dict[str, str]:
        """Hostfile, SSH configuration and known hosts, beside the run's key."""
        files = {"hostfile": hostfile(self.run.hosts)}
        if self.run.launcher == "mpirun" and self.run.nodes > 1:
            without = [host.name for host in self.run.hosts if not host.session.get("host_keys")]
            if without:
                raise MeasureError("no SSH host key is known of %s" % ", ".join(without))
            identity, known = self.session + "/id_ed25519", self.session + "/known_hosts"
            files["known_hosts"] = known_hosts(self.run.hosts, self.run.ssh_port)
            files["ssh_config"] = ssh_config(identity, known, self.run.ssh_port)
        os.makedirs(self.session, mode=0o700, exist_ok=True)
        for name, text in files.items():
            Root().write("%s/%s" % (self.session, name), text, mode=0o600)
        return {**self.here, "LC_ALL": "C", "LANGUAGE": "C", **values, MARK: self.run_id}

    def sweep(self) -> Tuple[List[str], List[str]]:
        return self.end(self.run_id), []
