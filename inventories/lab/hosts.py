#!/usr/bin/env python3
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory script: the machines of the running lab, from its state file. Any Python 3, standard library only.

Without a lab it lists the default shape (one control plane, one worker), so that listing and rendering work anywhere;
a connection then fails, as it should.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

DEFAULT_NODES = {
    "cp-1": {"number": 11, "port": 2211, "group": "control_plane"},
    "worker-1": {"number": 21, "port": 2221, "group": "workers"},
}


def lab_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "gpufleet" / "lab"


def read_nodes(folder: Path) -> dict:
    try:
        return json.loads((folder / "state.json").read_text())["nodes"]
    except FileNotFoundError:
        return DEFAULT_NODES


def hostvars(node: dict) -> dict:
    """User, key and host keys are the same for all machines: group_vars/all/connection.yml."""
    return {"ansible_host": "127.0.0.1", "ansible_port": node["port"], "lab_number": node["number"]}


def inventory(folder: Path) -> dict:
    nodes = read_nodes(folder)
    groups = {
        group: {"hosts": [name for name, node in nodes.items() if node["group"] == group]}
        for group in ("control_plane", "workers")
    }
    return {"_meta": {"hostvars": {name: hostvars(node) for name, node in nodes.items()}}, **groups}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--list", action="store_true")
    what.add_argument("--host", metavar="NAME")
    args = parser.parse_args()
    whole = inventory(lab_folder())
    json.dump(whole if args.list else whole["_meta"]["hostvars"].get(args.host, {}), sys.stdout, indent=2)


if __name__ == "__main__":
    main()
