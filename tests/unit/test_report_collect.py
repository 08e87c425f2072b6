# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From registered results to findings.json."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding, Severity, Subject
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.collect import plain, selected_checks
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.formats import render
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.model import Status, natural

from tests.fakes import report as fake


def document(*hosts: Any, checks: Any = (fake.MTU,)) -> dict[str, Any]:
    text = render(fake.report(list(hosts), checks), ["json"])["findings.json"]
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def test_findings_json_is_whole() -> None:
    """Every key of the documented format, once, for a fleet with a fault, a lost host and one outside --limit."""
    faulty = fake.mtu("w2", fake.path("w10", state="path_mtu", measured=1500))
    hosts = [
        fake.host("w10", "workers", mtu=fake.mtu("w10", fake.path("w2"))),
        fake.host("w2", "workers", mtu=faulty),
        fake.host("w3", "workers", mtu=fake.LOST),
        fake.host("w4", "workers", selected=False),
    ]
    reason = "w3 could not be reached. " + fake.LOST["msg"].removeprefix("Task failed: ")
    measured = {"status": "measured", "reason": ""}
    assert document(*hosts) == {
        "schema_version": 1,
        "run": {
            "id": "20261130T201500Z-3f2a",
            "started": "2026-11-30T20:15:00Z",
            "finished": "2026-11-30T20:19:30Z",
            "inventory": "lab",
            "check_mode": False,
            "ansible_version": "2.21.5",
            "collection_version": "0.1.0",
        },
        "compared_with": None,
        "verdict": "FAIL",
        "passed": False,
        "counts": {
            "findings": {"FAIL": 1, "UNKNOWN": 1, "WARN": 0, "OK": 1},
            "hosts": {"FAIL": 1, "UNKNOWN": 1, "WARN": 0, "OK": 1, "NONE": 0, "NOT_SELECTED": 1},
        },
        "checks": ["mtu"],
        "hosts": {
            "w2": {
                "groups": ["workers"],
                "state": "measured",
                "verdict": "FAIL",
                "checks": {"mtu": measured | {"verdict": "FAIL"}},
            },
            "w3": {
                "groups": ["workers"],
                "state": "unreachable",
                "verdict": "UNKNOWN",
                "checks": {"mtu": {"status": "unreachable", "reason": reason, "verdict": "UNKNOWN"}},
            },
            "w4": {"groups": ["workers"], "state": "not_selected", "verdict": None, "checks": {}},
            "w10": {
                "groups": ["workers"],
                "state": "measured",
                "verdict": "OK",
                "checks": {"mtu": measured | {"verdict": "OK"}},
            },
        },
        "findings": [
            faulty["findings"][0],
            {
                "check": "host",
                "severity": "UNKNOWN",
                "subject": {"host": "w3"},
                "measured": "unreachable",
                "expected": "measured",
                "unit": "",
                "message": reason,
                "remedy": "Look at power and console of w3, then at its management network and SSH.",
            },
            hosts[0].results["mtu"]["findings"][0],
        ],
        "reports": {"mtu": {"w2": faulty["report"], "w10": hosts[0].results["mtu"]["report"]}},
    }


GOOD = fake.mtu("w", fake.path("v"))
BAD_FINDING = {"check": "mtu", "severity": "AWFUL", "subject": {"host": "w"}, "message": "x"}


