# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults that can be planted on purpose, and their healing. A table: kind -> what it does, how it is undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import qmp
from .errors import LabError
from .lab import Lab
from .plan import Node
from .ssh import run_on
from .state import write_state
from .switch import ask_switch

__all__ = ["FAULTS", "Fault", "heal", "plant", "power_on"]

Act = Callable[[Lab, Node], None]
# A leg of the bond, by its PCI address: names may have been changed by a role, and bonding gives all legs one MAC.
_MEMBER = f"member=$(basename /sys/bus/pci/devices/{Node.pci_address(1)}/virtio*/net/*)"
_RAIL = f"rail=$(basename /sys/bus/pci/devices/{Node.pci_address(4)}/virtio*/net/*)"


def _on_switch(command: str) -> Act:
    return lambda lab, node: _discard(ask_switch(lab.paths, command.format(node=node.name)))


def _on_node(command: str) -> Act:
    return lambda lab, node: _discard(run_on(lab.paths, node, command))


def _discard(_: str) -> None:
    return None


def _repair(lab: Lab, node: Node) -> None:
    lab.repair_fabric(node)


def _pull_cable(lab: Lab, node: Node) -> None:
    qmp.human(lab.machine(node.name).monitor, "set_link nic2 off")


def _power_off(lab: Lab, node: Node) -> None:
    lab.machine(node.name).power_off()


def _power_on(lab: Lab, node: Node) -> None:
    lab.machine(node.name).power_on()


@dataclass(frozen=True)
class Fault:
    does: str
    plant: Act
    heal: Act


FAULTS = {
    "member-mtu": Fault(
        "on the node, one leg of the bond (fabric port 1) has MTU 1500",
        _on_node(f"{_MEMBER}; ip link set $member mtu 1500"),
        _on_node(f"{_MEMBER}; ip link set $member mtu $(cat /sys/class/net/$member/master/mtu)"),
    ),
    "path-mtu": Fault(
        "the switch drops frames above 1500 bytes to the node's bond; LACP does not notice",
        _on_switch("ip link set bond-{node} mtu 1500"),
        _repair,
    ),
    "leg-down": Fault(
        "one leg of the bond is down at the switch; the node keeps its carrier",
        _on_switch("ip link set {node}-f1 down"),
        _repair,
    ),
    "no-partner": Fault(
        "the switch speaks no LACP on both legs of the node's bond, which stay up",
        _on_switch("release_legs {node}"),
        _repair,
    ),
    "carrier": Fault(
        "the cable of one leg of the bond (fabric port 2) is pulled: the node loses its carrier",
        _pull_cable,
        _repair,
    ),
    "slow-rail": Fault(
        "the node sends at 2 Mbit/s at the most on rail 1 (fabric port 4)",
        _on_node(f"{_RAIL}; tc qdisc replace dev $rail root netem rate 2mbit limit 10000"),
        _on_node(f"{_RAIL}; tc qdisc del dev $rail root"),
    ),
    "power-off": Fault("the node loses its power", _power_off, _power_on),
}


def plant(lab: Lab, kind: str, name: str) -> None:
    if kind not in FAULTS:
        raise LabError(f"no fault {kind!r}: there are {', '.join(FAULTS)}")
    node = lab.machine(name).node
    FAULTS[kind].plant(lab, node)
    names = lab.state.faults.setdefault(kind, [])
    if name not in names:
        names.append(name)
    write_state(lab.paths.state, lab.state)


def power_on(lab: Lab, name: str) -> None:
    """Heals power-off on one node."""
    lab.machine(name).power_on()
    lab.state.faults["power-off"] = [other for other in lab.state.faults.get("power-off", []) if other != name]
    write_state(lab.paths.state, lab.state)


def heal(lab: Lab) -> list[str]:
    """All that were planted; power first, so that the node can be talked to for the rest. Returns what was healed."""
    healed = []
    for kind in sorted(lab.state.faults, key=lambda kind: kind != "power-off"):
        for name in list(lab.state.faults[kind]):
            FAULTS[kind].heal(lab, lab.machine(name).node)
            healed.append(f"{kind} {name}")
            lab.state.faults[kind].remove(name)
            write_state(lab.paths.state, lab.state)
    lab.state.faults = {}
    write_state(lab.paths.state, lab.state)
    return healed
