# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report inside real ansible-playbook runs: lost hosts, tags, limits, check mode, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]

INVENTORY = """
all:
  vars: {ansible_connection: local, ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  children:
    control_plane: {hosts: {cp-1: {mtu: 9000}}}
    workers:
      hosts:
        worker-1: {mtu: 9000}
        worker-2: {mtu: 1500}
        worker-3: {mtu: 9000, ansible_connection: ssh, ansible_host: 127.0.0.1, ansible_port: 1}
    switches: {hosts: {switch: {mtu: 9000}}}
"""

PLAYBOOK = """
- hosts: localhost,all
  gather_facts: false
  tags: [always]
  tasks:
    - gpufleet.cluster.fleet_run:
      register: fleet_run
      run_once: true

- hosts: "{{ fleet_hosts | default('control_plane:workers') }}"
  gather_facts: false
  ignore_unreachable: true
  tasks:
    - ansible.builtin.fail: {msg: on purpose}
      when: inventory_hostname == breaks | default('')
    - ansible.builtin.raw: "true"
      register: fleet_reach
      when: hello | default(false)
      tags: [mtu_check]
    - ansible.builtin.meta: end_host
      when: fleet_reach is unreachable
      tags: [mtu_check]
    - canned_check:
        result:
          check: mtu
          run_id: "{{ fleet_run.id }}"
          verdict: "{{ 'OK' if mtu == 9000 else 'FAIL' }}"
          report: {interfaces: [], paths: []}
          findings:
            - check: mtu
              severity: "{{ 'OK' if mtu == 9000 else 'FAIL' }}"
              subject: {host: "{{ inventory_hostname }}"}
              message: "MTU {{ mtu }} {{ '{{' }} 7 * 7 {{ '}}' }}"
      register: check_mtu_result
      tags: [mtu_check]

- hosts: localhost,all
  gather_facts: false
  tags: [always]
  roles: [{role: gpufleet.cluster.report, run_once: true}]
"""


def play(directory: Path, *arguments: str) -> tuple[int, str, dict[str, Any] | None]:
    """Exit code, output, and findings.json if a report was written."""
    (directory / "fleet").mkdir()
    (directory / "fleet" / "hosts.yml").write_text(INVENTORY)
    (directory / "play.yml").write_text(PLAYBOOK)
    program = Path(sys.executable).with_name("ansible-playbook")
    done = subprocess.run(
        [
            program,
            "-i",
            directory / "fleet",
            directory / "play.yml",
            "-e",
            f"report_directory={directory}/out",
            *arguments,
        ],
        cwd=ROOT,
        env=os.environ | {"ANSIBLE_LIBRARY": str(ROOT / "tests/fakes/ansible_modules")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    found = directory / "out" / "fleet" / "latest" / "findings.json"
    return done.returncode, done.stdout, json.loads(found.read_text()) if found.exists() else None


def verdicts(document: Any) -> dict[str, tuple[str, str | None]]:
    return {name: (host["state"], host["verdict"]) for name, host in document["hosts"].items()}


def test_a_fault_and_lost_hosts_fail_the_run_after_the_report(tmp_path: Path) -> None:
    code, output, found = play(tmp_path, "--tags", "mtu_check,untagged", "-e", "breaks=worker-1")
    assert found is not None, output
    assert code == 2
    assert verdicts(found) == {
        "cp-1": ("measured", "OK"),
        "worker-1": ("not_measured", "UNKNOWN"),
        "worker-2": ("measured", "FAIL"),
        "worker-3": ("unreachable", "UNKNOWN"),
    }
    assert [finding["message"][:40] for finding in found["findings"]] == [
        "MTU 1500 {{ 7 * 7 }}",
        "worker-1 failed or got lost earlier in t",
        "worker-3 could not be reached. Data coul",
        "MTU 9000 {{ 7 * 7 }}",
    ]
    assert "Verdict FAIL. Checks: mtu. Hosts: 1 FAIL, 2 UNKNOWN, 1 OK." in output
    assert sorted(path.name for path in (tmp_path / "out/fleet/latest").iterdir()) == [
        "findings.json",
        "junit.xml",
        "metrics.prom",
        "report.html",
    ]


def test_a_limited_run_in_check_mode_passes_and_says_so(tmp_path: Path) -> None:
    code, output, found = play(tmp_path, "--tags", "mtu_check", "--limit", "cp-1,localhost", "--check")
    assert found is not None, output
    assert (code, found["passed"], found["run"]["check_mode"]) == (0, True, True)
    assert set(verdicts(found).values()) == {("measured", "OK"), ("not_selected", None)}
    assert "Verdict OK (check mode). Checks: mtu. Hosts: 1 OK, 3 NOT SELECTED." in output


def test_hosts_that_were_not_asked_are_not_selected(tmp_path: Path) -> None:
    code, output, found = play(tmp_path, "--tags", "mtu_check", "-e", "fleet_hosts=cp-1:switch")
    assert found is not None, output
    assert {name: host["state"] for name, host in found["hosts"].items()} == {
        "cp-1": "measured",
        "switch": "measured",
        "worker-1": "not_selected",
        "worker-2": "not_selected",
        "worker-3": "not_selected",
    }
    assert (code, found["verdict"]) == (0, "OK")


def test_the_only_selected_host_is_off(tmp_path: Path) -> None:
    code, output, found = play(tmp_path, "--tags", "mtu_check", "--limit", "worker-3")
    assert found is not None, output
    assert (code, found["verdict"], verdicts(found)["worker-3"]) == (2, "UNKNOWN", ("unreachable", "UNKNOWN"))


def test_a_host_that_did_not_answer_the_first_word_is_asked_nothing_else(tmp_path: Path) -> None:
    _code, output, found = play(tmp_path, "--tags", "mtu_check", "-e", '{"hello": true}')
    assert found is not None, output
    assert verdicts(found)["worker-3"] == ("unreachable", "UNKNOWN")
    assert output.count("UNREACHABLE") == 1
    assert {name for name, (state, _verdict) in verdicts(found).items() if state == "measured"} == {
        "cp-1",
        "worker-1",
        "worker-2",
    }


DEFAULTS = yaml.safe_load((ROOT / "roles/report/defaults/main.yml").read_text())
ALL_CHECKS = ",".join(check["tag"] for check in DEFAULTS["report_checks"])


@pytest.mark.parametrize("arguments", [("--tags", "node_baseline"), ("--skip-tags", ALL_CHECKS)])
def test_silent_when_no_check_was_selected(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    code, output, found = play(tmp_path, *arguments)
    assert (code, found, (tmp_path / "out").exists()) == (0, None, False), output


def test_a_run_without_id_is_refused(tmp_path: Path) -> None:
    code, output, found = play(tmp_path, "--tags", "mtu_check", "--limit", "cp-1,localhost", "-e", "report_run_id=../x")
    assert (code, found) == (2, None)
    assert "Start the playbook with gpufleet.cluster.fleet_run" in " ".join(output.split())
