#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_machine_image
short_description: A bootable image on GCE, from a disk or a snapshot
version_added: 0.1.0
description:
  - Makes an image with the guest OS features that the machines need. An image does not change; a new build has a new
    name, and O(family) points to the newest.
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
    description: Name of the image.
    type: str
    required: true
  disk:
    description: Path of the disk to take, such as C(zones/us-east1-d/disks/builder-root), or its URL.
    type: str
  snapshot:
    description: Name or path of the snapshot to take.
    type: str
  family:
    description: Image family.
    type: str
  architecture:
    description: Architecture of what is on it. A4X workers are V(ARM64).
    type: str
    choices: [ARM64, X86_64]
    default: ARM64
  guest_os_features:
    description: What the system on it can do.
    type: list
    elements: str
    default: [UEFI_COMPATIBLE, GVNIC, IDPF]
  storage_location:
    description: Region or multi-region that the image is stored in, such as V(us). Compute chooses by default.
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
- name: Make the image of the workers
  gpufleet.cluster.gce_machine_image:
    project: my-project
    name: fleet-arm64-v2
    family: fleet-arm64
    disk: zones/us-east1-d/disks/builder-root
  delegate_to: localhost
"""

RETURN = r"""
resource:
  description: The resource as Compute describes it, null when there is none.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.gce.client import below_v1
from ..module_utils.gce.module import argument_spec, manner, run
from ..module_utils.gce.state import Wanted, bring, resolve

FEATURES = ("UEFI_COMPATIBLE", "GVNIC", "IDPF")


def main() -> None:
    module = AnsibleModule(
        argument_spec(
            name={"type": "str", "required": True},
            disk={"type": "str"},
            snapshot={"type": "str"},
            family={"type": "str"},
            architecture={"type": "str", "choices": ["ARM64", "X86_64"], "default": "ARM64"},
            guest_os_features={"type": "list", "elements": "str", "default": list(FEATURES)},
            storage_location={"type": "str"},
            labels={"type": "dict", "default": {}},
            state={"type": "str", "choices": ["present", "absent"], "default": "present"},
        ),
        supports_check_mode=True,
        required_if=[("state", "present", ("disk", "snapshot"), True)],
        mutually_exclusive=[("disk", "snapshot")],
    )
    params = module.params
    body = {
        "name": params["name"],
        "architecture": params["architecture"],
        "guestOsFeatures": [{"type": feature} for feature in params["guest_os_features"]],
        "labels": {str(key): str(value) for key, value in params["labels"].items()},
    }
    if params["family"]:
        body["family"] = params["family"]
    if params["storage_location"]:
        body["storageLocations"] = [params["storage_location"]]
    if params["disk"]:
        path = below_v1(params["disk"])
        body["sourceDisk"] = path if path.startswith("projects/") else "projects/%s/%s" % (params["project"], path)
    if params["snapshot"]:
        body["sourceSnapshot"] = resolve(params["snapshot"], params["project"], "global/snapshots")
    wanted = Wanted(
        "projects/%s/global/images/%s" % (params["project"], params["name"]),
        body,
        verbs=(("labels", "setLabels"),),
        only_at_creation=frozenset({"name", "sourceDisk", "sourceSnapshot"}),
    )
    run(module, lambda compute: bring(compute, wanted, params["state"] == "present", manner(module)).as_dict())


if __name__ == "__main__":
    main()
