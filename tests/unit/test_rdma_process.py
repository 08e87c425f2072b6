# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measuring programs as they misbehave: each ends in time, with bounded output, and leaves no process behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.process import (
    MOST_OUTPUT,
    RC_NOT_EXECUTABLE,
    Program,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import (
    RC_FLOODED,
    RC_NOT_FOUND,
    RC_TIMEOUT,
    CommandResult,
)


def run(*argv: str, limit: float = 20, environment: dict[str, str] | None = None) -> CommandResult:
    return asyncio.run(Program(argv, limit, environment).run())


def gone(mark: str) -> bool:
    """No process has ``mark`` on its command line any more; a killed one may take a moment to be reaped."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if subprocess.run(["pgrep", "-f", mark], capture_output=True, check=False).returncode:
            return True
    return False


@pytest.fixture
def not_executable(tmp_path: Path) -> str:
    path = tmp_path / "ib_write_bw"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o644)
    return str(path)


def test_a_good_program_is_told_apart_by_stream_and_status() -> None:
    assert run("sh", "-c", "echo out; echo err >&2; exit 3") == CommandResult(3, "out\n", "err\n")


def test_a_missing_program(tmp_path: Path) -> None:
    assert run(str(tmp_path / "none")) == CommandResult(RC_NOT_FOUND, "", f"{tmp_path}/none: No such file or directory")


def test_a_program_that_may_not_be_executed(not_executable: str) -> None:
    assert run(not_executable) == CommandResult(RC_NOT_EXECUTABLE, "", f"{not_executable}: Permission denied")


def test_a_hang_ends_at_the_limit_with_all_its_children() -> None:
    began = time.monotonic()
    result = run("sh", "-c", "echo begun; sleep 7654.25 & sleep 7654.25", limit=0.5)
    assert time.monotonic() - began < 10
    assert result == CommandResult(RC_TIMEOUT, "begun\n", "\nsh: no end after 0.5 s")
    assert gone("sleep 7654.25")


def test_a_child_that_is_left_behind_is_ended_too() -> None:
    assert run("sh", "-c", "sleep 7654.5 >/dev/null 2>&1 & echo ended").rc == 0
    assert gone("sleep 7654.5")


@pytest.mark.parametrize("stream", ["1", "2"], ids=["stdout", "stderr"])
def test_a_flood_is_stopped_and_no_success(stream: str) -> None:
    result = run("sh", "-c", f"yes flood >&{stream}")
    assert result.rc == RC_FLOODED
    assert len(result.stdout) + len(result.stderr) < MOST_OUTPUT + 200
    assert result.stderr.endswith(f"sh: stopped after {MOST_OUTPUT} bytes of output")


def test_cancelling_ends_the_group() -> None:
    async def cancel() -> None:
        task = asyncio.ensure_future(Program(["sh", "-c", "sleep 7654.75 & sleep 7654.75"], 60).run())
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    assert gone("sleep 7654.75")


def test_a_parent_that_is_killed_outright_takes_its_program_along(tmp_path: Path) -> None:
    script = (
        "import asyncio; from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.process import Program\n"
        "asyncio.run(Program(['sleep', '7655'], 60).run())\n"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    parent = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": paths})
    end = time.monotonic() + 10
    while subprocess.run(["pgrep", "-f", "sleep 7655"], capture_output=True, check=False).returncode:
        assert time.monotonic() < end
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    assert gone("sleep 7655")


def test_an_empty_variable_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD_OF_TEST", "something")
    shown = run(
        "sh", "-c", "echo ${LD_PRELOAD_OF_TEST-none} $ADDED", environment={"LD_PRELOAD_OF_TEST": "", "ADDED": "x"}
    )
    assert shown.stdout == "none x\n"
