# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ib_write_bw of every NIC, with a program of that name that listens as a server, and misbehaves as a client."""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Severity
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.devices import Endpoint
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.nics import (
    Ends,
    Nics,
    judge_nics,
    measure_nics,
    nic_rows,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.outcome import Outcome
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.perftest import Settings

from tests.unit.test_rdma_perftest import TABLE

PORTS = itertools.count(24100 + os.getpid() % 400 * 4)
NICS: Nics = {"mlx5_0/1": Endpoint("mlx5_0", 1, 3, "400G"), "mlx5_1/1": Endpoint("mlx5_1", 1, 3, "400G")}
# The last word of a client is the server's address.
PROGRAM = """#!/bin/sh
echo $$ >> {folder}/pids
for word; do last=$word; done
if [ "$last" != 127.0.0.1 ]; then
  while [ "$1" != -p ]; do shift; done
  exec python3 -S -c "import socket, sys, time; s = socket.create_server(('', $2)); time.sleep(300)"
fi
{client}
"""
GOOD = f"cat <<'END'\n{TABLE}END\n"
CLIENT = {
    "good": (GOOD, "ok", ""),
    "prints_nothing": ("exit 0", "unknown", "exit status 0 and nothing readable"),
    "exit_0_with_an_error_text": ('echo "Couldn\'t allocate MR"', "fault", "memory"),
    "exit_1_with_a_good_table": (GOOD + "exit 1", "unknown", "a table, but exit status 1"),
    "hangs": (GOOD + "sleep 300", "unknown", "did not end in time"),
    "floods": ("yes flood", "unknown", "printed without end"),
}


def measured(nics: Nics, limit: float = 20) -> list[Outcome]:
    ends = Ends("loopback", next(PORTS), None, limit)
    return asyncio.run(measure_nics("w1", nics, ["ib_write_bw"], Settings(), ends, environment={}))


def install(folder: Path, client: str, mode: int = 0o755) -> None:
    (folder / "ib_write_bw").write_text(PROGRAM.replace("{folder}", str(folder)).replace("{client}", client))
    (folder / "ib_write_bw").chmod(mode)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def gone(folder: Path) -> bool:
    pids = (folder / "pids").read_text().split()
    deadline = time.monotonic() + 10
    while subprocess.run(["ps", "-o", "pid=", "-p", ",".join(pids)], capture_output=True, check=False).stdout:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize(("client", "state", "detail"), CLIENT.values(), ids=CLIENT)
def test_what_the_client_does(folder: Path, client: str, state: str, detail: str) -> None:
    install(folder, client)
    (outcome,) = measured({"mlx5_0/1": NICS["mlx5_0/1"]}, limit=6)
    assert (outcome.reading.state, detail in outcome.reading.detail) == (state, True), outcome.reading
    findings = judge_nics("w1", {"mlx5_0/1": NICS["mlx5_0/1"]}, [outcome], [], sku=None, role="loopback")
    assert all(finding.severity is not Severity.OK for finding in findings), "no limit was given"
    assert gone(folder)


@pytest.mark.parametrize(("mode", "detail"), [(None, "is not installed"), (0o644, "may not be executed")])
def test_a_program_that_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: int | None, detail: str
) -> None:
    if mode is not None:
        install(folder, GOOD, mode)
    monkeypatch.setenv("PATH", str(folder))
    (outcome,) = measured({"mlx5_0/1": NICS["mlx5_0/1"]})
    assert outcome.reading.state == "unknown"
    assert detail in outcome.reading.detail


def test_every_nic_has_its_own_figure(folder: Path) -> None:
    install(folder, GOOD)
    outcomes = measured(NICS)
    assert [(row["nic"], row["state"], row["value"]) for row in nic_rows(NICS, outcomes)] == [
        ("mlx5_0/1", "ok", outcomes[0].reading.value),
        ("mlx5_1/1", "ok", outcomes[1].reading.value),
    ]
    assert gone(folder)
