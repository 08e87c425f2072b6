#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_topology_info
short_description: NVL72 domains of a zone with their machines, health and spare hosts
version_added: 0.1.0
description:
  - Puts the machines of a zone into the sub-blocks (NVL72 domains) of the reservations that they consume.
extends_documentation_fragment:
  - gpufleet.cluster.gce
  - gpufleet.cluster.gce.module
author:
  - The gpufleet authors (@gpufleet)
attributes:
  check_mode:
    description: Changes nothing in any mode.
    support: full
  diff_mode:
    description: Changes nothing, so there is nothing to compare.
    support: none
options:
  zone:
    description: Zone to look at.
    type: str
    required: true
  reservations:
    description: Names of further reservations of the project, which no machine may consume yet.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Show the domains
  gpufleet.cluster.gce_topology_info:
    project: my-project
    zone: us-east1-d
  delegate_to: localhost
  register: topology
"""

RETURN = r"""
domains:
  description:
    - One entry for each sub-block, with what M(gpufleet.cluster.gce_reservation_info) says of it, and machines (name,
      status, host, maintenance).
  returned: success
  type: list
  elements: dict
outside:
  description: Names of machines of the zone that are in no such domain.
  returned: success
  type: list
  elements: str
maintenance:
  description: Announced maintenance, the soonest first.
  returned: success
  type: list
  elements: dict
spare_hosts:
  description: Free hosts of all sub-blocks.
  returned: success
  type: int
table:
  description: The domains as text.
  returned: success
  type: str
members:
  description: For each domain a line of text with its machines, and the status of those that do not run.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.gce.module import argument_spec, run
from ..module_utils.gce.topology import read_topology_report


def main() -> None:
    module = AnsibleModule(
        argument_spec(
            zone={"type": "str", "required": True},
            reservations={"type": "list", "elements": "str", "default": []},
        ),
        supports_check_mode=True,
    )
    project, zone = module.params["project"], module.params["zone"]
    paths = ["projects/%s/zones/%s/reservations/%s" % (project, zone, name) for name in module.params["reservations"]]
    run(module, lambda compute: dict(read_topology_report(compute, project, zone, paths), changed=False))


if __name__ == "__main__":
    main()
