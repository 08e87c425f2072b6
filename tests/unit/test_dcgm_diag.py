# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""dcgm_diag: what is run, what is kept, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import MeasureError
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding
from ansible_collections.gpufleet.cluster.plugins.module_utils.gpu.dcgm import DiagPlan, busy, run_diag
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.files import Root
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.dcgm import dcgm_report, judge_busy, judge_dcgm
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult
from ansible_collections.gpufleet.cluster.plugins.modules import dcgm_diag

from tests.fakes.gpu import FIXTURES, changed
from tests.fakes.gpu_runner import MachineRunner
from tests.fakes.runner import FakeRunner

DCGMI = FIXTURES / "dcgmi"
LOG = "/var/log/gpufleet/dcgm-diag-x.log"
PLAN = DiagPlan(1, 120)
TABLE = (DCGMI / "01-diag-r1-pass-table.txt").read_text()
JSON_3 = (DCGMI / "04-json3-banner-before-json.json").read_text()
JSON_4_FAILS = (DCGMI / "05-json4-lowercase-fail.json").read_text()


def diag(folder: Path, machine: dict[str, Any]) -> tuple[Any, list[Finding]]:
    run = run_diag(Root(str(folder)), MachineRunner(machine), PLAN, LOG)
    return run, judge_dcgm("w1", run)


def skipped(text: str) -> str:
    document = json.loads(text)
    for test in document["tests"]:
        test["results"][0]["status"] = "skip"
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(TABLE, [("OK", None, "5 tests passed")], id="table"),
        pytest.param(JSON_3, [("OK", None, "3 tests passed")], id="json-3"),
        pytest.param(
            JSON_3.replace('"status": "Pass"', '"status": "Skip"', 1),
            [("OK", None, "2 tests passed; not run: Denylist")],
            id="one-skipped",
        ),
        pytest.param(JSON_4_FAILS, [("FAIL", 0, "memory: fail: uncorrectable memory error")], id="json-4-fails"),
        pytest.param(
            JSON_3.replace('"status": "Pass"', '"status": "Warn"', 1), [("WARN", None, "Denylist: warn")], id="warns"
        ),
        pytest.param(
            skipped(JSON_4_FAILS),
            [("UNKNOWN", None, "dcgmi diag: nothing_passed: every test was skipped")],
            id="all-skipped",
        ),
        pytest.param(TABLE[: len(TABLE) // 2], [("UNKNOWN", None, "dcgmi diag: truncated")], id="table-cut"),
        pytest.param(JSON_3[: len(JSON_3) - 60], [("UNKNOWN", None, "dcgmi diag: truncated")], id="json-cut"),
    ],
)
def test_reports(tmp_path: Path, text: str, want: list[Any]) -> None:
    _run, findings = diag(tmp_path, changed(answers={"dcgmi": text}))
    assert [(each.severity.name, each.subject.gpu, each.message) for each in findings] == want


@pytest.mark.parametrize(
    "behaviour", ["missing", "not_executable", "silent", "error_text", "refuses", "hangs", "floods"]
)
def test_a_tool_that_fails_is_never_ok(tmp_path: Path, behaviour: str) -> None:
    run, findings = diag(tmp_path, changed(behaviour={"dcgmi": behaviour}))
    assert [each.severity.name for each in findings] == ["UNKNOWN"]
    assert findings[0].message
    assert (tmp_path / LOG[1:]).exists()
    assert dcgm_report(run)["log"] == LOG


def test_a_missing_dcgmi_is_looked_for_in_the_right_pod(tmp_path: Path) -> None:
    """The pods of the device plugin and of the (distroless) exporter have no tools to ask for a GPU's health."""
    _run, findings = diag(tmp_path, changed(behaviour={"dcgmi": "missing"}))
    assert "in its own pod (nvidia-dcgm), not in those of the device plugin" in findings[0].remedy


def test_the_raw_output_is_kept(tmp_path: Path) -> None:
    run, _findings = diag(tmp_path, changed(answers={"dcgmi": TABLE}))
    assert (tmp_path / LOG[1:]).read_text() == f"$ dcgmi diag -r 1 -j\nrc 0\n--- stdout\n{TABLE}\n--- stderr\n\n"
    assert (tmp_path / LOG[1:]).stat().st_mode & 0o777 == 0o640
    assert json.loads(json.dumps(dcgm_report(run)))["tests"][0] == {
        "name": "Denylist",
        "state": "pass",
        "failed_gpus": [],
        "details": [],
    }


def test_a_log_that_cannot_be_written_does_not_lose_the_result(tmp_path: Path) -> None:
    (tmp_path / "var").write_text("no directory")
    run, findings = diag(tmp_path, changed())
    assert (run.log, findings[0].severity.name) == ("", "OK")


def test_dcgmi_is_given_the_limit_where_it_knows_one(tmp_path: Path) -> None:
    argv = ("dcgmi", "diag", "-r", "3", "-j", "--timeout", "60")
    runner = FakeRunner(
        {
            ("dcgmi", "diag", "--help"): CommandResult(0, "  [--timeout <seconds>]", ""),
            argv: CommandResult(0, JSON_3, ""),
        }
    )
    run = run_diag(Root(str(tmp_path)), runner, DiagPlan(3, 60), LOG)
    assert (run.argv, [each.severity.name for each in judge_dcgm("w1", run)]) == (argv, ["OK"])


def test_a_failed_test_explains_the_exit_status(tmp_path: Path) -> None:
    machine = changed(answers={"dcgmi": JSON_4_FAILS}, behaviour={"dcgmi": "refuses"})
    assert [each.severity.name for each in diag(tmp_path, machine)[1]] == ["FAIL"]


@pytest.mark.parametrize(
    ("machine", "want"),
    [
        pytest.param(changed(), [], id="free"),
        pytest.param(
            changed(compute_apps=["4711, python", "4712, python"]),
            [("UNKNOWN", "not run: 2 processes use the GPUs: 4711, python, 4712, python")],
            id="in-use",
        ),
        pytest.param(
            changed(behaviour={"nvidia-smi": "missing"}),
            [("UNKNOWN", "whether the GPUs are in use is not known: nvidia-smi: not installed")],
            id="not-known",
        ),
        pytest.param(
            changed(behaviour={"nvidia-smi": "error_text"}),
            [
                (
                    "UNKNOWN",
                    "whether the GPUs are in use is not known: nvidia-smi has failed because it couldn't communicate "
                    "with the NVIDIA driver.",
                )
            ],
            id="error-text-with-exit-status-0",
        ),
    ],
)
def test_busy(machine: dict[str, Any], want: list[tuple[str, str]]) -> None:
    users, reason = [], ""
    try:
        users = busy(MachineRunner(machine))
    except MeasureError as exc:
        reason = str(exc)
    assert [(each.severity.name, each.message) for each in judge_busy("w1", users, reason)] == want


def test_check_mode_says_what_would_run(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = {"host": "w1", "run_id": "r1", "level": 3, "_ansible_check_mode": True}
    with patch_module_args(arguments), pytest.raises(SystemExit):
        dcgm_diag.main()
    result = json.loads(capsys.readouterr().out)
    result.pop("invocation", None)
    assert result == {
        "changed": False,
        "check": "dcgm",
        "run_id": "r1",
        "report": {"command": "dcgmi diag -r 3 -j"},
        "findings": [],
        "verdict": None,
        "msg": "would run for 3600 s at the most: dcgmi diag -r 3 -j",
    }
