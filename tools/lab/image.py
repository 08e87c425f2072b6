# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of a bare machine: made once by mmdebstrap, kept under the digest of everything that goes into it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .command import run
from .disk import make_disk
from .progress import Progress

__all__ = ["Image", "image_digest", "prepare_image"]

HERE = Path(__file__).parent
GUEST = HERE / "guest"
# What decides how the image comes out, besides the files in guest/.
MAKERS = (HERE / "disk.py", HERE / "image.py")
SUITE = "trixie"
FILES = ("disk.qcow2", "vmlinuz", "switch.img")


@dataclass(frozen=True)
class Image:
    folder: Path

    @property
    def digest(self) -> str:
        return self.folder.name

    @property
    def disk(self) -> Path:
        return self.folder / "disk.qcow2"

    @property
    def kernel(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def switch_initrd(self) -> Path:
        return self.folder / "switch.img"


def _mirror() -> list[str]:
    mirror = os.environ.get("GPUFLEET_DEBIAN_MIRROR", "")
    return [mirror] if mirror else []


def image_digest() -> str:
    """Of names, modes and contents, so that the same checkout gives the same digest everywhere."""
    digest = hashlib.sha256(SUITE.encode())
    for path in sorted([*GUEST.rglob("*"), *MAKERS]):
        if path.is_file():
            executable = os.access(path, os.X_OK)
            digest.update(f"{path.relative_to(HERE)} {executable} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verified(image: Image) -> bool:
    try:
        sums = (image.folder / "SHA256SUMS").read_text()
        return sums == "".join(f"{_sum(image.folder / name)}  {name}\n" for name in FILES)
    except FileNotFoundError:
        return False


def _packages(word: str) -> list[str]:
    lines = (line.split() for line in (GUEST / "packages.txt").read_text().splitlines())
    return [words[1] for words in lines if words[:1] == [word]]


def _debootstrap(work: Path, log: Path) -> None:
    root = work / "root"
    argv = ["mmdebstrap", "--variant=minbase", f"--include={','.join(_packages('installed'))}", "--skip=cleanup/apt"]
    argv += [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "man", "locale")]
    # Before the packages: the kernel's installation already makes the initramfs by these rules.
    argv += ['--essential-hook=mkdir -p "$1"/etc/initramfs-tools']
    argv += [f"--essential-hook=sync-in {GUEST}/root/etc/initramfs-tools /etc/initramfs-tools"]
    hooks = [
        f"sync-in {GUEST}/root /",
        f"copy-in {GUEST}/setup /tmp",
        f'chroot "$1" /tmp/setup {" ".join(_packages("offered"))}',
        *(f"download /tmp/lab/{name} {work}/{name}" for name in ("vmlinuz", "switch.img", "BOOTX64.EFI")),
        'rm -r "$1"/tmp/lab "$1"/tmp/setup',
    ]
    argv += [f"--customize-hook={hook}" for hook in hooks]
    run([*argv, SUITE, root, *_mirror()], f"making the image (Debian {SUITE})", log=log)


def _build(work: Path, target: Image, progress: Progress) -> None:
    # As another user than root, mmdebstrap maps users: only inside its namespace can the tree be read and removed.
    as_owner = [] if os.geteuid() == 0 else ["mmdebstrap", "--unshare-helper"]
    log = target.folder.parent / f"{target.digest}.log"
    progress(f"making the image: mmdebstrap of Debian {SUITE} (1 to 3 minutes; once)")
    _debootstrap(work, log)
    progress("making the image: disk with bootloader, swap and root file system")
    make_disk(work / "root", work / "BOOTX64.EFI", work / "disk.raw", as_owner)
    run([*as_owner, "rm", "-rf", work / "root"], "removing the work folder")
    partial = target.folder.with_name(f".{target.digest}.{os.getpid()}")
    partial.mkdir()
    try:
        run(["qemu-img", "convert", "-O", "qcow2", work / "disk.raw", partial / "disk.qcow2"], "converting the disk")
        for name in ("vmlinuz", "switch.img"):
            shutil.copyfile(work / name, partial / name)
        (partial / "SHA256SUMS").write_text("".join(f"{_sum(partial / name)}  {name}\n" for name in FILES))
        shutil.rmtree(target.folder, ignore_errors=True)
        partial.rename(target.folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def prepare_image(images: Path, progress: Progress) -> Image:
    """The cached image if its checksums hold, a new one otherwise."""
    image = Image(images / image_digest())
    images.mkdir(parents=True, exist_ok=True)
    if _verified(image):
        progress(f"image {image.digest} from the cache")
        return image
    # Not in the cache folder: a home folder is closed to the users that mmdebstrap maps to.
    with tempfile.TemporaryDirectory(prefix="gpufleet-lab-", dir="/var/tmp") as work:
        Path(work).chmod(0o777 if os.geteuid() else 0o755)
        _build(Path(work), image, progress)
    progress(f"image {image.digest} is ready, {image.disk.stat().st_blocks * 512 / 1e6:.0f} MB in {image.folder}")
    return image
