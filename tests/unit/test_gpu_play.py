# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/verify.yml against FAKE programs on PATH: what a user would see of a healthy and of a faulty machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.gpu import BOOT, changed, save

ROOT = Path(__file__).parents[2]
INVENTORY = """
all:
  vars:
    ansible_connection: local
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
    fleet_stack: a4x-1.34
    imex_mode: host
  children:
    control_plane: {hosts: {cp-1: {}}}
    workers: {children: {gpu_nodes: {}}}
    gpu_nodes: {children: {nvl_d1: {}}}
    nvl_d1:
      hosts:
        w1: {}
      vars:
        node_networks: [{name: management, interface: eth0, address: 192.0.2.1/24}]
        # This machine shows neither a GPU's PCIe error counters nor IMEX channels.
        gpu_expected: {count: 4, product: NVIDIA GB200, driver: 580.126.20, nvlinks: 18, fabric: mnnvl, skip: [aer]}
"""
XID = "2026-11-30T21:00:00+00:00 w1 kernel: NVRM: Xid (PCI:0018:01:00): 79, GPU has fallen off the bus."


def verify(folder: Path, machine: dict[str, Any], *options: str) -> tuple[int, dict[str, Any]]:
    """The exit code of the run, and findings.json."""
    (folder / "fleet.yml").write_text(INVENTORY)
    fakes, tools = ROOT / "tests/fakes/bin", Path(sys.executable).parent
    done = subprocess.run(
        [
            str(tools / "ansible-playbook"),
            str(ROOT / "playbooks/verify.yml"),
            *("-i", str(folder / "fleet.yml"), "-e", f"report_directory={folder / 'out'}", *options),
        ],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": f"{fakes}:{tools}:{os.environ['PATH']}",
            "FAKE_GPU_MACHINE": str(save(machine, folder / "machine.json")),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
        },
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    found = list((folder / "out").glob("*/latest/findings.json"))
    assert found, done.stdout + done.stderr
    return done.returncode, json.loads(found[0].read_text())


def bad(report: dict[str, Any], check: str) -> list[tuple[str, str, int | None]]:
    return [
        (each["severity"], each["subject"].get("item", ""), each["subject"].get("gpu"))
        for each in report["findings"]
        if each["check"] == check and each["severity"] != "OK"
    ]


@pytest.mark.parametrize(
    ("changes", "code", "gpu"),
    [
        pytest.param({}, 0, [], id="healthy"),
        pytest.param(
            {
                "links": {"1": [53.125] * 17 + [None]},
                "gpu_3": {"ecc.errors.uncorrected.volatile.total": 2},
                "answers": {"journalctl": f"{BOOT}\n{XID}\n"},
            },
            2,
            [("FAIL", "nvlink", 1), ("FAIL", "xid", 2), ("FAIL", "ecc", 3)],
            id="faulty",
        ),
        pytest.param(
            {"behaviour": {"nvidia-smi": "floods"}},
            2,
            [("UNKNOWN", "count", None)],
            id="nvidia-smi-floods",
        ),
    ],
)
def test_gpu_check(tmp_path: Path, changes: dict[str, Any], code: int, gpu: list[Any]) -> None:
    rc, report = verify(tmp_path, changed(**changes), "--tags", "gpu_check")
    assert (rc, bad(report, "gpu")) == (code, gpu)
    assert report["hosts"]["cp-1"]["checks"]["gpu"]["status"] == "not_applicable"
    rows = report["reports"]["gpu"]["w1"]["gpus"]
    assert all("(FAKE)" in row["name"] for row in rows)
    assert len(rows) == (0 if "behaviour" in changes else 4)


def test_imex_and_dcgm_checks(tmp_path: Path) -> None:
    """The real /proc/devices of this machine has no IMEX; the domain is that of the fake, and DCGM's test fails."""
    dcgm = (ROOT / "tests/unit/fixtures/dcgmi/05-json4-lowercase-fail.json").read_text()
    rc, report = verify(
        tmp_path,
        changed(answers={"dcgmi": dcgm}),
        "--tags",
        "imex_check,dcgm_check",
        "-e",
        f"dcgm_log_directory={tmp_path}",
    )
    assert rc == 2
    assert bad(report, "dcgm") == [("FAIL", "memory", 0)]
    assert bad(report, "imex") == [
        ("FAIL", "driver", None),
        ("FAIL", "channels", None),
        ("FAIL", "nodes_config", None),
        ("FAIL", "version", None),
    ]
    assert {node["address"] for node in report["reports"]["imex"]["w1"]["domain"]["nodes"]} == {
        "192.0.2.1",
        "192.0.2.2",
    }
