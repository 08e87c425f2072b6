# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command lines of the machines. Pure: the same plan gives the same words."""

from __future__ import annotations

from pathlib import Path

from .image import Image
from .paths import Paths
from .plan import FIRST_SLOT, MANAGEMENT, PORTS, SWITCH, Node

__all__ = ["NODE_MEMORY_MIB", "SWITCH_MEMORY_MIB", "node_argv", "switch_argv"]

NODE_MEMORY_MIB = 1024
SWITCH_MEMORY_MIB = 128
FIRMWARE = "/usr/share/ovmf/OVMF.fd"


def _processor(accel: str, cpus: int) -> list[str]:
    if accel == "kvm":
        return ["-accel", "kvm", "-cpu", "host", "-smp", str(cpus)]
    # One emulated CPU: with two, on a busy computer, one was seen to lose its timer interrupt and the boot to hang.
    # Not the model "max": the newest features are the slowest to emulate. This one has all of x86-64-v2.
    return ["-accel", "tcg,thread=single", "-cpu", "Westmere,+rdrand", "-smp", "1"]


def _socket(name: str, path: Path, log: Path | None = None) -> str:
    return f"socket,id={name},path={path},server=on,wait=off" + (f",logfile={log}" if log else "")


def _common(name: str, folder: Path, accel: str, memory: int, cpus: int) -> list[str]:
    return [
        "qemu-system-x86_64", "-name", name, *_processor(accel, cpus), "-m", str(memory),
        "-nodefaults", "-no-user-config", "-display", "none", "-daemonize", "-pidfile", str(folder / "pid"),
        "-device", "virtio-rng-pci,addr=0x3",
        "-chardev", _socket("monitor", folder / "monitor.sock"), "-mon", "chardev=monitor,mode=control",
        "-chardev", _socket("console", folder / "console.sock", folder / "console.log"), "-serial", "chardev:console",
    ]  # fmt: skip


def _port(name: str, near: int, far: int, mac: str, place: str) -> list[str]:
    """A network port and its cable: datagrams over loopback, which survive a restart of either end."""
    ends = (("local", near), ("remote", far))
    words = ",".join(f"{end}.type=inet,{end}.host=127.0.0.1,{end}.port={port}" for end, port in ends)
    # LACP needs a known speed. Without romfile the firmware would look for a network to boot from.
    device = f"virtio-net-pci,netdev={name}-cable,id={name},mac={mac},{place},romfile=,speed=10000,duplex=full"
    return ["-netdev", f"dgram,id={name}-cable,{words}", "-device", device]


def node_argv(node: Node, paths: Paths, accel: str) -> list[str]:
    folder = paths.machine(node.name)
    argv = _common(node.name, folder, accel, NODE_MEMORY_MIB, 2)
    # The disk outlives neither the lab nor a crash of the host, so it need not wait for flushes.
    argv += ["-M", "q35", "-bios", FIRMWARE]
    argv += ["-drive", f"file={folder / 'disk.qcow2'},if=none,id=disk,cache=unsafe,discard=unmap"]
    argv += ["-device", "virtio-blk-pci,drive=disk,bootindex=0,addr=0x4"]
    for key, file in (
        ("authorized_keys", paths.user_key.with_suffix(".pub")),
        ("host_key", paths.host_key(node.name)),
        ("netplan", folder / "netplan.yaml"),
    ):
        argv += ["-fw_cfg", f"name=opt/gpufleet/{key},file={file}"]
    for port in PORTS:
        place = f"addr=0x{FIRST_SLOT + port:x}"
        argv += _port(f"nic{port}", node.udp_port(port), node.switch_udp_port(port), node.mac(port), place)
    return argv


def switch_argv(nodes: tuple[Node, ...], image: Image, paths: Paths, accel: str) -> list[str]:
    folder = paths.machine(SWITCH)
    argv = _common(SWITCH, folder, accel, SWITCH_MEMORY_MIB, 1)
    argv += ["-M", "q35", "-kernel", str(image.kernel), "-initrd", str(image.switch_initrd)]
    argv += ["-append", "console=ttyS0 quiet nodes=" + ",".join(f"{n.name}:{n.number}" for n in nodes)]
    argv += ["-chardev", _socket("control", folder / "control.sock"), "-serial", "chardev:control"]
    ways_in = "".join(f",hostfwd=tcp:127.0.0.1:{n.ssh_port}-:{n.ssh_port}" for n in nodes)
    argv += ["-netdev", f"user,id=uplink{ways_in}", "-device", "virtio-net-pci,netdev=uplink,addr=0x5,romfile="]
    for index, node in enumerate(nodes):
        for port in PORTS:
            name = f"{node.name}-{port}"
            # All ports of a node are functions of one PCI slot, so that the slots suffice for many nodes.
            place = f"addr=0x{6 + index:x}.{port},multifunction={'on' if port == MANAGEMENT else 'off'}"
            argv += _port(name, node.switch_udp_port(port), node.udp_port(port), node.switch_mac(port), place)
    return argv
