# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts site.yml works on: not the controller, and a machine that is off does not keep it from the others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ansible_run import ROOT

HOSTS = """
all:
  vars:
    fleet_stack: anything
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
    node_networks:  # makes no sense on the controller, which has no number
      - {name: management, interface: mgmt0, address: "10.0.1.{{ number }}/24"}
  children:
    control_plane: {hosts: {cp-1: {number: 11, ansible_connection: local}}}
    workers: {hosts: {worker-1: {number: 21, ansible_host: 127.0.0.1, ansible_port: 1}}}
"""


def recap(folder: Path, *options: str) -> dict[str, dict[str, int]]:
    """Host -> the counts of the recap."""
    (folder / "fleet").mkdir()
    (folder / "recipes").mkdir()
    (folder / "fleet" / "hosts.yml").write_text(HOSTS)
    (folder / "recipes" / "anything.yml").write_text("name: anything\nconstraints: {}\n")
    program = Path(sys.executable).with_name("ansible-playbook")
    argv = [program, "-i", folder / "fleet", "playbooks/site.yml", "-e", f"report_directory={folder}/out", *options]
    environment = {**os.environ, "ANSIBLE_SSH_RETRIES": "0"}
    done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    lines = re.findall(r"^(\S+) +: (ok=.*)$", done.stdout, re.MULTILINE)
    return {host: {key: int(n) for key, n in (pair.split("=") for pair in counts.split())} for host, counts in lines}


@pytest.mark.parametrize("options", [[], ["--check"]], ids=["run", "check mode"])
def test_a_machine_that_is_off_does_not_stop_the_preflight_of_the_others(tmp_path: Path, options: list[str]) -> None:
    hosts = recap(tmp_path, "--tags", "node_preflight", *options)
    assert (hosts["cp-1"]["failed"], hosts["worker-1"]["failed"], hosts["worker-1"]["ignored"]) == (0, 0, 1)
    assert hosts["worker-1"]["unreachable"] == 0, "it was left out after it had not answered once"
    assert hosts["cp-1"]["ok"] > hosts["worker-1"]["ok"]


@pytest.mark.parametrize("tag", ["node_baseline", "node_network"])
def test_a_role_leaves_a_machine_that_is_off_alone(tmp_path: Path, tag: str) -> None:
    off = recap(tmp_path, "--tags", tag, "--limit", "worker-1,localhost")["worker-1"]
    assert (off["unreachable"], off["ignored"]) == (0, 1), "it was asked once, and left out"


def test_variables_of_machines_are_not_asked_of_the_controller(tmp_path: Path) -> None:
    hosts = recap(tmp_path, "--tags", "mtu_check", "--limit", "worker-1,localhost", "-e", "report_enforce=false")
    assert hosts.get("localhost", {"failed": 0})["failed"] == 0