@pytest.mark.parametrize(
    ("result", "dropped", "status", "reason"),
    [
        pytest.param(None, False, Status.MISSING, "Check mtu left no result for w.", id="no-result"),
        pytest.param(None, True, Status.DROPPED, "w failed or got lost earlier in this run", id="lost-earlier"),
        pytest.param("text", False, Status.MALFORMED, "not a mapping", id="not-a-mapping"),
        pytest.param({"unreachable": True, "msg": ["a", "b"]}, False, Status.UNREACHABLE, "a\nb", id="unreachable"),
        pytest.param({"failed": True, "msg": "boom"}, False, Status.FAILED, "broke on w. boom", id="module-failed"),
        pytest.param(
            {"skipped": True, "false_condition": "x > 1"}, False, Status.SKIPPED, "condition: x > 1", id="skipped"
        ),
        pytest.param(GOOD | {"run_id": "old"}, False, Status.STALE, "is of run old, not of this one", id="other-run"),
        pytest.param({"changed": False}, False, Status.STALE, "is of run None", id="no-run-id"),
        pytest.param(GOOD | {"findings": "FAIL"}, False, Status.MALFORMED, "lacks its findings", id="findings-text"),
        pytest.param(
            GOOD | {"report": None}, False, Status.MALFORMED, "lacks its findings or its report", id="no-report"
        ),
        pytest.param(
            GOOD | {"findings": [BAD_FINDING]}, False, Status.MALFORMED, "KeyError: 'AWFUL'", id="bad-severity"
        ),
        pytest.param(GOOD | {"findings": [{}]}, False, Status.MALFORMED, "KeyError: 'check'", id="keys-missing"),
        pytest.param(GOOD | {"findings": [7]}, False, Status.MALFORMED, "not a mapping", id="finding-not-a-mapping"),
        pytest.param(
            GOOD | {"findings": [BAD_FINDING | {"severity": "OK", "subject": {"host": "w", "rack": 1}}]},
            False,
            Status.MALFORMED,
            "rack",
            id="unknown-subject",
        ),
        pytest.param(
            GOOD | {"findings": [BAD_FINDING | {"severity": "OK", "subject": {"host": "v"}}]},
            False,
            Status.MALFORMED,
            "names check mtu and host v",
            id="other-host",
        ),
        pytest.param(GOOD | {"findings": []}, False, Status.MALFORMED, "verdict without findings", id="verdict-alone"),
    ],
)
def test_what_is_no_answer_is_unknown(result: Any, dropped: bool, status: Status, reason: str) -> None:
    results = {} if result is None else {"mtu": result}
    report = fake.report([fake.host("w", "workers", dropped=dropped, **results)], (fake.MTU,))
    cell = report.hosts[0].cells["mtu"]
    assert (cell.status, report.verdict, report.passed) == (status, Severity.UNKNOWN, False)
    assert reason in cell.reason
    assert [(each.severity, each.message) for each in report.findings] == [(Severity.UNKNOWN, cell.reason)]


def test_readable_findings_of_a_malformed_result_are_kept() -> None:
    fault = fake.mtu("w", fake.path("v", state="path_mtu", measured=1500))
    result = fault | {"findings": [*fault["findings"], BAD_FINDING]}
    report = fake.report([fake.host("w", mtu=result)], (fake.MTU,))
    assert [each.severity for each in report.findings] == [Severity.FAIL, Severity.UNKNOWN]


def test_a_check_that_does_not_apply_gives_no_row() -> None:
    none = {"run_id": fake.RUN.id, "check": "bond", "report": {"bonds": []}, "findings": [], "verdict": None}
    found = document(fake.host("w", bond=none, mtu=GOOD), checks=(fake.BOND, fake.MTU))
    assert found["hosts"]["w"]["checks"] == {
        "bond": {"status": "not_applicable", "verdict": None, "reason": ""},
        "mtu": {"status": "measured", "verdict": "OK", "reason": ""},
    }
    assert (found["verdict"], found["reports"]["bond"], len(found["findings"])) == ("OK", {}, 1)


LOST = fake.LOST
SKIPPED = {"skipped": True, "false_condition": "false"}


