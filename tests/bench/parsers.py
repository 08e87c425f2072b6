#!/usr/bin/env python3
"""Throughput and memory of the NCCL tests parser, against re.findall with a public one-line pattern.

The pattern is what a public checker uses to find the last bus bandwidth. It wants the whole file in memory; the parser
reads it line by line. Both read the same generated file in the same run. Each measurement is a process of its own, so
that "max RSS" is its own too; time is the processor time of that process, so that a busy machine does not blur it.

    tests/bench/parsers.py [--sizes 10,50,100] [--kind debug|rows]
"""
# ruff: noqa: E501  (lines of tool output are as wide as the tool prints them)

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from plugins.module_utils.parse.nccl import parse_nccl
from plugins.module_utils.parse.source import BoundedLines

PATTERN = r"\s+(\d+)\s+\d+\s+\w+\s+\w+\s+-?\d+\s+[\d.]+\s+[\d.]+\s+([\d.]+)"
MIB = 1024 * 1024
RANKS, GPUS = 128, 8


def run_lines(kind: str, rng: random.Random) -> Iterator[str]:
    """One run of all_reduce_perf on 16 hosts; NCCL's own lines make up most of it with kind "debug"."""
    yield "# nccl-tests version 2.17.8 nccl-headers=22907 nccl-library=22907\n"
    yield "# Collective test starting: all_reduce_perf\n"
    yield "# nThread 1 nGpus 1 minBytes 8 maxBytes 17179869184 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0\n"
    yield "#\n# Using devices\n"
    for rank in range(RANKS):
        host, gpu = f"node-{rank // GPUS:02d}", rank % GPUS
        yield f"#  Rank {rank:2d} Group  0 Pid {40000 + rank:6d} on {host:>10s} device {gpu:2d} [0000:{gpu:02x}:00] NVIDIA H100 80GB HBM3\n"
    if kind == "debug":
        yield from debug_lines(rng)
    yield "#\n#                                                              out-of-place                       in-place          \n"
    yield "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong \n"
    yield "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         \n"
    total = cells = 0.0
    for _cycle in range(1 if kind == "debug" else 200):
        for power in range(3, 35):
            size = 2**power
            row = f"{size:12d}  {size // 4:12d}  {'float':>8s}  {'sum':>6s}  {'-1':>6s}"
            for _placement in range(2):
                busbw = 480 * size / (size + 5e7) * rng.uniform(0.98, 1.02)
                algbw = busbw * RANKS / 2 / (RANKS - 1)
                took = f"{size / (algbw * 1e3 + 1):.2f}"[:7]
                row += f"  {took:>7s}  {algbw:6.2f}  {busbw:6.2f}  {0:6g}"
                total, cells = total + round(busbw, 2), cells + 1
            yield row + "\n"
    yield f"# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {total / cells:g} \n#\n"
    yield "# Collective test concluded: all_reduce_perf\n#\n\n"


def debug_lines(rng: random.Random) -> Iterator[str]:
    for channel in range(16):
        for rank in range(RANKS):
            host, gpu = f"node-{rank // GPUS:02d}", rank % GPUS
            peer = (rank + 1) % RANKS
            way = "P2P/CUMEM" if rank // GPUS == peer // GPUS else f"NET/IB/{gpu}/GDRDMA"
            yield (
                f"{host}:{40000 + rank}:{41000 + rank} [{gpu}] NCCL INFO Channel {channel:02d}/0 : "
                f"{rank}[{gpu}] -> {peer}[{peer % GPUS}] [send] via {way}\n"
            )
    for rank in range(RANKS):
        host, gpu = f"node-{rank // GPUS:02d}", rank % GPUS
        yield (
            f"{host}:{40000 + rank}:{41000 + rank} [{gpu}] NCCL INFO ncclCommInitRank comm 0x{rng.getrandbits(44):012x} "
            f"rank {rank} nranks {RANKS} cudaDev {gpu} nvmlDev {gpu} busId {gpu:x}000 commId 0x{rng.getrandbits(60):x} - Init COMPLETE\n"
        )


def generate(path: Path, mib: int, kind: str) -> None:
    """The same bytes for the same size and kind."""
    rng = random.Random(4)
    block = "".join("".join(run_lines(kind, rng)) for _ in range(4))
    with path.open("w", encoding="ascii") as stream:
        left = mib * MIB
        while left > 0:
            stream.write(block)
            left -= len(block)


def measure(what: str, path: Path) -> dict[str, float]:
    started = time.process_time()
    if what == "parser":
        with path.open("rb") as stream:
            rows = parse_nccl(BoundedLines(stream)).main.rows
    else:
        rows = len(re.findall(PATTERN, path.read_text(encoding="ascii")))
    took = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": rows, "mb_per_s": path.stat().st_size / 1e6 / took, "seconds": took, "max_rss_mib": peak}


def in_process(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", what, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def report(kind: str, sizes: list[int], repeat: int) -> int:
    print(
        f"{'kind':6s} {'MiB':>5s} {'parser MB/s':>12s} {'findall MB/s':>13s} {'ratio':>6s} {'RSS MiB':>8s} {'findall RSS':>12s}"
    )
    seconds = []
    ratio = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / f"nccl-{size}.log"
            generate(path, size, kind)
            ours = min((in_process("parser", path) for _ in range(repeat)), key=lambda r: r["seconds"])
            theirs = min((in_process("findall", path) for _ in range(repeat)), key=lambda r: r["seconds"])
            path.unlink()
            ratio = ours["mb_per_s"] / theirs["mb_per_s"]
            seconds.append((size, ours["seconds"]))
            print(
                f"{kind:6s} {size:5d} {ours['mb_per_s']:12.0f} {theirs['mb_per_s']:13.0f} {ratio:6.2f}"
                f" {ours['max_rss_mib']:8.0f} {theirs['max_rss_mib']:12.0f}"
            )
    (small, fast), (large, slow) = seconds[0], seconds[-1]
    if small != large:
        print(
            f"time for {large} MiB over time for {small} MiB, by size: {slow / fast / (large / small):.2f} (1 is linear)"
        )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="10,50", help="MiB, with commas (default: %(default)s)")
    parser.add_argument("--kind", default="debug,rows", help="debug: with NCCL_DEBUG=INFO; rows: results only")
    parser.add_argument(
        "--repeat", type=int, default=3, help="measurements of each; the best counts (default: %(default)s)"
    )
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure[0], Path(arguments.measure[1]))))
        return 0
    for kind in arguments.kind.split(","):
        report(kind, [int(size) for size in arguments.sizes.split(",")], arguments.repeat)
    return 0


if __name__ == "__main__":
    sys.exit(main())
