#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Load kernel modules, now and at each boot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_modules
short_description: Load kernel modules, now and at each boot
version_added: 0.1.0
author: The gpufleet authors (@gpufleet)
description:
  - Writes the names to C(/etc/modules-load.d/gpufleet.conf) and loads those that are neither loaded nor built into
    the kernel.
options:
  names:
    description: Names of the modules. Those that are not listed any more stay loaded until the next boot.
    type: list
    elements: str
    required: true
attributes:
  check_mode:
    description: Tells what would change, and changes nothing.
    support: full
  diff_mode:
    description: Shows the file and the loaded modules before and after.
    support: full
"""

EXAMPLES = r"""
- name: Load what Kubernetes needs
  gpufleet.cluster.kernel_modules:
    names: [overlay, br_netfilter]
"""

RETURN = r"""
loaded:
  description: Those of the wanted modules that are in the kernel now (in check mode, would be).
  returned: success
  type: list
  elements: str
  sample: [overlay, br_netfilter]
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.host.files import Root
from ..module_utils.host.kernel_modules import ModulesState, load_modules, read_modules, render_modules
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={"names": {"type": "list", "elements": "str", "required": True}},
        supports_check_mode=True,
    )
    root = Root()
    names = module.params["names"]
    try:
        desired = ModulesState(loaded=tuple(names), text=render_modules(names))
        current = read_modules(root, platform.release(), names)
        changed = current != desired
        if changed and not module.check_mode:
            load_modules(root, ModuleRunner(module), current, desired)
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(
        changed=changed,
        loaded=list(desired.loaded),
        diff={"before": current.describe(), "after": desired.describe()},
    )


if __name__ == "__main__":
    main()
