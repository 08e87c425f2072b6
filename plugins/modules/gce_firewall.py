#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_firewall
short_description: A firewall rule on GCE
version_added: 0.1.0
description:
  - Makes a rule that lets traffic in.
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
    description: Name of the rule.
    type: str
    required: true
  network:
    description: Name or path of its network. Needed to make it.
    type: str
  source_ranges:
    description: CIDRs that the traffic comes from, such as V(35.235.240.0/20) for SSH through IAP.
    type: list
    elements: str
    default: []
  allowed:
    description: What is let in. Needed to make it.
    type: list
    elements: dict
    suboptions:
      protocol:
        description: Name of the protocol, or V(all).
        type: str
        required: true
      ports:
        description: Ports or ranges. Empty lets in all.
        type: list
        elements: str
        default: []
  target_tags:
    description: Network tags of the machines that it is for. Empty is for all of the network.
    type: list
    elements: str
    default: []
  priority:
    description: Lower numbers win.
    type: int
    default: 1000
  state:
    description: Whether it is there.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Let in SSH through IAP
  gpufleet.cluster.gce_firewall:
    project: my-project
    name: fleet-ssh-iap
    network: fleet-gvnic-0
    source_ranges: [35.235.240.0/20]
    allowed:
      - protocol: tcp
        ports: ["22"]
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
    allowed = {
        "protocol": {"type": "str", "required": True},
        "ports": {"type": "list", "elements": "str", "default": []},
    }
    module = AnsibleModule(
        argument_spec(
            name={"type": "str", "required": True},
            network={"type": "str"},
            source_ranges={"type": "list", "elements": "str", "default": []},
            allowed={"type": "list", "elements": "dict", "options": allowed},
            target_tags={"type": "list", "elements": "str", "default": []},
            priority={"type": "int", "default": 1000},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        ),
        supports_check_mode=True,
        required_if=[("state", "present", ("network", "allowed", "source_ranges"))],
    )
    params = module.params
    rules = [
        {"IPProtocol": rule["protocol"], **({"ports": rule["ports"]} if rule["ports"] else {})}
        for rule in params["allowed"] or []
    ]
    body = {
        "name": params["name"],
        "network": resolve(params["network"] or "", params["project"], "global/networks"),
        "direction": "INGRESS",
        "priority": params["priority"],
        "sourceRanges": params["source_ranges"],
        "targetTags": params["target_tags"],
        "allowed": rules,
    }
    wanted = Wanted(
        "projects/%s/global/firewalls/%s" % (params["project"], params["name"]),
        body,
        patchable=frozenset({"priority", "sourceRanges", "targetTags", "allowed"}),
    )
    run(module, lambda compute: bring(compute, wanted, params["state"] == "present", manner(module)).as_dict())


if __name__ == "__main__":
    main()
