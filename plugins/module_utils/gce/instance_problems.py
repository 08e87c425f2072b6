# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a wish for machines, before Compute is asked. Pure."""

from __future__ import annotations

import re
from ipaddress import IPv4Address
from typing import Any, Dict, List, Mapping

from .instance import Spec

__all__ = ["problems", "secrets_in"]

A4X_INTERFACES = ("GVNIC", "GVNIC", "MRDMA", "MRDMA", "MRDMA", "MRDMA")
# What a machine of a DENSE reservation must have (Compute answers 400 otherwise).
DENSE_NEEDS = {
    "provisioningModel": ("RESERVATION_BOUND",),
    "onHostMaintenance": ("TERMINATE",),
    "instanceTerminationAction": ("STOP", "DELETE"),
}
SECRET_KEY = re.compile(r"token|passw|secret|private[-_]?key|kubeconfig|credential", re.IGNORECASE)
# A private key in PEM, or a kubeadm join token.
SECRET_VALUE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b[a-z0-9]{6}\.[a-z0-9]{16}\b")


def problems(spec: Spec, deployment_type: str = "") -> List[str]:
    """All that Compute would refuse, and secrets in metadata, which everybody who may view the machine can read."""
    a4x = spec.machine_type.startswith("a4x-")
    found = _a4x_problems(spec) if a4x else []
    if a4x or deployment_type == "DENSE":
        found += _dense_problems(spec)
    found += _address_problems(spec)
    for key in sorted(secrets_in(spec.metadata)):
        found.append("metadata %s looks like a secret; viewers of the project can read metadata" % key)
    return found


def secrets_in(metadata: Mapping[str, Any]) -> Dict[str, str]:
    """The entries that look like secrets."""
    texts = {str(key): str(value) for key, value in metadata.items()}
    return {key: text for key, text in texts.items() if SECRET_KEY.search(key) or SECRET_VALUE.search(text)}


def _a4x_problems(spec: Spec) -> List[str]:
    found = []
    types = tuple(nic.nic_type for nic in spec.nics)
    if types != A4X_INTERFACES:
        found.append("%s takes 2 GVNIC and then 4 MRDMA interfaces, not %s" % (spec.machine_type, ", ".join(types)))
    if not spec.disk_type.startswith("hyperdisk-"):
        found.append("%s takes Hyperdisk only, not %s" % (spec.machine_type, spec.disk_type))
    if not spec.affinity:
        found.append("%s comes from a reservation only, and none is named" % spec.machine_type)
    return found


def _address_problems(spec: Spec) -> List[str]:
    found = []
    holders: Dict[str, str] = {}
    for name, addresses in sorted(spec.addresses.items()):
        if len(addresses) != len(spec.nics):
            found.append("%s has %d interfaces, but addresses for %d" % (name, len(spec.nics), len(addresses)))
        for address in addresses:
            if not _is_address(address):
                found.append("%s: %r is no IPv4 address" % (name, address))
            elif holders.setdefault(address, name) != name:
                found.append("%s and %s both want %s" % (holders[address], name, address))
    return found


def _is_address(text: str) -> bool:
    try:
        return bool(IPv4Address(text))
    except ValueError:
        return False


def _dense_problems(spec: Spec) -> List[str]:
    scheduling = spec.scheduling()
    if all(scheduling.get(key) in allowed for key, allowed in DENSE_NEEDS.items()):
        return []
    needs = ", ".join("%s %s" % (key, " or ".join(allowed)) for key, allowed in DENSE_NEEDS.items())
    has = ", ".join("%s %s" % (key, scheduling.get(key)) for key in DENSE_NEEDS)
    return ["a DENSE reservation needs %s; wanted is %s" % (needs, has)]
