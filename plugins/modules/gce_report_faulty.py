#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_report_faulty
short_description: Report a faulty GPU host or NVL72 sub-block to Google
version_added: 0.1.0
description:
  - Sends one report, and none when the machine is in a state that Google refuses, when the account lacks the
    permission, or when a report of it runs or has just ended.
  - The machine stops. For A4X no spare host moves in; the repair takes 3 to 14 days and the same host comes back, so it
    must be proven again. Data on local SSD is lost.
extends_documentation_fragment:
  - gpufleet.cluster.gce
  - gpufleet.cluster.gce.module
author:
  - The gpufleet authors (@gpufleet)
attributes:
  check_mode:
    description: Checks everything and sends no report.
    support: full
  diff_mode:
    description: A report is not a state, so there is nothing to compare.
    support: none
options:
  zone:
    description: Zone of the machine or reservation.
    type: str
    required: true
  instance:
    description: Machine whose host is faulty.
    type: str
  sub_block:
    description: Sub-block that is faulty.
    type: dict
    suboptions:
      reservation:
        description: Name of the reservation.
        type: str
        required: true
      block:
        description: Name of the reservation block.
        type: str
        required: true
      name:
        description: Name of the sub-block.
        type: str
        required: true
      component:
        description: What failed.
        type: str
        choices: [NVLINK_SWITCH, MULTIPLE_FAULTY_HOSTS]
        required: true
  behavior:
    description:
      - What was seen.
      - For O(instance) one of V(PERFORMANCE), V(SILENT_DATA_CORRUPTION), V(UNRECOVERABLE_GPU_ERROR) and V(CHIP_ERROR).
      - For O(sub_block) one of V(GPU_ERROR), V(NVSWITCH_FAULT_CONTROLLER_ERROR), V(NVSWITCH_FAULT_DEGRADED_BANDWIDTH),
        V(NVSWITCH_FAULT_SWITCH_ERROR), V(PERFORMANCE), V(SILENT_DATA_CORRUPTION) and V(SWITCH_FAILURE).
    type: str
    required: true
  description:
    description: The evidence in words, such as the XID and when it was seen.
    type: str
    required: true
  confirm:
    description: Must be V(true) for the report to be sent.
    type: bool
    default: false
  wait:
    description: Wait for the operation (10 to 12 minutes) up to O(wait_timeout).
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Report a host that shows XID 79
  gpufleet.cluster.gce_report_faulty:
    project: my-project
    zone: us-east1-d
    instance: a4x-a-03
    behavior: UNRECOVERABLE_GPU_ERROR
    description: XID 79 on GPU 2 at 2026-11-30 06:12 UTC
    confirm: true
  delegate_to: localhost
"""

RETURN = r"""
operation:
  description: The operation of this report, or of the earlier one.
  returned: when there is one
  type: dict
request_body:
  description: What was sent, or would be sent.
  returned: when a report is due
  type: dict
"""

from datetime import datetime, timezone
from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.gce.client import Compute
from ..module_utils.gce.faulty import COMPONENTS, HostTarget, SubBlockTarget, Target, report
from ..module_utils.gce.module import argument_spec, run
from ..module_utils.gce.state import Manner


def main() -> None:
    name = {"type": "str", "required": True}
    component = {"type": "str", "required": True, "choices": list(COMPONENTS)}
    module = AnsibleModule(
        argument_spec(
            zone={"type": "str", "required": True},
            instance={"type": "str"},
            sub_block={
                "type": "dict",
                "options": {"reservation": name, "block": name, "name": name, "component": component},
            },
            behavior={"type": "str", "required": True},
            description={"type": "str", "required": True},
            confirm={"type": "bool", "default": False},
            wait={"type": "bool", "default": False},
        ),
        supports_check_mode=True,
        required_one_of=[("instance", "sub_block")],
        mutually_exclusive=[("instance", "sub_block")],
    )
    params, part = module.params, module.params["sub_block"]
    where = (params["project"], params["zone"])
    target: Target = HostTarget(*where, params["instance"])
    if part:
        target = SubBlockTarget(*where, part["reservation"], part["block"], part["name"], part["component"])
    limit = params["wait_timeout"] if params["wait"] else 0.0
    manner = Manner(module.check_mode, limit, params["poll_interval"])
    now = datetime.now(timezone.utc)

    def work(compute: Compute) -> Dict[str, Any]:
        return report(
            compute,
            target,
            params["behavior"],
            params["description"],
            confirm=params["confirm"],
            now=now,
            manner=manner,
        )

    run(module, work)


if __name__ == "__main__":
    main()
