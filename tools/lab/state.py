# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""state.json: what lab is there, for the lab's own commands and for inventories/lab/hosts.py."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .plan import Node

__all__ = ["State", "read_state", "write_state"]


@dataclass
class State:
    nodes: tuple[Node, ...]
    accel: str
    image: str
    faults: dict[str, list[str]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "nodes": {n.name: {"number": n.number, "port": n.ssh_port, "group": n.group} for n in self.nodes},
            "accel": self.accel,
            "image": self.image,
            "faults": self.faults,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> State:
        nodes = tuple(Node(name, entry["number"], entry["group"]) for name, entry in data["nodes"].items())
        return cls(nodes, data["accel"], data["image"], data["faults"])


def read_state(path: Path) -> State | None:
    """None: no lab is up."""
    try:
        return State.from_json(json.loads(path.read_text()))
    except FileNotFoundError:
        return None


def write_state(path: Path, state: State) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(state.to_json(), indent=2) + "\n")
    temporary.rename(path)
