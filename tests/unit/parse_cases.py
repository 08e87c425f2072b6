"""The recorded texts of all tools, and how a reading is compared with what is expected of it."""

from __future__ import annotations

import json
import math
from pathlib import Path

from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.tools import TOOLS, read

FIXTURES = Path(__file__).parent / "fixtures"


def recorded() -> list[tuple[str, Path]]:
    """(tool, file) of every recorded text."""
    return [
        (tool, path)
        for tool in sorted(TOOLS)
        for path in sorted((FIXTURES / tool).glob("[0-9]*"))
        if not path.name.endswith(".expected.json")
    ]


CASES = recorded()
IDS = [f"{tool}/{path.stem}" for tool, path in CASES]


def text_of(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def lines_of(text: str) -> list[str]:
    """Lines as a file gives them: with their ends, split at line feeds only."""
    return [line for line in text.replace("\n", "\n\0").split("\0") if line]


def reading_of(tool: str, text: str) -> dict[str, object]:
    return read(tool, lines_of(text)).reading


def expected_of(path: Path) -> dict[str, object]:
    return json.loads(path.with_name(path.stem + ".expected.json").read_text())


def shown(want: object, got: object) -> object:
    """What was read, cut down to the keys that are expected; of a failure its first word."""
    if isinstance(want, dict) and isinstance(got, dict):
        return {
            key: first_word(got.get(key)) if key == "failure" else shown(value, got.get(key))
            for key, value in want.items()
        }
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [shown(a, b) for a, b in zip(want, got, strict=True)]
    if (
        isinstance(want, float)
        and isinstance(got, (int, float))
        and math.isclose(want, got, rel_tol=1e-6, abs_tol=1e-6)
    ):
        return want
    return got


def first_word(value: object) -> object:
    return value.split(":")[0].split()[0] if isinstance(value, str) else value


def wanted(want: object) -> object:
    if isinstance(want, dict):
        return {key: first_word(value) if key == "failure" else wanted(value) for key, value in want.items()}
    return [wanted(value) for value in want] if isinstance(want, list) else want
