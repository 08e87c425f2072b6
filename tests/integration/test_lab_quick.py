"""One passage through the lab: bare, proven, run again, and the faults that are found quickly. In this order."""

from __future__ import annotations

import json

import pytest

from tests.integration.lab import command, play, ssh

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]


def test_check_mode_on_a_bare_lab_ends_without_error_and_changes_nothing() -> None:
    before = ssh("worker-1", "ls -R /etc | sha256sum; cat /proc/swaps /etc/fstab")
    played = play("playbooks/site.yml", "--check", "--diff")
    assert ssh("worker-1", "ls -R /etc | sha256sum; cat /proc/swaps /etc/fstab") == before
    assert played.changed().keys() == {"cp-1", "worker-1"}, "check mode says what it would change"


def test_bare_machines_become_proven() -> None:
    played = play("playbooks/site.yml")
    assert played.status == "successful"
    assert played.report is not None
    assert played.report["verdict"] in ("OK", "WARN")
    assert played.findings("FAIL") + played.findings("UNKNOWN") == []


def test_second_run_changes_nothing() -> None:
    played = play("playbooks/site.yml")
    assert played.changed() == {}, played.changed_tasks()


def test_check_mode_on_a_finished_lab_shows_no_difference() -> None:
    played = play("playbooks/site.yml", "--check", "--diff")
    assert played.changed() == {}, played.changed_tasks()
    assert played.diffs() == []


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


def test_one_check_alone() -> None:
    played = play("playbooks/site.yml", "--tags", "mtu_check")
    assert played.report is not None
    assert {finding["check"] for finding in played.report["findings"]} == {"mtu"}
    assert played.changed() == {}


FAULTS = [
    pytest.param("member-mtu", "mtu", "FAIL", "1500", id="a-members-mtu-is-1500"),
    pytest.param("path-mtu", "mtu", "FAIL", "1500", id="a-path-drops-jumbo-frames"),
    pytest.param("leg-down", "bond", "FAIL", "", id="one-leg-of-the-bond-is-down"),
]


@pytest.mark.parametrize(("fault", "check", "severity", "measured"), FAULTS)
def test_fault_is_found_and_named(fault: str, check: str, severity: str, measured: str) -> None:
    command("fault", fault, "worker-1")
    try:
        played = play("playbooks/verify.yml", "--tags", f"{check}_check", check_rc=False)
    finally:
        command("heal")
    assert played.rc != 0
    found = played.findings(severity)
    assert any("worker-1" in json.dumps(finding["subject"]) for finding in found), found
    assert all(finding["check"] == check for finding in found), found
    assert measured in json.dumps(found)


def test_only_worker_switched_off_is_unknown_and_fails_the_run() -> None:
    command("fault", "power-off", "worker-1")
    try:
        played = play("playbooks/site.yml", check_rc=False)
    finally:
        command("heal", timeout=900)
    assert played.rc != 0
    assert played.report is not None
    assert played.report["verdict"] in ("UNKNOWN", "FAIL")
    assert [f for f in played.findings("UNKNOWN") if f["subject"]["host"] == "worker-1"]
    assert played.report["hosts"]["worker-1"]["state"] == "unreachable"


def test_healed_lab_passes_again() -> None:
    assert play("playbooks/verify.yml").report["verdict"] in ("OK", "WARN")
