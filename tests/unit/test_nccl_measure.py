"""A run from its start to the findings, with real processes: programs that misbehave stand in for mpirun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.bandwidth import load_limits
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.nccl import Measure, judge_run
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.attempt import read_attempt
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.environment import MARK
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.launch import ProcessLauncher
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.measure import (
    Place,
    Tools,
    describe,
    keep,
    measure,
    planned,
    read_records,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.processes import end_marked, marked
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.program import inspect_program
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.run import Host, Run
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.session import Session
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult, SubprocessRunner

from tests.fakes.runner import FakeRunner
from tests.unit import nccl_log as log

PROGRAM = "/opt/nccl-tests/build/all_reduce_perf"
SESSION = {"programs": {PROGRAM: {"sha256": "ab", "mpi": "libmpi.so.40", "problem": None}}}
RUN_ID = f"test-{os.getpid()}"
LIMIT = {
    "sku": "H100", "scope": "single_node", "collective": "all_reduce", "ranks": 8, "nodes": 1,
    "size_bytes": 17179869184, "statistic": "row_at_size", "value": 430, "unit": "GB/s", "source": "here", "date": "x",
}  # fmt: skip
VERSION = 'if [ "$1" = --version ]; then echo "mpirun (Open MPI) 5.0.7"; exit; fi\n'


def run(**changes: Any) -> Run:
    values = {"sku": "H100", "timeout": 60, **changes}
    return Run("one node", "single_node", "all_reduce", (Host("w1", "10.0.1.21", 8, None, SESSION),), PROGRAM, **values)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return Place(RUN_ID, str(tmp_path / "session"), str(tmp_path / "logs"))


def fake_mpirun(place: Place, body: str, mode: int = 0o755, name: str = "mpirun") -> None:
    path = Path(place.session).parent / "bin" / name
    path.write_text(f"#!/bin/sh\n{VERSION}{body}\n")
    path.chmod(mode)


def judged(place: Place, process: ProcessLauncher, **changes: Any) -> tuple[str, str, float]:
    """Severity, message, and how long it took."""
    begin = time.monotonic()
    one = run(**changes)
    record = describe(one, [measure(one, Tools(SubprocessRunner(), process, dict(os.environ)), place)])
    keep(record, place.logs)
    (kept,) = read_records(place.logs)
    assert kept == record
    _shown, findings = judge_run(
        "w1", kept, [read_attempt(each) for each in kept["attempts"]], Measure(load_limits([LIMIT]))
    )
    (finding,) = findings
    return finding.severity.name, finding.message, time.monotonic() - begin


def cat(text: str) -> str:
    return f"cat <<'END'\n{text}END\n"


GOOD = cat(log.good())
MISBEHAVING = {
    "good": (GOOD, "OK", "measured 480"),
    "slow": (cat(log.good(busbw=400.0)), "FAIL", "measured 400"),
    "prints_nothing": ("exit 0", "UNKNOWN", "no line of NCCL tests"),
    "exit_0_with_an_error_text": (
        cat(log.good().split("#\n#  ")[0] + "w1: Test NCCL failure common.cu:1279 'unhandled system error'\n"),
        "FAIL",
        "nccl_error",
    ),
    "exit_1_with_a_good_table": (GOOD + "exit 1", "UNKNOWN", "mpirun ended with exit status 1"),
    "cut_before_the_footer": (cat(log.good().rsplit("# Avg", 1)[0]), "UNKNOWN", "no_footer"),
    "wrong_data": (cat(log.good().replace("0 OK", "3 FAILED")), "FAIL", "data_corruption"),
    "other_ranks": (
        cat(log.good().replace(log.ranks(8), log.ranks(4))),
        "UNKNOWN",
        "the table is of 4 ranks, not of 8",
    ),
    "other_collective": (
        cat(log.good().replace("all_reduce", "all_gather")),
        "UNKNOWN",
        "the table is of all_gather, not of all_reduce",
    ),
    "a_stand_in_for_gpus": (GOOD + "echo '# stand-in for nccl-tests'", "UNKNOWN", "a stand-in was run for sku H100"),
    "killed": (GOOD + "kill -9 $$", "UNKNOWN", "mpirun was killed by signal 9"),
    "a_rank_was_killed": (GOOD + "exit 137", "UNKNOWN", "mpirun ended with exit status 137"),
}


@pytest.mark.parametrize(("body", "severity", "message"), MISBEHAVING.values(), ids=MISBEHAVING)
def test_what_mpirun_does(place: Place, body: str, severity: str, message: str) -> None:
    fake_mpirun(place, body)
    found = judged(place, ProcessLauncher(watched=None))
    assert found[0] == severity
    assert message in found[1]


SRUN = {
    "good": (GOOD, "OK", "measured 480"),
    "prints_nothing": ("exit 0", "UNKNOWN", "no line of NCCL tests"),
    "exit_0_with_an_error_text": (
        "echo 'srun: error: Unable to allocate resources'",
        "UNKNOWN",
        "the job step was not made",
    ),
    "exit_1_with_a_good_table": (GOOD + "exit 1", "UNKNOWN", "srun ended with exit status 1"),
    "hangs": (GOOD + "sleep 300", "UNKNOWN", "no end after"),
    "floods": (GOOD + "yes 'w1:1:1 [0] NCCL INFO flood'", "UNKNOWN", "writing more than is kept"),
}


@pytest.mark.parametrize(("body", "severity", "message"), SRUN.values(), ids=SRUN)
def test_what_srun_does(place: Place, body: str, severity: str, message: str) -> None:
    fake_mpirun(place, body, name="srun")
    process: Any = _Impatient(ProcessLauncher(most_bytes=200_000, watched=None, grace=0.5))
    found = judged(place, process, launcher="srun")
    assert found[0] == severity
    assert message in found[1]
    assert marked(RUN_ID) == []


@pytest.mark.parametrize("mode", [0o644, None], ids=["not_executable", "missing"])
def test_srun_is_not_there(place: Place, monkeypatch: pytest.MonkeyPatch, mode: int | None) -> None:
    if mode is not None:
        fake_mpirun(place, GOOD, mode, name="srun")
    monkeypatch.setenv("PATH", str(Path(place.session).parent / "bin"))
    severity, message, _seconds = judged(place, ProcessLauncher(watched=None), launcher="srun")
    assert severity == "UNKNOWN"
    assert "srun: Permission denied" in message or "srun: No such file or directory" in message


def test_missing_and_not_executable(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(place.session).parent}/bin:{os.environ['PATH']}")
    fake_mpirun(place, GOOD, mode=0o644)
    monkeypatch.setenv("PATH", str(Path(place.session).parent / "bin"))
    assert judged(place, ProcessLauncher(watched=None))[:2] == (
        "UNKNOWN",
        "one node on w1: mpirun is not installed on this host (mpirun: Permission denied)",
    )
    (Path(place.session).parent / "bin" / "mpirun").unlink()
    severity, message, _seconds = judged(place, ProcessLauncher(watched=None))
    assert severity == "UNKNOWN"
    assert "mpirun: No such file or directory" in message


def test_one_that_hangs_ends_at_its_limit_with_all_that_it_started(place: Place) -> None:
    # The child leaves its process group, as the ranks of mpirun do, and does not listen.
    fake_mpirun(place, "setsid sh -c 'trap \"\" TERM; sleep 300' & echo started; trap '' TERM; wait; sleep 300")
    launcher = ProcessLauncher(watched=None, grace=0.5)
    one = run(timeout=1)
    begin = time.monotonic()
    tools = Tools(SubprocessRunner(), _Impatient(launcher), dict(os.environ))
    found = measure(one, tools, place)
    assert (found.state, found.tail) == ("timeout", ("started",))
    assert time.monotonic() - begin < 30
    assert marked(RUN_ID) == []
    assert found.killed


class _Impatient:
    """The margin over the run's own limit is for real fleets."""

    def __init__(self, launcher: ProcessLauncher) -> None:
        self._launcher = launcher

    def launch(self, argv: Any, environment: Any, log: str, timeout: float, beside: Any = None) -> Any:
        return self._launcher.launch(argv, environment, log, 2, beside)


