#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hold packages at their installed version."""

from __future__ import annotations

DOCUMENTATION = r"""
module: package_hold
short_description: Hold packages at their installed version
version_added: 0.1.0
author: The gpufleet authors (@gpufleet)
description:
  - Holds all the named packages in one call, by apt's holds or dnf's version locks, so that an upgrade does not touch
    them. Other holds stay.
  - dnf needs the package C(python3-dnf-plugin-versionlock).
options:
  names:
    description: Names of installed packages.
    type: list
    elements: str
    required: true
  manager:
    description: The package manager.
    type: str
    choices: [apt, dnf]
    required: true
attributes:
  check_mode:
    description: Tells what would change, and changes nothing. If the list of holds cannot be read yet, all count as
      missing.
    support: full
  diff_mode:
    description: Shows the holds before and after.
    support: full
"""

EXAMPLES = r"""
- name: Hold Kubernetes
  gpufleet.cluster.package_hold:
    names: [kubelet, kubeadm, kubectl]
    manager: apt
"""

RETURN = r"""
held:
  description: All held packages (in check mode, as they would be).
  returned: success
  type: list
  elements: str
  sample: [kubeadm, kubectl, kubelet]
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError, MeasureError
from ..module_utils.host.holds import MANAGERS, hold_packages, read_holds
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "manager": {"type": "str", "choices": list(MANAGERS), "required": True},
        },
        supports_check_mode=True,
    )
    runner = ModuleRunner(module)
    names, manager = module.params["names"], module.params["manager"]
    current = set()
    try:
        current = read_holds(runner, manager)
    except MeasureError as exc:
        # On a fresh machine the plugin is among the packages that check mode did not install.
        if not module.check_mode:
            module.fail_json(msg=str(exc))
        module.warn(str(exc))
    desired = current | set(names)
    if current != desired and not module.check_mode:
        try:
            hold_packages(runner, manager, sorted(desired - current))
        except ClusterError as exc:
            module.fail_json(msg=str(exc))
    module.exit_json(
        changed=current != desired,
        held=sorted(desired),
        diff={
            "before": "".join(n + "\n" for n in sorted(current)),
            "after": "".join(n + "\n" for n in sorted(desired)),
        },
    )


if __name__ == "__main__":
    main()
