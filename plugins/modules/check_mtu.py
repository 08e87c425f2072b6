#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: check_mtu
short_description: Measure the MTU of a host's devices and of the paths to its peers
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Compares the MTU of each bond member, bond, VLAN and network device with the plan.
  - Then sends an ICMP echo request of the planned size, with "do not fragment" set, to every other host of the fleet
    on each network that both share, from the network's own address and device. The packet is as large as the smaller
    of both ends' planned MTU, so its payload is that minus 28 bytes (IPv4) or minus 48 (IPv6).
  - All paths are probed by one process at a bounded rate, with no program installed. A reply that is lost is asked for
    again, more slowly, before anything is concluded.
  - Changes nothing, and does not fail the host for what it measures.
options:
  host:
    description: Name of this host in the inventory.
    type: str
    required: true
  run_id:
    description: Identifier of the run that this result belongs to.
    type: str
    required: true
  networks:
    description: The host's C(node_networks), as it stands in the inventory.
    type: list
    elements: dict
    required: true
  fleet:
    description:
      - C(networks) of what M(gpufleet.cluster.fleet_networks) returned, the addresses of all hosts by network.
      - Without it only the devices are checked.
    type: dict
    default: {}
  rate:
    description:
      - Packets a second that this host sends at the most. Those after a loss go out at a quarter of that.
      - Each host is probed by all others, so it also answers about as many.
    type: float
    default: 500
  retries:
    description: How often a lost reply is asked for again before the size counts as not passing.
    type: int
    default: 2
  timeout:
    description:
      - Seconds to wait for the reply to the last try; earlier ones wait half and a quarter of it.
      - A reply that comes later still counts while the check runs.
    type: float
    default: 1
notes:
  - Needs root (raw sockets) and C(ip) of iproute2 5.6 or later. Without them the finding is UNKNOWN.
  - States of a path are C(ok), C(local_mtu) (this host's own device is too small), C(path_mtu) (small packets pass,
    large ones do not; C(measured) is the largest that does), C(no_reply) (not even small ones are answered) and
    C(no_route) (the kernel or a router refuses, or the route leaves by another device).
  - The reply is as large as the request. A path that is small in one direction only looks the same from both ends.
attributes:
  check_mode:
    description: Runs the same in check mode, as it only reads and measures.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Gather the networks of the fleet
  gpufleet.cluster.fleet_networks:
  register: fleet_networks
  run_once: true

- name: Measure MTUs
  gpufleet.cluster.check_mtu:
    host: "{{ inventory_hostname }}"
    run_id: "{{ verify_run_id }}"
    networks: "{{ node_networks }}"
    fleet: "{{ fleet_networks.networks }}"
  register: check_mtu_result
"""

RETURN = r"""
check:
  description: Name of the check.
  returned: success
  type: str
  sample: mtu
run_id:
  description: The run's identifier, as given.
  returned: success
  type: str
verdict:
  description: The worst severity among the findings (OK, WARN, UNKNOWN, FAIL); null when there is nothing to judge.
  returned: success
  type: str
  sample: OK
report:
  description: What was measured.
  returned: success
  type: dict
  contains:
    interfaces:
      description: Network, interface, role (member, bond, vlan, network), measured (null when it is missing), expected.
      type: list
      elements: dict
    paths:
      description: Network, peer, address, expected, measured, state and rtt_us of each path.
      type: list
      elements: dict
findings:
  description: Judgements with check, severity, subject, measured, expected, unit, message and remedy.
  returned: success
  type: list
  elements: dict
  sample:
    - check: mtu
      severity: FAIL
      subject: {host: node-1, network: storage, interface: bond0, peer: node-2}
      measured: 1500
      expected: 9000
      unit: bytes
      message: "storage: node-2: small packets pass, those of 9000 bytes do not (largest that passes: 1500)"
      remedy: raise the MTU of the switch ports, routers and tunnels between the two hosts, ...
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ConfigError
from ..module_utils.finding import check_result
from ..module_utils.judge.mtu import judge_mtu
from ..module_utils.network.model import parse_networks
from ..module_utils.probe.mtu import measure
from ..module_utils.probe.prober import Pace
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "run_id": {"type": "str", "required": True},
            "networks": {"type": "list", "elements": "dict", "required": True},
            "fleet": {"type": "dict", "default": {}},
            "rate": {"type": "float", "default": 500},
            "retries": {"type": "int", "default": 2},
            "timeout": {"type": "float", "default": 1},
        },
        supports_check_mode=True,
    )
    params = module.params
    networks, problems = parse_networks(params["host"], params["networks"])
    try:
        if problems:
            raise ConfigError("the plan cannot be used: %s" % "; ".join(str(problem) for problem in problems))
        pace = Pace(rate=params["rate"], retries=params["retries"], timeout=params["timeout"])
        measured = measure(params["host"], networks, params["fleet"], pace, ModuleRunner(module))
    except ConfigError as exc:
        module.fail_json(msg="check_mtu: %s" % exc)
    module.exit_json(**check_result("mtu", params["run_id"], measured.report(), judge_mtu(params["host"], measured)))


if __name__ == "__main__":
    main()
