# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ib_write_bw and its like: how they are started on a rail, and what their output is worth."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from typing import Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ..errors import ConfigError, ParseError
from ..finding import Severity
from ..judge.measured import measured_by_perftest, not_measured
from ..parse.perftest import PerftestReport, parse_perftest
from ..runner import RC_FLOODED, RC_NOT_FOUND, RC_TIMEOUT, CommandResult
from .devices import Endpoint
from .outcome import Reading
from .plan import Step
from .process import RC_NOT_EXECUTABLE

__all__ = ["MEMORY", "TESTS", "Perftest", "Settings", "library_path", "parse_output", "read_output"]

TESTS = ("ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat")
MEMORY = ("host", "gpu")
# What may be different in a moment: the server was not there yet, or the one before had not let go.
_PASSING = ("tcp_connect_failed", "peer_closed_during_exchange")
_MOST_DETAIL = 400
_LAT_S = 1.0  # -n 1000 small messages, with the tool's own start


@dataclass(frozen=True)
class Settings:
    """``gpu`` is the CUDA device whose memory is used. ``duration``: seconds that a bandwidth is measured."""

    duration: float = 3.0
    size_bytes: int = 1048576
    latency_bytes: int = 8
    iterations: int = 1000
    qps: int = 2
    memory: str = "host"
    gpu: Optional[int] = None

    def __post_init__(self) -> None:
        if self.memory not in MEMORY:
            raise ConfigError("memory: %r is unknown; allowed: %s" % (self.memory, ", ".join(MEMORY)))
        if self.duration < 1:
            raise ConfigError("duration: %g s is too short; perftest takes whole seconds from 1 on" % self.duration)

    def seconds(self, test: str) -> float:
        return float(int(self.duration)) if test.endswith("_bw") else _LAT_S


@dataclass(frozen=True)
class Perftest:
    """The agent's tool. ``endpoints``: rail -> what is measured there, or why nothing can be."""

    settings: Settings
    endpoints: Mapping[str, Union[Endpoint, str]]
    ports: Mapping[str, int]
    libraries: Mapping[str, str] = field(default_factory=dict)

    def ready(self, network: str) -> str:
        endpoint = self.endpoints.get(network, "the plan gives it no such rail")
        return endpoint if isinstance(endpoint, str) else ""

    def device(self, network: str) -> Optional[str]:
        endpoint = self.endpoints.get(network)
        return endpoint.device if isinstance(endpoint, Endpoint) else None

    def command(self, network: str, step: Step, address: Optional[str]) -> Sequence[str]:
        endpoint = self.endpoints[network]
        if not isinstance(endpoint, Endpoint):  # the agent asks ready() first
            raise LookupError("network %s has no RDMA device to start a test on" % network)
        return command(self.settings, endpoint, step.test, self.ports[network], address)

    def environment(self) -> Mapping[str, str]:
        return self.libraries

    def read(self, test: str, result: CommandResult) -> Reading:
        return read_output(test, result)


def command(settings: Settings, endpoint: Endpoint, test: str, port: int, address: Optional[str]) -> List[str]:
    """The same for both ends but for the address at the end. On the NIC's own NUMA node where there are several."""
    argv = ["taskset", "-c", endpoint.cpus] if endpoint.cpus else []
    argv += [test, "-d", endpoint.device, "-i", str(endpoint.port), "-p", str(port), "-F"]
    if endpoint.gid_index is not None:
        argv += ["-x", str(endpoint.gid_index)]
    if test.endswith("_bw"):
        argv += ["--report_gbits", "-s", str(settings.size_bytes), "-D", str(int(settings.duration))]
        argv += ["-q", str(settings.qps)]
    else:
        argv += ["-s", str(settings.latency_bytes), "-n", str(settings.iterations)]
    if settings.memory == "gpu":
        argv += ["--use_cuda=%d" % (settings.gpu or 0)]
    return argv + ([address] if address else [])


def read_output(test: str, result: CommandResult) -> Reading:
    """Only a whole table of the right test with exit status 0 is a figure."""
    told = _without_output(test, result)
    if told is not None:
        return told
    try:
        report = parse_output(result)
    except ParseError:
        return Reading("unknown", detail="%s: exit status %d and nothing readable%s" % (test, result.rc, _end(result)))
    failed = not_measured(report)
    if failed is not None:
        severity, message, _remedy = failed
        state = "fault" if severity is Severity.FAIL else "unknown"
        detail = "%s: %s%s" % (test, message, ": " + report.detail if report.detail else "")
        return Reading(state, detail=detail, again=report.failure in _PASSING)
    if result.rc != 0:
        return Reading("unknown", detail="%s: a table, but exit status %d%s" % (test, result.rc, _end(result)))
    return _figure(test, report)


def _without_output(test: str, result: CommandResult) -> Optional[Reading]:
    """Results of which the output does not matter any more."""
    words = {
        RC_NOT_FOUND: "%s is not installed; install perftest" % test,
        RC_NOT_EXECUTABLE: "%s may not be executed; install perftest anew" % test,
        RC_FLOODED: "%s printed without end and was stopped" % test,
    }
    if result.rc in words:
        return Reading("unknown", detail=words[result.rc])
    if result.rc == RC_TIMEOUT:
        return Reading("unknown", detail="%s did not end in time%s" % (test, _end(result)))
    return None


def _figure(test: str, report: PerftestReport) -> Reading:
    figures = measured_by_perftest(report)
    if not figures:
        return Reading("unknown", detail="%s: neither unit nor size of the figure is known" % test)
    last = figures[-1]
    if last.collective != test:
        return Reading("unknown", detail="%s was asked for, %s has answered" % (test, last.collective))
    return Reading("ok", last.value, last.unit, last.size_bytes[1])


def parse_output(result: CommandResult) -> PerftestReport:
    """Raises ParseError. Messages on standard error come first: the table's end is the end of the text."""
    return parse_perftest((result.stderr + "\n" + result.stdout).splitlines(keepends=True))


def _end(result: CommandResult) -> str:
    text = " ".join((result.stderr.strip() or result.stdout.strip()).split())[-_MOST_DETAIL:]
    return ": " + text if text else ""


def library_path(root: str = "/", machine: str = "") -> Dict[str, str]:
    """Variables under which perftest loads the system's own libibverbs.

    gIB brings one of its own, for NCCL, and images put it on the library path of every shell. perftest was built
    against the system's. An empty value takes a variable away.
    """
    for folder in _library_folders(machine or platform.machine()):
        if os.path.exists(os.path.join(root, folder.lstrip("/"), "libibverbs.so.1")):
            return {"LD_LIBRARY_PATH": folder, "LD_PRELOAD": ""}
    return {"LD_LIBRARY_PATH": "", "LD_PRELOAD": ""}


def _library_folders(machine: str) -> Tuple[str, ...]:
    multiarch = "%s-linux-gnu" % machine
    return ("/usr/lib/" + multiarch, "/lib/" + multiarch, "/usr/lib64", "/lib64", "/usr/lib")
