# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``fleet_networks``: its shape, that each host's variables are templated once, and that it is quick for 200 hosts."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import Problem
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.fleet import Fleet, fleet_networks, read_fleet

from tests.ansible_run import play

MANAGEMENT = {"name": "management", "interface": "eth0", "address": "10.0.1.11/24", "mtu": 1500}
PLAYBOOK = """
- hosts: all,localhost
  gather_facts: false
  tasks:
    - name: Collect
      gpufleet.cluster.fleet_networks:
      run_once: true
"""


def test_networks_are_the_keys_and_hosts_without_networks_are_left_out() -> None:
    storage = {
        "name": "storage",
        "kind": "bond",
        "interface": "bond0",
        "members": [{"name": "eth1"}],
        "addresses": ["10.0.2.11/24", "fd00:2::11/64"],
        "mtu": 9000,
    }
    hosts = {"w1": {"node_networks": [MANAGEMENT, storage]}, "w2": {"node_networks": [MANAGEMENT]}, "helper": {}}
    management = {"addresses": ["10.0.1.11/24"], "interface": "eth0", "mtu": 1500, "kind": "ethernet", "rail": None}
    addresses = ["10.0.2.11/24", "fd00:2::11/64"]
    assert fleet_networks(Fleet(hosts)) == (
        {
            "management": {"hosts": {"w1": management, "w2": management}},
            "storage": {
                "hosts": {
                    "w1": {"addresses": addresses, "interface": "bond0", "mtu": 9000, "kind": "bond", "rail": None}
                }
            },
        },
        [],
    )


def test_all_problems_of_form_are_returned() -> None:
    hosts = {"w1": {"node_networks": "eth0"}, "w2": {"node_networks": [{**MANAGEMENT, "mtu": "jumbo"}]}}
    _networks, problems = fleet_networks(Fleet(hosts))
    assert problems == [
        Problem("w1", "node_networks", "eth0", "a list of networks"),
        Problem("w2", "node_networks[management].mtu", "jumbo", "a number from 68 to 65535"),
    ]


def test_a_value_of_the_fleet_must_be_one() -> None:
    hostvars = {host: {"fleet_stack": stack} for host, stack in (("a", "lab"), ("b", "lab"), ("c", "maas-1.34"))}
    fleet = read_fleet(hostvars, {"all": list(hostvars)})
    assert fleet.variables == {"fleet_stack": "lab"}
    allowed = "one value for the whole fleet; other hosts have 'lab'"
    assert fleet.unreadable == (Problem("c", "fleet_stack", "maas-1.34", allowed),)


def test_each_host_is_templated_once_although_many_need_it(tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    count = tmp_path / "count"
    address = (
        f"{{{{ lookup('ansible.builtin.pipe', 'echo ' ~ inventory_hostname ~ ' >> {count}') }}}}10.0.1.{{{{ n }}}}/24"
    )
    hosts = "\n".join(f"    h{n}: {{n: {n}}}" for n in range(1, 6))
    inventory.write_text(
        f"all:\n  hosts:\n{hosts}\n  vars:\n    node_networks:\n"
        f"      - {{name: management, interface: eth0, address: \"{address}\"}}\n"
    )  # fmt: skip
    played = play(inventory, PLAYBOOK, tmp_path)
    assert played.tasks["Collect"]["h1"]["networks"]["management"]["hosts"]["h5"]["addresses"] == ["10.0.1.5/24"]
    assert sorted(count.read_text().split()) == ["h1", "h2", "h3", "h4", "h5"]


def test_what_cannot_be_templated_is_named_with_host_and_variable(tmp_path: Path) -> None:
    inventory = tmp_path / "hosts.yml"
    plan = '[{name: management, interface: eth0, address: "10.0.1.{{ number }}/24"}]'
    inventory.write_text(
        "all:\n  hosts:\n    w1: {number: 1}\n    w2:\n    w3:\n" f"  vars:\n    node_networks: {plan}\n"
    )  # fmt: skip
    played = play(inventory, PLAYBOOK, tmp_path)
    assert played.rc == 2
    lines = played.tasks["Collect"]["w1"]["msg"].splitlines()
    assert lines[1:] == [
        "  w2",
        "    node_networks = None: a value that can be templated: 'number' is undefined",
        "  w3",
        "    node_networks = None: a value that can be templated: 'number' is undefined",
    ]


@pytest.mark.parametrize("hosts", [200])
def test_200_hosts_take_seconds(tmp_path: Path, hosts: int) -> None:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(
        f"all:\n  hosts:\n    h-[1:{hosts}]:\n  vars:\n"
        "    number: \"{{ inventory_hostname | split('-') | last }}\"\n"
        "    node_networks:\n"
        '      - {name: management, interface: eth0, mtu: 1500, address: "10.0.1.{{ number }}/24"}\n'
        '      - {name: storage, interface: eth1, mtu: 9000, address: "10.0.2.{{ number }}/24"}\n'
    )
    started = time.monotonic()
    played = play(inventory, PLAYBOOK, tmp_path)
    assert len(played.tasks["Collect"]["h-1"]["networks"]["storage"]["hosts"]) == hosts
    # About 4 s with an idle core, Ansible's start included; the bound leaves room for a busy machine.
    assert time.monotonic() - started < 30
