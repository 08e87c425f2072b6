#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_disk
short_description: A Hyperdisk on GCE
version_added: 0.1.0
description:
  - Makes a disk, empty or from an image or a snapshot. Its size can grow and its labels change; nothing else can.
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
  zone:
    description: Zone of the disk.
    type: str
    required: true
  name:
    description: Name of the disk.
    type: str
    required: true
  size_gb:
    description: Size in GB. Needed to make it.
    type: int
  type:
    description: Type of the disk. A4X machines take Hyperdisk only.
    type: str
    default: hyperdisk-balanced
  image:
    description: Name or path of the image to start from.
    type: str
  snapshot:
    description: Name or path of the snapshot to start from.
    type: str
  labels:
    description: All labels; others are taken away.
    type: dict
    default: {}
  state:
    description: Whether it is there.
    type: str
    choices: [present, absent]
    default: present
"""

EXAMPLES = r"""
- name: Make the second disk of the image builder
  gpufleet.cluster.gce_disk:
    project: my-project
    zone: us-east1-d
    name: builder-root
    size_gb: 50
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
            zone={"type": "str", "required": True},
            name={"type": "str", "required": True},
            size_gb={"type": "int"},
            type={"type": "str", "default": "hyperdisk-balanced"},
            image={"type": "str"},
            snapshot={"type": "str"},
            labels={"type": "dict", "default": {}},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        ),
        supports_check_mode=True,
        required_if=[("state", "present", ("size_gb",))],
        mutually_exclusive=[("image", "snapshot")],
    )
    params = module.params
    project, zone = params["project"], params["zone"]
    body = {
        "name": params["name"],
        "sizeGb": str(params["size_gb"]),
        "type": resolve(params["type"], project, "zones/%s/diskTypes" % zone),
        "labels": {str(key): str(value) for key, value in params["labels"].items()},
    }
    if params["image"]:
        body["sourceImage"] = resolve(params["image"], project, "global/images")
    if params["snapshot"]:
        body["sourceSnapshot"] = resolve(params["snapshot"], project, "global/snapshots")
    wanted = Wanted(
        "projects/%s/zones/%s/disks/%s" % (project, zone, params["name"]),
        body,
        verbs=(("sizeGb", "resize"), ("labels", "setLabels")),
    )
    run(module, lambda compute: bring(compute, wanted, params["state"] == "present", manner(module)).as_dict())


if __name__ == "__main__":
    main()
