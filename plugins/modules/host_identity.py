#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set the host name and the cluster's names in /etc/hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_identity
short_description: Set the host name and the cluster's names in /etc/hosts
version_added: 0.1.0
author: The gpufleet authors (@gpufleet)
description:
  - Sets the host name, static and live, and keeps cloud-init from setting another one at the next boot.
  - Writes a block with the given names into C(/etc/hosts). Other lines stay as they are, except for a loopback line
    that names one of these
    hosts (installers write C(127.0.1.1 HOSTNAME)), which is commented out.
options:
  hostname:
    description: The name; lower-case letters, digits and C(-), up to 63 characters a label and 64 in all.
    type: str
    required: true
  entries:
    description: The names to know. With an empty list there is no block.
    type: list
    elements: dict
    default: []
    suboptions:
      address:
        description: An IP address.
        type: str
        required: true
      names:
        description: Host names of this address.
        type: list
        elements: str
        required: true
attributes:
  check_mode:
    description: Tells what would change, and changes nothing.
    support: full
  diff_mode:
    description: Shows names and C(/etc/hosts) before and after.
    support: full
"""

EXAMPLES = r"""
- name: Name the machine
  gpufleet.cluster.host_identity:
    hostname: train-node-01
    entries:
      - {address: 10.0.1.11, names: [train-node-01]}
      - {address: 10.0.1.12, names: [train-node-02]}
"""

RETURN = r"""
hostname:
  description: The name that the machine has now (in check mode, would have).
  returned: success
  type: str
  sample: train-node-01
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.host.files import Root
from ..module_utils.host.identity import host_entries
from ..module_utils.host.identity_state import apply_identity, desired_identity, read_identity


def main() -> None:
    entry = {
        "address": {"type": "str", "required": True},
        "names": {"type": "list", "elements": "str", "required": True},
    }
    module = AnsibleModule(
        argument_spec={
            "hostname": {"type": "str", "required": True},
            "entries": {"type": "list", "elements": "dict", "default": [], "options": entry},
        },
        supports_check_mode=True,
    )
    root = Root()
    try:
        current = read_identity(root)
        desired = desired_identity(current, module.params["hostname"], host_entries(module.params["entries"]))
        changed = current != desired
        if changed and not module.check_mode:
            apply_identity(root, current, desired)
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(
        changed=changed,
        hostname=desired.static,
        diff={"before": current.describe(), "after": desired.describe()},
    )


if __name__ == "__main__":
    main()
