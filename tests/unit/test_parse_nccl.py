"""NCCL tests: the kinds of text that the recorded ones do not show. Built after the format strings of the source."""
# ruff: noqa: E501  (lines of tool output are as wide as the tool prints them)

from __future__ import annotations

import json

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError

from tests.unit import nccl_log as log
from tests.unit.parse_cases import reading_of, shown

G16 = 17179869184
L4 = log.CONFIG["L4"] + log.ranks(8) + log.L4_HEAD
ROW = log.l4_row(G16, 480.3)
INFO = "node-a:21:21 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
KILLED = "mpirun noticed that process rank 3 with PID 0 on node node-b exited\non signal 9 (Killed).\n"


def read(text: str) -> dict[str, object]:
    return reading_of("nccl", text)


def check(text: str, want: dict[str, object]) -> None:
    assert shown(want, read(text)) == want


GOOD = {"rows": 1, "ok": True, "complete": True, "failure": None, "runs": 1}
TABLES = {
    "l4": (L4 + log.l4_row(G16, 480.3) + log.footer(), GOOD | {"layout": "L4", "collective": "all_reduce", "ranks": 8}),
    "l5_version": (log.good(), GOOD | {"layout": "L5", "nccl_version": "2.29.7", "nccl_tests_version": "2.19.6"}),
    "l5_timestamp": (
        log.VERSION + log.L5_HEAD + log.l5_row(G16, 480.3).rstrip("\n") + "  2026-01-02 03:04:05\n" + log.footer(),
        GOOD | {"max_busbw_in_place": 480.3, "last_size_bytes": G16},
    ),
    "l5_exponents": (
        log.VERSION
        + log.L5_HEAD
        + "  8589934592    2147483648     float     sum      -1  1.2e+07   1e+06   1e+06       0  1.2e+07   1e+06   2e+06  1.34218e+08\n"
        + log.footer(bounds="2 FAILED"),
        {"rows": 1, "max_busbw_out_of_place": 1e6, "wrong_total": 134218000, "ok": False, "failure": "data_corruption"},
    ),
    "l5_cputime": (
        log.VERSION + log.L5_HEAD.replace(" time", " cputime") + log.l5_row(G16, 480.3) + log.footer(),
        GOOD | {"layout": "L5"},
    ),
    "l5_collapsed": (
        " ".join(log.L5_HEAD.split(" ")).replace("     ", " ") + log.l5_row(G16, 480.3) + log.footer(),
        GOOD | {"layout": "L5"},
    ),
    "l6": (
        log.VERSION + log.L6_HEAD + log.l6_row(G16, 480.3) + log.footer(),
        GOOD | {"layout": "L6", "max_busbw_out_of_place": 480.3, "max_busbw_in_place": 480.3},
    ),
    "l6_timestamp": (
        log.L6_HEAD + log.l6_row(G16, 480.3).rstrip("\n") + "  2026-01-02 03:04:05\n" + log.footer(),
        GOOD | {"layout": "L6", "max_busbw_in_place": 480.3},
    ),
    "l1": (
        log.CONFIG["L1"]
        + log.L1_HEAD
        + "   134217728      33554432   float     sum   12.345  10.87  19.03    0e+00   12.400  10.82  18.94    0e+00\n"
        + " Out of bounds values : 0 OK\n Avg bus bandwidth    : 18.985\n",
        GOOD
        | {
            "layout": "L1",
            "collective": "all_reduce",
            "max_busbw_out_of_place": 19.03,
            "wrong_total": None,
            "checked": True,
        },
    ),
    "l1_not_checked": (
        log.L1_HEAD
        + "   134217728      33554432   float     sum   12.345  10.87  19.03  \tN/A   12.400  10.82  18.94  \tN/A\n"
        + " Out of bounds values : 0 OK\n Avg bus bandwidth    : 18.985\n",
        GOOD | {"layout": "L1", "checked": False, "wrong_total": None},
    ),
    "l1_broadcast": (
        "#      bytes             N    type    root     time  algbw  busbw      res\n"
        + "   134217728      33554432   float       0   12.345  10.87  10.87    0e+00\n"
        + " Out of bounds values : 0 OK\n Avg bus bandwidth    : 10.87\n",
        GOOD | {"layout": "L1", "collective": "broadcast", "max_busbw_in_place": None, "max_busbw_out_of_place": 10.87},
    ),
    "l2_reduce": (
        log.L2_HEADS["redop root"]
        + "    16777216       4194304   float     sum       0    812.1   20.66   20.66  1e-06    811.0   20.69   20.69  1e-06\n"
        + log.footer("20.675"),
        GOOD | {"layout": "L2", "collective": "reduce", "max_error": 1e-06},
    ),
    "l2_reduce_scatter": (
        log.L2_HEADS["redop"]
        + "    16777216        524288   float     sum    812.1   20.66   18.08  1e-06    811.0   20.69   18.10  1e-06\n"
        + log.footer("18.09"),
        GOOD | {"layout": "L2", "collective": "reduce_scatter", "ranks": 8},
    ),
    "l3_alltoall_blank_cell": (
        "#       size         count      type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        + "    16777216        524288     float             812.1   20.66   18.08  0e+00    811.0   20.69   18.10  0e+00\n"
        + log.footer("18.09"),
        GOOD | {"layout": "L3", "ranks": 8, "max_busbw_in_place": 18.1},
    ),
    "l4_sendrecv": (
        log.L4_HEAD
        + "    16777216       4194304     float     sum      -1   812.1   20.66   20.66      0    811.0   20.69   20.69    N/A\n"
        + log.footer("20.675"),
        GOOD | {"collective": "sendrecv", "checked": True},
    ),
    "l4_broadcast": (
        log.L4_HEAD + log.l4_row(16777216, 20.66, redop="none", root=0) + log.footer(),
        GOOD | {"collective": "broadcast"},
    ),
    "l4_cycles_repeat_rows": (
        L4 + 3 * (log.l4_row(1048576, 20.0) + log.l4_row(G16, 480.3)) + log.footer(),
        GOOD | {"rows": 6},
    ),
    "hand_cut_columns": (
        "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
        + "  1073741824     268435456     float     sum      -1   4000.1  268.43  469.76      0\n"
        + log.footer("469.76"),
        GOOD | {"max_busbw_out_of_place": 469.76, "max_busbw_in_place": None},
    ),
    "thousands_with_commas": (
        L4 + log.l4_row(G16, 480.3).replace(str(G16), "17,179,869,184") + log.footer(),
        GOOD | {"last_size_bytes": G16},
    ),
    "version_in_an_info_line": (
        "node-a:1:2 [0] NCCL INFO x\nnode-a:1:2 [0] NCCL INFO NCCL version 2.26.2+cuda12.2\n" + L4 + ROW + log.footer(),
        GOOD | {"nccl_version": "2.26.2"},
    ),
    "zero_rows_and_nan": (L4 + log.footer("-nan"), {"rows": 0, "avg_busbw": None, "ok": False, "complete": True}),
    "nan_in_a_row": (
        L4 + log.l4_row(G16, 480.3).replace("480.30", "   nan", 1) + log.footer(),
        {
            "rows": 1,
            "max_busbw_out_of_place": None,
            "max_busbw_in_place": 480.3,
            "ok": False,
            "failure": "unparsable_values",
        },
    ),
    "average_ok_by_limit": (L4 + log.l4_row(G16, 480.3) + log.footer(verdict="OK"), GOOD),
    "average_failed_by_limit": (
        L4 + log.l4_row(G16, 80.3) + log.footer("80.3", verdict="FAILED"),
        {"ok": False, "complete": True, "failure": "below_min_bw", "avg_busbw": 80.3},
    ),
    "last_error_line": (log.good() + "# error: unhandled system error\n", {"ok": False, "failure": "nccl_error"}),
}


