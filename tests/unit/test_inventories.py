# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example inventories as a user would run them: listed, through preflight, and rendered to netplan."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.hardware import Device
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import Member, Network, parse_networks
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.plan import management_address
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.render_netplan import render_netplan

from tests.ansible_run import BIN, ROOT, Played, play

FIXTURES = Path(__file__).parent / "fixtures" / "inventories"
# Preflight over 103 hosts takes 4 s with an idle core. The bound is on the processor time of the whole run (Ansible's
# start, two readings of all variables), so that a busy machine does not fail the test.
CPU_SECONDS = 30
PLAYBOOK = """
- hosts: all,localhost
  gather_facts: false
  tasks:
    - name: Check
      gpufleet.cluster.preflight:
      run_once: true
    - name: Collect
      gpufleet.cluster.fleet_networks:
      run_once: true
- hosts: {hosts}
  gather_facts: false
  tasks:
    - name: Show
      ansible.builtin.debug:
        msg:
          networks: "{{{{ node_networks }}}}"
          host: "{{{{ ansible_host | default('') }}}}"
          architecture: "{{{{ lookup('gpufleet.cluster.fleet_stack').constraints.architecture }}}}"
"""


@dataclass(frozen=True)
class Example:
    path: Path
    groups: dict[str, int]
    # One host of each kind, with its addresses, its management address and what its recipe wants.
    hosts: dict[str, tuple[dict[str, str], list[str]]]


A4X_RAILS = {f"rail{n}": f"10.10.1{n}.{{n}}/24" for n in range(4)}
MAAS = {"management": "10.0.1.{n}/24", "storage": "10.0.2.{n}/24"}
MAAS_GPU = {**MAAS, "compute_main": "10.0.4.{n}/24", "compute_spare": "10.0.5.{n}/24"}
LAB = {
    "management": "10.77.0.{n}/24",
    "storage": "10.77.2.{n}/24",
    "rail0": "10.77.10.{n}/24",
    "rail1": "10.77.11.{n}/24",
}
A4X_WORKER = {"management": "10.10.1.{n}/24", "storage": "10.10.2.{n}/24", **A4X_RAILS}
IPOIB = {"management": "10.0.1.{n}/24", "compute_main": "10.0.4.{n}/24", "compute_spare": "10.0.5.{n}/24"}


def at(number: int, networks: dict[str, str]) -> dict[str, str]:
    return {name: address.format(n=number) for name, address in networks.items()}


EXAMPLES = {
    "a4x": Example(
        ROOT / "inventories/a4x",
        {"fleet": 37, "control_plane": 1, "workers": 36, "gpu_nodes": 36, "training": 36, "nvl_d1": 18, "nvl_d2": 18},
        {
            "a4x-cp-1": (at(11, {"management": "10.10.1.{n}/24"}), ["x86_64"]),
            "a4x-d1-w01": (at(21, A4X_WORKER), ["aarch64"]),
            "a4x-d2-w18": (at(58, A4X_WORKER), ["aarch64"]),
        },
    ),
    "maas": Example(
        ROOT / "inventories/maas",
        {
            **{"control_plane": 3, "workers": 100, "gpu_nodes": 75, "training": 50, "inference": 25},
            **{"cpu_nodes": 15, "storage_nodes": 10},
        },
        {
            "ctrl-node-03": (at(13, MAAS), ["x86_64"]),
            "train-node-50": (at(150, MAAS_GPU), ["x86_64"]),
            "infer-node-25": (at(175, {**MAAS_GPU, "inference": "10.0.3.{n}/24"}), ["x86_64"]),
            "cpu-node-15": (at(195, MAAS), ["x86_64"]),
            "stor-node-10": (at(210, MAAS), ["x86_64"]),
        },
    ),
    "lab": Example(
        ROOT / "inventories/lab",
        {"control_plane": 1, "workers": 1},
        {
            "cp-1": (at(11, LAB), ["x86_64", "aarch64"]),
            "worker-1": (at(21, LAB), ["x86_64", "aarch64"]),
        },
    ),
    "ipoib": Example(
        FIXTURES / "ipoib",
        {"control_plane": 1, "workers": 2},
        {
            "cp-1": ({"management": "10.0.1.11/24"}, ["x86_64"]),
            "node-02": (at(22, IPOIB), ["x86_64"]),
        },
    ),
}
KINDS = [(name, host) for name, example in EXAMPLES.items() for host in example.hosts]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Played]:
    """Each inventory once. The lab's shape is the one that it has when no lab runs."""
    runs = {}
    for name, example in EXAMPLES.items():
        folder = tmp_path_factory.mktemp(name)
        playbook = PLAYBOOK.format(hosts=",".join(example.hosts))
        runs[name] = play(example.path, playbook, folder, XDG_CACHE_HOME=str(folder))
    return runs


