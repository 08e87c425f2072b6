# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Runner that asks a FAKE machine instead of starting programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import (
    RC_FLOODED,
    RC_NOT_FOUND,
    RC_TIMEOUT,
    CommandResult,
)

from tests.fakes.gpu import answer


class MachineRunner:
    """Behaviours beside those of the fake programs: missing, and what the real runner makes of a hang and a flood."""

    def __init__(self, machine: dict[str, Any]) -> None:
        self.machine = machine
        self.calls: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], timeout: float | None = None, stdin: str | None = None) -> CommandResult:
        self.calls.append(tuple(argv))
        program = argv[0]
        match self.machine["behaviour"].get(program):
            case "missing":
                return CommandResult(RC_NOT_FOUND, "", f"{program}: not installed")
            case "not_executable":
                return CommandResult(RC_NOT_FOUND, "", f"{program}: Permission denied")
            case "hangs":
                return CommandResult(RC_TIMEOUT, "", f"\n{program}: no end after {timeout} s")
            case "floods":
                return CommandResult(RC_FLOODED, "noise\n" * 100, f"\n{program}: ended after 64 MiB of output")
        if program not in self.machine["answers"] and program != "nvidia-smi":
            return CommandResult(RC_NOT_FOUND, "", f"{program}: not installed")
        return CommandResult(*answer(self.machine, argv))
