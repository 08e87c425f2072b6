# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""scripts/runner-dir says how it is used when it is asked for something else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.ansible_run import ROOT


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["a", "b", "c"]], ids=repr)
def test_usage(arguments: list[str], tmp_path: Path) -> None:
    argv = [str(ROOT / "scripts" / "runner-dir"), *arguments]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "usage: scripts/runner-dir DIR [INVENTORY]\n")
    assert list(tmp_path.iterdir()) == []