@pytest.mark.parametrize("name", EXAMPLES)
def test_preflight_passes_in_seconds(played: dict[str, Played], name: str) -> None:
    [result] = played[name].tasks["Check"].values()
    assert (result["problems"], result["changed"], played[name].rc) == ([], False, 0), result
    assert played[name].cpu_seconds < CPU_SECONDS


def test_advice_is_only_for_the_4k_partition(played: dict[str, Played]) -> None:
    advice = {name: next(iter(run.tasks["Check"].values()))["advice"] for name, run in played.items()}
    why = "at most 2044 unless the subnet manager gives the partition an MTU of 4096"
    partition = {"variable": "node_networks[compute_main].mtu", "value": 4092, "allowed": why}
    expected = [{"host": host, **partition} for host in ("node-01", "node-02")]
    assert advice == {"a4x": [], "maas": [], "lab": [], "ipoib": expected}


@pytest.mark.parametrize("name", EXAMPLES)
def test_groups(name: str, tmp_path: Path) -> None:
    listed = subprocess.run(
        [str(BIN / "ansible-inventory"), "-i", str(EXAMPLES[name].path), "--list", "--yaml"],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    groups = members(yaml.safe_load(listed.stdout)["all"])
    assert {group: len(hosts) for group, hosts in groups.items() if group != "all"} == EXAMPLES[name].groups
    # Every host is in the cluster, and what concerns GPUs concerns workers only.
    assert groups["all"] == groups["control_plane"] | groups["workers"]
    assert groups.get("gpu_nodes", set()) <= groups["workers"]


def members(tree: dict[str, Any]) -> dict[str, set[str]]:
    """Group -> all its hosts, those of its children included. The listing writes a group's hosts once."""
    hosts: dict[str, set[str]] = {}
    children: dict[str, set[str]] = {}

    def visit(name: str, body: dict[str, Any]) -> None:
        hosts.setdefault(name, set()).update(body.get("hosts", {}))
        below = {child: inner or {} for child, inner in body.get("children", {}).items() if child != "ungrouped"}
        children.setdefault(name, set()).update(below)
        for child, inner in below.items():
            visit(child, inner)

    def all_of(name: str) -> set[str]:
        return hosts[name].union(*(all_of(child) for child in children[name]))

    visit("all", tree)
    return {name: all_of(name) for name in hosts}


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_host_is_on_its_networks(played: dict[str, Played], name: str) -> None:
    [collected] = played[name].tasks["Collect"].values()
    groups = EXAMPLES[name].groups
    counts = {network: len(plan["hosts"]) for network, plan in collected["networks"].items()}
    everywhere = groups["control_plane"] + groups["workers"]
    gpu = groups.get("gpu_nodes", 0)
    assert (
        counts
        == {
            "a4x": {"management": everywhere, **dict.fromkeys(("storage", "rail0", "rail1", "rail2", "rail3"), gpu)},
            "maas": {
                **dict.fromkeys(("management", "storage"), everywhere),
                **dict.fromkeys(("compute_main", "compute_spare"), gpu),
                "inference": groups.get("inference"),
            },
            "lab": dict.fromkeys(("management", "storage", "rail0", "rail1"), everywhere),
            "ipoib": {"management": everywhere, **dict.fromkeys(("compute_main", "compute_spare"), groups["workers"])},
        }[name]
    )


@pytest.mark.parametrize(("name", "host"), KINDS, ids=[f"{name}-{host}" for name, host in KINDS])
def test_a_host_of_each_kind(played: dict[str, Played], name: str, host: str) -> None:
    addresses, architecture = EXAMPLES[name].hosts[host]
    shown = played[name].tasks["Show"][host]["msg"]
    networks = read(host, shown["networks"])
    assert {network.name: str(network.addresses[0]) for network in networks} == addresses
    assert shown["architecture"] == architecture
    # The node's IP is that of the management network, on a host with six ports as on one with two.
    assert management_address(networks) == addresses["management"].split("/")[0]
    if name in ("a4x", "maas"):
        assert shown["host"] == management_address(networks)


@pytest.mark.parametrize(("name", "host"), KINDS, ids=[f"{name}-{host}" for name, host in KINDS])
def test_netplan_takes_what_is_rendered(played: dict[str, Played], name: str, host: str, tmp_path: Path) -> None:
    networks = read(host, played[name].tasks["Show"][host]["msg"]["networks"])
    for path, text in render_netplan(networks, hardware(networks)).items():
        target = tmp_path / path.lstrip("/")
        target.parent.mkdir(parents=True)
        target.write_text(text)
        target.chmod(0o600)
    done = subprocess.run(
        ["netplan", "generate", "--root-dir", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    units = {path.name: path.read_text() for path in (tmp_path / "run/systemd/network").iterdir()}
    for network in networks:
        unit = units[f"10-netplan-{network.interface}.network"]
        assert f"Address={network.addresses[0]}" in unit
        assert f"MTUBytes={network.mtu}" in unit
        assert (f"Gateway={network.gateway}" in unit) == (network.gateway is not None)


def test_storage_of_the_on_premises_fleet_routes_nothing_but_the_way_out(played: dict[str, Played]) -> None:
    storage = {network.name: network for network in read("x", shown_networks(played, "maas", "stor-node-10"))}[
        "storage"
    ]
    assert (storage.routes, storage.table, str(storage.gateway), storage.mtu) == ((), 200, "10.0.2.1", 9000)


def test_rails_of_a4x_have_a_subnet_and_a_table_each(played: dict[str, Played]) -> None:
    rails = [n for n in read("x", shown_networks(played, "a4x", "a4x-d1-w01")) if n.rail is not None]
    assert [(n.rail, n.interface, n.mtu, n.table) for n in rails] == [
        (number, f"gpu{number}rdma0", 8896, 210 + number) for number in range(4)
    ]
    assert len({n.addresses[0].network for n in rails}) == 4


def test_gvnics_of_a4x_are_found_by_the_mac_that_gce_gives(played: dict[str, Played]) -> None:
    networks = read("x", shown_networks(played, "a4x", "a4x-d1-w01"))
    assert [n.members[0].mac for n in networks[:2]] == ["42:01:0a:0a:01:15", "42:01:0a:0a:02:15"]


def shown_networks(played: dict[str, Played], name: str, host: str) -> Any:
    return played[name].tasks["Show"][host]["msg"]["networks"]


def read(host: str, raw: Any) -> tuple[Network, ...]:
    networks, problems = parse_networks(host, raw)
    assert problems == []
    return networks


def hardware(networks: tuple[Network, ...]) -> tuple[Device, ...]:
    """The ports that the plan expects, as the kernel might have named them."""
    members = [(network, member) for network in networks for member in network.members]
    return tuple(
        Device(
            name=kernel_name(network, member, index),
            mac=member.mac or f"52:54:00:00:09:{index:02x}",
            pci=member.pci,
            type="infiniband" if network.kind == "ipoib" else "ethernet",
        )
        for index, (network, member) in enumerate(members)
    )


def kernel_name(network: Network, member: Member, index: int) -> str:
    """An InfiniBand port is not renamed; one that is matched by MAC or PCI address may have had any name before."""
    if network.kind == "ipoib":
        return network.interface
    return member.name if member.name and not (member.pci or member.mac) else f"eth{index}"
