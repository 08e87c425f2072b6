# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's sections about single checks: name of the check -> title and the function that prepares its data.

A section is one file here, and the template of the same name in ``templates/``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..model import FleetReport
from . import baseline, bond, gpu, mtu, nccl, rdma

__all__ = ["SECTIONS"]

SECTIONS: dict[str, tuple[str, Callable[[FleetReport], dict[str, Any]]]] = {
    "nccl": ("Collectives", nccl.context),
    "mtu": ("MTU", mtu.context),
    "rdma": ("RDMA", rdma.context),
    "bond": ("Bonds", bond.context),
    "gpu": ("GPUs", gpu.context),
    "baseline": ("Baseline", baseline.context),
}
