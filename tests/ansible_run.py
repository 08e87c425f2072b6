# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a playbook with the real ansible-playbook, and read the tasks' results as data."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
CONFIG = """
[defaults]
home = {home}
collections_path = {root}/.ansible/collections
inject_facts_as_vars = false
stdout_callback = ansible.posix.json
"""


@dataclass(frozen=True)
class Played:
    """``tasks`` maps the name of each task to the result of each host, and what the whole run cost."""

    rc: int
    tasks: dict[str, dict[str, dict[str, Any]]]
    cpu_seconds: float
    stderr: str


def play(inventory: Path, playbook: str, folder: Path, *options: str, **environment: str) -> Played:
    """``folder`` takes the playbook, the configuration and Ansible's own files."""
    (folder / "ansible.cfg").write_text(CONFIG.format(home=folder / "home", root=ROOT))
    (folder / "playbook.yml").write_text(playbook)
    before = _children_cpu()
    done = subprocess.run(
        [str(BIN / "ansible-playbook"), "-i", str(inventory), *options, str(folder / "playbook.yml")],
        env={**os.environ, "ANSIBLE_CONFIG": str(folder / "ansible.cfg"), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    start = done.stdout.find("{")
    assert start >= 0, done.stdout + done.stderr
    report = json.loads(done.stdout[start:])
    tasks = {task["task"]["name"]: task["hosts"] for one in report["plays"] for task in one["tasks"]}
    return Played(done.returncode, tasks, _children_cpu() - before, done.stderr)


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
