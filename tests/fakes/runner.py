"""A Runner for tests: argv -> canned result."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import RC_NOT_FOUND, CommandResult


class FakeRunner:
    """An argv that is not in the table is a missing program. ``calls`` remembers what was asked."""

    def __init__(self, answers: dict[tuple[str, ...], CommandResult]) -> None:
        self.answers = answers
        self.calls: list[tuple[str, ...]] = []

    def run(self, argv: Sequence[str], timeout: float | None = None, stdin: str | None = None) -> CommandResult:
        self.calls.append(tuple(argv))
        return self.answers.get(tuple(argv), CommandResult(RC_NOT_FOUND, "", f"{argv[0]}: not installed"))
