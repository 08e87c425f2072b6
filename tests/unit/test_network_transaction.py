"""Commit-confirm on a node that is a folder: every way through it, and a kill at every single operation."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ClusterError, ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.network import agent, configure, transaction
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.agent import Store
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.configure import Options, Result
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.effective import TAKEN_OVER
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.plan import resolve_plan
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.render_keyfile import render_keyfiles
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.render_netplan import (
    NETPLAN_FILE,
    render_netplan,
)

from tests.fakes.node import FakeNode, live_json
from tests.unit.network_examples import EXAMPLE, HOST, MANAGEMENT, networks
from tests.unit.test_network_hardware import device

LAB = """\
network:
  version: 2
  ethernets:
    lab:
      match: {macaddress: "52:54:00:00:01:00"}
      dhcp4: true
"""
LAB_FILE = "/etc/netplan/50-lab.yaml"
# The live network of the bare host: an address by DHCP.
BARE = live_json(resolve_plan(networks([{**MANAGEMENT, "interface": "eth0", "address": "10.0.1.99/24"}]), HOST[:1]))
OTHER = [{**MANAGEMENT, "address": "10.0.1.12/24"}, *EXAMPLE[1:]]


def make_node(tmp_path: Path) -> FakeNode:
    root = tmp_path / "root"
    for entry in HOST[:3]:
        assert entry.mac
        device(root, entry.name, f"sys/devices/{entry.pci}", address=entry.mac)
    (root / "usr/sbin").mkdir(parents=True)
    (root / "usr/sbin/netplan").touch()
    (root / "etc/netplan").mkdir(parents=True)
    (root / "etc/netplan/50-lab.yaml").write_text(LAB)
    effects: dict[str | None, dict[str, Any]] = {None: BARE}
    for raw in (EXAMPLE, OTHER):
        effects[render_netplan(networks(raw), HOST)[NETPLAN_FILE]] = live_json(resolve_plan(networks(raw), HOST))
    return FakeNode(root, effects, NETPLAN_FILE)


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    return make_node(tmp_path)


def options(node: FakeNode, raw: list[dict[str, Any]] = EXAMPLE, **values: Any) -> Options:
    return replace(Options(networks=raw, conflicts="replace", root=str(node.root)), **values)


def store(node: FakeNode) -> Store:
    return Store(str(node.root))


def run_with(node: FakeNode) -> agent.Run:
    def run(argv: Any) -> tuple[int, str]:
        done = node.run(argv)
        return done.rc, done.stdout

    return run


def fire(node: FakeNode, verb: str) -> None:
    """The timers of systemd for ``verb`` run out."""
    for unit, (kind, identity) in list(node.recall()["timers"].items()):
        if kind == verb:
            node.run(["systemctl", "stop", unit])
            if verb == "apply":
                agent.apply(store(node), run_with(node), identity)
            else:
                agent.restore(store(node), run_with(node), identity, "nobody came")


def converge(node: FakeNode, raw: list[dict[str, Any]] = EXAMPLE) -> Result:
    """What the action plugin does with a node that stays reachable."""
    result = configure.configure(options(node, raw), node)
    if result.state != "pending":
        return result
    fire(node, "apply")
    return configure.confirm(options(node, raw), node, result.transaction or "")


def files(node: FakeNode) -> dict[str, str]:
    folder = node.root / "etc/netplan"
    return {f"/etc/netplan/{path.name}": path.read_text() for path in sorted(folder.iterdir())}


def wanted(raw: list[dict[str, Any]] = EXAMPLE) -> dict[str, str]:
    return {LAB_FILE: TAKEN_OVER, **render_netplan(networks(raw), HOST)}


BEFORE = {LAB_FILE: LAB}


# Ways through ---------------------------------------------------------------------------------------------------------


def test_converge_and_again(node: FakeNode) -> None:
    assert converge(node).state == "confirmed"
    assert files(node) == wanted()
    assert (node.root / NETPLAN_FILE.lstrip("/")).stat().st_mode & 0o777 == 0o600
    memory = node.recall()
    assert (memory["timers"], memory["applied"], store(node).pending()) == ({}, 1, None)
    again = configure.configure(options(node), node)
    assert (again.state, again.changed, again.diff) == ("unchanged", False, ())
    assert node.recall()["applied"] == 1


def test_check_mode_shows_files_and_changes_nothing(node: FakeNode) -> None:
    result = configure.configure(options(node, check_mode=True), node)
    assert (result.state, result.changed, result.files) == ("planned", True, (LAB_FILE, NETPLAN_FILE))
    shown = {entry["after_header"]: (entry["before"], entry["after"]) for entry in result.diff}
    assert shown[LAB_FILE] == (LAB, TAKEN_OVER)
    assert shown[NETPLAN_FILE] == ("", wanted()[NETPLAN_FILE])
    assert "mgmt: there is no such device" in shown["live state"][0]
    assert (files(node), node.recall()["timers"]) == (BEFORE, {})


def test_foreign_file_is_named(node: FakeNode) -> None:
    with pytest.raises(ConfigError) as caught:
        configure.configure(options(node, conflicts="fail"), node)
    assert "/etc/netplan/50-lab.yaml: dhcp4 or dhcp6 of mgmt: ipv4 (the plan: nothing)" in str(caught.value)
    assert (files(node), node.recall()["timers"]) == (BEFORE, {})


def test_nobody_confirms(node: FakeNode) -> None:
    result = configure.configure(options(node), node)
    fire(node, "apply")
    fire(node, "restore")
    assert files(node) == BEFORE
    answer = configure.confirm(options(node), node, result.transaction or "")
    assert (answer.state, answer.message) == ("restored", "nobody came")
    memory = node.recall()
    assert (memory["live"], store(node).pending()) == (BARE, None)
    assert ["ip", "link", "delete", "dev", "bond0"] in memory["calls"]
    assert ["ip", "-4", "rule", "del", "from", "10.0.2.11/32", "table", "200", "priority", "1000"] in memory["calls"]


def test_restart_inside_the_window(node: FakeNode) -> None:
    result = configure.configure(options(node), node)
    fire(node, "apply")
    agent.boot(store(node), run_with(node))
    assert (files(node), store(node).pending()) == (BEFORE, None)
    assert configure.confirm(options(node), node, result.transaction or "").state == "restored"


def test_unit_for_the_restart_is_enabled(node: FakeNode) -> None:
    converge(node)
    unit = (node.root / "etc/systemd/system/sysinit.target.wants" / transaction.BOOT_UNIT).read_text()
    assert "Before=network-pre.target systemd-networkd.service NetworkManager.service" in unit
    assert (node.root / agent.AGENT.lstrip("/")).read_text() == Path(agent.__file__).read_text()


def test_timer_after_confirmation_does_nothing(node: FakeNode) -> None:
    result = configure.configure(options(node), node)
    fire(node, "apply")
    configure.confirm(options(node), node, result.transaction or "")
    agent.restore(store(node), run_with(node), result.transaction or "", "late")
    assert files(node) == wanted()
    assert configure.confirm(options(node), node, result.transaction or "").state == "confirmed"


def test_live_state_that_is_not_the_plans_is_not_confirmed(node: FakeNode) -> None:
    result = configure.configure(options(node), node)
    fire(node, "apply")
    live = node.recall()["live"]
    live["address"] = [{**d, "mtu": 1500} if d["ifname"] == "enp2s0" else d for d in live["address"]]
    node.set_live(live)
    answer = configure.confirm(options(node), node, result.transaction or "")
    assert (answer.state, answer.differences) == ("differs", ("enp2s0: MTU is 1500, the plan says 9000",))
    back = configure.restore(options(node), node, result.transaction or "", "live")
    assert (back.state, files(node), node.recall()["timers"]) == ("restored", BEFORE, {})


def test_looking_at_a_settled_change_does_not_confirm_it(node: FakeNode) -> None:
    result = configure.configure(options(node), node)
    fire(node, "apply")
    states = [configure.look(options(node), node, result.transaction or "").state for _again in range(2)]
    assert states == ["settled", "settled"]
    assert store(node).pending() == result.transaction
    fire(node, "restore")
    assert configure.look(options(node), node, result.transaction or "").state == "restored"


def test_live_state_that_drifted_is_applied_again(node: FakeNode) -> None:
    converge(node)
    live = node.recall()["live"]
    node.set_live({**live, "rule": []})
    result = configure.configure(options(node), node)
    assert (result.changed, result.files) == (True, ())
    assert "bond0: rule 1000 from 10.0.2.11/32 to all table 200 is missing" in result.differences
    assert converge(node).state == "confirmed"


def test_open_change_that_works_is_confirmed(node: FakeNode) -> None:
    first = configure.configure(options(node), node)
    fire(node, "apply")
    again = configure.configure(options(node), node)
    assert (again.state, again.transaction, again.changed) == ("pending", first.transaction, True)
    assert configure.confirm(options(node), node, first.transaction or "").state == "confirmed"


def test_open_change_is_followed_by_another_with_the_first_backup(node: FakeNode) -> None:
    configure.configure(options(node), node)
    fire(node, "apply")
    second = configure.configure(options(node, OTHER), node)
    assert list(node.recall()["timers"]) == [
        f"gpufleet-network-{verb}-{second.transaction}" for verb in ("restore", "apply")
    ]
    fire(node, "apply")
    assert files(node) == wanted(OTHER)
    fire(node, "restore")
    assert files(node) == BEFORE
    assert node.recall()["live"] == BARE


def test_change_that_leaves_a_bond_takes_it_away(node: FakeNode) -> None:
    converge(node)
    small = [MANAGEMENT]
    node.effects[wanted(small)[NETPLAN_FILE]] = live_json(resolve_plan(networks(small), HOST))
    assert converge(node, small).state == "confirmed"
    deleted = [call[-1] for call in node.recall()["calls"] if call[:3] == ["ip", "link", "delete"]]
    assert deleted == ["bond0.30", "bond0"]


def test_files_alone_for_an_image(node: FakeNode) -> None:
    result = configure.configure(options(node, apply=False), node)
    assert (result.state, files(node), node.recall()["timers"]) == ("written", wanted(), {})
    assert configure.configure(options(node, apply=False), node).state == "unchanged"


def test_guest_agent_leaves_the_ports_alone(node: FakeNode) -> None:
    path = node.root / "etc/default/instance_configs.cfg"
    path.parent.mkdir(parents=True)
    path.write_text("# ours\n[NetworkInterfaces]\nsetup = true\n[Accounts]\n")
    converge(node)
    assert path.read_text() == "# ours\n[NetworkInterfaces]\nsetup = false\n[Accounts]\n"
    assert configure.configure(options(node), node).changed is False


def test_all_problems_before_anything(node: FakeNode) -> None:
    with pytest.raises(ConfigError) as caught:
        configure.configure(options(node, [{"name": "Bad"}, {**MANAGEMENT, "mtu": 12}]), node)
    assert str(caught.value).splitlines() == [
        "node_networks[0].name = 'Bad': a name of lower-case letters, digits and _",
        "node_networks[management].mtu = 12: a number from 68 to 65535",
    ]


PROFILE = "/etc/NetworkManager/system-connections/gpufleet-management.nmconnection"
INSTALLER = "/etc/NetworkManager/system-connections/installer.nmconnection"


def test_networkmanager(node: FakeNode) -> None:
    for path, text in (
        (INSTALLER, "[connection]\ninterface-name=eth0\n"),
        ("/usr/bin/nmcli", ""),
        ("/usr/bin/dnf", ""),
    ):
        store(node).write(path, text)
    node.ours = PROFILE
    node.effects = {None: BARE, render_keyfiles(networks(EXAMPLE), HOST)[PROFILE]: node.effects[wanted()[NETPLAN_FILE]]}
    with pytest.raises(
        ConfigError, match=r"installer.nmconnection: interface-name of mgmt: eth0 \(the plan: nothing\)"
    ):
        configure.configure(options(node, conflicts="fail"), node)
    result = configure.configure(options(node), node)
    assert (result.state, result.backend) == ("pending", "networkmanager")
    fire(node, "apply")
    assert [call[-1] for call in node.recall()["calls"] if call[:2] == ["nmcli", "--wait"]] == [
        "gpufleet-management", "gpufleet-storage", "gpufleet-storage-enp1s0", "gpufleet-storage-enp2s0",
        "gpufleet-inference",
    ]  # fmt: skip
    assert configure.confirm(options(node), node, result.transaction or "").state == "confirmed"
    assert store(node).read(INSTALLER) is None
    assert configure.configure(options(node), node).state == "unchanged"
    # A network that leaves the plan takes its files with it, and what nobody confirms comes back.
    configure.configure(options(node, EXAMPLE[:1]), node)
    assert store(node).read(PROFILE.replace("management", "storage")) is None
    fire(node, "apply")
    fire(node, "restore")
    assert store(node).read(PROFILE.replace("management", "storage")) is not None
    assert ["nmcli", "--wait", "20", "connection", "up", "id", "installer"] in node.recall()["calls"]


# A full disk, and a kill at every operation ---------------------------------------------------------------------------

WATCHED = ("os.rename", "os.remove", "os.mkdir", "os.link", "subprocess.Popen")
_hooks: list[Callable[[str, tuple[Any, ...]], None]] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    for hook in _hooks:
        hook(event, arguments)


sys.addaudithook(_audit)


def operation(event: str, arguments: tuple[Any, ...], root: Path) -> bool:
    """Does this event change something below root (or run a program of the node)?"""
    if event == "open":
        path, _mode, flags = arguments
        return str(path).startswith(str(root)) and bool(flags & (os.O_WRONLY | os.O_RDWR))
    return event in WATCHED and (event == "subprocess.Popen" or any(str(a).startswith(str(root)) for a in arguments))


def in_child_killed_at(number: int, root: Path, step: Callable[[], Any]) -> bool:
    """Run ``step`` in a process that dies at its operation ``number``. True: it ended before."""
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if operation(event, arguments, root):
                seen += 1
                if seen > number:
                    os._exit(9)

        _hooks.append(count)
        try:
            step()
        except BaseException:
            os._exit(7)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 0


def begin_step(node: FakeNode) -> None:
    configure.configure(options(node), node)


def apply_step(node: FakeNode) -> None:
    fire(node, "apply")


def confirm_step(node: FakeNode) -> None:
    configure.confirm(options(node), node, store(node).pending() or "")


def restore_step(node: FakeNode) -> None:
    fire(node, "restore")


STEPS = {
    "begin": ([], begin_step),
    "apply": ([begin_step], apply_step),
    "confirm": ([begin_step, apply_step], confirm_step),
    "restore": ([begin_step, apply_step], restore_step),
    "follow": ([begin_step, apply_step], lambda node: configure.configure(options(node, OTHER), node)),
}


def kill_points(step: str) -> Iterator[tuple[int, Callable[[], FakeNode]]]:
    """For each operation of the step: fresh copies of the node on which the step was killed at that operation."""
    prepare, last = STEPS[step]
    # In memory where that is possible: each of some hundred nodes syncs a dozen files.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:

        def copy(source: str, target: str) -> FakeNode:
            shutil.rmtree(Path(folder) / target, ignore_errors=True)
            shutil.copytree(Path(folder) / source, Path(folder) / target, symlinks=True)
            return FakeNode(Path(folder) / target / "root", template.effects, NETPLAN_FILE)

        template = make_node(Path(folder) / "template")
        for earlier in prepare:
            earlier(template)
        for number in range(200):
            killed = copy("template", "killed")
            ended = in_child_killed_at(number, killed.root, partial(last, killed))
            yield number, partial(copy, "killed", "copy")
            if ended:
                assert number > 3
                return
    raise AssertionError("the step does not end")


def run_again(node: FakeNode) -> None:
    assert converge(node).state in ("confirmed", "unchanged")
    assert files(node) == wanted()
    assert (store(node).pending(), node.recall()["live"]) == (None, node.effects[wanted()[NETPLAN_FILE]])
    fire(node, "restore")
    assert (files(node), configure.configure(options(node), node).state) == (wanted(), "unchanged")


def leave_alone(node: FakeNode) -> None:
    """The timer alone brings the old network back: it is there before the first file changes."""
    fire(node, "apply")
    fire(node, "restore")
    assert files(node) == BEFORE


def restart(node: FakeNode) -> None:
    agent.boot(store(node), run_with(node))
    assert (files(node), store(node).pending()) == (BEFORE, None)


AFTERWARDS = {
    "begin": [run_again, leave_alone, restart],
    "apply": [run_again, leave_alone, restart],
    # A change that was being confirmed is whole in either case; a restore whose process died has no other timer.
    "confirm": [run_again],
    "restore": [run_again, restart],
    "follow": [run_again, leave_alone, restart],
}


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_any_operation(step: str) -> None:
    for number, killed in kill_points(step):
        for afterwards in AFTERWARDS[step]:
            try:
                afterwards(killed())
            except AssertionError as exc:
                raise AssertionError(f"killed at operation {number}, then {afterwards.__name__}") from exc


@pytest.mark.parametrize("place", ["etc/netplan", "var/lib/gpufleet", "etc/systemd"])
def test_full_disk(node: FakeNode, place: str) -> None:
    def full(event: str, arguments: tuple[Any, ...]) -> None:
        if operation(event, arguments, node.root / place) and event == "open":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(arguments[0]))

    def other_file_system(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "os.link":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    _hooks.extend([full, other_file_system])
    try:
        with pytest.raises(ClusterError, match=f"No space left on device: .*/{place}"):
            configure.configure(options(node), node)
    finally:
        _hooks.remove(full)
        _hooks.remove(other_file_system)
    assert (files(node), store(node).pending(), node.recall()["timers"]) == (BEFORE, None, {})
    assert node.recall()["applied"] == 0
    assert converge(node).state == "confirmed"
