#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set resource limits for sessions and services."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_limits
short_description: Set resource limits for sessions and services
version_added: 0.1.0
author: The gpufleet authors (@gpufleet)
description:
  - Writes one list of limits for sessions (C(/etc/security/limits.d/90-gpufleet.conf), for all users and root) and as
    systemd's defaults for
    services (C(/etc/systemd/system.conf.d/90-gpufleet.conf)), which do not read the first.
  - Sizes are in KiB, as in limits.conf(5). Services that run already keep their limits until they are restarted.
options:
  limits:
    description: The limits.
    type: list
    elements: dict
    required: true
    suboptions:
      item:
        description: What is limited.
        type: str
        choices: [core, memlock, nofile, nproc, stack]
        required: true
      soft:
        description: The limit that a process starts with; a number or V(unlimited).
        type: str
        required: true
      hard:
        description: What it can be raised to; a number or V(unlimited).
        type: str
        required: true
attributes:
  check_mode:
    description: Tells what would change, and changes nothing.
    support: full
  diff_mode:
    description: Shows files and the limits of the service manager before and after.
    support: full
"""

EXAMPLES = r"""
- name: Let RDMA pin memory
  gpufleet.cluster.host_limits:
    limits:
      - {item: memlock, soft: unlimited, hard: unlimited}
      - {item: nofile, soft: 1048576, hard: 1048576}
"""

RETURN = r"""
manager:
  description: The defaults of systemd for services now (in check mode, as they would be); null where systemd does not
    run.
  returned: success
  type: dict
  sample: {DefaultLimitMEMLOCK: infinity, DefaultLimitMEMLOCKSoft: infinity}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.host.files import Root
from ..module_utils.host.limits import LIMIT_ITEMS, apply_limits, desired_limits, parse_limits, read_limits
from ..module_utils.runner import ModuleRunner


def main() -> None:
    limit = {
        "item": {"type": "str", "choices": sorted(LIMIT_ITEMS), "required": True},
        "soft": {"type": "str", "required": True},
        "hard": {"type": "str", "required": True},
    }
    module = AnsibleModule(
        argument_spec={"limits": {"type": "list", "elements": "dict", "required": True, "options": limit}},
        supports_check_mode=True,
    )
    root, runner = Root(), ModuleRunner(module)
    try:
        limits = parse_limits(module.params["limits"])
        current = read_limits(root, runner, limits)
        desired = desired_limits(current, limits)
        changed = current != desired
        if changed and not module.check_mode:
            apply_limits(root, runner, limits, current, desired)
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(
        changed=changed,
        manager=desired.manager,
        diff={"before": current.describe(), "after": desired.describe()},
    )


if __name__ == "__main__":
    main()
