# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tools that can be read, by the name of their program."""

from __future__ import annotations

import importlib
import re
from typing import Any, Callable, Dict, Iterable, Iterator, NamedTuple

from .text import Prefixes, clean

__all__ = ["TOOLS", "Tool", "read"]


class Tool(NamedTuple):
    module: str
    parser: str
    about: str


TOOLS: Dict[str, Tool] = {
    "bonding": Tool("bonding", "parse_bonding", "/proc/net/bonding/BOND"),
    "ceph": Tool("ceph", "parse_ceph_status", "ceph status --format json"),
    "dcgmi": Tool("dcgmi_diag", "parse_dcgmi_diag", "dcgmi diag, table or -j"),
    "ibdev2netdev": Tool("ibdev2netdev", "parse_ibdev2netdev", "ibdev2netdev, also -v"),
    "ibstat": Tool("ibstat", "parse_ibstat", "ibstat"),
    "ibv_devinfo": Tool("ibv_devinfo", "parse_ibv_devinfo", "ibv_devinfo"),
    "ip-json": Tool("ip_json", "parse_ip_json", "ip -j link, ip -j addr"),
    "kernel-log": Tool("xid_log", "parse_xid_log", "journalctl -k or dmesg: Xid and SXid of the NVIDIA drivers"),
    "nccl": Tool("nccl", "parse_nccl", "NCCL tests and RCCL tests: log, or the JSON of -J"),
    "netplan": Tool("netplan_status", "parse_netplan_status", "netplan status, text or --format json"),
    "nvidia-imex-ctl": Tool("nvidia_imex_ctl", "parse_nvidia_imex_ctl", "nvidia-imex-ctl -N, -N -j, -q"),
    "nvidia-smi": Tool("nvidia_smi", "parse_nvidia_smi", "nvidia-smi topo -m, -q, --query-gpu=... --format=csv"),
    "nvlink": Tool("nvlink", "parse_nvlink", "nvidia-smi nvlink -s, -e"),
    "perftest": Tool("perftest", "parse_perftest", "ib_write_bw, ib_write_lat and so on: text or --out_json"),
    "vmtouch": Tool("vmtouch", "parse_vmtouch", "vmtouch"),
}


# The check reads the file where it stands; a copy of it may have come through pdsh or a log.
_BONDING_LINE = re.compile(
    r"\s*(?:Ethernet Channel Bonding|802\.3ad info|details (?:actor|partner) lacp pdu:"
    r"|(?:Bonding|Transmit|MII|Up|Down|Peer|LACP|Min|Aggregator|System|Active|Number|Actor|Partner|Slave|Speed|Duplex"
    r"|Link|Permanent|Primary|Currently|ARP|NS|system|port|oper)\b[\w ().-]*:)"
)


class Read(NamedTuple):
    report: Any
    reading: Dict[str, Any]


def read(tool: str, lines: Iterable[str]) -> Read:
    """The report (a frozen dataclass) and its JSON keys. Raises ParseError; KeyError for another tool."""
    entry = TOOLS[tool]
    module = importlib.import_module("." + entry.module, __package__)
    parse: Callable[[Iterable[str]], Any] = getattr(module, entry.parser)
    report = parse(_bare(lines) if tool == "bonding" else lines)
    return Read(report, module.reading(report))


def _bare(lines: Iterable[str]) -> Iterator[str]:
    prefixes = Prefixes(_BONDING_LINE)
    for raw in lines:
        line = clean(raw)
        text = prefixes.strip(line)
        yield line if text is None else text