@pytest.mark.parametrize(
    ("dropped", "results", "state", "checks"),
    [
        pytest.param(False, {"baseline": LOST, "bond": LOST, "mtu": LOST}, "unreachable", ["host"], id="all-lost"),
        pytest.param(
            False, {"baseline": SKIPPED, "bond": LOST, "mtu": LOST}, "unreachable", ["host"], id="skipped-lost"
        ),
        pytest.param(True, {}, "not_measured", ["host"], id="lost-earlier"),
        pytest.param(True, {"baseline": LOST}, "unreachable", ["host"], id="lost-in-the-middle"),
        pytest.param(False, {}, "not_measured", ["baseline", "bond", "mtu"], id="no-results"),
        pytest.param(
            False, {"baseline": LOST, "bond": LOST, "mtu": GOOD}, "partly_measured", ["baseline", "bond"], id="back"
        ),
    ],
)
def test_a_lost_host_is_told_once(dropped: bool, results: Any, state: str, checks: list[str]) -> None:
    report = fake.report([fake.host("w", dropped=dropped, **results)])
    unknown = [each.check for each in report.findings if each.severity is Severity.UNKNOWN]
    assert (report.hosts[0].state, unknown) == (state, checks)


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        pytest.param([], "No host of the fleet was selected.", id="empty-fleet"),
        pytest.param([fake.host("w", selected=False)], "No host of the fleet was selected.", id="limit-elsewhere"),
        pytest.param(
            [fake.host("w", mtu=GOOD | {"findings": [], "verdict": None})],
            "No selected check applies to any host.",
            id="nothing-applies",
        ),
    ],
)
def test_nothing_measured_does_not_pass(hosts: Any, message: str) -> None:
    report = fake.report(hosts, (fake.MTU,))
    assert [(each.severity, each.subject, each.message) for each in report.findings] == [
        (Severity.UNKNOWN, Subject(host="(fleet)"), message)
    ]
    assert not report.passed


@pytest.mark.parametrize(("severity", "passed"), [("OK", True), ("WARN", True), ("UNKNOWN", False), ("FAIL", False)])
def test_what_passes(severity: str, passed: bool) -> None:
    finding = Finding("mtu", Severity[severity], Subject(host="w"), "x").as_dict()
    report = fake.report([fake.host("w", mtu=GOOD | {"findings": [finding]})], (fake.MTU,))
    assert (report.verdict.name, report.passed) == (severity, passed)


@pytest.mark.parametrize(
    ("groups", "named"),
    [
        pytest.param([["cpu_nodes"], ["gpu_nodes"]], ["baseline", "mtu"], id="one-host-of-the-group"),
        pytest.param([["cpu_nodes"], ["cpu_nodes"]], ["baseline"], id="no-host-of-the-group"),
    ],
)
def test_a_check_for_nobody_is_not_named(groups: list[list[str]], named: list[str]) -> None:
    hosts = [fake.host(f"w{number}", *each) for number, each in enumerate(groups)]
    assert [check.name for check in fake.report(hosts, (fake.BASELINE, FOR_GPUS)).checks] == named


@pytest.mark.parametrize(
    ("run", "skip", "seen", "expected"),
    [
        pytest.param(["all"], [], [], ["baseline", "bond", "mtu"], id="no-tags"),
        pytest.param(["mtu_check"], [], [], ["mtu"], id="one"),
        pytest.param(["mtu_check", "bond_check"], ["mtu_check"], [], ["bond"], id="run-and-skip"),
        pytest.param(["all"], ["baseline_check"], [], ["bond", "mtu"], id="skip"),
        pytest.param(["node_baseline"], [], [], [], id="a-role"),
        pytest.param(["untagged"], [], [], [], id="untagged"),
        pytest.param(["tagged"], [], [], ["baseline", "bond", "mtu"], id="tagged"),
        pytest.param(["all"], ["tagged"], [], [], id="skip-tagged"),
        pytest.param(["all"], ["all"], [], [], id="skip-all"),
        pytest.param(["verify"], [], ["mtu"], ["mtu"], id="by-a-tag-of-the-play"),
    ],
)
def test_selected_checks(run: list[str], skip: list[str], seen: list[str], expected: list[str]) -> None:
    assert [check.name for check in selected_checks(fake.CHECKS, run, skip, seen)] == expected


FOR_GPUS = dataclasses.replace(fake.MTU, group="gpu_nodes")


@pytest.mark.parametrize(
    ("dropped", "results", "state"),
    [
        pytest.param(False, {"baseline": LOST}, "unreachable", id="does-not-answer"),
        pytest.param(True, {}, "not_measured", id="lost-earlier"),
    ],
)
def test_a_check_for_other_hosts_says_nothing_of_a_lost_one(dropped: bool, results: Any, state: str) -> None:
    report = fake.report([fake.host("w", dropped=dropped, **results)], (fake.BASELINE, FOR_GPUS))
    unknown = [each.check for each in report.findings if each.severity is Severity.UNKNOWN]
    assert (report.hosts[0].state, unknown) == (state, ["host"])


ON_REQUEST = dataclasses.replace(fake.MTU, on_request=True)
SKIPPED = {"skipped": True, "false_condition": "x > 1"}


