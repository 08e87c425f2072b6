# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A bootable disk out of a root file system, written into a plain file: nothing is mounted, so no root is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .command import run

MIB = 1024**2


@dataclass(frozen=True)
class Partition:
    name: str
    kind: str
    start: int
    size: int


# The type codes of sfdisk: U is the EFI system partition, S is swap, L is Linux.
ESP = Partition("ESP", "U", 1 * MIB, 40 * MIB)
SWAP = Partition("swap", "S", 41 * MIB, 256 * MIB)
ROOT = Partition("root", "L", 297 * MIB, 10 * 1024 * MIB)
DISK_SIZE = ROOT.start + ROOT.size + 1 * MIB


def make_disk(root: Path, bootloader: Path, disk: Path, as_owner: Sequence[str]) -> None:
    """``as_owner``: words before mke2fs that let it read ``root``, whose files may belong to mapped users."""
    with disk.open("wb") as file:
        file.truncate(DISK_SIZE)
    disk.chmod(0o666)  # for the mapped user; the folder around it is ours alone
    table = "label: gpt\n" + "".join(
        f"start={p.start // 512}, size={p.size // 512}, type={p.kind}, name={p.name}\n" for p in (ESP, SWAP, ROOT)
    )
    run(["sfdisk", "--quiet", disk], "writing the partition table", stdin=table)
    _fill_esp(disk, bootloader)
    _fill_swap(disk)
    options = f"offset={ROOT.start},lazy_itable_init=1"
    mke2fs = ["mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(root), "-E", options, str(disk)]
    run([*as_owner, *mke2fs, f"{ROOT.size // 1024}k"], "writing the root file system")


def _fill_esp(disk: Path, bootloader: Path) -> None:
    volume = f"{disk}@@{ESP.start}"
    sectors = str(ESP.size // 512)
    run(["mformat", "-i", volume, "-T", sectors, "-h", "64", "-s", "32", "-v", "ESP", "::"], "formatting the ESP")
    run(["mmd", "-i", volume, "::EFI", "::EFI/BOOT"], "making the ESP's folders")
    run(["mcopy", "-i", volume, bootloader, "::EFI/BOOT/BOOTX64.EFI"], "copying the bootloader")


def _fill_swap(disk: Path) -> None:
    """mkswap writes one page at the start; the rest of the partition stays a hole."""
    page = disk.with_name("swap")
    with page.open("wb") as file:
        file.truncate(SWAP.size)
    page.chmod(0o600)
    run(["mkswap", "--label", "swap", page], "making the swap partition")
    with page.open("rb") as source, disk.open("r+b") as target:
        target.seek(SWAP.start)
        target.write(source.read(4096))
    page.unlink()
