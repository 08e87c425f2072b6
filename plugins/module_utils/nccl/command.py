# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines: the program's own, and those of what starts it on every host. Lists of words, never a shell's text."""

from __future__ import annotations

import re
from typing import List, Sequence

from ..errors import MeasureError
from .run import Host, Run

__all__ = ["guarded", "hostfile", "mpi_major", "mpirun_argv", "program_argv", "srun_argv"]

_OPEN_MPI = re.compile(r"\(Open MPI\) (\d+)\.")
# Seconds between the polite signal and the other one.
KILL_AFTER = 5


def program_argv(run: Run) -> List[str]:
    """One GPU a process: then a rank's lines tell which GPU they are about."""
    return [
        *(run.program, "-b", run.min_bytes, "-e", run.max_bytes, "-f", str(run.step_factor), "-g", "1"),
        *("-n", str(run.iterations), "-w", str(run.warmup), "-c", "1" if run.check else "0"),
    ]


def guarded(argv: Sequence[str], seconds: int) -> List[str]:
    """Ends by itself on its own host, even if whoever started it is gone."""
    return ["timeout", "-k", str(KILL_AFTER), str(seconds), *argv]


def hostfile(hosts: Sequence[Host]) -> str:
    return "".join("%s slots=%d\n" % (host.address, host.slots) for host in hosts)


def mpi_major(text: str) -> int:
    """From ``mpirun --version``. Other launchers of that name (MPICH, Intel) take other options."""
    match = _OPEN_MPI.search(text)
    if match is None:
        first = text.strip().splitlines()[0] if text.strip() else "nothing"
        raise MeasureError("mpirun --version says %r; this needs Open MPI 4 or 5, or launcher srun" % first[:100])
    return int(match.group(1))


def mpirun_argv(run: Run, names: Sequence[str], major: int, folder: str, remote: bool = True) -> List[str]:
    """``folder`` has ``hostfile``, and ``ssh_config`` or, in a pod, ``agent``.

    Open MPI 5 starts its daemons through PRRTE, which has names of its own for the same settings.
    """
    launch = "--prtemca" if major >= 5 else "--mca"
    ssh = "plm_ssh" if major >= 5 else "plm_rsh"
    argv = ["mpirun", "--allow-run-as-root", "-np", str(run.ranks), "--hostfile", folder + "/hostfile"]
    argv += ["--map-by", "slot", "--bind-to", "none"]
    if remote:
        # No tree: only the host that launches has the key, or the agent.
        if run.launcher == "pods":
            argv += [launch, ssh + "_agent", "sh %s/agent" % folder]
        else:
            argv += [launch, ssh + "_args", "-F %s/ssh_config" % folder]
        argv += [launch, ssh + "_no_tree_spawn", "1"]
    if run.bootstrap_network:
        argv += [launch, "prte_if_include" if major >= 5 else "oob_tcp_if_include", run.bootstrap_network]
    # MPI only introduces the ranks to each other; it must not try the fabrics that NCCL is tested on.
    argv += ["--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp" if major >= 5 else "self,vader,tcp"]
    network = run.data_network or run.bootstrap_network
    if network:
        argv += ["--mca", "btl_tcp_if_include", network]
    for name in names:
        argv += ["-x", name]
    return guarded([*argv, *guarded(program_argv(run), run.timeout)], run.timeout + 2 * KILL_AFTER)


def srun_argv(run: Run) -> List[str]:
    """The environment is handed on whole; Slurm itself ends the step on all nodes."""
    return [
        *("srun", "--mpi=pmix", "--kill-on-bad-exit=1", "--label", "--export=ALL"),
        *("--nodes=%d" % run.nodes, "--ntasks=%d" % run.ranks),
        *("--ntasks-per-node=%d" % max(host.slots for host in run.hosts),),
        "--nodelist=" + ",".join(host.name for host in run.hosts),
        "--time=%d" % -(-(run.timeout + 60) // 60),
        *guarded(program_argv(run), run.timeout),
    ]
