"""Logs of NCCL tests, built after the format strings of their source, layout by layout."""
# ruff: noqa: E501  (lines of tool output are as wide as the tool prints them)

from __future__ import annotations

CONFIG = {
    "L1": "nThread 1 nGpus 8 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n",
    "L2": "# nThread 1 nGpus 8 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n",
    "L4": "# nThread 1 nGpus 8 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n",
}
VERSION = (
    "# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=22907\n# Collective test starting: all_reduce_perf\n"
)
L4_HEAD = (
    "#\n#                                                              out-of-place                       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
)
L5_HEAD = (
    "#\n#                                                              out-of-place                       in-place          \n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong \n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         \n"
)
L6_HEAD = (
    "#\n#                                      out-of-place (+ per-iteration)          in-place (+ per-iteration)\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%"
    "     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv% \n"
)
L2_HEADS = {
    "redop": "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n",
    "root": "#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  error\n",
    "redop root": "#       size         count    type   redop    root     time   algbw   busbw  error     time   algbw   busbw  error\n",
    "": "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n",
}
L1_HEAD = "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res\n"


def ranks(count: int, host: str = "node-a") -> str:
    return "#\n# Using devices\n" + "".join(
        f"#  Rank {rank:2d} Group  0 Pid {4242:6d} on {host:>10s} device {rank:2d} [0000:1b:00] NVIDIA H100 80GB HBM3\n"
        for rank in range(count)
    )


def l4_row(
    size: int, busbw: float, *, wrong: str = "0", redop: str = "sum", root: int = -1, count: int | None = None
) -> str:
    cells = f"  {'28.15':>7s}  {busbw / 1.75:6.2f}  {busbw:6.2f}  {wrong:>5s}"
    return f"{size:12d}  {size // 4 if count is None else count:12d}  {'float':>8s}  {redop:>6s}  {root:6d}{cells}{cells}\n"


def l5_row(
    size: int, busbw: float, *, wrong: str = "0", in_place_wrong: str | None = None, time: str = "2817.56"
) -> str:
    def cells(word: str) -> str:
        return f"  {time:>7s}  {busbw / 1.75:6.2f}  {busbw:6.2f}  {word:>6s}"

    preamble = f"{size:12d}  {size // 4:12d}  {'float':>8s}  {'sum':>6s}  {'-1':>6s}"
    return preamble + cells(wrong) + cells(wrong if in_place_wrong is None else in_place_wrong) + "\n"


def l6_row(size: int, busbw: float) -> str:
    cells = f"  {'2817.56':>7s}  {busbw / 1.75:6.2f}  {busbw:6.2f}  {'0':>6s}" + "  2800.00  2900.00  2890.00     1.20"
    return f"{size:12d}  {size // 4:12d}  {'float':>8s}  {'sum':>6s}  {'-1':>6s}{cells}{cells}\n"


def footer(average: str = "480.294", *, bounds: str = "0 OK", verdict: str = "") -> str:
    return f"# Out of bounds values : {bounds}\n# Avg bus bandwidth    : {average} {verdict}\n#\n"


def good(size: int = 17179869184, busbw: float = 480.0) -> str:
    return VERSION + CONFIG["L4"] + ranks(8) + L5_HEAD + l5_row(size, busbw) + footer(f"{busbw:g}")
