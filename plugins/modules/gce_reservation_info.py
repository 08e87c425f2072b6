#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_reservation_info
short_description: Capacity and health of a GCE reservation, by sub-block
version_added: 0.1.0
description:
  - Reads a reservation with its blocks and sub-blocks (for A4X a sub-block is one NVL72 domain).
  - With O(domains) it also says which sub-block the machines of each domain go into, and fails with the table of
    capacity when they do not fit, before anything is made.
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
    description: Zone of the reservation.
    type: str
    required: true
  name:
    description: Name of the reservation.
    type: str
    required: true
  reservation_project:
    description: Project that owns a shared reservation. Default is O(project).
    type: str
  domains:
    description: Machines that must share one NVLink domain each. Those that exist keep their place.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the domain.
        type: str
        required: true
      machines:
        description: Names of its machines.
        type: list
        elements: str
        required: true
  warn_hours:
    description: Warn when a calendar reservation ends within this many hours.
    type: int
    default: 168
"""

EXAMPLES = r"""
- name: Show capacity
  gpufleet.cluster.gce_reservation_info:
    project: my-project
    zone: us-east1-d
    name: my-reservation
  delegate_to: localhost
  register: capacity

- name: Find a domain for 16 machines
  gpufleet.cluster.gce_reservation_info:
    project: my-project
    zone: us-east1-d
    name: my-reservation
    domains:
      - name: a
        machines: "{{ range(16) | map('regex_replace', '^', 'a4x-a-') }}"
  delegate_to: localhost
"""

RETURN = r"""
reservation:
  description:
    - Name, path, status, deployment_type, machine_type, hosts, in_use, start, end (null where Compute tells none), and
      sub_blocks, each with reservation, block, sub_block, path, cluster, topology_block, domain, hosts, in_use,
      degraded, free, health and affinity (the value that asks for it).
  returned: success
  type: dict
ends_soon:
  description: Whether it ends within O(warn_hours).
  returned: success
  type: bool
table:
  description: The capacity as text.
  returned: success
  type: str
placement:
  description: For each domain its name, sub_block, affinity, machines and those of them that are missing.
  returned: success
  type: list
  elements: dict
"""

from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.gce.client import Compute
from ..module_utils.gce.module import argument_spec, run
from ..module_utils.gce.reservation import Domain, consumed_sub_block, place, read_reservation, table


def main() -> None:
    domain = {
        "name": {"type": "str", "required": True},
        "machines": {"type": "list", "elements": "str", "required": True},
    }
    module = AnsibleModule(
        argument_spec(
            zone={"type": "str", "required": True},
            name={"type": "str", "required": True},
            reservation_project={"type": "str"},
            domains={"type": "list", "elements": "dict", "default": [], "options": domain},
            warn_hours={"type": "int", "default": 168},
        ),
        supports_check_mode=True,
    )
    params = module.params

    def existing(compute: Compute, machines: List[str]) -> Dict[str, str]:
        zone = "projects/%s/zones/%s/instances/" % (params["project"], params["zone"])
        found = {name: compute.find(zone + name) for name in machines}
        return {name: consumed_sub_block(raw) for name, raw in found.items() if raw}

    def work(compute: Compute) -> Dict[str, Any]:
        owner = params["reservation_project"] or params["project"]
        report = read_reservation(compute, owner, params["zone"], params["name"])
        ends_soon = report.ends_within(timedelta(hours=params["warn_hours"]), datetime.now(timezone.utc))
        if ends_soon:
            module.warn("reservation %s ends at %s; its machines stop then" % (report.name, report.end))
        wanted = [
            Domain(item["name"], tuple(item["machines"]), existing(compute, item["machines"]))
            for item in params["domains"]
        ]
        return {
            "changed": False,
            "ends_soon": ends_soon,
            "reservation": report.as_dict(),
            "table": table(report.sub_blocks),
            "placement": [item.as_dict() for item in place(report.sub_blocks, wanted)],
        }

    run(module, work)


if __name__ == "__main__":
    main()
