"""Soft-RoCE in the lab: a real ib_write_bw and ib_write_lat between the machines, and a slow rail that is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.lab import Played, command, play, ssh

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]

CHECK = ("playbooks/verify.yml", "--tags", "rdma_check")
NETWORK = ("playbooks/site.yml", "--tags", "node_network")


@pytest.fixture(scope="module", autouse=True)
def rails(lab: None) -> Iterator[None]:
    play(*NETWORK)
    play("tools/lab/soft_roce.yml")
    yield
    command("heal")


def pairs(played: Played) -> list[dict[str, Any]]:
    assert played.report is not None, played.output[-3000:]
    return [row for report in played.report["reports"]["rdma"].values() for row in report["pairs"]]


def shown(played: Played) -> None:
    for row in pairs(played):
        print(f"{row['network']} {row['test']} {row['sender']} > {row['receiver']}: {row['value']} {row['unit']}")


def nothing_left_running() -> bool:
    return all(ssh(node, "pgrep -c '^ib_write'", check=False).strip() == "0" for node in ("cp-1", "worker-1"))


def test_both_rails_are_measured_in_both_directions() -> None:
    played = play(*CHECK)
    shown(played)
    rows = pairs(played)
    assert {(row["network"], row["test"], row["sender"], row["state"]) for row in rows} == {
        (network, test, sender, "ok")
        for network in ("rail0", "rail1")
        for test in ("ib_write_bw", "ib_write_lat")
        for sender in ("cp-1", "worker-1")
    }
    assert {row["device"] for row in rows} == {"rxe_rail0", "rxe_rail1"}
    assert played.findings("FAIL") + played.findings("UNKNOWN") == []
    assert nothing_left_running()


def test_a_slow_rail_is_found_and_named() -> None:
    command("fault", "slow-rail", "worker-1")
    try:
        played = play(*CHECK, check_rc=False)
    finally:
        command("heal")
    shown(played)
    assert played.rc != 0
    found = played.findings("FAIL")
    assert {finding["subject"]["network"] for finding in found} == {"rail1"}, found
    assert any("bad pair: rail1: worker-1 and cp-1" in finding["message"] for finding in found), found
    assert nothing_left_running()


def test_a_partner_that_is_off_is_unknown_within_the_stated_time() -> None:
    command("fault", "power-off", "worker-1")
    try:
        played = play(*CHECK, "-e", '\'{"rdma_check_settings": {"patience": 20, "duration": 1}}\'', check_rc=False)
    finally:
        command("heal")
    rows = pairs(played)
    assert rows
    assert {row["state"] for row in rows} == {"no_answer"}
    assert played.report is not None
    assert played.report["reports"]["rdma"]["cp-1"]["seconds"] < 30
    assert {finding["subject"]["host"] for finding in played.findings("UNKNOWN")} == {"cp-1", "worker-1"}
    assert played.findings("FAIL") == []
