#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set sysctls so that they hold."""

from __future__ import annotations

DOCUMENTATION = r"""
module: sysctl_state
short_description: Set sysctls so that they hold
version_added: 0.1.0
author: The gpufleet authors (@gpufleet)
description:
  - Writes C(/etc/sysctl.d/90-gpufleet.conf), sets the running values through C(/proc/sys), and reads them back.
  - Then computes, by the precedence rules of sysctl.d(5), which value each key has after a boot, and after a C(sysctl
    --system) (which reads
    C(/etc/sysctl.conf) last). A line of another file that undoes one of ours is named with file and line.
options:
  sysctls:
    description: Values by key. Both spellings of a key will do (C(net.ipv4.ip_forward),
      C(net/ipv4/conf/eth0.30/forwarding)).
    type: dict
    required: true
  overrides:
    description:
      - What to do about other files that undo a value.
      - V(fail) changes nothing and names them. V(comment) comments out these lines; a file outside C(/etc) is not
        touched but replaced by
        a copy of the same name in C(/etc/sysctl.d). V(report) warns.
    type: str
    choices: [fail, comment, report]
    default: fail
attributes:
  check_mode:
    description: Tells what would change, and changes nothing. A key that the kernel does not know yet counts as a
      change.
    support: full
  diff_mode:
    description: Shows files and running values before and after.
    support: full
"""

EXAMPLES = r"""
- name: Set what Kubernetes needs
  gpufleet.cluster.sysctl_state:
    sysctls:
      net.ipv4.ip_forward: 1
      net.bridge.bridge-nf-call-iptables: 1
    overrides: comment
"""

RETURN = r"""
overrides:
  description: Lines of other files that undo a value, in words.
  returned: success
  type: list
  elements: str
  sample: ["net.ipv4.ip_forward = 1 is overridden with 0 by /etc/sysctl.conf line 28 (read by sysctl --system)"]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.host.files import Root
from ..module_utils.host.sysctl import wanted_paths
from ..module_utils.host.sysctl_state import OVERRIDES, apply_sysctls, plan_sysctls


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "sysctls": {"type": "dict", "required": True},
            "overrides": {"type": "str", "choices": list(OVERRIDES), "default": "fail"},
        },
        supports_check_mode=True,
    )
    root = Root()
    try:
        plan = plan_sysctls(root, wanted_paths(module.params["sysctls"]), module.params["overrides"])
        diff = plan.diff(root)
        if plan.changed and not module.check_mode:
            apply_sysctls(root, plan)
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    overrides = [str(override) for override in plan.overrides]
    if module.params["overrides"] == "report":
        for override in overrides:
            module.warn(override)
    module.exit_json(changed=plan.changed, overrides=overrides, diff=diff)


if __name__ == "__main__":
    main()
