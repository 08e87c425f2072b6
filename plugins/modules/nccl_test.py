#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nccl_test
short_description: Run a collective of NCCL tests over some hosts, from the host that launches it
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Starts C(<collective>_perf) through C(mpirun) of Open MPI 4 or 5, or through C(srun), with one rank for each GPU; on
    hosts, or with O(launcher=pods) in pods that run already.
  - Before that it proves that the program is the same on every host and linked with MPI. A program without MPI runs
    everywhere as its own rank 0 and measures nothing between hosts.
  - Hostfile, SSH configuration and known hosts are made from O(hosts), and live in the run's private directory.
    M(gpufleet.cluster.nccl_session) has made the trust, and takes all of it away afterwards.
  - Pods need no SSH, no key and no rights. C(mpirun) starts in the first one by C(kubectl exec), and asks this host to
    start its daemons in the others in the same way. Whatever runs in them for this run is ended afterwards.
  - All C(NCCL_*) variables of the launching host (of the first pod), and all of O(environment), reach every rank.
  - When it takes longer than O(timeout), writes too much, or the controller goes away, the launcher is ended with its
    whole process group, and the ranks on all hosts end by themselves. It is not a failure of this module.
  - The output is kept in a file. What it means is for M(gpufleet.cluster.check_nccl) to say.