@pytest.mark.parametrize(("text", "want"), TABLES.values(), ids=TABLES)
def test_table(text: str, want: dict[str, object]) -> None:
    check(text, want)


PREAMBLE, REST = ROW[:52], ROW[52:]
GROUP, LAST_GROUP = REST[:31], REST[31:]
GLUED = {
    "before_the_figures": PREAMBLE + INFO + REST,
    "between_the_groups": PREAMBLE + GROUP + INFO + LAST_GROUP,
    "after_the_row": PREAMBLE + GROUP + LAST_GROUP.rstrip("\n") + INFO + "\n",
    "twice": PREAMBLE + INFO + GROUP + INFO + LAST_GROUP,
    "other_lines_in_between": PREAMBLE + INFO + INFO + INFO + REST,
    "with_a_time_stamp": PREAMBLE + "[2026-01-02 03:04:05] " + INFO + REST,
    "tagged": "".join("[1,0]<stdout>:" + line for line in (PREAMBLE + INFO, REST)),
}


@pytest.mark.parametrize("row", GLUED.values(), ids=GLUED)
def test_row_with_nccl_text_in_it(row: str) -> None:
    check(
        L4 + log.l4_row(1048576, 20.0) + row + log.footer(),
        GOOD | {"rows": 2, "max_busbw_out_of_place": 480.3, "hosts": ["node-a"]},
    )


