#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_info
short_description: Read what the NVIDIA driver and the kernel tell about a machine's GPUs
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Runs C(nvidia-smi) (C(--query-gpu), C(--query-remapped-rows), C(-q) for the fabric, C(topo -m), C(nvlink -s) and
    C(nvlink -e)), and reads PCIe error counters from sysfs and Xid from the kernel's log.
  - Judges nothing. A part that cannot be read has its reason in RV(unread), and the module does not fail for it.
  - A field of C(--query-gpu) that the driver does not know is left out, and named in RV(not_offered).
  - The result serves as O(gpufleet.cluster.check_gpu#module:before), to tell what the counters did during a run.
options:
  parts:
    description: What to read. The difference over a run needs V(query), V(nvlink_errors) and V(aer).
    type: list
    elements: str
    choices: [query, remapped_rows, fabric, topology, nvlink, nvlink_errors, aer, kernel_log]
    default: [query, remapped_rows, fabric, topology, nvlink, nvlink_errors, aer, kernel_log]
  timeout:
    description:
      - Seconds that a command may take. One that takes longer is ended with all that it started, and nvidia-smi is not
        tried again in the same call.
    type: float
    default: 60
notes:
  - The kernel's log needs root.
attributes:
  check_mode:
    description: Runs the same in check mode, as it only reads.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Read the GPUs' counters before the load
  gpufleet.cluster.gpu_info:
    parts: [query, nvlink_errors, aer]
  register: gpu_before
"""

RETURN = r"""
gpus:
  description: A mapping for each GPU, with the fields of C(--query-gpu) as keys; null where nvidia-smi says N/A.
  returned: success
  type: list
  elements: dict
lost:
  description: GPUs that are lost or answer with an error.
  returned: success
  type: list
  elements: str
smi_warnings:
  description: What nvidia-smi warns of (a corrupted InfoROM).
  returned: success
  type: list
  elements: str
fabric:
  description: State, status, clique, cluster UUID and health of each GPU; null if not read.
  returned: success
  type: list
  elements: dict
topology:
  description: C(gpu_links) (pair of GPUs to link), C(closest_nic), C(nics), C(numa), C(cpu_affinity); null if not read.
  returned: success
  type: dict
nvlink:
  description: For each GPU the number of links C(up), the numbers of those C(down), and speeds; null if not read.
  returned: success
  type: list
  elements: dict
nvlink_errors:
  description: Error counters by C(GPU/link/name); null if not read.
  returned: success
  type: dict
  sample: {"0/17/CRC Errors": 0}
aer:
  description: PCIe errors (C(correctable), C(nonfatal), C(fatal)) since boot by address; null if not read.
  returned: success
  type: dict
  sample: {"0000:1b:00.0": {"correctable": 3, "nonfatal": 0, "fatal": 0}}
kernel_log:
  description: Where it was read from, whether it begins with the boot, and its Xid and SXid; null if not read.
  returned: success
  type: dict
counters:
  description: All that only grows while the driver is loaded, flat, for a difference between two readings.
  returned: success
  type: dict
at:
  description: Seconds since 1970.
  returned: success
  type: float
boot_id:
  description: Changes with each boot.
  returned: success
  type: str
not_offered:
  description: Fields that this driver does not have.
  returned: success
  type: list
  elements: str
unread:
  description: Reason by part, for each part that could not be read.
  returned: success
  type: dict
  sample: {"query": "nvidia-smi: not installed"}
commands:
  description: What was run.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.gpu.reading import PARTS, read_gpus
from ..module_utils.host.files import Root
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "parts": {"type": "list", "elements": "str", "choices": list(PARTS), "default": list(PARTS)},
            "timeout": {"type": "float", "default": 60},
        },
        supports_check_mode=True,
    )
    reading = read_gpus(Root(), ModuleRunner(module), module.params["parts"], module.params["timeout"])
    # "warnings" of a result are Ansible's own: it would print them.
    warnings = reading.pop("warnings")
    module.exit_json(changed=False, smi_warnings=warnings, **reading)


if __name__ == "__main__":
    main()