@pytest.mark.parametrize(
    ("groups", "result", "expected"),
    [
        pytest.param(["cpu_nodes"], SKIPPED, "not_applicable", id="skipped-elsewhere"),
        pytest.param(["cpu_nodes"], None, "not_applicable", id="not-run-elsewhere"),
        pytest.param(["cpu_nodes"], {"failed": True, "msg": "boom"}, "failed", id="broke-elsewhere"),
        pytest.param(["gpu_nodes"], SKIPPED, "skipped", id="skipped-where-it-is-for"),
        pytest.param(["gpu_nodes"], None, "missing", id="not-run-where-it-is-for"),
    ],
)
def test_a_check_for_one_group(groups: list[str], result: Any, expected: str) -> None:
    results = {} if result is None else {"mtu": result}
    found = document(fake.host("w", *groups, **results), checks=(FOR_GPUS,))
    assert found["hosts"]["w"]["checks"]["mtu"]["status"] == expected


@pytest.mark.parametrize(
    ("run", "skip", "seen", "expected"),
    [
        pytest.param(["all"], [], [], 0, id="not-with-all"),
        pytest.param(["tagged"], [], [], 0, id="not-with-tagged"),
        pytest.param(["mtu_check"], [], [], 1, id="by-its-tag"),
        pytest.param(["never"], [], [], 1, id="by-never"),
        pytest.param(["mtu_check"], ["mtu_check"], [], 0, id="skip-wins"),
        pytest.param(["all"], [], ["mtu"], 1, id="a-result-counts"),
    ],
)
def test_a_check_on_request(run: list[str], skip: list[str], seen: list[str], expected: int) -> None:
    assert len(selected_checks([ON_REQUEST], run, skip, seen)) == expected


def test_hosts_are_in_natural_order() -> None:
    names = ["worker-10", "cp-1", "worker-9", "10", "worker-1b", "9", "worker-1"]
    assert sorted(names, key=natural) == ["9", "10", "cp-1", "worker-1", "worker-1b", "worker-9", "worker-10"]


def test_plain_is_what_every_writer_can_encode() -> None:
    class Tagged(str):
        pass

    value = plain({Tagged("a"): (1, 2.5, float("nan"), None, True), 7: Tagged("b"), "c": "\udc80", "d": object})
    assert value == {"a": [1, 2.5, "nan", None, True], "7": "b", "c": "?", "d": "<class 'object'>"}
    assert [type(each) for each in (*value, value["7"])] == [str] * 5


def test_check_mode_is_told() -> None:
    run = dataclasses.replace(fake.RUN, check_mode=True)
    assert json.loads(render(fake.report(fake.lab(), run=run), ["json"])["findings.json"])["run"]["check_mode"] is True


@pytest.mark.parametrize("place", [{"peer": ["w2"]}, {"network": {"a": 1}}, {"item": 7}, {"gpu": "zero"}], ids=repr)
def test_a_subject_that_is_no_text_spoils_its_cell_and_not_the_report(place: dict[str, Any]) -> None:
    result = fake.mtu("w1", fake.path("w2"))
    result["findings"][0]["subject"].update(place)
    report = fake.report([fake.host("w1", "workers", mtu=result)], [fake.MTU])
    assert report.hosts[0].cells["mtu"].status is Status.MALFORMED
    assert set(render(report, ["json", "html", "junit", "prometheus"])) >= {"findings.json", "report.html"}


@pytest.mark.parametrize("odd", [{"a": 1}, [1], None, 7], ids=repr)
def test_a_report_of_another_shape_does_not_spoil_the_page(odd: Any) -> None:
    mtu = fake.mtu("w1", fake.path("w2"))
    mtu["report"]["paths"][0].update(state=odd, network=odd, peer=odd)
    finding = Finding("bond", Severity.FAIL, Subject(host="w1", network="storage"), "no partner").as_dict()
    bond = {**mtu, "check": "bond", "findings": [finding], "report": {"bonds": [{"network": odd, "interface": odd}]}}
    report = fake.report([fake.host("w1", "workers", mtu=mtu, bond=bond)], [fake.MTU, fake.BOND])
    assert "no partner" in render(report, ["html"])["report.html"]
