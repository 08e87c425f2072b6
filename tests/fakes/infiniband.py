# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's /sys/class/infiniband as files, for tests."""

from __future__ import annotations

from pathlib import Path

EMPTY = "0000:0000:0000:0000:0000:0000:0000:0000"


def mapped(address: str) -> str:
    """The GID of an IPv4 address."""
    a, b, c, d = (int(part) for part in address.split("."))
    return f"0000:0000:0000:0000:0000:ffff:{a:02x}{b:02x}:{c:02x}{d:02x}"


def write(root: Path, path: str, text: str) -> None:
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text + "\n")


def nic(
    root: Path,
    name: str,
    netdev: str,
    gids: dict[int, tuple[str, str, str]],
    *,
    state: str = "4: ACTIVE",
    rate: str = "400 Gb/sec (4X NDR)",
    link_layer: str = "Ethernet",
    pci: str = "0000:3b:00.0",
    numa: int = 0,
    soft: bool = False,
) -> None:
    """``gids``: index -> (gid, type, netdev). Soft-RoCE has a parent file where hardware has a PCI device."""
    base = f"sys/class/infiniband/{name}"
    if soft:
        write(root, f"{base}/parent", netdev)
    else:
        bus = root / f"sys/devices/pci0000:3a/{pci}"
        (bus / "net" / netdev).mkdir(parents=True, exist_ok=True)
        (bus / "numa_node").write_text(f"{numa}\n")
        (root / base).mkdir(parents=True, exist_ok=True)
        (root / base / "device").symlink_to(bus)
        write(root, f"{base}/fw_ver", "28.43.2026")
    port = f"{base}/ports/1"
    for file, text in (("state", state), ("phys_state", "5: LinkUp"), ("rate", rate), ("link_layer", link_layer)):
        write(root, f"{port}/{file}", text)
    for index in range(4):
        gid, kind, device = gids.get(index, (EMPTY, "", ""))
        write(root, f"{port}/gids/{index}", gid)
        if kind:  # the kernel answers with an error where the entry is empty
            write(root, f"{port}/gid_attrs/types/{index}", kind)
            write(root, f"{port}/gid_attrs/ndevs/{index}", device)


def numa_nodes(root: Path, cpus: dict[int, str]) -> None:
    for node, listed in cpus.items():
        write(root, f"sys/devices/system/node/node{node}/cpulist", listed)
