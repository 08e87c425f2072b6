"""Noise, binary garbage, a line of many megabytes: bounded memory and a clear answer."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.source import BoundedLines
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.tools import TOOLS, read

from tests.unit import nccl_log as log

ROOT = Path(__file__).resolve().parent.parent.parent
MIB = 1024 * 1024
WORDS = "epoch 7 step 812 loss 2.31 tokens/s 48213 grad_norm 0.82 lr 3e-4 mem 71.2GiB\n"
INFO = "node-{0}:{0}:{0} [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"


def peak_mib(call: Callable[[], object]) -> tuple[object, float]:
    tracemalloc.start()
    try:
        result = call()
        return result, tracemalloc.get_traced_memory()[1] / MIB
    finally:
        tracemalloc.stop()


def times(line: str, mib: float) -> Iterator[str]:
    return itertools.repeat(line, int(mib * MIB / len(line)))


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_noise_is_not_kept_and_not_read(tool: str) -> None:
    def noisy() -> object:
        with pytest.raises(ParseError):
            read(tool, times(WORDS, 1))
        return None

    assert peak_mib(noisy)[1] < 1


@pytest.mark.parametrize("size", [1, 4], ids=["1MiB", "4MiB"])
def test_memory_does_not_grow_with_the_log(size: int) -> None:
    lines = itertools.chain(
        log.good().splitlines(keepends=True)[:-4],
        (INFO.format(number % 64) for number in range(size * MIB // 80)),
        times(log.l5_row(8589934592, 470.0), size / 4),
        log.footer().splitlines(keepends=True),
    )
    result, peak = peak_mib(lambda: read("nccl", lines).reading)
    assert isinstance(result, dict)
    assert (result["ok"], len(result["hosts"])) == (True, 65)
    assert peak < 1


def test_a_host_name_that_changes_on_every_line_fills_no_memory() -> None:
    lines = itertools.chain([log.CONFIG["L4"]], (INFO.format(number) for number in range(30000)))
    assert peak_mib(lambda: read("nccl", lines).reading)[1] < 8


def bounded(data: bytes) -> tuple[list[str], int]:
    lines = BoundedLines(io.BytesIO(data))
    return list(lines), lines.cut


SOURCES = {
    "empty": (b"", [], 0),
    "no_end": (b"a\nb", ["a\n", "b"], 0),
    "only_line_feeds_end_lines": ("a\rb\x0b\u2028c\r\n".encode(), ["a\rb\x0b\u2028c\r\n"], 0),
    "no_text": (b"\xff\xfe\n", ["\ufffd\ufffd\n"], 0),
}


@pytest.mark.parametrize(("data", "lines", "cut"), SOURCES.values(), ids=SOURCES)
def test_lines_of_a_file(data: bytes, lines: list[str], cut: int) -> None:
    assert bounded(data) == (lines, cut)


@pytest.mark.parametrize("length", [60_000, 70_000, 300_000, 3_000_000])
def test_a_long_line_is_cut_and_counted_and_the_next_one_is_whole(length: int) -> None:
    lines, cut = bounded(b"before\n" + b"x" * length + b"\nafter\n")
    assert (lines[0], lines[2], len(lines)) == ("before\n", "after\n", 3)
    assert cut == (length > 65536)
    assert set(lines[1]) == {"x", "\n"}
    assert len(lines[1]) <= 65537


def test_a_long_line_of_json_is_whole() -> None:
    data = b'{"results": "' + b"x" * 3_000_000 + b'"}'
    assert bounded(data) == ([data.decode()], 0)


def test_one_line_of_50_mib_costs_little_memory() -> None:
    """In a process of its own: the test's own memory must not count."""
    child = (
        "import resource, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from plugins.module_utils.parse.cli import main\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "code = main(['nccl', '-'])\n"
        "print(code, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, file=sys.stderr)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", child, str(ROOT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    with process.stdin as stream:
        stream.write(log.good().encode())
        for _ in range(50):
            stream.write(b"x" * MIB)
        stream.write(b"\n")
    output, error = process.stdout.read(), process.stderr.read()  # type: ignore[union-attr]
    assert process.wait() == 0, error
    code, grown = error.split()
    assert (code, b'"lines_cut": 1' in output) == (b"0", True)
    assert int(grown) < 20
