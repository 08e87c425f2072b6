#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: preflight
short_description: Check the whole inventory before anything is changed
version_added: 0.1.0
description:
  - Reads the variables of B(all) hosts of the inventory on the controller and fails with B(all) problems at once,
    each with host, variable, value and what is allowed. It connects to no host, so it also runs in check mode.
  - Run it once, at the start of a playbook. It looks at the whole inventory, whatever C(--limit) says, because an
    address can clash with that of a host outside the limit.
  - "Form of C(node_networks): unknown keys, unknown bond modes, C(primary) with LACP, addresses, MACs, numbers."
  - "Within a host: doubled names, interfaces, members, VLAN ids, tables, rails and routes; an undefined parent; an MTU
    above the parent's or above what IPoIB carries; an address of no host; a gateway or next hop outside the subnet, or
    of another IP version; a route to the network's own subnet; two default routes in one table; two networks in one
    subnet without a table for each; a missing management network."
  - "Between hosts: a control plane that is a worker, too; one name, address or MAC twice (names are compared in lower
    case and up to the first dot); one network with several MTUs or subnets; addresses outside C(fleet_cidrs); overlaps
    among networks, pods and services."
  - "The fleet: missing or empty groups, the recipe and its overrides, C(imex_mode)."
  - Warns, without failing, of an even number of control planes, of an IPoIB MTU that needs a 4K partition, and of
    machines that are in a group of GPU, CPU or storage nodes but neither a worker nor a control plane.
notes:
  - >-
    Variables of the inventory that it reads: C(node_networks), C(fleet_hostname), C(fleet_cidrs), C(fleet_stack),
    C(fleet_stack_overrides), C(fleet_group_control_plane), C(fleet_group_workers), C(kube_pod_cidr),
    C(kube_service_cidr), C(kube_addons), C(imex_mode). They are explained in the guide to the inventory.
author: [The gpufleet authors (@gpufleet)]
attributes:
  check_mode:
    support: full
    description: Changes nothing.
  diff_mode:
    support: none
    description: Changes nothing.
  action:
    support: full
    description: Runs on the controller.
"""

EXAMPLES = r"""
- name: Check the inventory
  hosts: all,localhost
  gather_facts: false
  tasks:
    - name: Check names, networks, groups and the stack recipe
      gpufleet.cluster.preflight:
      run_once: true
"""

RETURN = r"""
checked:
  description: Number of hosts in the inventory.
  type: int
  returned: always
  sample: 103
problems:
  description: What must be corrected, sorted by host. Problems of the fleet as a whole have the host V((fleet\)).
  type: list
  elements: dict
  returned: always
  contains: &problem
    host:
      description: The host whose variable it is.
      type: str
    variable:
      description: The variable, with the place inside of it.
      type: str
    value:
      description: What stands there.
      type: raw
    allowed:
      description: What could stand there.
      type: str
  sample:
    - host: worker-1
      variable: node_networks[storage].gateway
      value: 10.0.9.1
      allowed: an address inside 10.0.2.0/24
advice:
  description: What works, but is likely not what was meant. Shown as warnings.
  type: list
  elements: dict
  returned: always
  contains: *problem
  sample: []
"""
