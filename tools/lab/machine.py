# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One node: its disk, its first start, and its bare state, which is kept and loaded again instead of booted again."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

from . import process, qmp
from .command import run
from .errors import LabError
from .image import Image
from .paths import Paths
from .plan import GATEWAY, MANAGEMENT, Node
from .qemu import node_argv
from .ssh import run_on, wait_for_ssh

__all__ = ["Machine"]

SNAPSHOT = "bare"
HANGS_AFTER_S = 120.0


def netplan(node: Node) -> str:
    """What cloud-init would write: the management port has its address, the other ports are left alone."""
    name = Node.interface(MANAGEMENT)
    return (
        "network:\n  version: 2\n  ethernets:\n"
        f"    {name}:\n"
        f"      match: {{macaddress: '{node.mac(MANAGEMENT)}'}}\n"
        f"      set-name: {name}\n"
        f"      addresses: [{node.address}/24]\n"
        f"      routes: [{{to: default, via: {GATEWAY}}}]\n"
    )


class Machine:
    def __init__(self, node: Node, image: Image, paths: Paths, accel: str) -> None:
        self.node = node
        self.folder = paths.machine(node.name)
        self._image = image
        self._paths = paths
        self._argv = node_argv(node, paths, accel)

    @property
    def alive(self) -> bool:
        return process.alive(self.folder)

    @property
    def monitor(self) -> Path:
        return self.folder / "monitor.sock"

    @property
    def _disk(self) -> Path:
        return self.folder / "disk.qcow2"

    @property
    def ready(self) -> bool:
        """It has been seen bare and reachable; False while its first start is not through."""
        return self._bare_mark.exists()

    @property
    def _bare_mark(self) -> Path:
        """Says that the disk holds the snapshot of the bare machine."""
        return self.folder / "bare"

    def start(self) -> None:
        """As it is: by its own bootloader from its own disk; from the saved bare state if it was never started."""
        if not self._disk.exists() and not self._restore():
            self._create()
        fresh = self._bare_mark.exists() and not (self.folder / "started").exists()
        process.start(self.folder, [*self._argv, *(["-loadvm", SNAPSHOT] if fresh else [])])
        (self.folder / "started").touch()

    def finish_start(self) -> None:
        """Wait until it can be used; keep the bare state if this is the first time it is seen."""
        self._wait_for_boot()
        self._set_clock()
        if not self._bare_mark.exists():
            self._save()

    def load_bare(self) -> None:
        """Back to bare, whatever it does now, or even if it is off."""
        if self.alive:
            qmp.human(self.monitor, f"loadvm {SNAPSHOT}")
            qmp.execute(self.monitor, "cont")
        else:
            if not self._disk.exists():
                self._restore()
            process.start(self.folder, [*self._argv, "-loadvm", SNAPSHOT])
        wait_for_ssh(self._paths, self.node)
        self._set_clock()

    def power_off(self) -> None:
        process.kill(self.folder)

    def power_on(self) -> None:
        if not self.alive:
            process.start(self.folder, self._argv)
        self._wait_for_boot()

    def _wait_for_boot(self) -> None:
        """A boot that hangs gets a second chance: emulation on a busy computer can lose an interrupt for good."""
        try:
            wait_for_ssh(self._paths, self.node)
        except LabError:
            if self._disk_idle_s() > HANGS_AFTER_S:
                self.power_off()
                process.start(self.folder, self._argv)
            wait_for_ssh(self._paths, self.node)

    def _disk_idle_s(self) -> float:
        """A boot reads from its disk again and again; one that hangs does not."""
        (disk,) = qmp.execute(self.monitor, "query-blockstats")
        return float(disk["stats"].get("idle_time_ns", 0)) / 1e9

    def _create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "netplan.yaml").write_text(netplan(self.node))
        argv = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", str(self._image.disk)]
        run([*argv, self._disk], f"making the disk of {self.node.name}")

    def _set_clock(self) -> None:
        """A loaded machine believes that it is the hour at which it was saved."""
        run_on(self._paths, self.node, f"date --utc --set=@{time.time() + 0.5:.1f}")

    # --- the saved bare state, beside the images

    @property
    def _saved(self) -> Path:
        """Memory fits only the same QEMU, command line, image and keys; all of them are in the name."""
        version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, check=True).stdout
        digest = hashlib.sha256(version)
        for part in (*self._argv, self._image.digest, netplan(self.node)):
            digest.update(part.encode() + b"\0")
        for key in (self._paths.user_key.with_suffix(".pub"), self._paths.host_key(self.node.name)):
            digest.update(key.read_bytes())
        return self._paths.bare / f"{self.node.name}-{digest.hexdigest()[:16]}.qcow2"

    def _save(self) -> None:
        """Stopped while it is copied, so that memory and disk belong together."""
        saved = self._saved
        saved.parent.mkdir(parents=True, exist_ok=True)
        for old in saved.parent.glob(f"{self.node.name}-*"):
            old.unlink()
        qmp.execute(self.monitor, "stop")
        try:
            qmp.human(self.monitor, f"savevm {SNAPSHOT}")
            partial = saved.with_name(f"{saved.name}.{os.getpid()}")
            shutil.copyfile(self._disk, partial)
        finally:
            qmp.execute(self.monitor, "cont")
        saved.with_suffix(".sha256").write_text(_sum(partial))
        partial.rename(saved)
        self._bare_mark.touch()

    def _restore(self) -> bool:
        saved = self._saved
        if not saved.exists():
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "netplan.yaml").write_text(netplan(self.node))
        shutil.copyfile(saved, self._disk)
        if _sum(self._disk) != saved.with_suffix(".sha256").read_text():
            self._disk.unlink()
            return False
        self._bare_mark.touch()
        return True


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
