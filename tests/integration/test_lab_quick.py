"""One passage through the lab: bare, proven, run again, faults found, a machine lost. In this order."""

from __future__ import annotations

import json

import pytest

from tests.integration.lab import command, play, ssh

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]


def test_bare_machines_become_proven() -> None:
    assert ssh("worker-1", "tail -n +2 /proc/swaps").strip() != "", "a bare machine swaps"
    played = play("playbooks/site.yml")
    assert played.status == "successful"
    assert played.report is not None
    assert played.report["verdict"] in ("OK", "WARN")
    assert played.findings("FAIL") + played.findings("UNKNOWN") == []


def test_bond_sees_its_partner() -> None:
    text = ssh("worker-1", "cat /proc/net/bonding/bond0")
    assert "Partner Mac Address: 00:00:00:00:00:00" not in text
    states = [int(line.split(":")[1]) for line in text.splitlines() if line.strip().startswith("port state:")]
    assert len(states) == 4, "actor and partner of both legs"
    assert all(state & 0x3C == 0x3C for state in states), states


@pytest.mark.parametrize("address", ["10.77.2.11", "10.77.10.11", "10.77.11.11"], ids=["bond", "rail0", "rail1"])
def test_jumbo_frames_pass_and_larger_ones_do_not(address: str) -> None:
    assert "1 received" in ssh("worker-1", f"ping -M do -c 1 -W 5 -s 8972 {address}")
    assert "1 received" not in ssh("worker-1", f"ping -M do -c 1 -W 2 -s 8973 {address}", check=False)


def test_swap_is_off_and_the_clock_follows_the_control_plane() -> None:
    assert ssh("worker-1", "tail -n +2 /proc/swaps").strip() == ""
    assert "10.77.0.11" in ssh("worker-1", "chronyc -n -c tracking")


def test_second_run_changes_nothing() -> None:
    played = play("playbooks/site.yml")
    assert played.changed() == {}, played.changed_tasks()


def test_one_check_alone_finds_a_members_mtu() -> None:
    command("fault", "member-mtu", "worker-1")
    try:
        played = play("playbooks/site.yml", "--tags", "mtu_check", check_rc=False)
    finally:
        command("heal")
    assert played.rc != 0
    assert played.report is not None
    assert {finding["check"] for finding in played.report["findings"]} == {"mtu"}
    found = played.findings("FAIL")
    assert found
    assert all("worker-1" in json.dumps(finding["subject"]) for finding in found), found
    assert any(finding["measured"] == 1500 and finding["expected"] == 9000 for finding in found), found


def test_leg_of_the_bond_that_is_down_is_named() -> None:
    command("fault", "leg-down", "worker-1")
    try:
        played = play("playbooks/verify.yml", "--tags", "bond_check", check_rc=False)
    finally:
        command("heal")
    assert played.rc != 0
    found = played.findings("FAIL")
    assert {(f["check"], f["subject"]["host"], f["subject"]["network"]) for f in found} == {
        ("bond", "worker-1", "storage")
    }


def test_only_worker_switched_off_is_unknown_and_fails_the_run() -> None:
    command("fault", "power-off", "worker-1")
    played = play("playbooks/site.yml", check_rc=False)
    assert played.rc != 0
    assert played.report is not None
    assert [f["subject"]["host"] for f in played.findings("UNKNOWN")] == ["worker-1"]
    assert "could not be reached" in played.findings("UNKNOWN")[0]["message"]
