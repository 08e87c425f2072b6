#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_subnet
short_description: A subnetwork on GCE
version_added: 0.1.0
description:
  - Makes a subnetwork of a network in custom subnet mode. Secondary ranges can be changed later; nothing else can.
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
    description: Region of the subnetwork.
    type: str
    required: true
  name:
    description: Name of the subnetwork.
    type: str
    required: true
  network:
    description: Name or path of its network. Needed to make it.
    type: str
  cidr:
    description: Primary range. Needed to make it.
    type: str
  secondary_ranges:
    description: Further ranges by name, such as the one of the pods.
    type: dict
    default: {}
  private_google_access:
    description: Let machines without an external address reach Google's services.
    type: bool
    default: true
  state:
    description: Whether it is there.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Make the subnetwork of the first rail
  gpufleet.cluster.gce_subnet:
    project: my-project
    region: us-east1
    name: fleet-rdma-0
    network: fleet-rdma
    cidr: 10.20.0.0/16
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
            region={"type": "str", "required": True},
            name={"type": "str", "required": True},
            network={"type": "str"},
            cidr={"type": "str"},
            secondary_ranges={"type": "dict", "default": {}},
            private_google_access={"type": "bool", "default": True},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        ),
        supports_check_mode=True,
        required_if=[("state", "present", ("network", "cidr"))],
    )
    params = module.params
    ranges = [{"rangeName": name, "ipCidrRange": cidr} for name, cidr in sorted(params["secondary_ranges"].items())]
    body = {
        "name": params["name"],
        "network": resolve(params["network"] or "", params["project"], "global/networks"),
        "ipCidrRange": params["cidr"],
        "secondaryIpRanges": ranges,
        "privateIpGoogleAccess": params["private_google_access"],
    }
    wanted = Wanted(
        "projects/%s/regions/%s/subnetworks/%s" % (params["project"], params["region"], params["name"]),
        body,
        patchable=frozenset({"secondaryIpRanges"}),
    )
    run(module, lambda compute: bring(compute, wanted, params["state"] == "present", manner(module)).as_dict())


if __name__ == "__main__":
    main()