def test_one_that_floods_is_ended_and_the_log_is_bounded(place: Place) -> None:
    fake_mpirun(place, GOOD + "yes 'w1:1:1 [0] NCCL INFO flood'")
    severity, message, _seconds = judged(place, ProcessLauncher(most_bytes=200_000, watched=None))
    assert severity == "UNKNOWN"
    assert "writing more than is kept" in message
    assert max(path.stat().st_size for path in Path(place.logs).iterdir()) == 200_000


def test_it_ends_when_the_controller_goes_away(place: Place) -> None:
    fake_mpirun(place, "sleep 300")
    ours, theirs = os.pipe()
    threading.Timer(1, os.close, [ours]).start()
    found = judged(place, ProcessLauncher(watched=theirs))
    os.close(theirs)
    assert found[0] == "UNKNOWN"
    assert "the controller had gone" in found[1]
    assert found[2] < 30


def test_it_ends_on_a_signal(place: Place) -> None:
    fake_mpirun(place, "sleep 300")
    threading.Timer(1, os.kill, [os.getpid(), signal.SIGTERM]).start()
    assert "the controller had gone" in judged(place, ProcessLauncher(watched=None))[1]


def test_a_module_that_is_killed_outright_takes_mpirun_along(place: Place, tmp_path: Path) -> None:
    fake_mpirun(place, "echo $$ > pid; exec sleep 300")
    code = (
        "from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.launch import ProcessLauncher\n"
        f"import os; os.chdir({str(tmp_path)!r})\n"
        "ProcessLauncher(watched=None).launch(['timeout', '100', 'mpirun'], dict(os.environ), 'log', 90)"
    )
    root = Path(__file__).resolve().parents[2]
    module = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": f"{root}/.ansible/collections"}
    )
    _until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
    module.kill()
    module.wait()
    pid = int((tmp_path / "pid").read_text())
    _until(lambda: not _alive(pid))


