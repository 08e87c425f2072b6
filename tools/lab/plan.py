# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of the lab: names, numbers, addresses, MAC addresses and ports. All follows from node numbers."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import LabError

SWITCH = "switch"
MAX_WORKERS = 20
# Ports of a node: 0 is management, 1 and 2 are the legs of the bond, 3 and 4 the rails.
PORTS = (0, 1, 2, 3, 4)
MANAGEMENT = 0
# The first PCI slot of a node's ports; port P of a node is the device enp0s(16+P).
FIRST_SLOT = 16
GATEWAY = "10.77.0.1"


@dataclass(frozen=True)
class Node:
    """``number`` is everything: 10.77.0.NUMBER, SSH on 127.0.0.1:22NUMBER, MAC addresses 52:54:00:4c:NUMBER:PORT."""

    name: str
    number: int
    group: str

    @property
    def address(self) -> str:
        return f"10.77.0.{self.number}"

    @property
    def ssh_port(self) -> int:
        return 2200 + self.number

    def mac(self, port: int) -> str:
        return f"52:54:00:4c:{self.number:02x}:{port:02x}"

    def switch_mac(self, port: int) -> str:
        """The other end of the cable."""
        return f"52:54:00:4d:{self.number:02x}:{port:02x}"

    def udp_port(self, port: int) -> int:
        """A cable is a pair of UDP ports on loopback: this one is the node's end."""
        return 23000 + self.number * 10 + port

    def switch_udp_port(self, port: int) -> int:
        return self.udp_port(port) + len(PORTS)

    @staticmethod
    def pci_address(port: int) -> str:
        return f"0000:00:{FIRST_SLOT + port:02x}.0"

    @staticmethod
    def interface(port: int) -> str:
        """The name that udev gives; a role may have renamed the device since."""
        return f"enp0s{FIRST_SLOT + port}"


def make_plan(workers: int) -> tuple[Node, ...]:
    if not 1 <= workers <= MAX_WORKERS:
        raise LabError(f"--workers {workers}: allowed are 1 to {MAX_WORKERS}")
    return (
        Node("cp-1", 11, "control_plane"),
        *(Node(f"worker-{k}", 20 + k, "workers") for k in range(1, workers + 1)),
    )


def find_node(nodes: tuple[Node, ...], name: str) -> Node:
    for node in nodes:
        if node.name == name:
            return node
    raise LabError(f"no machine {name!r} in the lab: there are {', '.join(n.name for n in nodes)}")
