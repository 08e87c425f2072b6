"""scripts/parse, as a user runs it: its own process, the system's Python, any folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit import nccl_log as log
from tests.unit.parse_cases import FIXTURES

ROOT = Path(__file__).resolve().parent.parent.parent
PARSE = ROOT / "scripts" / "parse"
LIMITS = ROOT / "limits" / "bandwidth.json"


def parse(*arguments: str, text: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PARSE), *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, cwd=cwd)


CODES = {
    "healthy": (["nccl", "-"], log.good(), 0),
    "not_ok": (["nccl", "-"], log.good().rsplit("# Avg", 1)[0], 1),
    "not_enough_to_judge": (["nvidia-imex-ctl", "-"], "READY\n", 1),
    "not_readable": (["nccl", "-"], "", 2),
    "no_such_file": (["nccl", "/nonexistent/file"], "", 2),
    "a_folder": (["nccl", "/"], "", 2),
    "no_such_tool": (["hammer", "-"], "", 2),
    "limits_are_no_json": (["nccl", "-", "--judge", str(PARSE)], log.good(), 2),
    "slow": (["nccl", "-", "--judge", str(LIMITS), "--sku", "H100", "--scope", "single_node"], log.good(busbw=300), 1),
    "fast": (["nccl", "-", "--judge", str(LIMITS), "--sku", "H100", "--scope", "single_node"], log.good(busbw=480), 0),
    "nothing_to_compare_with": (["nccl", "-", "--judge", str(LIMITS)], log.good(), 1),
}


@pytest.mark.parametrize(("arguments", "text", "code"), CODES.values(), ids=CODES)
def test_exit_status(arguments: list[str], text: str, code: int) -> None:
    done = parse(*arguments, text=text)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    if code == 2:
        assert (done.stdout, bool(done.stderr.strip())) == ("", True)
    else:
        assert json.loads(done.stdout)["tool"]


def test_file_by_name_from_another_folder(tmp_path: Path) -> None:
    done = parse("perftest", str(FIXTURES / "perftest" / "43-bw-limit-not-met.txt"), cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["failure"]) == (1, "below_bw_limit")


def test_help_names_every_tool_and_the_exit_statuses() -> None:
    done = parse("-h")
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("perftest", "nvidia-imex-ctl", "ip-json", "Exit status", "--judge"))


def test_judge_adds_findings() -> None:
    done = parse(
        "nccl", "-", "--judge", str(LIMITS), "--sku", "H100", "--scope", "single_node", "--host", "w1", text=log.good()
    )
    findings = json.loads(done.stdout)["findings"]
    assert {(f["severity"], f["subject"]["host"], f["subject"]["item"]) for f in findings} == {
        ("OK", "w1", "all_reduce")
    }


def test_judge_of_a_tool_without_bandwidth_says_so() -> None:
    done = parse("ibstat", str(FIXTURES / "ibstat" / "01-mt4129-roce-400g.txt"), "--judge", str(LIMITS))
    assert (done.returncode, "nccl and perftest" in done.stderr) == (2, True)