def _alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False


def _until(true: Any) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_only_marked_processes_are_ended() -> None:
    mark = {**os.environ, MARK: "other-run"}
    other, ours = (subprocess.Popen(["sleep", "300"], env=env) for env in (mark, {**mark, MARK: RUN_ID}))
    try:
        _until(lambda: marked(RUN_ID) == [ours.pid])
        assert end_marked(RUN_ID) == [f"{ours.pid} sleep"]
        assert ours.wait(5) == -signal.SIGTERM
        assert other.poll() is None
        assert end_marked(RUN_ID) == []
    finally:
        other.kill()
        other.wait()


def test_check_mode_says_what_would_run(place: Place) -> None:
    fake_mpirun(place, "exit 9")
    one = run()
    record = describe(one, [planned(one, Tools(SubprocessRunner(), ProcessLauncher(), {}), place)])
    assert not Path(place.logs).exists()
    _shown, (finding,) = judge_run("w1", record, [read_attempt(each) for each in record["attempts"]], Measure())
    assert finding.severity.name == "UNKNOWN"
    assert "not run in check mode; it would run: timeout -k 5 70 mpirun --allow-run-as-root -np 8" in finding.message


def test_a_host_without_host_keys_is_not_connected_to(place: Place) -> None:
    fake_mpirun(place, GOOD)
    hosts = (
        Host("w1", "10.0.1.21", 1, None, {**SESSION, "host_keys": ["ssh-ed25519 A"]}),
        Host("w2", "x", 1, None, SESSION),
    )
    one = Run("pair", "cross_domain", "all_reduce", hosts, PROGRAM)
    found = measure(one, Tools(SubprocessRunner(), ProcessLauncher(watched=None), {}), place)
    assert (found.state, found.problem) == ("not_started", "no SSH host key is known of w2")


LDD = "\tlinux-vdso.so.1 (0x00)\n\tlibmpi.so.40 => /lib/libmpi.so.40 (0x00)\n\tlibc.so.6 => /lib/libc.so.6 (0x00)\n"
INSPECTED = {
    "linked": (LDD, "libmpi.so.40", None),
    "not_linked": (LDD.replace("libmpi", "libnccl"), None, None),
    "library_lost": (
        LDD + "\tlibcudart.so.12 => not found\n",
        "libmpi.so.40",
        "libraries are not found: libcudart.so.12",
    ),
    "script": ("\tnot a dynamic executable\n", None, None),
}


