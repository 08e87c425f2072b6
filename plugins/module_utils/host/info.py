# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine is: read in one go, from files and one or two calls of the operating system."""

from __future__ import annotations

import glob
import os
import platform
import re
import sys
from dataclasses import dataclass
from typing import Dict, Iterable, Optional

from ..runner import Runner
from .files import Root
from .os_family import OperatingSystem, identify

__all__ = ["HostInfo", "read_host_info"]

# Where a package manager's Python binding lies for the system's own Python.
_BINDINGS = {
    "apt": ("/usr/lib/python3/dist-packages/apt",),
    "dnf": ("/usr/lib/python3*/site-packages/dnf", "/usr/lib/python3/dist-packages/dnf"),
}
_FIREWALLS = (("firewalld", "/usr/sbin/firewalld"), ("ufw", "/usr/sbin/ufw"))


@dataclass(frozen=True)
class HostInfo:
    """``package_manager_binding``: whether Ansible's apt or dnf module finds the Python library that it needs.
    ``firewall``: the front end that is installed: firewalld | ufw.
    """

    os: OperatingSystem
    package_manager_binding: bool
    kernel: str
    architecture: str
    memory_mib: int
    cpus: int
    disk_free_mib: Dict[str, int]
    python: str
    virtualization: Optional[str]
    cgroup_version: int
    boot_id: str
    hostname: str
    static_hostname: str
    selinux: bool
    firewall: Optional[str]


def read_host_info(root: Root, runner: Runner, paths: Iterable[str] = ("/",)) -> HostInfo:
    """Raises ConfigError when the operating system is not a supported one."""
    system = identify(root.read("/etc/os-release"), root.exists)
    return HostInfo(
        os=system,
        package_manager_binding=_has_binding(root, system.package_manager),
        kernel=platform.release(),
        architecture=platform.machine(),
        memory_mib=_memory_mib(root.read("/proc/meminfo") or ""),
        cpus=os.cpu_count() or 1,
        disk_free_mib={path: _free_mib(root, path) for path in paths},
        python=".".join(str(part) for part in sys.version_info[:3]),
        virtualization=_virtualization(runner),
        cgroup_version=2 if root.exists("/sys/fs/cgroup/cgroup.controllers") else 1,
        boot_id=(root.read("/proc/sys/kernel/random/boot_id") or "").strip(),
        hostname=platform.node(),
        static_hostname=(root.read("/etc/hostname") or "").strip(),
        selinux=root.exists("/etc/selinux/config"),
        firewall=next((name for name, program in _FIREWALLS if root.exists(program)), None),
    )


def _has_binding(root: Root, manager: str) -> bool:
    return any(glob.glob(root.path(pattern)) for pattern in _BINDINGS[manager])


def _memory_mib(meminfo: str) -> int:
    match = re.search(r"^MemTotal:\s+(\d+) kB$", meminfo, re.MULTILINE)
    return int(match.group(1)) // 1024 if match else 0


def _free_mib(root: Root, path: str) -> int:
    """Of the file system that ``path`` is on, or will be on once its directories are made."""
    while not os.path.exists(root.path(path)) and path != "/":
        path = os.path.dirname(path)
    status = os.statvfs(root.path(path) or "/")
    return int(status.f_bavail * status.f_frsize // 2**20)


def _virtualization(runner: Runner) -> Optional[str]:
    """systemd-detect-virt's word (``none`` on bare metal), None when it cannot be told."""
    result = runner.run(["systemd-detect-virt"], timeout=10)
    # It answers 1 together with "none".
    return result.stdout.strip() if result.rc in (0, 1) and result.stdout.strip() else None