DAMAGED = {
    "the_rest_never_comes": PREAMBLE + INFO + log.l4_row(8589934592, 470.0),
    "a_group_is_missing": log.l4_row(8589934592, 470.0) + PREAMBLE + GROUP + "\n",
    "one_cell_is_missing": log.l4_row(8589934592, 470.0) + " ".join(ROW.split()[:-1]) + "\n",
    "one_cell_too_many": log.l4_row(8589934592, 470.0) + ROW.rstrip("\n") + " 7\n",
    "a_word_for_a_figure": log.l4_row(8589934592, 470.0) + ROW.replace("480.30", "error!"),
}


@pytest.mark.parametrize("rows", DAMAGED.values(), ids=DAMAGED)
def test_damaged_row_is_counted_as_damaged_and_is_no_pass(rows: str) -> None:
    want = {"rows": 1, "damaged_rows": 1, "ok": False, "failure": "unparsable_values", "max_busbw_out_of_place": 470.0}
    check(L4 + rows + log.footer(), want)


@pytest.mark.parametrize("keep", [10, 30, 45, 60, 90, 105])
def test_row_cut_at_the_end_of_the_text_is_not_counted(keep: int) -> None:
    check(L4 + log.l4_row(8589934592, 470.0) + ROW[:keep], {"rows": 1, "ok": False, "failure": "truncated_last_row"})


def test_one_cell_short_is_never_taken_for_a_blank_operation() -> None:
    """Twelve columns are a row of hypercube, or a row of another collective that lost its last cell."""
    rows = log.l4_row(8, 1.0, root=0) + " ".join(log.l4_row(16, 1.0, root=0).split()[:-1]) + "\n"
    check(rows, {"rows": 1, "damaged_rows": 1})


RUNS = {
    "two_good": (log.good() + log.good(8589934592, 470.0), {"runs": 2, "ok": True, "last_size_bytes": 8589934592}),
    "second_stops": (
        log.good() + log.CONFIG["L4"] + log.ranks(8) + log.L5_HEAD + log.l5_row(8, 0.1),
        {"runs": 2, "ok": False, "complete": False, "failure": "second_run_incomplete", "rows": 1},
    ),
    "first_fails": (
        L4 + log.l4_row(8, 0.1, wrong="3") + log.footer(bounds="1 FAILED") + log.good(),
        {"runs": 2, "ok": False, "failure": "data_corruption", "max_busbw_out_of_place": 480.0},
    ),
    "headers_only": (2 * (log.L4_HEAD + log.l4_row(G16, 480.3) + log.footer()), {"runs": 2, "ok": True}),
    "rows_after_a_footer": (2 * (log.l4_row(G16, 480.3) + log.footer()), {"runs": 2, "ok": True}),
    "two_hosts_of_pdsh_line_by_line": (
        "".join(f"node-1: {line}\nnode-2: {line}\n" for line in log.good().splitlines()),
        {"runs": 2, "ok": True, "failure": None},
    ),
    "tagged_processes_each_rank_0": (
        "".join(f"[1,0]<stdout>:{line}\n[1,1]<stdout>:{line}\n" for line in log.good().splitlines()),
        {"runs": 2, "ok": False, "failure": "independent_runs"},
    ),
    "untagged_processes_each_rank_0": (
        "".join(2 * (line + "\n") for line in log.good().splitlines()),
        {"runs": 2, "rows": 2, "ok": False, "failure": "independent_runs"},
    ),
    "single_ranks_that_finish": (
        "".join(
            2 * (line + "\n")
            for line in (log.CONFIG["L4"] + log.ranks(1) + log.L4_HEAD + ROW + log.footer()).splitlines()
        ),
        {"runs": 2, "ok": False, "failure": "independent_single_rank_processes"},
    ),
    "split_groups_are_one_run": (
        log.good().replace("Rank  4 Group  0", "Rank  4 Group  1"),
        {"runs": 1, "ok": True, "ranks": 8},
    ),
}


