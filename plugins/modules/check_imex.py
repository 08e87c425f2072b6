#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: check_imex
short_description: Judge IMEX on a machine of an NVLink domain
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Whether the right one runs the IMEX daemon, the driver offers channels, the list of nodes is that of the domain, and
    the domain is UP with every member READY, connected and of one version.
  - Each member judges itself against the members in the inventory; so their lists are equal when all of them pass.
  - Reads only, in the way of M(gpufleet.cluster.imex_info), and does not fail the host for what it measures. What
    cannot be read is V(UNKNOWN), which is not a pass.
options:
  host:
    description: Name of this host in the inventory.
    type: str
    required: true
  run_id:
    description: Identifier of the run that this result belongs to.
    type: str
    required: true
  mode:
    description:
      - V(host) means that the host runs the daemon; service, channels, list and domain are judged.
      - V(dra) means that the DRA driver starts daemons together with the pods of a ComputeDomain. The service of the
        host has to be masked or absent, and there is no domain to ask for while no workload runs.
      - V(dra_host_managed) means that the host runs the daemon and the DRA driver makes the channels.
      - V(none) judges nothing.
    type: str
    choices: [dra, host, dra_host_managed, none]
    required: true
  members:
    description:
      - Addresses of each member of the NVLink domain by host, this host among them. See the filter
        P(gpufleet.cluster.imex_members#filter).
    type: dict
    default: {}
  version:
    description: Version of IMEX, which is that of the driver.
    type: str
  config:
    description: Configuration of the daemon, which names the list of nodes.
    type: path
    default: /etc/nvidia-imex/config.cfg
  timeout:
    description: Seconds that a command may take.
    type: float
    default: 30
attributes:
  check_mode:
    description: Runs the same in check mode, as it only reads.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
seealso:
  - module: gpufleet.cluster.imex_info
"""

EXAMPLES = r"""
- name: Judge IMEX
  gpufleet.cluster.check_imex:
    host: "{{ inventory_hostname }}"
    run_id: "{{ fleet_run.id }}"
    mode: "{{ imex_mode }}"
    members: "{{ groups | gpufleet.cluster.imex_members(inventory_hostname, fleet_networks.networks, 'management') }}"
  register: check_imex_result
"""

RETURN = r"""
check:
  description: Name of the check.
  returned: success
  type: str
  sample: imex
run_id:
  description: The run's identifier, as given.
  returned: success
  type: str
verdict:
  description: The worst severity among the findings (OK, WARN, UNKNOWN, FAIL); null in the mode V(none).
  returned: success
  type: str
  sample: FAIL
report:
  description: C(mode), and what M(gpufleet.cluster.imex_info) returns.
  returned: success
  type: dict
findings:
  description: Judgements with check, severity, subject, measured, expected, unit, message and remedy.
  returned: success
  type: list
  elements: dict
  sample:
    - check: imex
      severity: FAIL
      subject: {host: w1, peer: w2, item: members}
      measured: UNAVAILABLE
      expected: READY
      unit: ""
      message: member w2 is UNAVAILABLE
      remedy: look at the service and at its log (/var/log/nvidia-imex.log) there, and at the way to its port 50000
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.finding import check_result
from ..module_utils.host.files import Root
from ..module_utils.imex.reading import CONFIG, read_imex
from ..module_utils.judge.imex import MODES, judge_imex
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "run_id": {"type": "str", "required": True},
            "mode": {"type": "str", "choices": list(MODES), "required": True},
            "members": {"type": "dict", "default": {}},
            "version": {"type": "str"},
            "config": {"type": "path", "default": CONFIG},
            "timeout": {"type": "float", "default": 30},
        },
        supports_check_mode=True,
    )
    params = module.params
    if not all(isinstance(addresses, list) for addresses in params["members"].values()):
        module.fail_json(msg="check_imex: members needs a list of addresses for each host, as {w1: [192.0.2.1]}")
    reading = read_imex(Root(), ModuleRunner(module), params["timeout"], params["config"])
    findings = judge_imex(params["host"], reading, params["mode"], params["members"], params["version"])
    module.exit_json(**check_result("imex", params["run_id"], {"mode": params["mode"], **reading}, findings))


if __name__ == "__main__":
    main()
