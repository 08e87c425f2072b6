#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_placement_policy
short_description: Put A4X machines into one NVL72 domain
version_added: 0.1.0
description:
  - Makes a group placement policy with a GPU topology, which single machines name, or a workload policy, which managed
    instance groups name. Neither can be changed, and a group cannot have both.
extends_documentation_fragment:
  - gpufleet.cluster.gce
  - gpufleet.cluster.gce.module
author:
  - The gpufleet authors (@gpufleet)
attributes:
  check_mode:
    description: Says what would change, and asks Compute for nothing that writes.
    support: full
  diff_mode:
    description: Shows the changed keys of the resource before and after.
    support: full
options:
  region:
    description: Region of the policy.
    type: str
    required: true
  name:
    description: Name of the policy.
    type: str
    required: true
  kind:
    description: V(placement) for machines that are made one by one, V(workload) for managed instance groups.
    type: str
    choices: [placement, workload]
    default: placement
  topology:
    description: Shape of the domain.
    type: str
    default: 1x72
  state:
    description: Whether it is there.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Make the policy of domain a
  gpufleet.cluster.gce_placement_policy:
    project: my-project
    region: us-east1
    name: fleet-domain-a
  delegate_to: localhost
"""

RETURN = r"""
resource:
  description: The resource as Compute describes it, null when there is none.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.gce.module import argument_spec, manner, run
from ..module_utils.gce.state import Wanted, bring


def main() -> None:
    module = AnsibleModule(
        argument_spec(
            region={"type": "str", "required": True},
            name={"type": "str", "required": True},
            kind={"type": "str", "choices": ["placement", "workload"], "default": "placement"},
            topology={"type": "str", "default": "1x72"},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        ),
        supports_check_mode=True,
    )
    params = module.params
    policies = {
        "placement": {"groupPlacementPolicy": {"collocation": "COLLOCATED", "gpuTopology": params["topology"]}},
        "workload": {"workloadPolicy": {"type": "HIGH_THROUGHPUT", "acceleratorTopology": params["topology"]}},
    }
    body = {"name": params["name"], **policies[params["kind"]]}
    wanted = Wanted(
        "projects/%s/regions/%s/resourcePolicies/%s" % (params["project"], params["region"], params["name"]), body
    )
    run(module, lambda compute: bring(compute, wanted, params["state"] == "present", manner(module)).as_dict())


if __name__ == "__main__":
    main()
