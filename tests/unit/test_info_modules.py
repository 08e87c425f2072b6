# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""gpu_info and imex_info as modules, with programs that really misbehave."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufleet.cluster.plugins.modules import gpu_info, imex_info

from tests.fakes.gpu import changed

FAKE = Path(__file__).resolve().parents[1] / "fakes" / "bin" / "fake-program"
# What a part says when it could not be read.
REASONS = {
    "missing": "not installed",
    "not_executable": "not installed",
    "silent": "",
    "error_text": "",
    "refuses": "Insufficient Permissions",
    "hangs": "no end after",
    "floods": "of output",
}


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def tell(module: Any, program: str, behaviour: str | None) -> dict[str, Any]:
        prepare(tmp_path, program, behaviour)
        monkeypatch.setenv("FAKE_GPU_MACHINE", str(tmp_path / "machine.json"))
        monkeypatch.setenv("PATH", f"{tmp_path}/bin:{Path(sys.executable).parent}:/usr/bin:/bin")
        arguments: dict[str, Any] = {"timeout": 1 if behaviour == "hangs" else 30}
        if module is gpu_info:
            arguments["parts"] = ["query", "fabric", "topology"]
        with patch_module_args(arguments), pytest.raises(SystemExit):
            module.main()
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert not answer.get("failed")
        return answer

    return tell


def prepare(folder: Path, program: str, behaviour: str | None) -> None:
    path = folder / "bin" / program
    path.parent.mkdir()
    if behaviour == "not_executable":
        path.write_text("#!/bin/sh\n")
        path.chmod(0o644)
    elif behaviour != "missing":
        path.symlink_to(FAKE)
    machine = changed(behaviour={program: behaviour} if behaviour else {})
    (folder / "machine.json").write_text(json.dumps(machine))


def test_gpu_info_of_a_healthy_machine(told: Any) -> None:
    result = told(gpu_info, "nvidia-smi", None)
    assert (len(result["gpus"]), len(result["fabric"]), result["unread"]) == (4, 4, {})
    assert result["topology"]["gpu_links"]["0-1"] == "NV18"


@pytest.mark.parametrize("behaviour", REASONS)
def test_gpu_info_tells_nothing_that_it_did_not_read(told: Any, behaviour: str) -> None:
    result = told(gpu_info, "nvidia-smi", behaviour)
    assert (result["gpus"], result["fabric"], result["topology"]) == ([], None, None)
    assert sorted(result["unread"]) == ["fabric", "query", "topology"]
    assert REASONS[behaviour] in result["unread"]["query"]


@pytest.mark.parametrize("behaviour", REASONS)
def test_imex_info_tells_nothing_that_it_did_not_read(told: Any, behaviour: str) -> None:
    result = told(imex_info, "nvidia-imex-ctl", behaviour)
    assert result["domain"] is None
    assert REASONS[behaviour] in result["unread"]["domain"]
