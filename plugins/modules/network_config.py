#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: network_config
short_description: Configure the networks of a host, undone by the host itself unless it stays reachable
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Renders the list C(node_networks) to one netplan file (Debian family) or to NetworkManager keyfiles (EL family),
    with the sysctls that ports in a shared subnet need, and brings it into effect.
  - Each port is found by MAC, PCI address or name, and matched by its permanent MAC address in what is written. A port
    that is missing is an error that names the slot.
  - What counts is the effective result. The host's own generator is run on all files together in a scratch folder, and
    each interface of the plan must get what the plan says; another file that says something else is named with its key.
  - The change is made under a timer on the host. The old files are kept in C(/var/lib/gpufleet/network), the new ones
    are applied after the module has answered, and the old ones come back by themselves after O(confirm_timeout), or at
    a restart inside that time, unless the controller confirms over a B(new) connection. Only then is the change kept.
  - A run that was interrupted is finished by running it again. An open change that is what is wanted, and works, is
    confirmed; any other is replaced by a new one, which goes back to the state of before both.
  - Confirmation also needs the live state (addresses, MTU of each bond and member, routes in their tables, rules,
    sysctls) to be that of the plan. An interface without carrier is noted, not failed.
options:
  networks:
    description: The host's C(node_networks), as described in the inventory guide.
    type: list
    elements: dict
    required: true
  backend:
    description:
      - What the host's network is configured with.
      - V(auto) takes the one that is installed; where both are, netplan on Debian and Ubuntu, NetworkManager where
        there is dnf.
    type: str
    choices: [auto, netplan, networkmanager]
    default: auto
  conflicts:
    description:
      - What to do with other files that change what the plan says about its interfaces.
      - V(fail) names file, interface and key, and changes nothing.
      - V(replace) takes the definitions of these interfaces out of those files; the rest of the files stays in force.
        The old files are kept with the change.
    type: str
    choices: [fail, replace]
    default: fail
  confirm_timeout:
    description: Seconds after which the host goes back to its old network unless the change was confirmed.
    type: int
    default: 60
  apply:
    description: With V(false) only files are written, for a machine image that is being built.
    type: bool
    default: true
  sysctls:
    description: Further kernel parameters that belong to the network, kept in the same file.
    type: dict
    default: {}
  operation:
    description:
      - Used between the two halves of this module. Playbooks leave it alone.
      - V(look) says how the change stands that O(transaction) names; V(confirm) and V(restore) close it.
    type: str
    choices: [configure, look, confirm, restore]
    default: configure
  transaction:
    description: The open change to confirm or restore. Used between the two halves of this module.
    type: str
attributes:
  check_mode:
    description: Renders and validates everything, and shows the files that would change.
    support: full
  diff_mode:
    description: Shows each file before and after, and how the live state differs from the plan.
    support: full
  action:
    description: The controller's half waits, connects again and confirms.
    support: full
seealso:
  - module: gpufleet.cluster.check_mtu
  - module: gpufleet.cluster.check_bond
"""

EXAMPLES = r"""
- name: Configure the networks
  gpufleet.cluster.network_config:
    networks: "{{ node_networks }}"
    conflicts: replace

- name: Write the files into an image that is being built
  gpufleet.cluster.network_config:
    networks: "{{ node_networks }}"
    apply: false
"""

RETURN = r"""
state:
  description:
    - V(unchanged), V(confirmed), V(written) (O(apply=false)) or V(planned) (check mode).
    - In a failure V(restored) when the host is back on its old network, V(unreachable) when it did not answer any more.
  type: str
  returned: always
  sample: confirmed
backend:
  description: What the network is configured with, C(netplan) or C(networkmanager).
  type: str
  returned: success
files:
  description: The files that were, or would be, written or removed.
  type: list
  elements: str
  returned: success
  sample: [/etc/netplan/90-gpufleet.yaml]
differences:
  description: How the live state differed from the plan before the change, or still does in a failure.
  type: list
  elements: str
  returned: success
notes:
  description: Files that were taken over, and interfaces without carrier.
  type: list
  elements: str
  returned: success
transaction:
  description: The change, a folder below C(/var/lib/gpufleet/network).
  type: str
  returned: when something was applied
  sample: 20260102T030405-a1b2c3
message:
  description: Why the host is in this state.
  type: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.network.configure import Options, configure, confirm, look, restore
from ..module_utils.runner import ModuleRunner

ARGUMENT_SPEC = {
    "networks": {"type": "list", "elements": "dict", "required": True},
    "backend": {"type": "str", "choices": ["auto", "netplan", "networkmanager"], "default": "auto"},
    "conflicts": {"type": "str", "choices": ["fail", "replace"], "default": "fail"},
    "confirm_timeout": {"type": "int", "default": 60},
    "apply": {"type": "bool", "default": True},
    "sysctls": {"type": "dict", "default": {}},
    "operation": {"type": "str", "choices": ["configure", "look", "confirm", "restore"], "default": "configure"},
    "transaction": {"type": "str"},
}


def main() -> None:
    module = AnsibleModule(
        argument_spec=ARGUMENT_SPEC,
        required_if=[("operation", operation, ["transaction"]) for operation in ("look", "confirm", "restore")],
        supports_check_mode=True,
    )
    params = dict(module.params)
    operation, transaction = params.pop("operation"), params.pop("transaction")
    params["sysctls"] = {key: str(value) for key, value in params["sysctls"].items()}
    options = Options(check_mode=module.check_mode, **params)
    runner = ModuleRunner(module)
    try:
        if operation == "look":
            result = look(options, runner, transaction)
        elif operation == "confirm":
            result = confirm(options, runner, transaction)
        elif operation == "restore":
            result = restore(options, runner, transaction, "the live state was not what the plan says")
        else:
            result = configure(options, runner)
    except ClusterError as exc:
        module.fail_json(msg="network_config: %s" % exc)
    module.exit_json(**result.as_dict())


if __name__ == "__main__":
    main()
