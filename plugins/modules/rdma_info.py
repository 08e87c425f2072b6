#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_info
short_description: Read the RDMA devices of a host
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Reads devices, ports, states, rates, link layers, firmware, PCI address, NUMA node, network devices and the GID
    table from sysfs. No tool needs to be installed, and nothing is changed.
  - The active MTU of a port is not in sysfs. It comes from C(ibv_devinfo) where that is installed.
  - Judges nothing. M(gpufleet.cluster.check_rdma) does, with what is measured.
attributes:
  check_mode:
    description: Runs the same in check mode, as it only reads.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Read the RDMA devices
  gpufleet.cluster.rdma_info:
  register: rdma
"""

RETURN = r"""
devices:
  description: The RDMA devices by name. A value that the kernel does not tell is null.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Name of the device., type: str, sample: mlx5_0}
    firmware: {description: Version of the firmware., type: str, sample: 28.43.2026}
    board: {description: Board id., type: str, sample: MT_0000000838}
    node_guid: {description: GUID of the node., type: str}
    pci: {description: PCI address., type: str, sample: "0000:3b:00.0"}
    numa_node: {description: NUMA node; null where there is none., type: int}
    cpus: {description: CPUs of that node; null where there is only one node., type: str, sample: 0-71}
    netdevs: {description: Network devices behind it., type: list, elements: str}
    ports:
      description: Port, state, physical_state, rate_gbps, link_layer, active_mtu, and gids (index, gid, type, netdev).
      type: list
      elements: dict
unread:
  description: Reason by tool, for each that could not be read.
  returned: success
  type: dict
  sample: {ibv_devinfo: "ibv_devinfo: not installed"}
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.rdma.info import read_rdma
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    module.exit_json(changed=False, **read_rdma(ModuleRunner(module)))


if __name__ == "__main__":
    main()
