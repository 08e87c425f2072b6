#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_network
short_description: A VPC network on GCE, also one for RDMA
version_added: 0.1.0
description:
  - Makes a network in custom subnet mode, with a network profile where one is named.
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
  name:
    description: Name of the network.
    type: str
    required: true
  mtu:
    description: MTU in bytes. A4X networks take 8896.
    type: int
    default: 8896
  network_profile:
    description: Name of a network profile, such as C(us-east1-d-vpc-roce) for the RDMA network of that zone.
    type: str
  state:
    description: Whether it is there.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Make the network of the RDMA rails
  gpufleet.cluster.gce_network:
    project: my-project
    name: fleet-rdma
    network_profile: us-east1-d-vpc-roce
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
from ..module_utils.gce.state import Wanted, bring, resolve


def main() -> None:
    module = AnsibleModule(
        argument_spec(
            name={"type": "str", "required": True},
            mtu={"type": "int", "default": 8896},
            network_profile={"type": "str"},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        ),
        supports_check_mode=True,
    )
    params = module.params
    body = {"name": params["name"], "autoCreateSubnetworks": False, "mtu": params["mtu"]}
    if params["network_profile"]:
        body["networkProfile"] = resolve(params["network_profile"], params["project"], "global/networkProfiles")
    wanted = Wanted(
        "projects/%s/global/networks/%s" % (params["project"], params["name"]), body, patchable=frozenset({"mtu"})
    )
    run(module, lambda compute: bring(compute, wanted, params["state"] == "present", manner(module)).as_dict())


if __name__ == "__main__":
    main()
