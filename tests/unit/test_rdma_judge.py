# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs judged alone (limits, silence, faults) and against each other (row, column, rail, host)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.bandwidth import load_limits
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.rdma import judge_outcomes
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.rdma_pairs import (
    PairRow,
    compare_pairs,
    merge_rows,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.outcome import Outcome, Reading
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.plan import Step

TOLERANCES = {"bw": 10.0, "lat": 100.0}
LINE = "-" * 87


@dataclass(frozen=True)
class Found:
    """What of a finding says where to look."""

    kind: str
    host: str
    network: str | None
    peer: str | None


def rows(hosts: str, slow: dict[tuple[str, str, str], float], networks: str = "12", rate: Any = 400.0) -> list[PairRow]:
    """Every pair at 392 but those in ``slow``: (network, sender, receiver) -> value; "*" is anyone, 0 a fault."""
    made = []
    for network in networks:
        for sender, receiver in permutations(hosts, 2):
            keys = [(network, sender, receiver), (network, sender, "*"), (network, "*", receiver), (network, "*", "*")]
            value = next((slow[key] for key in keys if key in slow), 392.0)
            state = "ok" if value else "fault"
            made.append(PairRow(network, "ib_write_bw", sender, receiver, state, value or None, "Gb/s", rate))
    return made


def found(measured: list[PairRow]) -> list[Found]:
    return [
        Found(each.message.split(":")[0], each.subject.host, each.subject.network, each.subject.peer)
        for each in compare_pairs(measured, TOLERANCES)
    ]


def ends(network: str, host: str, value: float) -> dict[tuple[str, str, str], float]:
    return {(network, host, "*"): value, (network, "*", host): value}


@pytest.mark.parametrize(
    ("measured", "wanted"),
    [
        pytest.param(rows("abcd", {}), [], id="all-alike"),
        pytest.param(rows("abcd", {("1", "a", "b"): 356.0}), [], id="within-the-tolerance"),
        pytest.param(rows("abcd", {("1", "a", "b"): 351.0}), [Found("bad pair", "a", "1", "b")], id="pair-one-way"),
        pytest.param(
            rows("abcd", {("1", "a", "b"): 90.0, ("1", "b", "a"): 80.0}), [Found("bad pair", "b", "1", "a")],
            id="pair-both-ways-is-one-finding",
        ),
        pytest.param(rows("abcd", ends("1", "c", 98.0)), [Found("bad rail", "c", "1", None)], id="rail"),
        pytest.param(rows("abc", ends("1", "c", 98.0)), [Found("bad rail", "c", "1", None)], id="rail-of-three-hosts"),
        pytest.param(rows("abcd", {("1", "c", "*"): 98.0}), [Found("bad rail", "c", "1", None)], id="rail-sends"),
        pytest.param(rows("abcd", {("1", "*", "c"): 98.0}), [Found("bad rail", "c", "1", None)], id="rail-receives"),
        pytest.param(
            rows("abcd", ends("1", "c", 98.0) | ends("2", "c", 97.0)), [Found("bad host", "c", None, None)], id="host"
        ),
        pytest.param(rows("abcd", ends("1", "c", 0)), [Found("bad rail", "c", "1", None)], id="rail-with-faults-only"),
        pytest.param(
            rows("abcdef", ends("1", "c", 98.0) | {("1", "a", "b"): 50.0}),
            [Found("bad rail", "c", "1", None), Found("bad pair", "a", "1", "b")],
            id="rail-and-a-pair-beside-it",
        ),
        pytest.param(
            rows("abcdef", ends("1", "c", 98.0) | ends("2", "d", 98.0)),
            [Found("bad rail", "c", "1", None), Found("bad rail", "d", "2", None)],
            id="two-rails-of-two-hosts",
        ),
        pytest.param(rows("abcd", {("2", "*", "*"): 180.0}), [Found("bad network", "(fleet)", "2", None)], id="all"),
        pytest.param(rows("ab", {("2", "a", "b"): 20.0}), [Found("bad pair", "a", "2", "b")], id="two-hosts-one-way"),
        pytest.param(rows("ab", {("2", "*", "*"): 20.0}), [Found("bad pair", "a", "2", "b")], id="two-hosts-slow-rail"),
        pytest.param(rows("ab", {}, networks="1"), [], id="two-hosts-one-rail-nothing-to-compare"),
    ],
)  # fmt: skip
def test_what_is_slow_is_told_by_its_kind(measured: list[PairRow], wanted: list[Found]) -> None:
    assert found(measured) == wanted


def test_rails_of_another_speed_are_not_compared() -> None:
    slower = rows("abcd", {("2", "*", "*"): 98.0}, networks="2", rate=100.0)
    assert found(rows("abcd", {}, networks="1") + slower) == []


def test_a_silent_host_is_no_slow_host() -> None:
    measured = [
        PairRow(row.network, row.test, row.sender, row.receiver, "no_answer", None, "", 400.0)
        if "c" in (row.sender, row.receiver)
        else row
        for row in rows("abcd", {})
    ]
    assert found(measured) == []


def test_latency_is_worse_when_it_is_more() -> None:
    measured = [
        PairRow("1", "ib_write_lat", sender, receiver, "ok", 4.1 if "c" in (sender, receiver) else 2.0, "us")
        for sender, receiver in permutations("abcd", 2)
    ]
    (finding,) = compare_pairs(measured, TOLERANCES)
    assert finding.message == (
        "bad rail: 1 of c: all its traffic is slow: with 3 of its partners (ib_write_lat: 4.1, others: 2.0 us)"
    )


def test_of_two_reports_about_one_measurement_the_figure_counts() -> None:
    def row(state: str, value: float | None) -> dict[str, Any]:
        return {
            "network": "r",
            "test": "t",
            "sender": "a",
            "receiver": "b",
            "state": state,
            "value": value,
            "unit": "x",
        }

    rails = [{"network": "r", "rate_gbps": 400.0}]
    reports = {
        "a": {"pairs": [row("ok", 5.0)], "rails": rails},
        "b": {"pairs": [row("no_answer", None), "no mapping"], "rails": rails},
        "c": {"pairs": None},
        "d": {},
    }
    assert merge_rows(reports) == [PairRow("r", "t", "a", "b", "ok", 5.0, "x", 400.0)]


LIMITS = load_limits(
    [
        {"sku": "400G", "scope": "cross_domain", "collective": "ib_write_bw", "size_bytes": [65536, None],
         "statistic": "row_at_size", "value": 380.0, "unit": "Gb/s", "memory": "host", "source": "s", "date": "d"}
    ]
)  # fmt: skip


def table(value: float) -> str:
    return (
        f"{LINE}\n                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n{LINE}\n"
        f" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        f" 65536      5000             0.00             {value:.2f} \t\t     {value / 0.524288:.6f}\n{LINE}\n"
    )


def outcome(receiver: str, value: float = 0.0, network: str = "rail0", **reading: Any) -> Outcome:
    told = Reading(**{"state": "ok", "value": value, "unit": "Gb/s", "size_bytes": 65536, **reading})
    return Outcome(network, Step("ib_write_bw", receiver, "a"), told, 1, 3.0, "mlx5_0", table(value) if value else "")


@pytest.mark.parametrize(
    ("outcomes", "wanted"),
    [
        pytest.param(
            [outcome("b", 391.0), outcome("c", 389.5)],
            [("OK", None, 389.5, 380.0, "rail0: ib_write_bw to b, c: ")],
            id="good-ones-are-told-together-with-the-worst-figure",
        ),
        pytest.param(
            [outcome("b", 391.0), outcome("c", 351.0)],
            [("OK", "b", 391.0, 380.0, "rail0: ib_write_bw to b: "),
             ("FAIL", "c", 351.0, 380.0, "rail0: ib_write_bw to c: ")],
            id="below-the-limit",
        ),
        pytest.param(
            [outcome("b", state="no_answer", value=None, detail="b has never answered in 60 s"),
             outcome("b", network="rail1", state="no_answer", value=None, detail="b has never answered in 60 s")],
            [("UNKNOWN", "b", "no_answer", "measured", "rail0, rail1: with b: b has never answered in 60 s")],
            id="a-silent-partner-is-one-unknown-for-all-rails",
        ),
        pytest.param(
            [outcome("b", state="fault", value=None, detail="completion_error")],
            [("FAIL", "b", "fault", "measured", "rail0: with b: completion_error")],
            id="a-fault-that-the-tool-found",
        ),
        pytest.param(
            [outcome("b", state="unknown", value=None, detail="ib_write_bw is not installed")],
            [("UNKNOWN", "b", "unknown", "measured", "rail0: with b: ib_write_bw is not installed")],
            id="a-missing-tool",
        ),
    ],
)  # fmt: skip
def test_a_host_judges_its_own_pairs(outcomes: list[Outcome], wanted: list[tuple[Any, ...]]) -> None:
    findings = judge_outcomes("a", outcomes, LIMITS, {"rail0": "400G", "rail1": "400G"}, "cross_domain")
    got = [
        (f.severity.name, f.subject.peer, f.measured, f.expected, f.message[: len(want[4])])
        for f, want in zip(findings, wanted, strict=True)
    ]
    assert got == wanted
    assert all(f.remedy for f in findings if f.severity.name != "OK")


def test_where_no_limit_fits_the_nearest_are_named() -> None:
    (finding,) = judge_outcomes("a", [outcome("b", 391.0)], LIMITS, {"rail0": "800G"}, "cross_domain")
    assert finding.severity.name == "UNKNOWN"
    assert "no limit fits 800G cross_domain" in finding.message
    assert "nearest: 400G cross_domain ib_write_bw" in finding.message