@pytest.mark.parametrize(("text", "want"), RUNS.values(), ids=RUNS)
def test_runs(text: str, want: dict[str, object]) -> None:
    check(text, want)


def test_many_runs_are_counted_and_not_all_kept() -> None:
    bad = log.good().replace("0 OK", "4 FAILED")
    got = read(200 * log.good() + bad + 200 * log.good())
    assert (got["runs"], got["ok"], got["failure"]) == (401, False, "data_corruption: 4 out-of-bounds")
    assert len(got["per_run"]) < 401


FAILURES = {
    "timeout": (
        "node-a: Test timeout (30s) common.cu:400\n",
        "timeout",
        {"failure_site": "common.cu:400", "failed_hosts": ["node-a"]},
    ),
    "cuda": (
        "node-a: Test CUDA failure common.cu:920 'out of memory'\n",
        "cuda_error",
        {"failure_site": "common.cu:920"},
    ),
    "relay_only": (" .. node-a pid 12: Test failure all_gather.cu:90\n", "nccl_error", {"collective": "all_gather"}),
    "bad_sizes": ("invalid sizes for 'minbytes' and 'maxbytes': 8 > 4\n", "bad_argument", {}),
    "mixed_nccl": (
        "Incompatible NCCL versions. nccl-tests was compiled with NCCL 2.28, but is running with NCCL 2\n",
        "incompatible_nccl",
        {},
    ),
    "killed": (KILLED, "mpi_abort", {"hosts": ["node-a", "node-b"]}),
    "srun_killed": ("srun: error: node-b: task 3: Killed\n", "mpi_abort", {"failed_hosts": ["node-b"]}),
    "srun_exit_code": ("srun: error: node-b: task 3: Exited with exit code 3\n", "mpi_abort", {"exit_code": 3}),
    "no_program": (
        "bash: /opt/all_reduce_perf: No such file or directory\n",
        "launcher_error",
        {"collective": "all_reduce"},
    ),
    "no_slots": (
        "There are not enough slots available in the system to satisfy the 99\nslots that were requested.\n",
        "launcher_error",
        {},
    ),
}


@pytest.mark.parametrize(("line", "word", "more"), FAILURES.values(), ids=FAILURES)
def test_failure_before_rows(line: str, word: str, more: dict[str, object]) -> None:
    text = log.CONFIG["L4"] + log.ranks(8) + line if not word.startswith(("bad", "incomp", "launch")) else line
    check(text, {"ok": False, "complete": False, "rows": 0, "failure": word} | more)


@pytest.mark.parametrize(
    "line", [KILLED, "srun: error: node-b: task 3: Exited with exit code 3\n"], ids=["signal", "exit_code"]
)
def test_a_good_table_and_a_bad_exit_is_no_pass(line: str) -> None:
    check(log.good() + line, {"ok": False, "complete": True, "failure": "mpi_abort", "rows": 1})


def test_warning_that_the_run_tests_something_else_is_a_note() -> None:
    got = read("invalid type quad, defaulting to float .. \n" + log.good())
    assert (got["ok"], got["notes"]) == (True, ["invalid type quad, defaulting to float .."])


NOT_OURS = {
    "empty": "",
    "blank": "\n\n \n",
    "binary": "\x00\x01\x7fELF\x02\n\ufffd\ufffd",
    "shell_error": "bash: line 1: mpirun-wrapper: command not found\n",
    "python": "Traceback (most recent call last):\n  File x\nValueError: 12 34\n",
    "other_json": '{"nodes": {}}',
}


