# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be run: one collective over some hosts. Read from the module's parameters, checked once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..errors import ConfigError

__all__ = ["COLLECTIVES", "LAUNCHERS", "SCOPES", "Host", "Pods", "Run", "read_run", "slug"]

SCOPES = ("single_node", "nvlink_domain", "cross_domain", "mixed")
LAUNCHERS = ("mpirun", "srun", "pods")
COLLECTIVES = (
    "all_gather",
    "all_reduce",
    "alltoall",
    "broadcast",
    "gather",
    "hypercube",
    "reduce",
    "reduce_scatter",
    "scatter",
    "sendrecv",
)
_SIZE = re.compile(r"\d+[KMG]?\Z")
# Names and addresses become lines of a hostfile and words of an argv: nothing in them may begin an option.
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*\Z")


@dataclass(frozen=True)
class Host:
    """``session`` is what the host's own preparation said: host keys, program, public key."""

    name: str
    address: str
    slots: int
    domain: Optional[str] = None
    session: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pods:
    """Where the pods are. None: what kubectl's own configuration, or the pod's, says."""

    namespace: Optional[str] = None
    container: Optional[str] = None
    context: Optional[str] = None
    kubeconfig: Optional[str] = None


@dataclass(frozen=True)
class Run:
    """``mnnvl`` None: NCCL_MNNVL_ENABLE is not set (one node, or no NVLink between nodes).

    With the launcher ``pods``, a host is a pod: its address is the pod's name.
    """

    name: str
    scope: str
    collective: str
    hosts: Tuple[Host, ...]
    program: str
    sku: Optional[str] = None
    launcher: str = "mpirun"
    pods: Pods = Pods()
    mnnvl: Optional[bool] = None
    min_bytes: str = "512M"
    max_bytes: str = "16G"
    step_factor: int = 2
    iterations: int = 20
    warmup: int = 5
    check: bool = True
    timeout: int = 600
    debug: bool = False
    ssh_port: int = 22
    interface: Optional[str] = None
    bootstrap_network: Optional[str] = None
    data_network: Optional[str] = None
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        return sum(host.slots for host in self.hosts)

    @property
    def nodes(self) -> int:
        return len(self.hosts)

    @property
    def domains(self) -> Dict[str, str]:
        return {host.name: host.domain for host in self.hosts if host.domain is not None}


def read_run(params: Mapping[str, Any]) -> Run:
    """Raises ConfigError that names all that is wrong at once. Keys of ``params`` that are no field are left aside."""
    values = {key: params[key] for key in Run.__dataclass_fields__ if params.get(key) is not None and key != "hosts"}
    values["environment"] = {str(key): str(value) for key, value in (params.get("environment") or {}).items()}
    values["pods"] = Pods(**(params.get("pods") or {}))
    hosts = tuple(_host(row) for row in params["hosts"])
    problems = _problems(values, hosts)
    if problems:
        raise ConfigError("run %s: %s" % (params.get("name"), "; ".join(problems)))
    return Run(hosts=hosts, **values)


def _host(row: Mapping[str, Any]) -> Host:
    return Host(
        str(row["name"]), str(row["address"]), int(row.get("slots") or 1), row.get("domain"), row.get("session") or {}
    )


def _problems(values: Mapping[str, Any], hosts: Tuple[Host, ...]) -> List[str]:
    problems = [
        "%s is %r; allowed: %s" % (key, values[key], ", ".join(allowed))
        for key, allowed in (("scope", SCOPES), ("collective", COLLECTIVES), ("launcher", LAUNCHERS))
        if key in values and values[key] not in allowed
    ]
    problems += [
        "%s is %r; allowed: a number of bytes, with K, M or G" % (key, values[key])
        for key in ("min_bytes", "max_bytes")
        if key in values and not _SIZE.match(str(values[key]))
    ]
    problems += [
        "host %r has address %r: letters, digits, '.', ':', '_' and '-'" % (host.name, host.address)
        for host in hosts
        if not _WORD.match(host.name) or not _WORD.match(host.address)
    ]
    problems += ["host %s has %d slots; at least 1" % (host.name, host.slots) for host in hosts if host.slots < 1]
    if len({host.name for host in hosts}) != len(hosts) or not hosts:
        problems.append("hosts: at least one, and each only once")
    problems += [
        "pods: %s is %r: letters, digits, '.', ':', '_' and '-'" % (key, value)
        for key, value in (("namespace", values["pods"].namespace), ("container", values["pods"].container))
        if value is not None and not _WORD.match(value)
    ]
    if values["pods"] != Pods() and values.get("launcher") != "pods":
        problems.append("pods is for launcher pods, which is %r" % values.get("launcher", "mpirun"))
    if values.get("scope") == "single_node" and len(hosts) > 1:
        problems.append("scope single_node has %d hosts; allowed: 1" % len(hosts))
    if not str(values["program"]).startswith("/"):
        problems.append("program is %r: the whole path, the same on every host" % values["program"])
    return problems


def slug(name: str) -> str:
    """The run's name as a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-.") or "run"
