# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab needs of this computer. It refuses with one line that says what is missing and what to do."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path

from .errors import LabError
from .plan import PORTS, Node

__all__ = ["PACKAGES", "check_memory", "check_ports", "check_programs", "check_space"]

# Debian and Ubuntu package -> what of it is used: a program, or a file if it starts with a slash.
PACKAGES: Mapping[str, tuple[str, ...]] = {
    "debian-archive-keyring": ("/usr/share/keyrings/debian-archive-keyring.gpg",),
    "e2fsprogs": ("mke2fs",),
    "fdisk": ("sfdisk",),
    "mmdebstrap": ("mmdebstrap",),
    "mtools": ("mformat", "mmd", "mcopy"),
    "openssh-client": ("ssh", "ssh-keygen"),
    "ovmf": ("/usr/share/ovmf/OVMF.fd",),
    "qemu-system-x86": ("qemu-system-x86_64",),
    "qemu-utils": ("qemu-img",),
    "util-linux": ("mkswap",),
}
GIB = 1024**3
# sbin is not on every user's PATH, though these programs work for every user.
SEARCH_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"))


def _present(thing: str, search_path: str) -> bool:
    return os.path.exists(thing) if thing.startswith("/") else shutil.which(thing, path=search_path) is not None


def check_programs(search_path: str = SEARCH_PATH) -> None:
    missing = {
        package: [thing for thing in things if not _present(thing, search_path)] for package, things in PACKAGES.items()
    }
    missing = {package: things for package, things in missing.items() if things}
    if missing:
        what = ", ".join(f"{', '.join(things)} (package {package})" for package, things in missing.items())
        raise LabError(f"missing on this computer: {what}. Install with: apt-get install {' '.join(missing)}")


def check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise LabError(
            f"{folder} has {free / GIB:.1f} GiB free, the lab needs {needed / GIB:.1f} GiB. "
            "Free some, or set XDG_CACHE_HOME to a folder on another disk."
        )


def check_memory(needed: int, meminfo: Path = Path("/proc/meminfo")) -> None:
    fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
    available = int(fields["MemAvailable"].split()[0]) * 1024
    if available < needed:
        raise LabError(
            f"{available / GIB:.1f} GiB of memory are available, the lab needs {needed / GIB:.1f} GiB. "
            "Stop something, or ask for fewer machines with --workers."
        )


def _taken(kind: socket.SocketKind, port: int) -> bool:
    with socket.socket(socket.AF_INET, kind) as probe:
        if kind == socket.SOCK_STREAM:
            # A connection of an earlier lab in TIME_WAIT does not hinder QEMU, which sets this too.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def check_ports(nodes: Iterable[Node]) -> None:
    """The ways in (TCP) and both ends of each cable (UDP), all on 127.0.0.1."""
    nodes = tuple(nodes)
    tcp = [node.ssh_port for node in nodes]
    udp = [end(port) for node in nodes for end in (node.udp_port, node.switch_udp_port) for port in PORTS]
    taken = [f"TCP {port}" for port in tcp if _taken(socket.SOCK_STREAM, port)]
    taken += [f"UDP {port}" for port in udp if _taken(socket.SOCK_DGRAM, port)]
    if taken:
        raise LabError(
            f"ports of 127.0.0.1 are taken by another program: {', '.join(taken)}. "
            "Stop it ('ss -tulpn' shows which; perhaps a lab of another user or cache folder)."
        )
