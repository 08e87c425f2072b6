"""The long passage: what takes a while to plant, to show, or to come back from."""

from __future__ import annotations

import json

import pytest

from tests.integration.lab import command, play, ssh, wait_for_another_boot

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]

PROBE = "find /etc -newer /proc/1 -type f | sort | sha256sum; cat /proc/swaps /etc/fstab"


@pytest.fixture(scope="module")
def proven(lab: None) -> None:
    """A bare lab, seen by check mode first, then brought to the wanted state."""
    command("reset")
    before = ssh("worker-1", PROBE)
    played = play("playbooks/site.yml", "--check", "--diff")
    assert ssh("worker-1", PROBE) == before
    assert played.changed().keys() == {"cp-1", "worker-1"}, "check mode says what it would change"
    play("playbooks/site.yml")


@pytest.mark.usefixtures("proven")
def test_check_mode_on_a_finished_lab_shows_no_difference() -> None:
    played = play("playbooks/site.yml", "--check", "--diff")
    assert played.changed() == {}, played.changed_tasks()
    assert played.diffs() == []


@pytest.mark.usefixtures("proven")
@pytest.mark.parametrize(
    ("fault", "check", "words"),
    [
        pytest.param("path-mtu", "mtu", "1500", id="a-path-drops-jumbo-frames"),
        pytest.param("no-partner", "bond", "partner", id="nobody-speaks-lacp"),
        pytest.param("carrier", "bond", "", id="a-cable-is-pulled"),
    ],
)
def test_fault_is_found_and_named(fault: str, check: str, words: str) -> None:
    command("fault", fault, "worker-1")
    try:
        played = play("playbooks/verify.yml", "--tags", f"{check}_check", check_rc=False)
    finally:
        command("heal")
    assert played.rc != 0
    found = played.findings("FAIL")
    assert any("worker-1" in json.dumps(finding["subject"]) for finding in found), found
    assert words in json.dumps(found)


@pytest.mark.usefixtures("proven")
def test_rules_tables_and_swap_survive_a_reboot() -> None:
    rules, routes = ssh("worker-1", "ip rule"), ssh("worker-1", "ip route show table 200")
    boot = ssh("worker-1", "cat /proc/sys/kernel/random/boot_id")
    ssh("worker-1", "systemctl reboot", check=False)
    wait_for_another_boot("worker-1", boot)
    assert (ssh("worker-1", "ip rule"), ssh("worker-1", "ip route show table 200")) == (rules, routes)
    assert ssh("worker-1", "tail -n +2 /proc/swaps").strip() == ""
    assert play("playbooks/verify.yml").report["verdict"] in ("OK", "WARN")


@pytest.mark.usefixtures("proven")
def test_bad_management_gateway_comes_back_by_itself_and_the_run_says_so() -> None:
    networks = (
        "{'node_networks': [{'name': 'management', 'interface': 'enp0s16', 'members': [{'name': 'enp0s16'}],"
        " 'address': '10.77.0.21/24', 'gateway': '10.77.0.99'}]}"
    )
    played = play(
        "playbooks/site.yml", "--limit", "worker-1", "--tags", "node_network", "-e", f'"{networks}"', check_rc=False
    )
    assert played.rc != 0
    assert "The node restored its old network by itself" in played.output
    assert "default via 10.77.0.1 " in ssh("worker-1", "ip route")
