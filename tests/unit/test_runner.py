"""The runner: what a program can do to it, and that nothing of the program is left."""

from __future__ import annotations

import os
import shlex
import time
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult, SubprocessRunner


class Small(SubprocessRunner):
    most_bytes = 2 * 1024 * 1024


def sh(script: str, timeout: float | None = 20, stdin: str | None = None) -> CommandResult:
    return Small().run(["sh", "-c", script], timeout=timeout, stdin=stdin)


@pytest.mark.parametrize(
    ("script", "stdin", "want"),
    [
        pytest.param("echo out; echo err >&2; exit 3", None, CommandResult(3, "out\n", "err\n"), id="both-outputs"),
        pytest.param("cat", "a" * 300_000, CommandResult(0, "a" * 300_000, ""), id="stdin-larger-than-a-pipe"),
        pytest.param("exec <&-; exit 0", "a" * 300_000, CommandResult(0, "", ""), id="stdin-not-read"),
        pytest.param("printf '\\377x'", None, CommandResult(0, "\ufffdx", ""), id="no-text"),
        pytest.param("cat", None, CommandResult(0, "", ""), id="no-stdin-is-an-end-of-file"),
    ],
)
def test_ends_by_itself(script: str, stdin: str | None, want: CommandResult) -> None:
    assert sh(script, stdin=stdin) == want


def test_a_program_that_is_missing_or_not_executable(tmp_path: Path) -> None:
    plain = tmp_path / "tool"
    plain.write_text("#!/bin/sh\n")
    results = [SubprocessRunner().run([str(path)]) for path in (tmp_path / "none", plain)]
    assert [(result.rc, result.missing) for result in results] == [(127, True)] * 2
    assert "Permission denied" in results[1].stderr


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("echo seen; sleep 600 & echo $! > {pid}; wait", id="hangs"),
        pytest.param("trap '' TERM; echo seen; sleep 600 & echo $! > {pid}; wait; wait", id="does-not-listen"),
        pytest.param("echo seen; sleep 600 & echo $! > {pid}", id="leaves-a-child-with-the-pipe"),
    ],
)
def test_time_limit_ends_the_whole_group(tmp_path: Path, script: str) -> None:
    pid = tmp_path / "pid"
    result = sh(script.format(pid=shlex.quote(str(pid))), timeout=0.5)
    assert (result.rc, result.timed_out, result.stdout) == (124, True, "seen\n")
    assert "no end after 0.5 s" in result.stderr
    assert gone(int(pid.read_text()))


def test_a_flood_is_stopped_in_bounded_memory() -> None:
    start = time.monotonic()
    result = sh("yes")
    assert (result.rc, result.flooded, len(result.stdout)) == (153, True, Small.most_bytes)
    assert result.stderr.endswith("sh: ended after 2 MiB of output")
    assert time.monotonic() - start < 10


def gone(pid: int) -> bool:
    for _attempt in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False
