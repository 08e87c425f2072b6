#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read what a machine is."""

from __future__ import annotations

DOCUMENTATION = r"""
module: host_info
short_description: Read what a machine is, in one task
version_added: 0.1.0
author: The gpufleet authors (@gpufleet)
description:
  - Operating system and its family, package manager, kernel, architecture, memory, free disk space, Python,
    virtualization, cgroup version,
    boot id and host names. Reads only.
  - The family is decided by C(ID) of C(/etc/os-release), so it is right on TencentOS and OpenCloudOS, too, where the
    fact C(os_family)
    differs from release to release. A system that is not supported fails with its name and the supported ones.
options:
  paths:
    description: Directories whose free space is read. For one that does not exist yet, its nearest existing parent
      counts.
    type: list
    elements: path
    default: [/]
attributes:
  check_mode:
    description: Changes nothing, so it runs in check mode, too.
    support: full
  diff_mode:
    description: There is no difference to show.
    support: none
"""

EXAMPLES = r"""
- name: Read the machine
  gpufleet.cluster.host_info:
    paths: [/, /var/lib/containerd]
  register: machine

- name: Load the variables of the family
  ansible.builtin.include_vars:
    file: "{{ machine.host.os.family }}.yml"
"""

RETURN = r"""
host:
  description: What was read.
  returned: success
  type: dict
  sample:
    os: {id: rocky, version: "9.4", name: "Rocky Linux 9.4 (Blue Onyx)", family: el, package_manager: dnf}
    package_manager_binding: true
    kernel: 5.14.0-427.el9.x86_64
    architecture: x86_64
    memory_mib: 515000
    cpus: 128
    disk_free_mib: {/: 41000}
    python: 3.9.18
    virtualization: none
    cgroup_version: 2
    boot_id: 4f3d1b2a-8f2e-4a55-9a0c-0a5b1a5d8d7e
    hostname: train-node-01
    static_hostname: train-node-01
    selinux: true
    firewall: firewalld
"""

from dataclasses import asdict

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.host.files import Root
from ..module_utils.host.info import read_host_info
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={"paths": {"type": "list", "elements": "path", "default": ["/"]}},
        supports_check_mode=True,
    )
    try:
        info = read_host_info(Root(), ModuleRunner(module), module.params["paths"])
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(changed=False, host=asdict(info))


if __name__ == "__main__":
    main()
