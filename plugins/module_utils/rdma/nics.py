# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ib_write_bw by hand: every NIC of this host against itself, or one end of a pair."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from ..errors import ConfigError, MeasureError
from ..finding import Finding, Severity, Subject
from ..judge.bandwidth import Limit
from ..judge.rdma import CHECK, judge_outcomes
from ..runner import CommandResult
from .devices import ROCE_V2, Device, Endpoint, Port, PortDownError
from .outcome import Outcome
from .perftest import Settings, command, read_output
from .plan import Step
from .ports import listening
from .process import Program

__all__ = ["ROLES", "Ends", "NicFinder", "commands_of", "judge_nics", "measure_nics", "nic_rows"]

ROLES = ("loopback", "server", "client")
_POLL_S = 0.05
_RETRY_S = 0.5

Nics = Dict[str, Union[Endpoint, MeasureError]]


@dataclass(frozen=True)
class Ends:
    """Which end this host is, where the ends find each other, and for how long. ``peer`` is the server's address."""

    role: str
    port: int
    peer: Optional[str]
    limit: float


class NicFinder:
    """Every port of the chosen devices, with the GID of a RoCE v2 address on it: IPv4 first."""

    def __init__(self, devices: Sequence[Device]) -> None:
        self._devices = devices

    def find(self, names: Sequence[str]) -> Nics:
        known = [device.name for device in self._devices]
        unknown = sorted(set(names) - set(known))
        if unknown:
            raise ConfigError(
                "devices: %s is not on this host; it has %s" % (", ".join(unknown), ", ".join(known) or "none")
            )
        return {
            "%s/%d" % (device.name, port.port): self._endpoint(device, port)
            for device in self._devices
            if not names or device.name in names
            for port in device.ports
        }

    def _endpoint(self, device: Device, port: Port) -> Union[Endpoint, MeasureError]:
        if not port.active:
            return PortDownError("%s port %d is %s, not ACTIVE" % (device.name, port.port, port.state))
        if port.link_layer == "InfiniBand":
            return Endpoint(device.name, port.port, None, port.speed, device.cpus)
        usable = sorted(
            (gid for gid in port.gids if gid.type == ROCE_V2), key=lambda gid: (gid.ipv4 is None, gid.index)
        )
        if not usable:
            return MeasureError("%s port %d has no GID of RoCE v2: it has no address yet" % (device.name, port.port))
        return Endpoint(device.name, port.port, usable[0].index, port.speed, device.cpus)


def commands_of(settings: Settings, endpoint: Endpoint, test: str, ends: Ends) -> List[List[str]]:
    """The server's, the client's, or both."""
    server = command(settings, endpoint, test, ends.port, None)
    client = command(settings, endpoint, test, ends.port, "127.0.0.1" if ends.role == "loopback" else ends.peer)
    return {"loopback": [server, client], "server": [server], "client": [client]}[ends.role]


async def measure_nics(
    host: str, nics: Nics, tests: Sequence[str], settings: Settings, ends: Ends, *, environment: Dict[str, str]
) -> List[Outcome]:
    """One NIC after the other."""
    sides = {"server": (host, "client"), "client": (ends.peer or "server", host)}.get(ends.role, (host, host))
    outcomes = []
    for name, endpoint in nics.items():
        if not isinstance(endpoint, Endpoint):
            continue
        for test in tests:
            began = time.monotonic()
            argv = commands_of(settings, endpoint, test, ends)
            result = await _run(argv, test, ends, environment)
            raw = (result.stderr + "\n" + result.stdout).strip()
            seconds = time.monotonic() - began
            reading = read_output(test, result)
            outcomes.append(Outcome(name, Step(test, *sides), reading, 1, seconds, endpoint.device, raw))
    return outcomes


async def _run(argv: List[List[str]], test: str, ends: Ends, environment: Dict[str, str]) -> CommandResult:
    if ends.role == "server":
        return await Program(argv[0], ends.limit, environment).run()
    if ends.role == "client":
        return await _until_answered(argv[0], ends.limit, environment, test)
    server = asyncio.ensure_future(Program(argv[0], ends.limit, environment).run())
    try:
        while not server.done() and not listening(ends.port):
            await asyncio.sleep(_POLL_S)
        if server.done():
            return server.result()
        return await Program(argv[1], ends.limit, environment).run()
    finally:
        server.cancel()
        await asyncio.wait({server})


async def _until_answered(argv: List[str], limit: float, environment: Dict[str, str], test: str) -> CommandResult:
    """The server may start a moment later."""
    end = time.monotonic() + limit
    while True:
        result = await Program(argv, max(1.0, end - time.monotonic()), environment).run()
        if not read_output(test, result).again or time.monotonic() + _RETRY_S > end:
            return result
        await asyncio.sleep(_RETRY_S)


def judge_nics(
    host: str, nics: Nics, outcomes: Sequence[Outcome], limits: Sequence[Limit], *, sku: Optional[str], role: str
) -> List[Finding]:
    """A NIC that cannot be measured is a finding, too: figures of one say nothing about the other three."""
    skus = {name: sku or each.speed for name, each in nics.items() if isinstance(each, Endpoint)}
    findings = judge_outcomes(host, outcomes, limits, skus, "loopback" if role == "loopback" else "cross_domain")
    for name, why in nics.items():
        if isinstance(why, MeasureError):
            severity = Severity.FAIL if isinstance(why, PortDownError) else Severity.UNKNOWN
            findings.append(Finding(CHECK, severity, Subject(host, port=name), str(why), remedy="See rdma_info."))
    if not nics:
        message = "there is no RDMA device on %s" % host
        findings.append(Finding(CHECK, Severity.UNKNOWN, Subject(host), message, remedy="Load the NIC's driver."))
    return findings


def nic_rows(nics: Nics, outcomes: Sequence[Outcome]) -> List[Dict[str, Any]]:
    """Rows of the report, with those NICs that were not measured."""
    rows = [{"nic": outcome.network, **outcome.as_dict()} for outcome in outcomes]
    absent: List[Tuple[str, MeasureError]] = [
        (name, why) for name, why in nics.items() if isinstance(why, MeasureError)
    ]
    return rows + [{"nic": name, "state": "unknown", "value": None, "detail": str(why)} for name, why in absent]
