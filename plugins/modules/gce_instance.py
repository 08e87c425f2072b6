#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gce_instance
short_description: GCE machines, A4X ones too
version_added: 0.1.0
description:
  - Brings machines of one kind to a state, several at the same time. One that fails does not keep the others from being
    made; running again makes only what is missing.
  - Knows what A4X needs - two gVNIC and four RDMA interfaces in this order, a reservation down to its sub-block,
    provisioning model C(RESERVATION_BOUND), termination on host maintenance, Hyperdisk - and says all that is wrong
    before anything is made.
  - Labels, tags and metadata are changed in place. A machine of another machine type, or with other interfaces,
    reservation, placement policy, scheduling or service account is refused. Image and disks count only when a machine
    is made.
extends_documentation_fragment:
  - gpufleet.cluster.gce
  - gpufleet.cluster.gce.module
author:
  - The gpufleet authors (@gpufleet)
attributes:
  check_mode:
    description: Says what would change, and asks Compute for nothing that writes.
    support: full
  diff_mode:
    description: Shows the insert body of a new machine, and what changes on one that exists.
    support: full
options:
  zone:
    description: Zone of the machines.
    type: str
    required: true
  names:
    description: Names of the machines.
    type: list
    elements: str
    required: true
  state:
    description: What they should be.
    type: str
    choices: [running, stopped, absent]
    default: running
  machine_type:
    description: Machine type. Needed unless O(state=absent).
    type: str
  image:
    description:
      - Image of the boot disk, as a name in the project or a path such as
        C(projects/PROJECT/global/images/family/FAMILY). Needed unless O(state=absent).
    type: str
  disk_gb:
    description: Size of the boot disk in GB.
    type: int
    default: 200
  disk_type:
    description: Type of the boot disk.
    type: str
    default: hyperdisk-balanced
  disks:
    description: Names or paths of further disks to attach when a machine is made. They outlive the machine.
    type: list
    elements: str
    default: []
  interfaces:
    description: Network interfaces in order. Needed unless O(state=absent).
    type: list
    elements: dict
    default: []
    suboptions:
      subnetwork:
        description: Name or path of the subnetwork.
        type: str
        required: true
      nic_type:
        description: Type of the interface.
        type: str
        choices: [GVNIC, MRDMA, IDPF, IRDMA, VIRTIO_NET]
        default: GVNIC
      external_ip:
        description: Give it an external address.
        type: bool
        default: false
  addresses:
    description:
      - For each machine that has fixed internal addresses, its name and the addresses in the order of O(interfaces).
        Compute chooses those of the others. Names that are not in O(names) are ignored.
      - Not together with O(bulk), which cannot give addresses.
    type: dict
    default: {}
  reservation:
    description:
      - Reservation to take the machines from, as a name, or as the affinity of a sub-block that
        M(gpufleet.cluster.gce_reservation_info) returns.
    type: str
  placement_policy:
    description: Name or path of the placement policy.
    type: str
  provisioning_model:
    description: Provisioning model. The default is what the machine type needs.
    type: str
    choices: [STANDARD, SPOT, FLEX_START, RESERVATION_BOUND]
  termination_action:
    description: What happens to a machine whose time is over. The default is V(STOP) for C(RESERVATION_BOUND).
    type: str
    choices: [STOP, DELETE]
  on_host_maintenance:
    description: What happens on host maintenance. The default is what the machine type needs.
    type: str
    choices: [TERMINATE, MIGRATE]
  labels:
    description: All labels; others are taken away.
    type: dict
    default: {}
  tags:
    description: Network tags.
    type: list
    elements: str
    default: []
  metadata:
    description:
      - Metadata keys that the machines must have; others on them stay. What looks like a secret is refused, because
        metadata is readable by everybody who may view the machine and by every process on it.
    type: dict
    default: {}
  service_account:
    description: E-mail address of the machines' service account.
    type: str
  scopes:
    description: Scopes of the service account.
    type: list
    elements: str
    default: [https://www.googleapis.com/auth/cloud-platform]
  bulk:
    description: Make what is missing by one request, all or none of it, instead of one request for each machine.
    type: bool
    default: false
  workers:
    description: Machines that are worked on at the same time.
    type: int
    default: 8
"""

EXAMPLES = r"""
- name: Make two A4X machines in one NVLink domain
  gpufleet.cluster.gce_instance:
    project: my-project
    zone: us-east1-d
    names: [a4x-a-00, a4x-a-01]
    machine_type: a4x-highgpu-4g
    image: fleet-arm64-v1
    reservation: "{{ capacity.placement[0].affinity }}"
    placement_policy: fleet-domain-a
    interfaces:
      - subnetwork: fleet-gvnic-0
      - subnetwork: fleet-gvnic-1
      - {subnetwork: fleet-rdma-0, nic_type: MRDMA}
      - {subnetwork: fleet-rdma-1, nic_type: MRDMA}
      - {subnetwork: fleet-rdma-2, nic_type: MRDMA}
      - {subnetwork: fleet-rdma-3, nic_type: MRDMA}
  delegate_to: localhost
"""

RETURN = r"""
machines:
  description:
    - For each machine its name, the actions taken (create, setLabels, setTags, setMetadata, start, stop, delete),
      status, address and error.
  returned: always
  type: list
  elements: dict
"""

import re
from typing import Any, Dict, List

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ConfigError
from ..module_utils.gce.client import Compute, region_of
from ..module_utils.gce.instance import Nic, Spec
from ..module_utils.gce.instance_problems import problems, secrets_in
from ..module_utils.gce.machines import Machine, bring_machines
from ..module_utils.gce.module import argument_spec, manner, run
from ..module_utils.gce.state import resolve

NIC_TYPES = ["GVNIC", "MRDMA", "IDPF", "IRDMA", "VIRTIO_NET"]
MODELS = ["STANDARD", "SPOT", "FLEX_START", "RESERVATION_BOUND"]
SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
AFFINITY = re.compile(
    r"projects/[^/]+/reservations/[^/]+(/reservationBlocks/[^/]+(/reservationSubBlocks/[^/]+)?)?",
)
INTERFACE = {
    "subnetwork": {"type": "str", "required": True},
    "nic_type": {"type": "str", "choices": NIC_TYPES, "default": "GVNIC"},
    "external_ip": {"type": "bool", "default": False},
}


def affinity(reservation: str, project: str) -> str:
    """The value of the reservation affinity: complete, so that it is the same for every way to write it."""
    value = reservation if "/" in reservation else "projects/%s/reservations/%s" % (project, reservation)
    if not AFFINITY.fullmatch(value):
        raise ConfigError(
            "reservation %r is neither a name nor projects/PROJECT/reservations/NAME, which"
            " /reservationBlocks/BLOCK/reservationSubBlocks/SUB_BLOCK may follow" % reservation
        )
    return value


def addresses_of(addresses: Dict[str, Any], names: List[str]) -> Dict[str, List[str]]:
    ours = {name: addresses[name] for name in names if name in addresses}
    wrong = sorted(name for name, value in ours.items() if not isinstance(value, list))
    if wrong:
        raise ConfigError("addresses of %s: write a list of addresses, one for each interface" % ", ".join(wrong))
    return {name: [str(address) for address in value] for name, value in ours.items()}


def spec_of(params: Dict[str, Any]) -> Spec:
    project, zone = params["project"], params["zone"]
    subnets = "regions/%s/subnetworks" % region_of(zone)
    policies = "regions/%s/resourcePolicies" % region_of(zone)
    return Spec(
        project=project,
        zone=zone,
        machine_type=params["machine_type"] or "",
        image=resolve(params["image"] or "", project, "global/images"),
        nics=tuple(
            Nic(resolve(nic["subnetwork"], project, subnets), nic["nic_type"], nic["external_ip"])
            for nic in params["interfaces"]
        ),
        addresses=addresses_of(params["addresses"], params["names"]),
        disk_gb=params["disk_gb"],
        disk_type=params["disk_type"],
        extra_disks=tuple(resolve(disk, project, "zones/%s/disks" % zone) for disk in params["disks"]),
        affinity=affinity(params["reservation"], project) if params["reservation"] else None,
        placement_policy=resolve(params["placement_policy"], project, policies) if params["placement_policy"] else None,
        provisioning_model=params["provisioning_model"],
        termination_action=params["termination_action"],
        on_host_maintenance=params["on_host_maintenance"],
        labels={str(key): str(value) for key, value in params["labels"].items()},
        tags=tuple(params["tags"]),
        metadata={str(key): str(value) for key, value in params["metadata"].items()},
        service_account=params["service_account"],
        scopes=tuple(params["scopes"]),
    )


def check(compute: Compute, spec: Spec, bulk: bool) -> None:
    """All that is wrong with the wish, at once, before anything is made."""
    deployment = ""
    if spec.affinity:
        parts = spec.affinity.split("/")
        deployment = compute.get("projects/%s/zones/%s/reservations/%s" % (parts[1], spec.zone, parts[3])).get(
            "deploymentType", ""
        )
    wrong = problems(spec, deployment)
    if bulk and spec.addresses:
        wrong.append("a bulk request cannot give fixed addresses; leave out 'bulk' or 'addresses'")
    if wrong:
        raise ConfigError("these machines cannot be made: " + "; ".join(wrong))


def result(machines: List[Machine]) -> Dict[str, Any]:
    diffs = [{"before_header": m.name, "after_header": m.name, **m.diff} for m in machines if m.diff]
    return {
        "changed": any(machine.actions for machine in machines),
        "machines": [machine.as_dict() for machine in machines],
        "diff": diffs,
    }


def main() -> None:
    module = AnsibleModule(
        argument_spec(
            zone={"type": "str", "required": True},
            names={"type": "list", "elements": "str", "required": True},
            state={"type": "str", "choices": ["running", "stopped", "absent"], "default": "running"},
            machine_type={"type": "str"},
            image={"type": "str"},
            disk_gb={"type": "int", "default": 200},
            disk_type={"type": "str", "default": "hyperdisk-balanced"},
            disks={"type": "list", "elements": "str", "default": []},
            interfaces={"type": "list", "elements": "dict", "default": [], "options": INTERFACE},
            addresses={"type": "dict", "default": {}},
            reservation={"type": "str"},
            placement_policy={"type": "str"},
            provisioning_model={"type": "str", "choices": MODELS},
            termination_action={"type": "str", "choices": ["STOP", "DELETE"]},
            on_host_maintenance={"type": "str", "choices": ["TERMINATE", "MIGRATE"]},
            labels={"type": "dict", "default": {}},
            tags={"type": "list", "elements": "str", "default": []},
            metadata={"type": "dict", "default": {}},
            service_account={"type": "str"},
            scopes={"type": "list", "elements": "str", "default": SCOPES},
            bulk={"type": "bool", "default": False},
            workers={"type": "int", "default": 8},
        ),
        supports_check_mode=True,
        required_if=[
            ("state", "running", ("machine_type", "image", "interfaces")),
            ("state", "stopped", ("machine_type", "image", "interfaces")),
        ],
    )
    params = module.params
    # Ansible shows a failed task's arguments. A very short value would blank out parts of every message.
    module.no_log_values.update(text for text in secrets_in(params["metadata"]).values() if len(text) >= 6)

    def work(compute: Compute) -> Dict[str, Any]:
        spec = spec_of(params)
        if params["state"] != "absent":
            check(compute, spec, params["bulk"])
        machines = bring_machines(
            compute,
            spec,
            params["names"],
            params["state"],
            manner(module),
            bulk=params["bulk"],
            workers=params["workers"],
        )
        failed = [machine for machine in machines if machine.error]
        if failed:
            text = "; ".join("%s: %s" % (machine.name, machine.error) for machine in failed)
            module.fail_json(
                msg="%d of %d machines failed, run again to repair: %s" % (len(failed), len(machines), text),
                **result(machines),
            )
        return result(machines)

    run(module, work)


if __name__ == "__main__":
    main()
