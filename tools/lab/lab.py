# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab as a whole: up, reset, down, status."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from . import process, qmp
from .accelerator import find_accelerator
from .errors import LabError
from .image import Image, prepare_image
from .machine import Machine
from .paths import Paths
from .plan import PORTS, SWITCH, Node, make_plan
from .prerequisites import GIB, check_memory, check_ports, check_programs, check_space
from .progress import Progress
from .qemu import NODE_MEMORY_MIB, SWITCH_MEMORY_MIB, switch_argv
from .ssh import answers, make_keys
from .state import State, read_state, write_state
from .switch import ask_switch, wait_for_switch

__all__ = ["Lab", "locked", "up"]

# The image and its making, then for each node a disk that grows and the copy of its bare state.
IMAGE_SPACE = 4 * GIB
NODE_SPACE = 2 * GIB
# Of QEMU itself, most of it translated code under emulation.
OVERHEAD_MIB = 300


@contextmanager
def locked(paths: Paths, progress: Progress) -> Iterator[None]:
    """One command at a time changes the lab."""
    paths.root.mkdir(parents=True, exist_ok=True)
    with paths.lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("waiting for another lab command to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


class Lab:
    """A lab that is there: its state and its machines."""

    def __init__(self, paths: Paths, state: State) -> None:
        self.paths = paths
        self.state = state
        image = Image(paths.images / state.image)
        self.machines = {node.name: Machine(node, image, paths, state.accel) for node in state.nodes}
        self._switch_argv = switch_argv(state.nodes, image, paths, state.accel)

    @classmethod
    def of_user(cls, paths: Paths) -> Lab:
        state = read_state(paths.state)
        if state is None:
            raise LabError("no lab is up. Start one with: scripts/lab up")
        return cls(paths, state)

    def machine(self, name: str) -> Machine:
        if name not in self.machines:
            raise LabError(f"no node {name!r} in the lab: there are {', '.join(self.machines)}")
        return self.machines[name]

    @property
    def switch_alive(self) -> bool:
        return process.alive(self.paths.machine(SWITCH))

    @property
    def complete(self) -> bool:
        return self.switch_alive and all(machine.alive and machine.ready for machine in self.machines.values())

    def start(self, progress: Progress) -> None:
        """Start what does not run, and wait until all of it can be used."""
        if not self.switch_alive:
            self.paths.machine(SWITCH).mkdir(parents=True, exist_ok=True)
            process.start(self.paths.machine(SWITCH), self._switch_argv)
        for machine in self.machines.values():
            if not machine.alive:
                machine.start()
        progress("machines are started, waiting for the switch")
        wait_for_switch(self.paths)
        progress("switch is ready, waiting for SSH on " + ", ".join(self.machines))
        self._each(Machine.finish_start, progress, "answers SSH and can be used")

    def reset(self, progress: Progress) -> None:
        """Every fault healed, every node bare, whatever was done to it."""
        if not self.switch_alive:
            process.start(self.paths.machine(SWITCH), self._switch_argv)
        wait_for_switch(self.paths)
        for node in self.state.nodes:
            self.repair_fabric(node)
        progress("the switch is as planned; loading the bare machines")
        self._each(Machine.load_bare, progress, "is bare again")
        self.state.faults = {}
        write_state(self.paths.state, self.state)

    def repair_fabric(self, node: Node) -> None:
        """The node's ports, bond and cables as planned."""
        ask_switch(self.paths, f"make_node {node.name}:{node.number}")
        machine = self.machines[node.name]
        if machine.alive:
            for port in PORTS:
                qmp.human(machine.monitor, f"set_link nic{port} on")

    def down(self) -> None:
        """Nothing runs afterwards. Kept: keys, images and the saved bare machines, which make the next start fast."""
        for machine in self.machines.values():
            machine.power_off()
        process.kill(self.paths.machine(SWITCH))
        shutil.rmtree(self.paths.machines)
        self.paths.state.unlink()

    def table(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [("NODE", "ADDRESS", "SSH PORT", "STATE", "ACCEL", "UPTIME", "FAULTS")]
        switch = "running" if self.switch_alive else "off"
        rows.append((SWITCH, "10.77.0.1", "-", switch, self.state.accel, self._uptime(SWITCH), "-"))
        for node in self.state.nodes:
            state = "off"
            if self.machines[node.name].alive:
                state = "running" if answers(node) else "no answer"
            faults = ", ".join(kind for kind, names in self.state.faults.items() if node.name in names)
            rows.append((node.name, node.address, str(node.ssh_port), state, self.state.accel,
                         self._uptime(node.name), faults or "-"))  # fmt: skip
        return rows

    def _uptime(self, name: str) -> str:
        folder = self.paths.machine(name)
        if not process.alive(folder):
            return "-"
        minutes, seconds = divmod(int(process.age(folder)), 60)
        return f"{minutes} min {seconds:02} s"

    def _each(self, act: Callable[[Machine], None], progress: Progress, done: str) -> None:
        """On all nodes at once; the first error is raised after all have ended."""

        def one(machine: Machine) -> None:
            act(machine)
            progress(f"{machine.node.name} {done}")

        with ThreadPoolExecutor(len(self.machines)) as pool:
            for future in [pool.submit(one, machine) for machine in self.machines.values()]:
                future.result()


def _refuse_other_shape(state: State, workers: int | None) -> None:
    there = sum(node.group == "workers" for node in state.nodes)
    if workers is not None and workers != there:
        raise LabError(f"a lab with {there} worker(s) is there already. To change its shape: scripts/lab down")


def up(paths: Paths, workers: int | None, progress: Progress) -> None:
    """Idempotent: what runs is left alone, what is missing is started."""
    state = read_state(paths.state)
    if state is not None:
        _refuse_other_shape(state, workers)
        lab = Lab(paths, state)
        if lab.complete:
            progress("the lab is running already; nothing to do")
        else:
            progress("the lab is there in part; starting the rest")
            lab.start(progress)
        return
    accel = find_accelerator()
    nodes = make_plan(workers or (2 if accel == "kvm" else 1))
    progress(f"accelerator: {'KVM' if accel == 'kvm' else 'none that works (emulation: a boot takes 1 to 2 minutes)'}")
    check_programs()
    check_space(paths.root, IMAGE_SPACE + NODE_SPACE * len(nodes))
    check_memory(((NODE_MEMORY_MIB + OVERHEAD_MIB) * len(nodes) + SWITCH_MEMORY_MIB + OVERHEAD_MIB) * 1024**2)
    check_ports(nodes)
    image = prepare_image(paths.images, progress)
    make_keys(paths, nodes)
    state = State(nodes, accel, image.digest)
    write_state(paths.state, state)
    Lab(paths, state).start(progress)
    progress("the lab is up: " + ", ".join(n.name for n in nodes))
