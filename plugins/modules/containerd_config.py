#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: containerd_config
short_description: Configure containerd for Kubernetes on GPU machines, and see that it really loads it
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Writes C(/etc/containerd/config.toml) as a whole, in the format of the installed release. 1.7 reads version 2, 2.0
    to 2.2 version 3, 2.3 and later version 4. A file that was there before is kept as C(config.toml.gpufleet-before).
  - Writes C(hosts.toml) for registries with mirrors, and removes those that it wrote once and that are not wanted any
    more.
  - What counts is what containerd loads. The text and all drop-ins together go through C(containerd config dump), and
    each setting must come out as wanted, before anything is changed, and again after writing.
  - Drop-ins stay as they are. One that is never read, that has another version, or that undoes a setting, is named.
  - All runtimes get C(SystemdCgroup), runc and those of O(runtimes).
  - Does not restart the daemon; RV(restart) tells whether one runs that has not read its files.
options:
  sandbox_image:
    description: The pause image, as kubeadm of the cluster's release names it (C(kubeadm config images list)).
    type: str
    required: true
  root:
    description: Where images and containers are kept.
    type: str
    default: /var/lib/containerd
  runtimes:
    description:
      - Programs by name of further runtimes that behave like runc, for example
        C(nvidia) and C(/usr/bin/nvidia-container-runtime).
      - One that is not on the machine is noted.
    type: dict
    default: {}
  default_runtime:
    description: C(runc), or one of O(runtimes).
    type: str
    default: runc
  cdi_spec_dirs:
    description: Directories with specifications of devices (CDI), which is always on.
    type: list
    elements: str
    default: [/etc/cdi, /var/run/cdi]
  nri:
    description: Whether plugins of the node resource interface may connect. DRANET needs it. Off by default in 1.7.
    type: bool
    default: true
  cni_bin_dir:
    description: Where network plugins are.
    type: str
    default: /opt/cni/bin
  cni_conf_dir:
    description: Where their configuration is.
    type: str
    default: /etc/cni/net.d
  imports:
    description:
      - Files that are read over the configuration. With a C(*) there may be none; without, the file must exist.
    type: list
    elements: str
    default: ["/etc/containerd/conf.d/*.toml"]
  registries:
    description: Registries that are reached by mirrors.
    type: list
    elements: dict
    default: []
    suboptions:
      registry:
        description: The registry as in names of images (C(docker.io), C(registry.local:5000)), or C(_default).
        type: str
        required: true
      server:
        description: What is asked when no mirror has the image. Without it, the registry itself.
        type: str
      mirrors:
        description: The mirrors, the first to ask first.
        type: list
        elements: dict
        required: true
        suboptions:
          url:
            description: C(https://HOST), with port and path where there are. Without user and password.
            type: str
            required: true
          capabilities:
            description: What the mirror is used for.
            type: list
            elements: str
            choices: [pull, resolve, push]
            default: [pull, resolve]
          ca:
            description: The file of its certification authority, on the machine.
            type: str
          skip_verify:
            description: Whether its certificate is taken unseen.
            type: bool
            default: false
          override_path:
            description: Whether the URL's path stands in place of C(/v2).
            type: bool
            default: false
  further:
    description:
      - More of containerd's own configuration, as its tree, in the format of the installed release. Where it says
        something else than an option, that is an error.
    type: dict
    default: {}
  unread:
    description:
      - What to do about C(*.toml) files below C(/etc/containerd) that nothing imports, which have no effect.
      - V(report) notes them, V(import) adds their directories to the imports, V(fail) changes nothing.
    type: str
    choices: [report, import, fail]
    default: report
  conflicts:
    description:
      - What to do about a drop-in with which containerd does not start, or which undoes a setting.
      - V(fail) names it with the settings and changes nothing.
      - V(set_aside) renames it to C(*.gpufleet-disabled), which nothing reads.
    type: str
    choices: [fail, set_aside]
    default: fail
  validate_only:
    description: Only checks the options, on the controller. The machine is not asked.
    type: bool
    default: false
  operation:
    description: Used between the two halves of this module. Playbooks leave it alone.
    type: str
    choices: [read, dump, write]
  order:
    description: Used between the two halves of this module. Playbooks leave it alone.
    type: dict
attributes:
  check_mode:
    description: All is judged as without it, and nothing is written. Without containerd it only says so.
    support: full
  diff_mode:
    description: Shows each file before and after.
    support: full
  action:
    description: The controller's half decides; it needs a reader of TOML, which Python on the machine may lack.
    support: full
"""

EXAMPLES = r"""
- name: Configure containerd on a GPU machine
  gpufleet.cluster.containerd_config:
    sandbox_image: registry.k8s.io/pause:3.10.1
    runtimes:
      nvidia: /usr/bin/nvidia-container-runtime
    registries:
      - registry: docker.io
        mirrors:
          - url: https://mirror.example.com
"""

RETURN = r"""
restart:
  description: Whether a daemon runs that has not read what is in the files.
  type: bool
  returned: success
version:
  description: The release of containerd; null when it is not installed (check mode), or was not asked.
  type: str
  returned: success
  sample: 1.7.24~ds1
format:
  description: The version of the configuration's format.
  type: int
  returned: success
  sample: 2
files:
  description: Files that were, or would be, written or removed.
  type: list
  elements: str
  returned: success
  sample: [/etc/containerd/config.toml]
set_aside:
  description: Drop-ins that were, or would be, renamed.
  type: list
  elements: str
  returned: success
notes:
  description: Drop-ins that are never read or of an older version, missing programs, a daemon that is out of date.
  type: list
  elements: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.containerd.spec import OPTIONS
from ..module_utils.containerd.target import dump, loaded, read_state, write_files
from ..module_utils.errors import ClusterError
from ..module_utils.host.files import Root
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec=dict(
            OPTIONS, operation={"type": "str", "choices": ["read", "dump", "write"]}, order={"type": "dict"}
        ),
        required_together=[("operation", "order")],
        supports_check_mode=True,
    )
    operation, order = module.params["operation"], module.params["order"]
    root, runner = Root(), ModuleRunner(module)
    try:
        if operation == "read":
            answer = read_state(root, runner, order["patterns"], order["programs"])
        elif operation == "dump":
            answer = dump(runner, order["text"])
        elif operation == "write":
            remarks = write_files(root, order["files"], order["set_aside"])
            answer = {"remarks": remarks, "dump": loaded(root, runner)}
        else:
            module.fail_json(msg="containerd_config: its controller half did not run; call it as a task")
    except ClusterError as exc:
        module.fail_json(msg=str(exc))
    module.exit_json(changed=operation == "write", answer=answer)


if __name__ == "__main__":
    main()
