"""The long passage: what takes a while to plant, to show, or to come back from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import command, play, playing, ssh, wait_for_another_boot, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]

Extra = Callable[[dict[str, Any]], tuple[str, str]]
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
        # The port has MTU 1500, and a Linux bridge lets the 4 bytes of a VLAN tag pass on top of it.
        pytest.param("path-mtu", "mtu", '"measured": 1504', id="a-path-drops-jumbo-frames"),
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
    tables = "ip rule | sort; for table in 200 210 211; do ip route show table $table; done"
    before = ssh("worker-1", tables)
    boot = ssh("worker-1", "cat /proc/sys/kernel/random/boot_id")
    ssh("worker-1", "systemctl reboot", check=False)
    wait_for_another_boot("worker-1", boot)
    # SSH answers before the bond has agreed with its partner.
    wait_until("as before the reboot", lambda: ssh("worker-1", tables, check=False) == before, 180)
    assert ssh("worker-1", "tail -n +2 /proc/swaps").strip() == ""
    assert play("playbooks/verify.yml").report["verdict"] in ("OK", "WARN")


ONLY_THE_NETWORK = ("playbooks/site.yml", "--limit", "worker-1", "--tags", "node_network")
PENDING = "/var/lib/gpufleet/network/pending"
# Another plan that the machine can live with, and one that cuts it off.
OTHER_MTU = {"node_network_networks": "{{ node_networks | map('combine', {'mtu': 1500}) }}"}
BAD_GATEWAY = {
    "node_network_networks": "{{ [node_networks[0] | combine({'gateway': '10.77.0.99'})] + node_networks[1:] }}"
}


@pytest.fixture
def extra(tmp_path: Path) -> Extra:
    """Extra variables as options; in a file, since ansible-runner's command line is split at spaces."""

    def write(variables: dict[str, Any]) -> tuple[str, str]:
        file = tmp_path / "extra.json"
        file.write_text(json.dumps(variables))
        return "-e", f"@{file}"

    return write


def pending() -> bool:
    return ssh("worker-1", f"test -e {PENDING} && echo yes", check=False).strip() == "yes"


def assert_the_network_is_the_plans() -> None:
    """The next run ends well, and the one after it finds nothing to do."""
    play(*ONLY_THE_NETWORK)
    assert not pending()
    assert ssh("worker-1", "cat /sys/class/net/rail1/mtu").strip() == "9000"
    assert "default via 10.77.0.1 " in ssh("worker-1", "ip route")
    assert play(*ONLY_THE_NETWORK).changed() == {}


@pytest.mark.usefixtures("proven")
def test_bad_management_gateway_comes_back_by_itself_and_the_run_says_so(extra: Extra) -> None:
    played = play(*ONLY_THE_NETWORK, *extra(BAD_GATEWAY), check_rc=False)
    assert played.rc != 0
    assert "The node restored its old network by itself" in played.output
    lost = [line for line in ssh("worker-1", f"cat {PENDING.rpartition('/')[0]}/*/status").splitlines() if line]
    assert any("restored" in line for line in lost), lost
    assert_the_network_is_the_plans()


@pytest.mark.usefixtures("proven")
def test_controller_killed_in_the_middle_of_the_change_and_run_again(extra: Extra) -> None:
    with playing(*ONLY_THE_NETWORK, *extra(OTHER_MTU)):
        wait_until("in the middle of the change", pending, 300)
    assert_the_network_is_the_plans()


@pytest.mark.usefixtures("proven")
def test_restart_inside_the_window_boots_with_the_old_network(extra: Extra) -> None:
    with playing(*ONLY_THE_NETWORK, *extra({**BAD_GATEWAY, "node_network_confirm_timeout": 900})):
        wait_until("in the middle of the change", pending, 300)
        wait_until("cut off", lambda: ssh("worker-1", "echo yes", check=False) == "", 120)
    command("fault", "power-off", "worker-1")
    command("fault", "power-on", "worker-1")
    wait_until("reachable", lambda: ssh("worker-1", "echo yes", check=False) != "", 900)
    assert not pending()
    assert_the_network_is_the_plans()


@pytest.mark.usefixtures("proven")
def test_full_disk_in_etc_leaves_nothing_half_written(extra: Extra) -> None:
    """A small file system of its own, filled to the last byte, lies over /etc/netplan."""
    content = "cd /etc/netplan && sha256sum *.yaml && ls | grep -v fill"
    ssh("worker-1", "mkdir /run/full && mount -t tmpfs -o size=32k tmpfs /run/full && cp -a /etc/netplan/. /run/full")
    ssh("worker-1", "mount --bind /run/full /etc/netplan")
    ssh("worker-1", "cat /dev/zero >/etc/netplan/fill", check=False)
    before = ssh("worker-1", content)
    try:
        played = play(*ONLY_THE_NETWORK, *extra(OTHER_MTU), check_rc=False)
        assert played.rc != 0
        assert "No space left on device" in played.output
        assert ssh("worker-1", content) == before
        assert not pending()
    finally:
        ssh("worker-1", "umount /etc/netplan /run/full && rmdir /run/full")
    assert_the_network_is_the_plans()