@pytest.mark.parametrize(("text", "mpi", "problem"), INSPECTED.values(), ids=INSPECTED)
def test_inspect(tmp_path: Path, text: str, mpi: str | None, problem: str | None) -> None:
    program = str(tmp_path / "all_reduce_perf")
    Path(program).write_bytes(b"x")
    runner = FakeRunner(
        {("test", "-x", program): CommandResult(0, "", ""), ("ldd", program): CommandResult(0, text, "")}
    )
    assert inspect_program(program, runner) == {
        "path": program,
        "sha256": "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
        "mpi": mpi,
        "problem": f"{program}: {problem}" if problem else None,
    }


def test_inspect_what_is_not_there_or_not_executable(tmp_path: Path) -> None:
    lost, plain = str(tmp_path / "lost"), tmp_path / "plain"
    plain.write_bytes(b"x")
    assert inspect_program(lost, SubprocessRunner())["problem"] == f"{lost}: no such file or directory"
    assert inspect_program(str(plain), SubprocessRunner())["problem"] == f"{plain}: not executable"


def test_session_leaves_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    keys = home / ".ssh" / "authorized_keys"
    keys.write_text("ssh-rsa AAAA me@laptop\n")
    session = Session(RUN_ID, SubprocessRunner(), str(tmp_path / "run"), str(home))
    opened = session.open([], launcher=True)
    assert opened["public_key"].startswith("ssh-ed25519 ")
    assert (tmp_path / "run" / RUN_ID / "id_ed25519").stat().st_mode & 0o777 == 0o600
    session.authorize([opened["public_key"]], ["10.0.1.21"], 60)
    assert opened["public_key"] in keys.read_text()
    assert session.close() == {"killed": [], "changed": True}
    assert keys.read_text() == "ssh-rsa AAAA me@laptop\n"
    assert list((tmp_path / "run").iterdir()) == []
    assert session.close() == {"killed": [], "changed": False}


def test_a_timer_takes_the_trust_away_when_nobody_closes_the_session(tmp_path: Path) -> None:
    """Its commands are run here as systemd would run them."""
    home, runner = tmp_path / "home", FakeRunner({})
    (home / ".ssh").mkdir(parents=True)
    keys = home / ".ssh" / "authorized_keys"
    keys.write_text("ssh-rsa AAAA me@laptop\n")
    Session(RUN_ID, SubprocessRunner(), str(tmp_path / "run"), str(home)).open([], launcher=True)
    session = Session(RUN_ID, runner, str(tmp_path / "run"), str(home), systemd=str(tmp_path))
    session.authorize(["ssh-ed25519 AAAA"], [], 60)
    assert len(keys.read_text().splitlines()) == 2
    ((*timer,),) = runner.calls
    assert timer[:5] == ["systemd-run", "--quiet", "--collect", f"--unit=gpufleet-run-{RUN_ID}", "--on-active=60s"]
    before = timer[5].removeprefix("--property=ExecStartPre=").split()
    for command in (before, timer[6:]):
        subprocess.run(command, check=True)
    assert keys.read_text() == "ssh-rsa AAAA me@laptop\n"
    assert list((tmp_path / "run").iterdir()) == []


def test_a_launch_that_is_aborted_leaves_the_key_to_close_which_takes_all_of_it(tmp_path: Path) -> None:
    """As the role's always section does after a failure: key, entry and processes go, and once more changes nothing."""
    session = Session(RUN_ID, SubprocessRunner(), str(tmp_path / "run"), str(tmp_path / "home"))
    opened = session.open([], launcher=True)
    session.authorize([opened["public_key"]], [], 60)
    left = subprocess.Popen(["sleep", "300"], env={**os.environ, MARK: RUN_ID})
    try:
        _until(lambda: marked(RUN_ID) == [left.pid])
        assert session.close() == {"killed": [f"{left.pid} sleep"], "changed": True}
        assert left.wait(5) == -signal.SIGTERM
    finally:
        left.kill()
    assert [path for path in tmp_path.rglob("*") if path.is_file() and path.read_text()] == []


def test_a_host_that_launches_nothing_gets_no_key(tmp_path: Path) -> None:
    session = Session(RUN_ID, SubprocessRunner(), str(tmp_path / "run"), str(tmp_path))
    assert session.open([], launcher=False)["public_key"] is None
    assert not (tmp_path / "run").exists()
