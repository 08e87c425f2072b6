# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proof that the ranks will run one and the same program, and that it speaks MPI.

A program without MPI starts everywhere as its own rank 0 and measures each GPU against itself; an older copy on one
host hangs or fails in ways that look like a broken fabric.
"""

from __future__ import annotations

import hashlib
from typing import Any, Dict, List, Optional, Sequence

from ..runner import Runner
from .run import Host

__all__ = ["inspect_program", "program_problems", "read_ldd"]


def inspect_program(path: str, runner: Runner) -> Dict[str, Any]:
    """``{"path", "sha256", "mpi": the library or None, "problem": text or None}``."""
    result: Dict[str, Any] = {"path": path, "sha256": None, "mpi": None, "problem": None}
    try:
        result["sha256"] = _sha256(path)
    except OSError as exc:
        result["problem"] = "%s: %s" % (path, (exc.strerror or str(exc)).lower())
        return result
    asked = runner.run(["test", "-x", path], timeout=30)
    if asked.rc != 0:
        result["problem"] = "%s: not executable" % path
        return result
    linked = runner.run(["ldd", path], timeout=30)
    if linked.missing:
        result["problem"] = "%s: ldd is not there, so it cannot be told whether it is linked with MPI" % path
    return {**result, **read_ldd(path, linked.stdout, result["problem"])}


def read_ldd(path: str, text: str, problem: Optional[str] = None) -> Dict[str, Any]:
    """``{"mpi", "problem"}`` from what ldd prints."""
    lines = text.splitlines()
    lost = [line.split()[0] for line in lines if line.strip().endswith("=> not found")]
    return {
        "mpi": next((line.split()[0] for line in lines if line.strip().startswith("libmpi.so")), None),
        "problem": "%s: libraries are not found: %s" % (path, ", ".join(lost)) if lost else problem,
    }


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def program_problems(hosts: Sequence[Host], program: str) -> List[str]:
    """Why the run may not start; empty when all hosts have the same program, linked with MPI."""
    problems = []
    digests: Dict[str, List[str]] = {}
    for host in hosts:
        seen = host.session.get("programs", {}).get(program)
        if seen is None:
            problems.append("%s was not prepared for this run" % host.name)
        elif seen.get("problem"):
            problems.append("%s: %s" % (host.name, seen["problem"]))
        else:
            digests.setdefault(seen["sha256"], []).append(host.name)
            if not seen.get("mpi"):
                problems.append(
                    "%s: %s is not linked with MPI (ldd shows no libmpi): build it with MPI=1" % (host.name, program)
                )
    if len(digests) > 1:
        shown = "; ".join("%s on %s" % (digest[:12], ", ".join(names)) for digest, names in sorted(digests.items()))
        problems.append("%s is not the same program everywhere: sha256 %s" % (program, shown))
    return problems
