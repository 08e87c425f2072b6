# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A tag of site.yml runs what it names, and what has to come before it, but no other role."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("ansible-playbook")


def roles_at_work(tag: str) -> set[str]:
    argv = [PROGRAM, "playbooks/site.yml", "-i", "inventories/lab", "--list-tasks", "--tags", tag]
    listing = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    tasks = re.findall(r"^ +gpufleet\.cluster\.(\w+) : (.*)\tTAGS", listing, re.MULTILINE)
    # Ansible checks the variables of every role, whatever the tags.
    return {role for role, task in tasks if not task.startswith("Validating arguments")}


@pytest.mark.parametrize(
    ("tag", "roles"),
    [
        ("preflight", {"report"}),
        ("node_preflight", {"node_preflight", "report"}),
        ("node_baseline", {"node_preflight", "node_baseline", "report"}),
        ("node_network", {"node_preflight", "node_network", "report"}),
        ("baseline_check", {"node_baseline", "report"}),
        ("mtu_check", {"report"}),
        ("rdma_check", {"report"}),
        ("nccl_check", {"nccl_benchmark", "report"}),
    ],
)
def test_tag(tag: str, roles: set[str]) -> None:
    assert roles_at_work(tag) == roles
