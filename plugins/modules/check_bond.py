#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: check_bond
short_description: Judge the bonds of a host by what the kernel shows of them
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Reads C(/proc/net/bonding) for each bond of the plan and compares mode, LACP rate, min-links and members with it.
  - Says of each leg whether it really carries traffic. A LACP leg does when it has carrier, sits in the active
    aggregator, and B(both) ends are in sync, collecting and distributing (C(port state & 0x3c == 0x3c)). That the bond
    says C(MII Status) up proves nothing.
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
    description: The host's C(node_networks), as it stands in the inventory. Networks of other kinds are left aside.
    type: list
    elements: dict
    required: true
  settle:
    description:
      - Seconds for which a bond that is not good is read again, because negotiation takes a while after a change.
      - 10 seconds are enough for the fast LACP rate. With the slow rate a partner needs up to 93 seconds to notice, so
        use C(95) right after a change.
      - A leg that was cut at the far end keeps looking good for 6 seconds (fast) or 93 seconds (slow). No waiting here
        can show that earlier.
    type: float
    default: 10
notes:
  - Needs root. Others do not see the LACP states; the finding is UNKNOWN then.
attributes:
  check_mode:
    description: Runs the same in check mode, as it only reads.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Judge the bonds
  gpufleet.cluster.check_bond:
    host: "{{ inventory_hostname }}"
    run_id: "{{ verify_run_id }}"
    networks: "{{ node_networks }}"
  register: check_bond_result
"""

RETURN = r"""
check:
  description: Name of the check.
  returned: success
  type: str
  sample: bond
run_id:
  description: The run's identifier, as given.
  returned: success
  type: str
verdict:
  description: The worst severity among the findings (OK, WARN, UNKNOWN, FAIL); null when the plan has no bond.
  returned: success
  type: str
  sample: FAIL
report:
  description: What was read, C(bonds) with network, interface, mode, mii, lacp_rate, active_aggregator,
    ports_in_aggregator, partner_mac, slaves, lacp_ok, ok and failure of each bond.
  returned: success
  type: dict
findings:
  description: Judgements with check, severity, subject, measured, expected, unit, message and remedy.
  returned: success
  type: list
  elements: dict
  sample:
    - check: bond
      severity: FAIL
      subject: {host: node-1, network: storage, interface: bond0, port: enp2s0}
      measured: not_collecting
      expected: collecting
      unit: ""
      message: "bond0, leg enp2s0: has carrier but does not collect and distribute (actor state 0x47, ...)"
      remedy: check that the switch has this port in the same LACP channel group and has not shut it down
"""

import time

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.finding import check_result
from ..module_utils.network.model import parse_networks
from ..module_utils.probe.bonds import check_bonds
from ..module_utils.probe.links import read_links
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "run_id": {"type": "str", "required": True},
            "networks": {"type": "list", "elements": "dict", "required": True},
            "settle": {"type": "float", "default": 10},
        },
        supports_check_mode=True,
    )
    host = module.params["host"]
    networks, problems = parse_networks(host, module.params["networks"])
    if problems:
        module.fail_json(msg="check_bond: the plan cannot be used: %s" % "; ".join(str(p) for p in problems))
    runner = ModuleRunner(module)
    rows, findings = check_bonds(
        host,
        networks,
        lambda: read_links(runner),
        settle=module.params["settle"],
        clock=time.monotonic,
        sleep=time.sleep,
    )
    module.exit_json(**check_result("bond", module.params["run_id"], {"bonds": rows}, findings))


if __name__ == "__main__":
    main()
