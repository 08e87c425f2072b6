"""Judging bandwidth: only like with like, UNKNOWN where no limit fits, and the table itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.bandwidth import (
    SCOPES,
    Context,
    judge_bandwidth,
    judge_coverage,
    load_limits,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.nccl import parse_nccl
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.perftest import parse_perftest

from tests.unit import nccl_log as log
from tests.unit.parse_cases import FIXTURES, lines_of, text_of

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = json.loads((ROOT / "limits" / "bandwidth.json").read_text())["limits"]
LIMITS = load_limits(ROWS)
G8, G16 = 8589934592, 17179869184

LIMIT = {
    "sku": "H100", "scope": "single_node", "collective": "all_reduce", "ranks": 8, "nodes": 1, "size_bytes": [G16, G16],
    "statistic": "row_at_size", "value": 430, "unit": "GB/s", "source": "here", "date": "2026-11",
}  # fmt: skip
H100 = Context("w1", sku="H100", scope="single_node")


def nccl(text: str, limits: list[dict[str, object]] | None = None, context: Context = H100) -> list[Finding]:
    return judge_bandwidth(parse_nccl(lines_of(text)), load_limits([LIMIT] if limits is None else limits), context)


def words(findings: list[Finding]) -> list[tuple[str, object, object]]:
    return [(finding.severity.name, finding.measured, finding.expected) for finding in findings]


def sweep(*rows: tuple[int, float], average: str) -> str:
    return log.VERSION + log.ranks(8) + log.L5_HEAD + "".join(log.l5_row(*row) for row in rows) + log.footer(average)


CASES = {
    "met": (log.good(G16, 480.0), LIMIT, [("OK", 480.0, 430)]),
    "not_met": (log.good(G16, 400.0), LIMIT, [("FAIL", 400.0, 430)]),
    "another_size": (log.good(G8, 480.0), LIMIT, [("UNKNOWN", 480.0, None)]),
    "size_rounded_to_the_ranks": (log.good(G16 - 64, 480.0), LIMIT, [("OK", 480.0, 430)]),
    "the_largest_row_in_the_range": (
        sweep((G8, 300.0), (G16, 480.0), average="390"),
        LIMIT | {"size_bytes": [G8, None]},
        [("OK", 480.0, 430)],
    ),
    "another_collective": (log.good().replace("all_reduce", "all_gather"), LIMIT, [("UNKNOWN", 480.0, None)]),
    "another_number_of_ranks": (log.good().replace(log.ranks(8), log.ranks(4)), LIMIT, [("UNKNOWN", 480.0, None)]),
    "another_sku": (log.good(), LIMIT | {"sku": "H200"}, [("UNKNOWN", 480.0, None)]),
    "another_scope": (log.good(), LIMIT | {"scope": "cross_domain"}, [("UNKNOWN", 480.0, None)]),
    "average_of_the_same_sweep": (
        sweep((G8, 470.0), (G16, 480.0), average="475"),
        LIMIT | {"statistic": "average", "size_bytes": [G8, G16]},
        [("OK", 475.0, 430)],
    ),
    "average_of_another_sweep": (
        sweep((8, 0.1), (G16, 480.0), average="122"),
        LIMIT | {"statistic": "average", "size_bytes": [G8, G16]},
        [("UNKNOWN", 480.0, None)],
    ),
    "baseline_within_tolerance": (log.good(G16, 400.0), LIMIT | {"tolerance_percent": 10}, [("OK", 400.0, 387.0)]),
    "corrupt_data_is_no_bandwidth": (log.good().replace("0 OK", "3 FAILED"), LIMIT, [("FAIL", None, None)]),
    "not_finished": (log.good().rsplit("# Avg", 1)[0], LIMIT, [("UNKNOWN", None, None)]),
    "one_rank": (log.good(busbw=0.0).replace(log.ranks(8), log.ranks(1)), LIMIT, [("UNKNOWN", None, None)]),
}


@pytest.mark.parametrize(("text", "limit", "want"), CASES.values(), ids=CASES)
def test_nccl(text: str, limit: dict[str, object], want: list[tuple[str, object, object]]) -> None:
    assert words(nccl(text, [limit])) == want


def test_what_does_not_fit_names_the_nearest_limits() -> None:
    (finding,) = nccl(log.good(G8, 480.0), [LIMIT | {"sku": "A100", "scope": "loopback"}, LIMIT])
    nearest = "H100 single_node all_reduce row_at_size ranks 8 nodes 1 size_bytes 17179869184; A100 loopback"
    assert nearest in finding.message
    assert finding.remedy


def test_no_limits_at_all_is_unknown() -> None:
    assert words(nccl(log.good(), [])) == [("UNKNOWN", 480.0, None)]


def test_data_that_was_not_checked_can_be_asked_for() -> None:
    text = log.good().replace("       0", "     N/A")
    context = Context("w1", sku="H100", scope="single_node", require_checked=True)
    assert words(nccl(text, context=context)) == [("OK", 480.0, 430), ("WARN", None, None)]
    assert words(nccl(text)) == [("OK", 480.0, 430)]


def perftest(name: str, sku: str, scope: str = "cross_domain") -> list[Finding]:
    report = parse_perftest(lines_of(text_of(FIXTURES / "perftest" / name)))
    return judge_bandwidth(report, LIMITS, Context("w1", sku=sku, scope=scope, peer="w2", network="rail0"))


PERFTEST = {
    "at_the_floor": ("37-bw-ndr-8mb-no-leading-blank.txt", "400G", "UNKNOWN"),  # the text does not say which test
    "below_the_floor": ("39-bw-roce-3qp-duration.txt", "400G", "FAIL"),
    "small_messages_are_not_judged": ("03-bw-ib-lid-no-gid.txt", "400G", "UNKNOWN"),
    "both_ways_is_not_one_way": ("27-bidirectional-healthy-number-of-cols.txt", "100G", "UNKNOWN"),
    "both_ways_healthy": ("27-bidirectional-healthy-number-of-cols.txt", "GB10", "OK"),
    "both_ways_degraded": ("26-bidirectional-degraded.txt", "GB10", "FAIL"),
    "the_tool_judged": ("43-bw-limit-not-met.txt", "400G", "FAIL"),
    "latency": ("05-lat-write-ib-three-rows.txt", "400G", "OK"),
    "unit_unknown": ("40-output-bandwidth-bare-number.txt", "400G", "UNKNOWN"),
    "nobody_connected": ("31-server-waits-forever.txt", "400G", "UNKNOWN"),
    "wrong_address": ("21-modify-qp-to-rtr-failed.txt", "400G", "FAIL"),
}


@pytest.mark.parametrize(("name", "sku", "severity"), PERFTEST.values(), ids=PERFTEST)
def test_perftest(name: str, sku: str, severity: str) -> None:
    findings = perftest(name, sku)
    assert [finding.severity.name for finding in findings] == [severity]
    assert (findings[0].subject.peer, findings[0].subject.network) == ("w2", "rail0")


def test_each_nic_is_measured_or_named() -> None:
    """Four runs with -d mlx5_0 measure one NIC."""
    report = parse_perftest(lines_of(text_of(FIXTURES / "perftest" / "39-bw-roce-3qp-duration.txt")))
    findings = judge_coverage([f"mlx5_{number}" for number in range(4)], 4 * [report], Context("w1"))
    assert [(f.severity.name, f.subject.port) for f in findings] == [("UNKNOWN", f"mlx5_{n}") for n in (1, 2, 3)]


def test_bus_bandwidth_is_judged_and_not_algorithm_bandwidth() -> None:
    """480 GB/s of an H100 machine is bus bandwidth; 850 GB/s is no figure of eight H100."""
    text = log.good(G16, 480.0)
    assert "274.29" in text
    assert {(s, m) for s, m, _ in words(judge_bandwidth(parse_nccl(lines_of(text)), LIMITS, H100))} == {("OK", 480.0)}
    assert max(row["value"] for row in ROWS if row["sku"] == "H100") < 500


def test_23_gigabytes_of_a_200_gigabit_nic_is_184_gigabit_and_below_the_floor() -> None:
    text = text_of(FIXTURES / "perftest" / "39-bw-roce-3qp-duration.txt").replace("363.47", "184.00")
    report = parse_perftest(lines_of(text))
    (finding,) = judge_bandwidth(report, LIMITS, Context("w1", sku="200G", scope="cross_domain"))
    assert (finding.severity.name, finding.measured, finding.expected, finding.unit) == ("FAIL", 184.0, 190.0, "Gb/s")


def test_mnnvl_and_rdma_have_limits_of_their_own() -> None:
    """330 GB/s on eight GPUs is good over RDMA and a fault inside an NVLink domain."""
    text = log.good(G16, 330.0)
    by_scope = {
        scope: words(
            judge_bandwidth(parse_nccl(lines_of(text)), LIMITS, Context("w1", sku="GB200", scope=scope, nodes=2))
        )
        for scope in ("nvlink_domain", "cross_domain")
    }
    assert by_scope == {"nvlink_domain": [("FAIL", 330.0, 750)], "cross_domain": [("OK", 330.0, 290)]}


BAD = {
    "unknown_key": (LIMIT | {"gpu": "x"}, "unknown: gpu"),
    "missing_key": ({key: value for key, value in LIMIT.items() if key != "value"}, "missing: value"),
    "scope": (LIMIT | {"scope": "rack"}, "allowed: single_node, nvlink_domain, cross_domain, mixed, loopback"),
    "statistic": (LIMIT | {"statistic": "median"}, "allowed: row_at_size, average"),
    "bound": (LIMIT | {"bound": "about"}, "allowed: at_least, at_most"),
    "ranks": (LIMIT | {"ranks": "eight"}, "least, most"),
}


@pytest.mark.parametrize(("row", "message"), BAD.values(), ids=BAD)
def test_a_wrong_limit_names_its_row_and_what_is_allowed(row: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=r"^limit 2: ") as caught:
        load_limits([LIMIT, row])
    assert message in str(caught.value)


def test_every_shipped_limit_names_its_source() -> None:
    assert all(limit.source and limit.date and limit.value > 0 for limit in LIMITS)
    # Nobody publishes figures of runs across and inside domains at once: there a fleet needs its own baseline.
    assert {limit.scope for limit in LIMITS} == set(SCOPES) - {"mixed"}
    assert {limit.unit for limit in LIMITS} == {"GB/s", "Gb/s", "us"}
