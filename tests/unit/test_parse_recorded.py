"""Every recorded text is read as it should be, and each folder says where its texts come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.tools import TOOLS

from tests.unit.parse_cases import CASES, FIXTURES, IDS, expected_of, reading_of, shown, text_of, wanted


@pytest.mark.parametrize(("tool", "path"), CASES, ids=IDS)
def test_reading(tool: str, path: Path) -> None:
    got = reading_of(tool, text_of(path))
    assert json.loads(json.dumps(got)) == got, "a reading is plain JSON"
    want = expected_of(path)
    want.pop("case", None)
    assert shown(want, got) == wanted(want)


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_each_text_has_its_origin(tool: str) -> None:
    index = (FIXTURES / tool / "INDEX.md").read_text()
    missing = [path.name for name, path in CASES if name == tool and path.name not in index]
    assert missing == []
    assert any(name == tool for name, _path in CASES)
