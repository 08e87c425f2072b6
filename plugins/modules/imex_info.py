#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: imex_info
short_description: Read what a machine shows of NVIDIA IMEX
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - State of the service, list of nodes, IMEX channels, and the domain as C(nvidia-imex-ctl -N -j) shows it (C(-N) where
    the tool has no C(-j)).
  - Judges nothing. A part that cannot be read has its reason in RV(unread), and the module does not fail for it.
options:
  config:
    description: Configuration of the daemon, which names the list of nodes.
    type: path
    default: /etc/nvidia-imex/config.cfg
  timeout:
    description: Seconds that a command may take.
    type: float
    default: 30
attributes:
  check_mode:
    description: Runs the same in check mode, as it only reads.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Read the state of IMEX
  gpufleet.cluster.imex_info:
  register: imex
"""

RETURN = r"""
service:
  description: C(LoadState), C(ActiveState) and C(UnitFileState) of C(nvidia-imex.service); null if not read.
  returned: success
  type: dict
  sample: {LoadState: loaded, ActiveState: active, UnitFileState: enabled}
nodes_config_file:
  description: The list of nodes that the configuration names.
  returned: success
  type: str
  sample: /etc/nvidia-imex/nodes_config.cfg
nodes_config:
  description: The addresses in it, in order; null if there is none.
  returned: success
  type: list
  elements: str
channel_major:
  description: Major number of C(nvidia-caps-imex-channels); null if the driver has none.
  returned: success
  type: int
channels:
  description: Names below C(/dev/nvidia-caps-imex-channels).
  returned: success
  type: list
  elements: str
  sample: [channel0]
domain:
  description: C(state), C(nodes) (each with C(index), C(address), C(state), C(version)) and C(not_connected); null if
    not read.
  returned: success
  type: dict
unread:
  description: Reason by part, for each part that could not be read.
  returned: success
  type: dict
  sample: {domain: "nvidia-imex-ctl: not installed"}
commands:
  description: What was run.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host.files import Root
from ..module_utils.imex.reading import CONFIG, read_imex
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "config": {"type": "path", "default": CONFIG},
            "timeout": {"type": "float", "default": 30},
        },
        supports_check_mode=True,
    )
    params = module.params
    reading = read_imex(Root(), ModuleRunner(module), params["timeout"], params["config"])
    module.exit_json(changed=False, **reading)


if __name__ == "__main__":
    main()