options:
  run_id:
    description: Identifier of the run that this belongs to, as in M(gpufleet.cluster.nccl_session).
    type: str
    required: true
  name:
    description: Name of the test. Log and record are named after it.
    type: str
    required: true
  scope:
    description:
      - How far apart the hosts are. V(mixed) is several hosts in each of several NVLink domains.
    type: str
    choices: [single_node, nvlink_domain, cross_domain, mixed]
    required: true
  hosts:
    description: The hosts. The first ranks are on the first one.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description:
          - Name in the inventory, which is the host's name, too.
          - Of a pod, its host name. That is the pod's name, or with C(hostNetwork) the node's.
        type: str
        required: true
      address:
        description: Address at which the launching host reaches it by SSH; the name of a pod.
        type: str
        required: true
      slots:
        description: Number of ranks, which is the number of GPUs.
        type: int
        default: 1
      domain:
        description: Its NVLink domain.
        type: str
      session:
        description: RV(gpufleet.cluster.nccl_session#module:session) of that host.
        type: dict
        default: {}
  collective:
    description: What to run.
    type: str
    choices: [all_gather, all_reduce, alltoall, broadcast, gather, hypercube, reduce, reduce_scatter, scatter, sendrecv]
    default: all_reduce
  program:
    description: Path of the program, the same on every host.
    type: str
    required: true
  sku:
    description: What is measured, by its name in the limits (V(GB200), V(H100)).
    type: str
  launcher:
    description: What starts the ranks.
    type: str
    choices: [mpirun, srun, pods]
    default: mpirun
  pods:
    description: Where the pods are, for O(launcher=pods). What is left out, kubectl's own configuration says.
    type: dict
    default: {}
    suboptions:
      namespace:
        description: Their namespace.
        type: str
      container:
        description: The container in which the ranks run. Needed where a pod has several and names no default one.
        type: str
      context:
        description: Context of the kubeconfig.
        type: str
      kubeconfig:
        description: Path of the kubeconfig on this host. Its user needs get on pods and create on pods/exec.
        type: path
  mnnvl:
    description:
      - Sets C(NCCL_MNNVL_ENABLE) to 1 or 0. V(false) also switches NVLink SHARP off, so that the RDMA path is measured.
      - Without it, neither is set.
    type: bool
  min_bytes:
    description: Smallest message, in bytes or with K, M or G.
    type: str
    default: 512M
  max_bytes:
    description: Largest message. Limits are for certain sizes; most of the shipped ones are for V(16G).
    type: str
    default: 16G
  step_factor:
    description: Factor between two sizes.
    type: int
    default: 2
  iterations:
    description: Repetitions inside a row.
    type: int
    default: 20
  warmup:
    description: Repetitions before the clock starts.
    type: int
    default: 5
  check:
    description: Whether the tool checks the data.
    type: bool
    default: true
  repeat:
    description: How often the whole test is run. The median is judged.
    type: int
    default: 1
  timeout:
    description: Seconds for one run of the test.
    type: int
    default: 600
  debug:
    description: Whether NCCL writes more about topology, tuning and transports.
    type: bool
    default: false
  ssh_port:
    description: Port of the SSH servers.
    type: int
    default: 22
  interface:
    description:
      - Interface for NCCL's bootstrap, on all hosts. C(NCCL_SOCKET_IFNAME) gets it with an equals sign, as a bare name
        is a prefix.
    type: str
  bootstrap_network:
    description: Network in CIDR notation over which MPI's daemons find each other.
    type: str
  data_network:
    description: Network in CIDR notation for MPI's own data. NCCL does not use it; a program without NCCL does.
    type: str
  environment:
    description: More variables for the ranks. They take precedence.
    type: dict
    default: {}
  directory:
    description: Directory of the keys of all runs, as in M(gpufleet.cluster.nccl_session).
    type: path
    default: /run/gpufleet
  log_directory:
    description: Directory for the logs of all runs. Those of this one are in C(<log_directory>/<run_id>).
    type: path
    default: /var/log/gpufleet/nccl
attributes:
  check_mode:
    description: Tells what would be run, and records it as not run.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Run an all-reduce over two trays of an NVLink domain
  gpufleet.cluster.nccl_test:
    run_id: "{{ fleet_run.id }}"
    name: all_reduce in nvl_d1
    scope: nvlink_domain
    mnnvl: true
    sku: GB200
    program: /opt/nccl-tests/build/all_reduce_perf
    hosts:
      - {name: w1, address: 10.0.1.21, slots: 4, domain: d1, session: "{{ hostvars.w1.session.session }}"}
      - {name: w2, address: 10.0.1.22, slots: 4, domain: d1, session: "{{ hostvars.w2.session.session }}"}

- name: Run an all-reduce over two pods of different domains
  gpufleet.cluster.nccl_test:
    run_id: "{{ fleet_run.id }}"
    name: all_reduce in pods
    scope: cross_domain
    mnnvl: false
    sku: GB200
    program: /opt/nccl-tests/build/all_reduce_perf
    launcher: pods
    pods: {namespace: nccl-test, container: test, kubeconfig: /etc/kubernetes/admin.conf}
    hosts:
      - {name: nccl-test-0, address: nccl-test-0, slots: 4, domain: d1}
      - {name: nccl-test-1, address: nccl-test-1, slots: 4, domain: d2}
"""

RETURN = r"""
report:
  description:
    - What was asked for, and C(attempts), each with C(state) (V(measured), V(timeout), V(flood), V(abandoned),
      V(not_started), V(planned)), C(problem), C(command), C(environment), C(rc), C(seconds), C(log), C(log_bytes),
      C(killed) (processes of the run that were left on the launching host, or in pods) and C(tail).
  returned: success
  type: dict
findings:
  description: UNKNOWN for each attempt that did not come to its end. An empty list says nothing about the bandwidth.
  returned: success
  type: list
  elements: dict
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.judge.nccl import judge_start
from ..module_utils.nccl.launch import ProcessLauncher
from ..module_utils.nccl.measure import Place, Tools, describe, keep, measure, planned
from ..module_utils.nccl.run import COLLECTIVES, LAUNCHERS, SCOPES, read_run
from ..module_utils.nccl.trust import check_id
from ..module_utils.runner import ModuleRunner

HOST = {
    "name": {"type": "str", "required": True},
    "address": {"type": "str", "required": True},
    "slots": {"type": "int", "default": 1},
    "domain": {"type": "str"},
    "session": {"type": "dict", "default": {}},
}
PODS = {
    "namespace": {"type": "str"},
    "container": {"type": "str"},
    "context": {"type": "str"},
    "kubeconfig": {"type": "path"},
}
SPEC = {
    "run_id": {"type": "str", "required": True},
    "name": {"type": "str", "required": True},
    "scope": {"type": "str", "choices": list(SCOPES), "required": True},
    "hosts": {"type": "list", "elements": "dict", "options": HOST, "required": True},
    "collective": {"type": "str", "choices": list(COLLECTIVES), "default": "all_reduce"},
    "program": {"type": "str", "required": True},
    "sku": {"type": "str"},
    "launcher": {"type": "str", "choices": list(LAUNCHERS), "default": "mpirun"},
    "pods": {"type": "dict", "default": {}, "options": PODS},
    "mnnvl": {"type": "bool"},
    "min_bytes": {"type": "str", "default": "512M"},
    "max_bytes": {"type": "str", "default": "16G"},
    "step_factor": {"type": "int", "default": 2},
    "iterations": {"type": "int", "default": 20},
    "warmup": {"type": "int", "default": 5},
    "check": {"type": "bool", "default": True},
    "repeat": {"type": "int", "default": 1},
    "timeout": {"type": "int", "default": 600},
    "debug": {"type": "bool", "default": False},
    "ssh_port": {"type": "int", "default": 22},
    "interface": {"type": "str"},
    "bootstrap_network": {"type": "str"},
    "data_network": {"type": "str"},
    "environment": {"type": "dict", "default": {}},
    "directory": {"type": "path", "default": "/run/gpufleet"},
    "log_directory": {"type": "path", "default": "/var/log/gpufleet/nccl"},
}


def main() -> None:
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True)
    params = module.params
    try:
        run_id = check_id(params["run_id"])
        place = Place(run_id, os.path.join(params["directory"], run_id), os.path.join(params["log_directory"], run_id))
        tools = Tools(ModuleRunner(module), ProcessLauncher(), dict(os.environ))
        run = read_run(params)
        if module.check_mode:
            record = describe(run, [planned(run, tools, place)])
        else:
            record = describe(run, [measure(run, tools, place, number + 1) for number in range(params["repeat"])])
        keep(record, place.logs)
    except ClusterError as exc:
        module.fail_json(msg="nccl_test: %s" % exc)
    findings = judge_start(params["hosts"][0]["name"], record)
    module.exit_json(changed=False, report=record, findings=[finding.as_dict() for finding in findings])


if __name__ == "__main__":
    main()
