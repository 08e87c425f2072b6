#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turn swap off, now and after each boot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: swap_off
short_description: Turn swap off, now and after each boot
version_added: 0.1.0
author: The gpufleet authors (@gpufleet)
description:
  - Comments out swap entries of C(/etc/fstab) (all else stays byte for byte), masks C(swap.target) and each swap unit
    (so a partition that systemd finds by itself is not used either), switches zram-generator off, masks the services of
    swap makers, and turns active swap off.
  - Nothing is deleted. A file that has to go is kept beside its place with the suffix C(.gpufleet-disabled).
notes:
  - Memory that is swapped out has to fit into RAM. If it does not, the module fails, and swap will be gone after a
    reboot.
  - In a container active swap is the host's, and stays.
attributes:
  check_mode:
    description: Tells what would change, and changes nothing.
    support: full
  diff_mode:
    description: Shows each source of swap before and after.
    support: full
"""

EXAMPLES = r"""
- name: Turn swap off
  gpufleet.cluster.swap_off:
"""

RETURN = r"""
before:
  description: What gave the machine swap.
  returned: success
  type: dict
  sample: {active: [/dev/vda3], fstab: ["UUID=3f1c none swap sw 0 0"], units: [swap.target], zram: []}
"""

from dataclasses import asdict

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.host.files import Root
from ..module_utils.host.swap import SwapState, read_swap, turn_swap_off
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    root = Root()
    current = read_swap(root)
    changed = not current.off
    if changed and not module.check_mode:
        try:
            turn_swap_off(root, ModuleRunner(module), current)
        except ClusterError as exc:
            module.fail_json(msg=str(exc))
        left = read_swap(root)
        if not left.off:
            module.fail_json(msg="turn swap off: still there are\n" + left.describe())
    module.exit_json(
        changed=changed,
        before=asdict(current),
        diff={"before": current.describe(), "after": SwapState().describe()},
    )


if __name__ == "__main__":
    main()
