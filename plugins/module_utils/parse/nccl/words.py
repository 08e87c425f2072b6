# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words and lines of NCCL tests, all versions, as data."""

from __future__ import annotations

import re

__all__ = ["CANNOT_RUN", "COLLECTIVE", "COLLECTIVES", "KNOWN", "NOT_A_CAUSE", "TYPE_BYTES", "WARN_CAUSES"]

# Column "type"; char and int are the names of the versions before 2019.
TYPE_BYTES = {
    "int8": 1,
    "uint8": 1,
    "char": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "half": 2,
    "bfloat16": 2,
    "float": 4,
    "int32": 4,
    "uint32": 4,
    "int": 4,
    "double": 8,
    "int64": 8,
    "uint64": 8,
}

COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "reduce",
    "alltoallv",
    "alltoall",
    "sendrecv",
    "gather",
    "scatter",
    "hypercube",
)
COLLECTIVE = re.compile(r"(?<![A-Za-z_])(%s)_perf" % "|".join(COLLECTIVES))

# bash: /opt/all_reduce_perf: No such file or directory
CANNOT_RUN = re.compile(
    r"_perf\b.*(command not found|No such file or directory|Permission denied|error while loading shared libraries.*"
    r"|cannot execute.*|Exec format error)"
)

# A line that says something about a run. "#" alone is enough: no shell prints such lines around the tool.
KNOWN = re.compile(
    r"""\s*(?:
      \#
    | \d+\s+\d+\s+(?:%s)\b
    | (?:-?[\d.]+(?:e[+-]?\d+)?|N/A)(?:\s+(?:-?[\d.]+(?:e[+-]?\d+)?|N/A)){2,}\s*$       # the rest of a torn row
    | (?:Out\ of\ bounds\ values|Avg\ bus\ bandwidth)\s*:
    | nThread\s+\d+\s+nGpus\s | Using\ devices | Rank\s+\d+\s | Collective\ test\b
    | nccl-tests\ version\ | rccl-tests:
    | size\s+count\s+type\s | bytes\s+N\s+type\s | out-of-place\b | in-place\b | \(B\)\s+\(elements\)
    | NCCL\ version\ | NCCL\ Tests\ compiled
    | (?:[\w.-]+:\s)?(?:Test\s)?(?:NCCL|CUDA)\ failure\ | [\w.-]+:\ Test\ timeout\ \( | \.\.\ \S+\s(?:pid\s\d+)?
    | Invalid\ number\ of\ GPUs | [Ii]nvalid\ (?:sizes?|type|op)\b | Incompatible\ NCCL\ versions | USAGE:
    | (?:mpirun|mpiexec|prterun|orterun)\ (?:noticed|detected|was|has)\b | (?:srun|slurmstepd):\ error
    | MPI_ABORT\ was\ invoked | Exit\ code:
    | Primary\ job\s+terminated | (?:Your\ job\ has|There\ are\ not\ enough|An\ ORTE\ daemon|ORTE\ was\ unable)
    | [\w.-]+\ ?:\d+:\d+\ \[\d+\]\ (?:\S+:\d+\ )?NCCL\ [A-Z]
    )"""
    % "|".join(sorted(TYPE_BYTES, key=len, reverse=True)),
    re.VERBOSE,
)

# NCCL WARN lines that a healthy run prints too.
NOT_A_CAUSE = re.compile(
    r"Failed to open libibverbs|NET/Plugin|[Nn]o plugin|TUNER/Plugin|PROFILER/Plugin|Missing .*iommu"
    r"|NUMA auto balancing|Linux kernel is older|Call to ibv_reg_dmabuf_mr|GDRCopy|MSCCL"
)

# What an NCCL WARN line means, where its own words do not say it. A real line stands above each.
WARN_CAUSES = (
    # Net : connecting to address  with family 33621 is neither AF_INET(2) nor AF_INET6(10)
    (
        re.compile(r"with family \d+ is neither AF_INET"),
        "bootstrap address family invalid (mixed NCCL versions / non-MPI ranks)",
    ),
)
