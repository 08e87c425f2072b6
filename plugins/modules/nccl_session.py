#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_session
short_description: Prepare a host for a run of collectives, and take every trace of it away again
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - With O(state=open), tells what the other hosts must know of this one - its SSH host keys, and for each program its
    SHA-256 and whether it is linked with MPI. A host with O(launcher=true) makes an SSH key for this run only, which
    never leaves it.
  - With O(state=authorized), lets the launchers in. The entry in C(authorized_keys) allows no terminal and no
    forwarding, is valid for O(lifetime) seconds, and carries the run's id.
  - With O(state=closed), removes the entry and the key, and ends every process of the run that is left on the host.
    These are found by a variable in their environment, never by their names.
  - If the controller is gone before it says V(closed), a timer of systemd does the same after O(lifetime). Where there
    is no systemd, sshd refuses the key from then on, and the next run removes the line.
options:
  run_id:
    description: Identifier of the run.
    type: str
    required: true
  state:
    description: What to do.
    type: str
    choices: [open, authorized, closed]
    required: true
  programs:
    description: Programs of NCCL tests that will be run, for O(state=open).
    type: list
    elements: str
    default: []
  launcher:
    description: Whether this host will launch a run, for O(state=open).
    type: bool
    default: false
  public_keys:
    description: Keys of the launchers, for O(state=authorized).
    type: list
    elements: str
    default: []
  sources:
    description: Addresses of the launchers, from which alone the entry is good. Empty means from anywhere.
    type: list
    elements: str
    default: []
  lifetime:
    description: Seconds for which the entry is valid, for O(state=authorized).
    type: int
    default: 3600
  directory:
    description: Directory for the keys of all runs, best in memory.
    type: path
    default: /run/gpufleet
notes:
  - MPI runs as the user that this module runs as; become root, or the user of your jobs, on all hosts alike.
attributes:
  check_mode:
    description: Inspects the programs, makes no key and no entry.
    support: full
  diff_mode:
    description: Keys are not shown.
    support: none
"""

EXAMPLES = r"""
- name: Open the session
  gpufleet.cluster.nccl_session:
    run_id: "{{ fleet_run.id }}"
    state: open
    programs: [/opt/nccl-tests/build/all_reduce_perf]
    launcher: "{{ inventory_hostname == 'w1' }}"
  register: session

- name: Let the launcher in
  gpufleet.cluster.nccl_session:
    run_id: "{{ fleet_run.id }}"
    state: authorized
    public_keys: ["{{ hostvars['w1'].session.session.public_key }}"]

- name: Close the session
  gpufleet.cluster.nccl_session:
    run_id: "{{ fleet_run.id }}"
    state: closed
"""

RETURN = r"""
session:
  description:
    - With O(state=open), C(host_keys), C(programs) (path to C(sha256), C(mpi), C(problem)), C(public_key),
      C(directory) and C(user). With O(state=closed), C(killed), the processes that had to be ended.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.nccl.session import Session
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "run_id": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["open", "authorized", "closed"], "required": True},
            "programs": {"type": "list", "elements": "str", "default": []},
            "launcher": {"type": "bool", "default": False},
            "public_keys": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "sources": {"type": "list", "elements": "str", "default": []},
            "lifetime": {"type": "int", "default": 3600},
            "directory": {"type": "path", "default": "/run/gpufleet"},
        },
        supports_check_mode=True,
    )
    params = module.params
    try:
        session = Session(params["run_id"], ModuleRunner(module), params["directory"])
        if params["state"] == "open":
            opened = session.open(params["programs"], params["launcher"] and not module.check_mode)
            module.exit_json(changed=False, session=opened)
        if module.check_mode:
            module.exit_json(changed=False, session={})
        if params["state"] == "authorized":
            session.authorize(params["public_keys"], params["sources"], params["lifetime"])
            module.exit_json(changed=False, session={})
        closed = session.close()
    except ClusterError as exc:
        module.fail_json(msg="nccl_session: %s" % exc)
    module.exit_json(changed=False, session={"killed": closed["killed"]})


if __name__ == "__main__":
    main()
