# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight in a real run: what a person sees who has made several mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ansible_run import play

PLAYBOOK = """
- hosts: all,localhost
  gather_facts: false
  tasks:
    - name: Check
      gpufleet.cluster.preflight:
      run_once: true
"""
# The hosts cannot be reached: preflight must not try.
INVENTORY = """
all:
  vars:
    ansible_host: 192.0.2.1
    fleet_stack: lab
    kube_pod_cidr: 10.0.0.0/16
    node_networks:
      - {name: management, interface: eth0, address: "10.0.1.{{ number }}/24", gateway: "{{ gateway }}"}
    gateway: 10.0.1.1
  children:
    masters:
      hosts:
        cp-1: {number: 11}
    workers:
      hosts:
        w_1: {number: 11}
        w-2: {number: 22, gateway: 10.0.9.1}
        w-3: {}
"""
RFC_1123 = "a name by RFC 1123: lower-case letters, digits and - inside, labels of 1 to 63 characters, 64 in all"
PROBLEMS: list[tuple[str, str, Any, str]] = [
    ("(fleet)", "fleet_group_control_plane", "control_plane", "a group of the inventory; there are: masters, workers"),
    ("(fleet)", "kube_pod_cidr", "10.0.0.0/16", "no overlap with node_networks[management].address = 10.0.1.0/24"),
    ("w-2", "node_networks[management].gateway", "10.0.9.1", "an address inside 10.0.1.0/24"),
    ("w-3", "node_networks", None, "a value that can be templated: 'number' is undefined"),
    ("w_1", "inventory_hostname", "w_1", RFC_1123),
    ("w_1", "node_networks[management].address", "10.0.1.11", "not used twice; cp-1 has it on network management"),
]  # fmt: skip


@pytest.mark.parametrize("options", [[], ["--check"], ["--limit", "w-3"]], ids=["run", "check mode", "limit"])
def test_all_mistakes_are_listed_at_once(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    played = play(tmp_path / "hosts.yml", PLAYBOOK, tmp_path, *options)
    [result] = played.tasks["Check"].values()
    assert played.rc == 2
    keys = ("host", "variable", "value", "allowed")
    assert [tuple(problem[key] for key in keys) for problem in result["problems"]] == PROBLEMS
    lines = result["msg"].splitlines()
    assert lines[0].startswith("The inventory has 6 problems; nothing was changed.")
    assert [line.strip() for line in lines if not line.startswith("    ")][1:] == ["(fleet)", "w-2", "w-3", "w_1"]


def test_group_names_can_be_given_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    played = play(tmp_path / "hosts.yml", PLAYBOOK, tmp_path, "-e", "fleet_group_control_plane=masters")
    [result] = played.tasks["Check"].values()
    assert [problem["variable"] for problem in result["problems"] if problem["host"] == "(fleet)"] == ["kube_pod_cidr"]


def test_advice_is_shown_and_does_not_fail(tmp_path: Path) -> None:
    hosts = "\n".join(f"        cp-{n}: {{number: {n}}}" for n in (11, 12))
    (tmp_path / "hosts.yml").write_text(
        "all:\n  vars:\n    fleet_stack: lab\n    node_networks:\n"
        '      - {name: management, interface: eth0, address: "10.0.1.{{ number }}/24"}\n'
        f"  children:\n    control_plane:\n      hosts:\n{hosts}\n"
        "    workers:\n      hosts:\n        w-1: {number: 21}\n"
    )
    played = play(tmp_path / "hosts.yml", PLAYBOOK, tmp_path)
    [result] = played.tasks["Check"].values()
    assert (played.rc, result["checked"], result["problems"]) == (0, 3, [])
    allowed = "an odd number of hosts: etcd with 2 members survives no more failures than with 1"
    value = "control_plane: 2 hosts"
    advice = {"host": "(fleet)", "variable": "fleet_group_control_plane", "value": value, "allowed": allowed}
    assert result["advice"] == [advice]
    assert result["warnings"] == [f"(fleet): fleet_group_control_plane = {value!r}: {allowed}"]
