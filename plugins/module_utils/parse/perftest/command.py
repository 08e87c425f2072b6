# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line above an output, where somebody kept it: what the table alone does not tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional

from .words import COMMAND

__all__ = ["Command", "read_command"]

_NO_VALUE = {
    "-a",
    "-b",
    "-F",
    "-R",
    "-N",
    "-e",
    "-z",
    "-U",
    "-H",
    "-C",
    "-O",
    "-g",
    "-h",
    "-V",
    "--all",
    "--bidirectional",
}


@dataclass(frozen=True)
class Command:
    test: str
    bidirectional: bool
    duration: bool
    role: str

    @property
    def kind(self) -> str:
        return self.test.rsplit("_", 1)[1]


def read_command(text: str) -> Optional[Command]:
    match = COMMAND.search(text)
    if match is None:
        return None
    options = match.group(2).split()
    return Command(
        test=match.group(1),
        bidirectional="-b" in options or "--bidirectional" in options,
        duration="-D" in options or any(option.startswith("--duration") for option in options),
        role="client" if _names_peer(options) else "server",
    )


def _names_peer(options: List[str]) -> bool:
    """A word at the end that is not the value of an option: the server's address."""
    if not options or options[-1].startswith("-"):
        return False
    before = options[-2] if len(options) > 1 else ""
    return not before.startswith("-") or before in _NO_VALUE or "=" in before or before.startswith("--report")
