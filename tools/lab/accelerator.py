# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""KVM where it truly works, emulation elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["find_accelerator"]


def find_accelerator(device: Path = Path("/dev/kvm"), cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """``kvm`` or ``tcg``. An open device alone proves nothing: where the CPU's flag is missing the first vCPU hangs."""
    flags = {word for line in cpuinfo.read_text().splitlines() if line.startswith("flags") for word in line.split()}
    if not flags & {"vmx", "svm"}:
        return "tcg"
    try:
        os.close(os.open(device, os.O_RDWR))
    except OSError:
        return "tcg"
    return "kvm"
