"""Judging collectives: against limits of the same kind, the fleet's own baseline, and by the way of the data."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.bandwidth import load_limits
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.nccl import Measure, judge_missing, judge_run
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.attempt import Attempt
from ansible_collections.gpufleet.cluster.plugins.module_utils.nccl.baseline import baseline_of
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.nccl import parse_nccl
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.nccl.transport import parse_nccl_transport
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.limits import (
    baseline_file,
    limits_files,
    read_baseline,
    read_limits,
    write_baseline,
)

from tests.unit import nccl_log as log
from tests.unit.parse_cases import lines_of

G16 = 17179869184
SHIPPED = load_limits(read_limits(limits_files([])))
LIMITED = Measure(SHIPPED)


def record(hosts: dict[str, str | None], **changes: Any) -> dict[str, Any]:
    """``hosts``: name -> NVLink domain."""
    rows = [{"name": name, "address": "10.0.1.1", "slots": 4, "domain": domain} for name, domain in hosts.items()]
    attempt = {"state": "measured", "problem": None, "log": "/var/log/gpufleet/nccl/r/x.1.log", "command": ["mpirun"]}
    return {
        "name": "run", "scope": "nvlink_domain", "collective": "all_reduce", "sku": "GB200", "mnnvl": True,
        "checked": True, "launcher": "mpirun", "program": "/p", "ranks": 4 * len(rows), "nodes": len(rows),
        "interface": None, "hosts": rows, "attempts": [attempt], **changes,
    }  # fmt: skip


def info(host: str, text: str) -> str:
    return f"{host}:21:21 [0] NCCL INFO {text}\n"


def ways(*pairs: tuple[str, str, str], mode: str | None = "1") -> str:
    """(host, host, way) of rank n and n+1."""
    text = "".join(
        info(first, f"Channel 00/0 : {n}[0] -> {n + 1}[0] [send] via {way}")
        + info(second, f"Channel 00/0 : {n}[0] -> {n + 1}[0] [receive] via {way}")
        for n, (first, second, way) in enumerate(pairs)
    )
    settings = "" if mode is None else info(pairs[0][0], f"NCCL_MNNVL_ENABLE set by environment to {mode}.")
    return text + settings


def attempt(busbw: float = 840.0, ranks: int = 8, lines: str = "", size: int = G16) -> Attempt:
    text = log.VERSION + log.ranks(ranks) + log.L5_HEAD + log.l5_row(size, busbw) + log.footer(f"{busbw:g}")
    transport = parse_nccl_transport(lines_of(lines)) if lines else None
    return Attempt("measured", None, parse_nccl(lines_of(text)), transport)


def judged(what: dict[str, Any], *attempts: Attempt, measure: Measure = LIMITED) -> list[tuple[str, str]]:
    _shown, findings = judge_run("w1", what, attempts, measure)
    assert {(finding.check, finding.subject.host) for finding in findings} == {("nccl", "w1")}
    return [(finding.severity.name, finding.message) for finding in findings]


def severities(*args: Any, **kwargs: Any) -> list[str]:
    return [severity for severity, _message in judged(*args, **kwargs)]


TWO = {"w1": "d1", "w2": "d1"}
APART = {"w1": "d1", "w3": "d2"}
MNNVL = ways(("w1", "w2", "P2P/MNNVL"))
RDMA = ways(("w1", "w2", "NET/IB/3/GDRDMA"), mode="0")
DOMAINS: dict[str, tuple[dict[str, Any], Attempt, list[str]]] = {
    "over_nvlink": (record(TWO), attempt(lines=MNNVL), ["OK", "OK", "OK"]),
    # What a bandwidth alone would not tell: fast enough, but by RDMA.
    "over_rdma_although_mnnvl_is_on": (
        record(TWO),
        attempt(lines=ways(("w1", "w2", "NET/IB/0"))),
        ["OK", "FAIL", "OK"],
    ),
    "slow_over_nvlink": (record(TWO), attempt(330.0, lines=MNNVL), ["FAIL", "OK", "OK"]),
    # With MNNVL off the limit is the one of RDMA (290), although both are in one domain.
    "mnnvl_off_is_judged_as_rdma": (record(TWO, mnnvl=False), attempt(330.0, lines=RDMA), ["OK", "OK", "OK"]),
    "mnnvl_off_did_not_reach_the_ranks": (
        record(TWO, mnnvl=False),
        attempt(330.0, lines=ways(("w1", "w2", "P2P/MNNVL"), mode=None)),
        ["OK", "FAIL", "UNKNOWN"],
    ),
    "mode_2_falls_back_in_silence": (
        record(TWO),
        attempt(lines=ways(("w1", "w2", "P2P/MNNVL"), mode="2")),
        ["OK", "OK", "FAIL", "WARN"],
    ),
    "across_domains": (
        record(APART, scope="cross_domain", mnnvl=False),
        attempt(330.0, lines=ways(("w1", "w3", "NET/IB/0/GDRDMA"), mode="0")),
        ["OK", "OK", "OK"],
    ),
    # No communicator, no lines: asking whether CUDA is there would print nothing either.
    "no_line_of_nccl": (record(TWO), attempt(), ["OK", "UNKNOWN"]),
}


@pytest.mark.parametrize(("what", "read", "want"), DOMAINS.values(), ids=DOMAINS)
def test_two_trays(what: dict[str, Any], read: Attempt, want: list[str]) -> None:
    assert severities(what, read) == want


def test_mixed_proves_each_pair_and_has_no_limit_of_its_own() -> None:
    what = record({"w1": "d1", "w2": "d1", "w3": "d2", "w4": "d2"}, scope="mixed")
    lines = ways(("w1", "w2", "P2P/MNNVL"), ("w2", "w3", "NET/IB/1/GDRDMA"), ("w3", "w4", "NET/IB/1"))
    assert judged(what, attempt(600.0, ranks=16, lines=lines))[1:] == [
        ("OK", "w1 - w2: P2P/MNNVL as expected"),
        ("OK", "w2 - w3: NET/IB (RDMA) as expected"),
        ("FAIL", "w3 - w4: NET/IB instead of P2P/MNNVL"),
        ("OK", "NCCL_MNNVL_ENABLE is 1"),
    ]
    severity, message = judged(what, attempt(600.0, ranks=16, lines=lines))[0]
    assert severity == "UNKNOWN"
    assert message.startswith("no limit fits GB200 mixed all_reduce on 16 ranks")
    assert "nearest: GB200 nvlink_domain all_reduce" in message


def test_bootstrap_is_over_the_planned_interface() -> None:
    lines = MNNVL + info("w1", "Bootstrap : Using eth0:10.0.1.21<0>") + info("w2", "Bootstrap : Using ib0:10.9.0.2<0>")
    found = judged(record(TWO, interface="eth0"), attempt(lines=lines))
    assert found[3:] == [("OK", "bootstrap over eth0"), ("FAIL", "w2: bootstrap over ib0")]


B200 = {"scope": "single_node", "mnnvl": None, "sku": "GB200"}


def test_the_average_of_another_sweep_is_compared_with_nothing() -> None:
    """One figure per unit and size: 684 GB/s of bus bandwidth at 16G on 4 GPUs, never an average over small sizes."""
    (finding,) = judged(record({"w1": "d1"}, **B200), attempt(684.0, ranks=4))
    assert finding[0] == "OK"
    (finding,) = judged(record({"w1": "d1"}, **B200), attempt(684.0, ranks=4, size=8))
    assert finding[0] == "UNKNOWN"


def test_several_attempts_are_judged_by_their_median() -> None:
    what = record({"w1": "d1"}, **B200)
    shown, (finding,) = judge_run("w1", what, [attempt(value, ranks=4) for value in (100.0, 684.0, 690.0)], LIMITED)
    assert (finding.severity.name, finding.measured) == ("OK", 684.0)
    assert shown["points"] == [{"size_bytes": G16, "busbw": 684.0, "out_of_place": 684.0, "in_place": 684.0}]


def test_one_bad_attempt_spoils_the_run() -> None:
    what = record({"w1": "d1"}, **B200)
    bad = Attempt("timeout", "no end after 600 s")
    shown, (finding,) = judge_run("w1", what, [attempt(684.0, ranks=4), bad], LIMITED)
    assert (finding.severity.name, finding.message) == ("UNKNOWN", "run on w1: no end after 600 s")
    assert (shown["healthy"], shown["verdict"]) == (False, "UNKNOWN")


STAND_IN = {"scope": "cross_domain", "mnnvl": None, "sku": "stand-in", "ranks": 8}


def test_a_stand_in_is_named_and_needs_no_transport() -> None:
    read = dataclasses.replace(attempt(), stand_in=True)
    limit = {
        "sku": "stand-in", "scope": "cross_domain", "collective": "all_reduce", "statistic": "row_at_size",
        "size_bytes": G16, "value": 1, "unit": "GB/s", "source": "here", "date": "x",
    }  # fmt: skip
    ((severity, message),) = judged(record(APART, **STAND_IN), read, measure=Measure(load_limits([limit])))
    assert severity == "OK"
    assert message.startswith("stand-in, w1, w3: all_reduce on 8 ranks")


def baseline(*runs: tuple[dict[str, Any], float]) -> dict[str, Any]:
    reports = {}
    for what, busbw in runs:
        shown, _findings = judge_run("w1", what, [attempt(busbw, ranks=what["ranks"])], LIMITED)
        reports[what["name"]] = {"runs": [shown]}
    document, left_out = baseline_of(reports, "r0", "2026-11-30T20:00:00Z")
    assert left_out == []
    return document


def node(name: str) -> dict[str, Any]:
    return record({name: "d1"}, **{**B200, "name": f"node {name}", "ranks": 4})


FLEET = baseline((node("w1"), 600.0), (node("w2"), 700.0), (node("w3"), 680.0))
# The shipped limit for this kind is 610: the fleet's own baseline takes its place, in both directions.
BASELINES: dict[str, tuple[dict[str, Any], float, str, str]] = {
    "as_usual": (node("w1"), 590.0, "OK", "590 GB/s, 2 % below 600, the baseline of these hosts"),
    "better": (node("w1"), 660.0, "OK", "660 GB/s, 10 % above 600, the baseline of these hosts"),
    "dropped": (node("w2"), 620.0, "FAIL", "620 GB/s, 11 % below 700, the baseline of these hosts"),
    "a_host_that_is_new": (node("w9"), 600.0, "FAIL", "12 % below 680, the baseline of 3 runs of the same kind"),
    "another_kind_has_limits_only": (
        record(TWO, mnnvl=False, name="pair"),
        330.0,
        "OK",
        "0.9 x 330 measured (public log, RDMA only)",
    ),
}


@pytest.mark.parametrize(("what", "busbw", "severity", "words"), BASELINES.values(), ids=BASELINES)
def test_baseline(what: dict[str, Any], busbw: float, severity: str, words: str) -> None:
    measure = Measure(SHIPPED, FLEET, tolerance_percent=10)
    found = judged(what, attempt(busbw, ranks=what["ranks"]), measure=measure)[0]
    assert found[0] == severity
    assert words in found[1]
    assert found[1].startswith(", ".join(host["name"] for host in what["hosts"]))


def test_baseline_of_another_size_is_unknown() -> None:
    ((severity, message),) = judged(node("w1"), attempt(600.0, ranks=4, size=8), measure=Measure(SHIPPED, FLEET))
    assert severity == "UNKNOWN"
    assert "no size of this run is in the baseline of these hosts" in message


def test_a_run_without_figure_is_named_and_not_recorded() -> None:
    shown, _findings = judge_run("w1", node("w1"), [Attempt("timeout", "no end")], LIMITED)
    document, left_out = baseline_of({"w1": {"runs": [shown]}}, "r0", "now")
    assert (document["runs"], left_out) == ({}, ["node w1"])


def test_baseline_is_beside_the_inventory_that_a_link_leads_to(tmp_path: Path) -> None:
    """As in a private data directory of ansible-runner, which may be gone after the run."""
    (tmp_path / "inventories" / "lab").mkdir(parents=True)
    (tmp_path / "inventory").symlink_to(tmp_path / "inventories" / "lab")
    assert baseline_file([str(tmp_path / "inventory")]) == tmp_path / "inventories" / "baselines" / "lab.json"


def test_baseline_file_is_the_owners_and_whole(tmp_path: Path) -> None:
    path = baseline_file([str(tmp_path / "lab")])
    assert path == tmp_path / "baselines" / "lab.json"
    assert read_baseline(path) == {}
    write_baseline(path, FLEET)
    assert read_baseline(path) == json.loads(json.dumps(FLEET))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["lab.json"]
    for text in ("{", '{"schema_version": 9}'):
        path.write_text(text)
        with pytest.raises(ConfigError, match="reading the baseline"):
            read_baseline(path)


def test_a_fleets_own_limits_take_the_place_of_the_shipped_ones(tmp_path: Path) -> None:
    files = limits_files([str(tmp_path / "lab")])
    assert read_limits(files) == read_limits(limits_files([]))
    files[0].parent.mkdir()
    files[0].write_text('{"limits": []}')
    assert read_limits(files) == []
    files[0].write_text('{"limits": [{"sku": "x"}]}')
    with pytest.raises(ConfigError, match="limit 1: missing"):
        read_limits(files)


def test_a_run_that_left_no_record_is_unknown() -> None:
    (finding,) = judge_missing("w1", ["a"], ["a", "b"])
    assert (finding.severity.name, finding.message) == ("UNKNOWN", "b left no record on this host")
