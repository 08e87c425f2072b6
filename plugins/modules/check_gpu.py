#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: check_gpu
short_description: Judge the GPUs of a machine
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Number, product and driver against what is expected; ECC errors, remapped rows and pages that wait for a reset; Xid
    since boot; width and speed of PCIe and its errors; reasons for slow clocks; NVLinks that are down and their error
    counters; the fabric (one cluster UUID and clique on all GPUs); the topology matrix.
  - Reads only, in the way of M(gpufleet.cluster.gpu_info), and does not fail the host for what it measures. What cannot
    be read is V(UNKNOWN), which is not a pass. What is judged, and how, is in C(docs/gpu.md).
options:
  host:
    description: Name of this host in the inventory.
    type: str
    required: true
  run_id:
    description: Identifier of the run that this result belongs to.
    type: str
    required: true
  expected:
    description: What the machine has to have. Whatever is left out is judged only against itself.
    type: dict
    default: {}
    suboptions:
      count:
        description: Number of GPUs. Without it the number is V(UNKNOWN).
        type: int
      product:
        description:
          - Words that are in the product name, as V(GB200) or V(NVIDIA-A800-SXM4-80GB). Without it the product is
            V(UNKNOWN).
        type: str
      driver:
        description: Version of the driver.
        type: str
      nvlinks:
        description: Number of NVLinks of each GPU; 0 for none. Without it, as many as any of the GPUs shows.
        type: int
      fabric:
        description:
          - V(mnnvl) for an NVLink domain of several machines, V(nvswitch) for one within the machine, V(none) not to
            judge it. Without it, GPUs that know a fabric have to have joined it.
        type: str
        choices: [none, nvswitch, mnnvl]
      gpu_link:
        description: How each pair of GPUs is joined in the topology matrix, as V(NV18).
        type: str
      nic_link:
        description: The farthest that the nearest NIC of each GPU may be.
        type: str
        choices: [PIX, PXB, PHB, NODE, SYS]
      pcie_gen:
        description: PCIe generation. Without it, what GPU and slot together can do.
        type: int
      pcie_width:
        description: PCIe lanes. Without it, what GPU and slot together can do.
        type: int
      ecc:
        description: Whether the GPUs have ECC, which then has to be on.
        type: bool
        default: true
      skip:
        description: Items that are not judged on this machine.
        type: list
        elements: str
        choices:
          - aer
          - clocks
          - count
          - domain
          - driver
          - ecc
          - fabric
          - inforom
          - nvlink
          - nvlink_errors
          - pcie
          - product
          - recovery
          - remapped_rows
          - topology
          - xid
        default: []
      source:
        description: Where the values come from, for people.
        type: str
  before:
    description:
      - An earlier result of M(gpufleet.cluster.gpu_info) of this machine, usually from the beginning of the run. Then
        error counters are judged by how much they grew since.
      - Without it, and without O(interval), a counter that is not zero is a warning, as nobody knows when it grew.
    type: dict
  members:
    description:
      - NVLink domains (cluster UUID and clique) of each machine that should be in one with this machine, from the
        filter P(gpufleet.cluster.nvlink_domains#filter). The machine is judged against the others; the odd one fails.
    type: dict
    default: {}
  interval:
    description: Without O(before), seconds between two readings of this call.
    type: float
    default: 0
  timeout:
    description: Seconds that a command may take.
    type: float
    default: 60
notes:
  - The kernel's log needs root.
attributes:
  check_mode:
    description: Runs the same in check mode, as it only reads.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
seealso:
  - module: gpufleet.cluster.gpu_info
"""

EXAMPLES = r"""
- name: Read the GPUs' counters before the load
  gpufleet.cluster.gpu_info:
    parts: [query, nvlink_errors, aer]
  register: gpu_before

- name: Judge the GPUs after the load
  gpufleet.cluster.check_gpu:
    host: "{{ inventory_hostname }}"
    run_id: "{{ fleet_run.id }}"
    expected: {count: 4, product: GB200, nvlinks: 18, fabric: mnnvl, gpu_link: NV18}
    before: "{{ gpu_before }}"
  register: check_gpu_result
"""

RETURN = r"""
check:
  description: Name of the check.
  returned: success
  type: str
  sample: gpu
run_id:
  description: The run's identifier, as given.
  returned: success
  type: str
verdict:
  description: The worst severity among the findings (OK, WARN, UNKNOWN, FAIL).
  returned: success
  type: str
  sample: FAIL
report:
  description: C(gpus) (a row for each), C(lost), C(topology), C(kernel_log), C(run_seconds) (null without a beginning),
    C(grown) (counters that grew), C(unread) (part to reason) and C(commands).
  returned: success
  type: dict
findings:
  description: Judgements with check, severity, subject, measured, expected, unit, message and remedy.
  returned: success
  type: list
  elements: dict
  sample:
    - check: gpu
      severity: FAIL
      subject: {host: w1, gpu: 2, item: nvlink}
      measured: 17
      expected: 18
      unit: links
      message: "17 of 18 NVLinks up; down: 5"
      remedy: look for Xid 74 or 144 to 150 in the kernel's log; drain and reset the GPU; then report the host as faulty
"""

import time
from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ConfigError
from ..module_utils.finding import check_result
from ..module_utils.gpu.reading import PARTS, read_gpus
from ..module_utils.host.files import Root
from ..module_utils.judge.gpu import ITEMS, GpuExpected, judge_gpus
from ..module_utils.judge.gpu.report import gpu_report
from ..module_utils.judge.gpu.topology import NEAR_TO_FAR
from ..module_utils.runner import ModuleRunner

COUNTING = ("query", "nvlink_errors", "aer")


def _spec() -> Dict[str, Any]:
    expected = {
        **{name: {"type": "int"} for name in ("count", "nvlinks", "pcie_gen", "pcie_width")},
        **{name: {"type": "str"} for name in ("product", "driver", "gpu_link", "source")},
        "fabric": {"type": "str", "choices": ["none", "nvswitch", "mnnvl"]},
        "nic_link": {"type": "str", "choices": list(NEAR_TO_FAR)},
        "ecc": {"type": "bool", "default": True},
        "skip": {"type": "list", "elements": "str", "choices": sorted(ITEMS), "default": []},
    }
    return {
        "host": {"type": "str", "required": True},
        "run_id": {"type": "str", "required": True},
        "expected": {"type": "dict", "default": {}, "options": expected},
        "before": {"type": "dict"},
        "members": {"type": "dict", "default": {}},
        "interval": {"type": "float", "default": 0},
        "timeout": {"type": "float", "default": 60},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=_spec(), supports_check_mode=True)
    params, root, runner = module.params, Root(), ModuleRunner(module)
    try:
        expected = GpuExpected.from_dict(params["expected"])
    except ConfigError as exc:
        module.fail_json(msg="check_gpu: %s" % exc)
    before = params["before"]
    if before is None and params["interval"] > 0:
        before = read_gpus(root, runner, COUNTING, params["timeout"])
        time.sleep(params["interval"])
    reading = read_gpus(root, runner, PARTS, params["timeout"])
    findings = judge_gpus(params["host"], reading, expected, before, params["members"])
    module.exit_json(**check_result("gpu", params["run_id"], gpu_report(reading, findings, before), findings))


if __name__ == "__main__":
    main()
