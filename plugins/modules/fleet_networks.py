#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_networks
short_description: Collect the networks of all hosts from the inventory
version_added: 0.1.0
description:
  - Reads C(node_networks) of B(all) hosts of the inventory on the controller and returns them by network, so that a
    check can tell each host its peers. Each host's variable is templated once, however many hosts need it.
  - Connects to no host. Hosts without C(node_networks) are left out.
  - Fails with all problems at once when a value cannot be templated or does not have the right form.
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
- name: Collect the networks of the fleet
  hosts: all,localhost
  gather_facts: false
  tasks:
    - name: Collect the networks of all hosts
      gpufleet.cluster.fleet_networks:
      register: fleet_networks
      run_once: true
"""

RETURN = r"""
networks:
  description: For each network its hosts, and for each host what it has there.
  type: dict
  returned: success
  sample:
    storage:
      hosts:
        worker-1: {addresses: [10.0.2.11/24], interface: bond0, mtu: 9000, kind: bond, rail: null}
        worker-2: {addresses: [10.0.2.12/24], interface: bond0, mtu: 9000, kind: bond, rail: null}
"""
