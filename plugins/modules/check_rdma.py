#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: check_rdma
short_description: Measure RDMA between pairs of hosts, on every rail, by one schedule that all hosts follow
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - All hosts of the run make the same schedule (a round-robin tournament, N-1 rounds for an even number of hosts, N for
    an odd one) and follow it by themselves, with one partner at a time. In a pair one side is server and the other
    client, by a fixed rule for each pair and rail, and each rail has a TCP port of its own.
  - The rails are those networks of the plan that have a C(rail). The RDMA device is found behind the network's
    interface, and the GID index by looking into the GID table (RoCE v2 with the network's own address).
  - perftest runs on the CPUs of the NIC's NUMA node where there are several, and with the system's own libibverbs,
    whatever the library path says (gIB brings another one).
  - A partner that is silent for O(settings.patience) seconds is given up, once for all rounds together. Its pairs are
    UNKNOWN. A pair that dies in the middle costs nobody else anything.
  - Figures are compared with O(limits) of the same scope, link speed, memory and size. Where no limit fits, the
    finding is UNKNOWN and names the nearest. How the pairs of the whole fleet compare with each other is judged in the
    report, where all results are together.
  - Loads the network while it runs. Does not fail the host for what it measures.
options:
  host:
    description: Name of this host in the inventory.
    type: str
    required: true
  run_id:
    description: Identifier of the run. Agents of other runs are sent away.
    type: str
    required: true
  fleet:
    description: C(networks) of what M(gpufleet.cluster.fleet_networks) returned.
    type: dict
    required: true
  hosts:
    description: The hosts of this run, the same list for all of them. C(ansible_play_hosts_all) is meant.
    type: list
    elements: str
    required: true
  forks:
    description:
      - C(ansible_forks). All hosts measure at the same time, so the module fails at once if there are fewer forks than
        hosts.
    type: int
    required: true
  pairs:
    description:
      - V(ring) is each host with the next one, 2 or 3 rounds. V(domain) is all pairs inside each NVLink domain (groups
        C(nvl_*)) and a ring across the domains. V(full) is every pair.
    type: str
    choices: [none, ring, domain, full]
    default: ring
  groups:
    description: The inventory's groups, for the NVLink domains.
    type: dict
    default: {}
  limits:
    description: Limits as P(gpufleet.cluster.bandwidth_limits#lookup) returns them.
    type: list
    elements: dict
    default: []
  cabling:
    description:
      - >-
        Where the rails' cables should end. Rail -> C(switch) and C(port), as in
        C(rail0: {switch: leaf-1, port: Ethernet1/7}); C(port) may be left out.
      - It is compared with what C(lldpcli) of lldpd sees, and on InfiniBand with C(ibnetdiscover). Without it cabling
        is not looked at.
    type: dict
    default: {}
  settings:
    description: How to measure. The defaults are for hardware.
    type: dict
    default: {}
    suboptions:
      tests:
        description: Programs of perftest to run on each rail.
        type: list
        elements: str
        choices: [ib_write_bw, ib_write_lat, ib_read_bw, ib_read_lat, ib_send_bw, ib_send_lat]
        default: [ib_write_bw, ib_write_lat]
      directions:
        description: V(both) measures each pair twice, with the sides changed. A fault in one direction needs that.
        type: str
        choices: [one, both]
        default: both
      together:
        description: Whether all rails of a pair are measured at the same time, or one after the other.
        type: bool
        default: true
      duration:
        description: Seconds that each bandwidth is measured.
        type: int
        default: 3
      size_bytes:
        description: Message size for bandwidths.
        type: int
        default: 1048576
      iterations:
        description: Number of messages for latencies.
        type: int
        default: 1000
      qps:
        description: Queue pairs for bandwidths.
        type: int
        default: 2
      memory:
        description: V(gpu) sends from GPU memory, and needs a perftest that was built with CUDA.
        type: str
        choices: [host, gpu]
        default: host
      gpu:
        description: CUDA device for V(gpu).
        type: int
      port:
        description:
          - First TCP port. The agents use it, and each rail the next one. They must be open between the hosts.
        type: int
        default: 18600
      patience:
        description: Seconds without a sign of life after which a partner is given up.
        type: float
        default: 60
      limit:
        description: Seconds that one measurement may take, tries included.
        type: float
        default: 30
      sku:
        description: What the limits call the link. Without it the speed that the port reports, as V(400G).
        type: str
      bandwidth_tolerance:
        description: Per cent that a pair may stay below the best quarter of its rail.
        type: float
        default: 10
      latency_tolerance:
        description: Per cent that a pair may stay above the best quarter of its rail.
        type: float
        default: 100
      log_directory:
        description: Directory on the host for the raw output of all measurements, one file for each run.
        type: path
        default: /var/log/gpufleet
notes:
  - In check mode nothing is measured. The report tells the rounds, the expected time and the commands.
attributes:
  check_mode:
    description: Measures nothing, and says what would run.
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

- name: Measure every pair of hosts on every rail
  gpufleet.cluster.check_rdma:
    host: "{{ inventory_hostname }}"
    run_id: "{{ fleet_run.id }}"
    fleet: "{{ fleet_networks.networks }}"
    hosts: "{{ ansible_play_hosts_all }}"
    forks: "{{ ansible_forks }}"
    pairs: full
    limits: "{{ lookup('gpufleet.cluster.bandwidth_limits', 'ib_write_bw', 'ib_write_lat') }}"
  register: check_rdma_result
"""

RETURN = r"""
check:
  description: Name of the check.
  returned: success
  type: str
  sample: rdma
run_id:
  description: The run's identifier, as given.
  returned: success
  type: str
verdict:
  description: The worst severity among the findings; null when the host has no rail, and in check mode.
  returned: success
  type: str
  sample: OK
report:
  description: What was measured.
  returned: success
  type: dict
  contains:
    plan:
      description: C(pairs), C(rounds), C(hosts), C(tests), C(directions), C(expected_s), C(deadline_s), C(tolerances).
      type: dict
    rails:
      description: For each rail its device, port, GID index and rate_gbps, or the problem that keeps it unmeasured.
      type: list
      elements: dict
    pairs:
      description:
        - Network, test, sender, receiver, state (ok, fault, unknown, no_answer, no_time), value, unit, size_bytes,
          detail, attempts and seconds of each measurement of which this host is the sender, and of those without a
          partner.
        - C(raw) is the output where it matters, which is without a figure and for the slowest.
      type: list
      elements: dict
    counters:
      description:
        - For each rail C(network), C(device), and the error counters of its port C(before) and C(after) the measuring.
          One that has grown is a finding.
      type: list
      elements: dict
    cabling:
      description: C(planned) and C(found) of each planned cable.
      type: list
      elements: dict
    commands:
      description: In check mode, the commands of the first meeting.
      type: list
      elements: list
    seconds:
      description: How long it took on this host.
      type: float
    log:
      description: File on the host with the raw output of all measurements.
      type: str
findings:
  description: Judgements with check, severity, subject, measured, expected, unit, message and remedy.
  returned: success
  type: list
  elements: dict
  sample:
    - check: rdma
      severity: OK
      subject: {host: node-1, network: rail0, port: mlx5_0, item: ib_write_bw}
      measured: 391.8
      expected: 380.0
      unit: Gb/s
      message: "rail0: ib_write_bw to node-2, node-3: ... at least 380 Gb/s: measured 391.8"
      remedy: ""
"""

import sys
from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.finding import check_result
from ..module_utils.judge.bandwidth import load_limits
from ..module_utils.rdma.cabling import planned_cables
from ..module_utils.rdma.check import check_rdma
from ..module_utils.rdma.fleet import Inventory, Wanted
from ..module_utils.rdma.options import MEASURING, settings_of
from ..module_utils.rdma.plan import DIRECTIONS
from ..module_utils.rdma.schedule import KINDS
from ..module_utils.runner import ModuleRunner

SETTINGS = {
    **MEASURING,
    "directions": {"type": "str", "choices": list(DIRECTIONS), "default": "both"},
    "together": {"type": "bool", "default": True},
    "port": {"type": "int", "default": 18600},
    "patience": {"type": "float", "default": 60},
    "limit": {"type": "float", "default": 30},
    "bandwidth_tolerance": {"type": "float", "default": 10},
    "latency_tolerance": {"type": "float", "default": 100},
    "log_directory": {"type": "path", "default": "/var/log/gpufleet"},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "run_id": {"type": "str", "required": True},
            "fleet": {"type": "dict", "required": True},
            "hosts": {"type": "list", "elements": "str", "required": True},
            "forks": {"type": "int", "required": True},
            "pairs": {"type": "str", "choices": list(KINDS), "default": "ring"},
            "groups": {"type": "dict", "default": {}},
            "limits": {"type": "list", "elements": "dict", "default": []},
            "cabling": {"type": "dict", "default": {}},
            "settings": {"type": "dict", "default": {}, "apply_defaults": True, "options": SETTINGS},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        report, findings = check_rdma(
            Inventory(params["host"], params["run_id"], params["fleet"], params["hosts"], params["groups"]),
            _wanted(params["pairs"], params["settings"]),
            settings_of(params["settings"], "settings."),
            load_limits(params["limits"]),
            params["settings"]["sku"],
            forks=params["forks"],
            log_directory=params["settings"]["log_directory"],
            measure=not module.check_mode,
            caller=sys.stdout.fileno(),
            cabling=planned_cables(params["cabling"]),
            runner=ModuleRunner(module),
        )
    except ClusterError as exc:
        module.fail_json(msg="check_rdma: %s" % exc)
    module.exit_json(**check_result("rdma", params["run_id"], report, findings))


def _wanted(pairs: str, settings: Dict[str, Any]) -> Wanted:
    return Wanted(
        pairs=pairs,
        tests=tuple(settings["tests"]),
        directions=settings["directions"],
        together=settings["together"],
        port=settings["port"],
        patience=settings["patience"],
        limit=settings["limit"],
        tolerances={"bw": settings["bandwidth_tolerance"], "lat": settings["latency_tolerance"]},
    )


if __name__ == "__main__":
    main()