@pytest.mark.parametrize("text", NOT_OURS.values(), ids=NOT_OURS)
def test_text_of_something_else_is_not_read(text: str) -> None:
    with pytest.raises(ParseError, match=r"^nccl-tests: "):
        read(text)


# JSON


def report(**changes: object) -> str:
    data = {
        "version": 3, "start_time": "2026-01-20 10:00:00", "args": ["./all_gather_perf", "-g", "8"], "env": ["TOKEN=secret"],
        "nccl_version": 22907,
        "config": {"nthreads": 1, "ngpus": 4, "devices": [{"rank": 0, "hostname": "node-b"}, {"rank": 4, "hostname": "node-a"}]},
        "results": [
            {"size": size, "count": size // 32, "type": "float", "redop": "none", "root": "    -1",
             "out_of_place": {"time": 1.5, "alg_bw": 400.0, "bus_bw": 350.5, "nwrong": 0},
             "in_place": {"time": 1.5, "alg_bw": 401.0, "bus_bw": 351.5, "nwrong": 0}}
            for size in (1048576, 2097152)
        ],
        "out_of_bounds": {"count": 0, "okay": "true"}, "average_bus_bandwidth": {"bandwidth": 351.0, "okay": "unchecked"},
        "errors": [], "end_time": "2026-01-20 10:01:00",
    }  # fmt: skip
    data.update(changes)
    return json.dumps({key: value for key, value in data.items() if value is not ...}).replace("/", "\\/")


JSON_GOOD = {
    "rows": 2,
    "ok": True,
    "complete": True,
    "ranks": 8,
    "hosts": ["node-a", "node-b"],
    "collective": "all_gather",
}
REPORTS = {
    "version_3": (report(), JSON_GOOD | {"layout": "json-v3", "wrong_total": 0, "checked": True, "avg_busbw": 351.0}),
    "version_1": (report(version=1), JSON_GOOD | {"layout": "json-v1"}),
    "version_4": (report(version=4), JSON_GOOD | {"layout": "json-v4"}),
    "misspelt": (
        report(average_bus_bandwidth=..., average_bus_bandwidith={"bandwidith": 350.0, "okay": "true"}),
        JSON_GOOD | {"avg_busbw": 350.0},
    ),
    "inf_unquoted": (report().replace("401.0", "inf"), JSON_GOOD),
    "nan_quoted": (report().replace("350.5", '"nan"'), JSON_GOOD | {"max_busbw_out_of_place": None}),
    "cpu_time": (report().replace('"time"', '"cpu_time"'), JSON_GOOD),
    "errors": (report(errors=["unhandled system error"]), {"ok": False, "failure": "nccl_error"}),
    "no_end": (report(end_time=...), {"ok": False, "complete": False, "failure": "no_footer"}),
    "corrupt": (
        report(out_of_bounds={"count": 3, "okay": "false"}),
        {"ok": False, "failure": "data_corruption", "out_of_bounds": 3},
    ),
    "below": (
        report(average_bus_bandwidth={"bandwidth": 5.0, "okay": "false"}),
        {"ok": False, "failure": "below_min_bw"},
    ),
    "no_results": (report(results=[]), {"ok": False, "rows": 0}),
    "result_without_figures": (report(results=[{"size": 8}]), {"ok": False, "rows": 0, "damaged_rows": 1}),
}


@pytest.mark.parametrize(("text", "want"), REPORTS.values(), ids=REPORTS)
def test_json_report(text: str, want: dict[str, object]) -> None:
    check(text, want)


def test_environment_of_the_job_never_gets_into_a_reading() -> None:
    assert "secret" not in json.dumps(read(report()))


def test_json_cut_anywhere_keeps_what_was_whole() -> None:
    text = report()
    readings = [read(text[:end]) for end in range(text.index('"results"'), len(text) - 1, 7)]
    assert {got["ok"] for got in readings} == {False}
    assert {got["failure"] for got in readings} == {"truncated_json"}
    assert {got["rows"] for got in readings} == {0, 1, 2}
