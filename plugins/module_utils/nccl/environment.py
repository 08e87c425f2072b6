# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The environment of the ranks. mpirun hands on only what it is told to, so all of it is named on its command line."""

from __future__ import annotations

import re
from typing import Dict, List, Mapping, Optional

from ..errors import ConfigError
from .run import Run

__all__ = ["MARK", "forwarded", "shown", "variables"]

# Marks every process of a run on every host, so that what is left of it can be found without guessing by name.
MARK = "GPUFLEET_RUN"

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# COLL is left out: a line for each call floods the log and slows the small sizes down.
_SUBSYSTEMS = "INIT,ENV,NET"
_SUBSYSTEMS_DEBUG = "INIT,BOOTSTRAP,ENV,NET,GRAPH,TUNING,P2P,SHM,NVLS"
# Only these go into reports: other variables may hold anything.
_SHOWN = ("NCCL_", "UCX_", "OMPI_MCA_", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")


def variables(run: Run, inherited: Optional[Mapping[str, str]] = None) -> Dict[str, str]:
    """All that the ranks get: what the launcher's host has for NCCL, what the kind of run needs, what the run names."""
    result = {name: value for name, value in (inherited or {}).items() if name.startswith("NCCL_")}
    result["NCCL_DEBUG"] = "INFO"
    result["NCCL_DEBUG_SUBSYS"] = _SUBSYSTEMS_DEBUG if run.debug else _SUBSYSTEMS
    if run.interface:
        # A bare name is a prefix: eth1 also means eth10.
        result["NCCL_SOCKET_IFNAME"] = "=" + run.interface
    if run.mnnvl is not None:
        result["NCCL_MNNVL_ENABLE"] = "1" if run.mnnvl else "0"
        # NVLink SHARP across nodes needs MNNVL; inside the node it would add to what the network carries.
        result.update({"NCCL_CUMEM_ENABLE": "1"} if run.mnnvl else {"NCCL_NVLS_ENABLE": "0"})
    result.update(run.environment)
    problems = _problems(run, result)
    if problems:
        raise ConfigError("run %s: %s" % (run.name, "; ".join(problems)))
    return result


def _problems(run: Run, result: Mapping[str, str]) -> List[str]:
    problems = ["environment: %r is no name of a variable" % name for name in run.environment if not _NAME.match(name)]
    mode = result.get("NCCL_MNNVL_ENABLE")
    if mode not in (None, "0", "1"):
        problems.append("NCCL_MNNVL_ENABLE is %s; allowed: 1 or 0 (2 falls back to the network in silence)" % mode)
    names = result.get("NCCL_SOCKET_IFNAME", "=")
    if names[:1] not in ("=", "^"):
        problems.append("NCCL_SOCKET_IFNAME is %s, which means every name that begins so; write =%s" % (names, names))
    return problems


def forwarded(values: Mapping[str, str]) -> List[str]:
    """Names for -x, in order. Values never stand on a command line."""
    return sorted([*values, MARK])


def shown(values: Mapping[str, str]) -> Dict[str, str]:
    """The part of the environment that reports may show."""
    return {name: value for name, value in sorted(values.items()) if name.startswith(_SHOWN)}
