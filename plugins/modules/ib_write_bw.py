#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ib_write_bw
short_description: Measure bandwidth and latency of every RDMA NIC of a host
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Runs perftest on every active port of the host, one after the other, against itself, or as one end of a pair. For
    pairs of a whole fleet M(gpufleet.cluster.check_rdma) is meant.
  - The GID index is found by looking into the GID table (RoCE v2, IPv4 first). The programs run on the CPUs of the
    NIC's NUMA node where there are several, and with the system's own libibverbs.
  - Loads the NICs while it runs. Does not fail the host for what it measures.
options:
  host:
    description: Name of this host in the inventory.
    type: str
    required: true
  run_id:
    description: Identifier of the run that this result belongs to.
    type: str
    default: ""
  role:
    description: V(loopback) is server and client on this host, through the NIC.
    type: str
    choices: [loopback, server, client]
    default: loopback
  peer:
    description: Address of the server. Needed for V(client), which tries until the server answers or O(limit) is over.
    type: str
  devices:
    description: RDMA devices to measure. Without any, all.
    type: list
    elements: str
    default: []
  tests:
    description: Programs of perftest.
    type: list
    elements: str
    choices: [ib_write_bw, ib_write_lat, ib_read_bw, ib_read_lat, ib_send_bw, ib_send_lat]
    default: [ib_write_bw, ib_write_lat]
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
    description: TCP port on which both ends exchange their keys.
    type: int
    default: 18599
  limit:
    description: Seconds that one measurement may take.
    type: float
    default: 60
  limits:
    description: Limits as P(gpufleet.cluster.bandwidth_limits#lookup) returns them. What none fits is UNKNOWN.
    type: list
    elements: dict
    default: []
  sku:
    description: What the limits call the link. Without it the speed that the port reports, as V(400G).
    type: str
attributes:
  check_mode:
    description: Measures nothing, and returns the commands.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Measure each NIC against itself
  gpufleet.cluster.ib_write_bw:
    host: "{{ inventory_hostname }}"
    limits: "{{ lookup('gpufleet.cluster.bandwidth_limits', 'ib_write_bw', 'ib_write_lat') }}"

- name: Measure one NIC between two hosts (run this on both at the same time)
  gpufleet.cluster.ib_write_bw:
    host: "{{ inventory_hostname }}"
    role: "{{ 'server' if inventory_hostname == 'node-1' else 'client' }}"
    peer: "{{ omit if inventory_hostname == 'node-1' else hostvars['node-1'].ansible_host }}"
    devices: [mlx5_0]
    tests: [ib_write_bw]
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
  description: The worst severity among the findings; null in check mode.
  returned: success
  type: str
  sample: OK
report:
  description: C(rows) with nic, test, state, value, unit, size_bytes, detail and raw; C(commands) in check mode.
  returned: success
  type: dict
findings:
  description: Judgements with check, severity, subject, measured, expected, unit, message and remedy.
  returned: success
  type: list
  elements: dict
"""

import asyncio

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.finding import check_result
from ..module_utils.judge.bandwidth import load_limits
from ..module_utils.rdma.devices import Endpoint, read_devices
from ..module_utils.rdma.nics import ROLES, Ends, NicFinder, commands_of, judge_nics, measure_nics, nic_rows
from ..module_utils.rdma.options import MEASURING, settings_of
from ..module_utils.rdma.perftest import library_path


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            **MEASURING,
            "host": {"type": "str", "required": True},
            "run_id": {"type": "str", "default": ""},
            "role": {"type": "str", "choices": list(ROLES), "default": "loopback"},
            "peer": {"type": "str"},
            "devices": {"type": "list", "elements": "str", "default": []},
            "port": {"type": "int", "default": 18599},
            "limit": {"type": "float", "default": 60},
            "limits": {"type": "list", "elements": "dict", "default": []},
        },
        required_if=[("role", "client", ["peer"])],
        supports_check_mode=True,
    )
    params = module.params
    try:
        settings = settings_of(params)
        limits = load_limits(params["limits"])
        nics = NicFinder(read_devices()).find(params["devices"])
        ends = Ends(**{key: params[key] for key in ("role", "port", "peer", "limit")})
        if module.check_mode:
            usable = [each for each in nics.values() if isinstance(each, Endpoint)]
            commands = [commands_of(settings, each, test, ends) for each in usable for test in params["tests"]]
            module.exit_json(**check_result("rdma", params["run_id"], {"commands": commands}, []))
        measuring = measure_nics(params["host"], nics, params["tests"], settings, ends, environment=library_path())
        outcomes = asyncio.run(measuring)
    except ClusterError as exc:
        module.fail_json(msg="ib_write_bw: %s" % exc)
    findings = judge_nics(params["host"], nics, outcomes, limits, sku=params["sku"], role=params["role"])
    report = {"rows": nic_rows(nics, outcomes)}
    module.exit_json(**check_result("rdma", params["run_id"], report, findings))


if __name__ == "__main__":
    main()
