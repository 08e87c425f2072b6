"""The real Open MPI takes our agent in place of ssh: two "pods" with names of their own, behind a fake kubectl."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.attempt import read_attempt
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.launch import ProcessLauncher
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.measure import Measurement, Place, Tools, measure
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.processes import end_marked, marked
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.run import Host, Run
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import SubprocessRunner

pytestmark = pytest.mark.netns

ROOT = Path(__file__).resolve().parents[2]
RUN_ID = f"real-pods-{os.getpid()}"
PODS = ("pod-a", "pod-b")


@pytest.fixture(scope="module")
def program() -> str:
    if os.geteuid() != 0 or shutil.which("mpicc") is None:
        pytest.fail("needs root and mpicc: scripts/packages installs it")
    done = subprocess.run([str(ROOT / "scripts" / "stand-in")], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def measured(folder: Path, program: str, **changes: object) -> Measurement:
    cluster = folder / "kube.json"
    cluster.write_text(json.dumps({"pods": {name: {"uts": True} for name in PODS}}))
    here = {**os.environ, "PATH": f"{ROOT}/tests/fakes/bin:{os.environ['PATH']}", "FAKE_KUBE": str(cluster)}
    os.environ.update(PATH=here["PATH"], FAKE_KUBE=here["FAKE_KUBE"])
    hosts = tuple(Host(name, name, 1) for name in PODS)
    values = {"min_bytes": "64K", "max_bytes": "1M", "iterations": 3, "warmup": 1, "timeout": 60, **changes}
    run = Run("pods", "cross_domain", "all_reduce", hosts, program, sku="stand-in", launcher="pods", **values)
    tools = Tools(SubprocessRunner(), ProcessLauncher(watched=None), here)
    try:
        return measure(run, tools, Place(RUN_ID, str(folder / "session"), str(folder / "logs")))
    finally:
        end_marked(RUN_ID)


def test_mpirun_starts_its_daemons_through_the_agent(
    tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("FAKE_KUBE", "")
    found = measured(tmp_path, program)
    assert (found.state, found.problem, found.killed) == ("measured", None, ())
    report = read_attempt(found.as_dict()).report
    assert report is not None
    assert (report.main.ranks, report.main.complete) == (2, True)
    log = Path(str(found.log)).read_text()
    assert "on      pod-a" in log
    assert "on      pod-b" in log


def test_nothing_is_left_in_pods_after_the_limit(tmp_path: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.environ["PATH"])
    monkeypatch.setenv("FAKE_KUBE", "")
    begin = time.monotonic()
    found = measured(tmp_path, program, iterations=10_000_000, timeout=15)
    assert found.problem is not None
    assert time.monotonic() - begin < 120
    assert marked(RUN_ID) == []
