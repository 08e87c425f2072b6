"""What must hold for every recorded text: a cut text is never healthy, and what a launcher adds changes nothing."""

from __future__ import annotations

import contextlib
import json

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.parse_cases import CASES, IDS, lines_of, reading_of, text_of

READINGS = {name: reading_of(tool, text_of(path)) for (tool, path), name in zip(CASES, IDS, strict=True)}
FILES = {name: path for (_tool, path), name in zip(CASES, IDS, strict=True)}
PARSED = {name: (tool, text_of(path)) for (tool, path), name in zip(CASES, IDS, strict=True)}


def ok_of(tool: str, text: str) -> object:
    try:
        return reading_of(tool, text)["ok"]
    except ParseError:
        return "not readable"


def closing_line(name: str, tool: str, text: str) -> int | None:
    """Where the text's last word on its success begins, for tools that have one."""
    if FILES[name].suffix == ".json":
        return text.rstrip().rfind("}")
    marks = {"nccl": "Avg bus bandwidth", "perftest": "\n------------", "dcgmi": "\n+---------------------------+"}
    at = text.rstrip().rfind(marks.get(tool, "\0"))
    return None if at < 0 else at


CUTTABLE = [
    (name, closing)
    for name, (tool, text) in PARSED.items()
    for closing in [closing_line(name, tool, text)]
    if closing is not None and READINGS[name]["ok"] is True
]


def test_there_is_something_to_cut() -> None:
    assert {name.split("/")[0] for name, _ in CUTTABLE} >= {"nccl", "perftest", "dcgmi", "ceph", "nvidia-imex-ctl"}


@given(st.data())
@settings(max_examples=400, deadline=None, derandomize=True)
def test_cut_before_the_closing_line_is_never_ok(data: st.DataObject) -> None:
    name, closing = data.draw(st.sampled_from(CUTTABLE))
    tool, text = PARSED[name]
    cut = text[: data.draw(st.integers(0, closing))]
    assert ok_of(tool, cut) is not True
    assert ok_of(tool, cut + "\n") is not True


def prefixed(prefix: str) -> object:
    return lambda text: "".join(prefix + line for line in lines_of(text))


def coloured(text: str) -> str:
    return "".join("\x1b[32m" + line.rstrip("\n") + "\x1b[0m" + "\n" * line.endswith("\n") for line in lines_of(text))


WRAPPERS = {
    "mpi": prefixed("[1,0]<stdout>:"),
    "prrte": prefixed("[prterun-node-a-77@1,0]<stdout>: "),
    "srun": prefixed(" 0: "),
    "srun_wide": prefixed("  0: "),
    "pals": prefixed("node-z.example 0: "),
    "ray": prefixed("(head, rank=0, pid=4242) "),
    "kubectl": prefixed("2026-01-02T03:04:05.678901234Z "),
    "compose": prefixed("svc-1  | "),
    "journal": prefixed("Jan  2 03:04:05 node-z bench[123]: "),
    "host_rank": prefixed("[node-z:0] "),
    "pod": prefixed("[pod/worker-0/main] "),
    "quote": prefixed("> "),
    "stacked": prefixed("2026-01-02T03:04:05Z [1,0]<stdout>:"),
    "indent": prefixed("    "),
    "crlf": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "colour": coloured,
    "progress": lambda text: "".join(
        line if "\r" in line or not line.strip() else "working 50%\r" + line for line in lines_of(text)
    ),
}
# Whose own text already has a prefix that names hosts: another host's label in front of it would be another statement.
UNWRAPPED = {"nvidia-smi/09-q-clique-pdsh-prefix-split-domain"}


@pytest.mark.parametrize("wrapper", sorted(WRAPPERS))
@pytest.mark.parametrize("name", sorted(set(IDS) - UNWRAPPED))
def test_wrapping_changes_nothing(name: str, wrapper: str) -> None:
    tool, text = PARSED[name]
    assert reading_of(tool, WRAPPERS[wrapper](text)) == READINGS[name]


@given(st.sampled_from(IDS), st.binary(max_size=400), st.integers(0, 5))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_garbage_never_makes_a_sick_text_healthy(name: str, garbage: bytes, where: int) -> None:
    tool, text = PARSED[name]
    lines = lines_of(text)
    position = len(lines) * where // 5
    noise = garbage.decode("utf-8", "replace") + "\n"
    if READINGS[name]["ok"] is not True:
        assert ok_of(tool, "".join(lines[:position]) + noise + "".join(lines[position:])) is not True


@given(st.sampled_from(IDS), st.data())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_any_cut_is_a_reading_or_a_parse_error(name: str, data: st.DataObject) -> None:
    tool, text = PARSED[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    with contextlib.suppress(ParseError):
        json.dumps(reading_of(tool, text[start:end]), allow_nan=False)
