# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""rdma_info: what sysfs tells, and the one thing that only a tool tells."""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

from ..errors import ParseError
from ..parse.ibv_devinfo import parse_ibv_devinfo
from ..runner import Runner
from .devices import read_devices

__all__ = ["read_rdma"]

_LIMIT_S = 30


def read_rdma(runner: Runner, root: str = "/") -> Dict[str, Any]:
    devices = [device.as_dict() for device in read_devices(root)]
    unread: Dict[str, str] = {}
    mtus: Dict[Tuple[str, int], Optional[int]] = {}
    if devices:
        try:
            mtus = _active_mtus(runner)
        except ParseError as exc:
            unread["ibv_devinfo"] = str(exc)
    for device in devices:
        for port in device["ports"]:
            port["active_mtu"] = mtus.get((device["name"], port["port"]))
    return {"devices": devices, "unread": unread}


def _active_mtus(runner: Runner) -> Dict[Tuple[str, int], Optional[int]]:
    result = runner.run(["ibv_devinfo"], timeout=_LIMIT_S)
    if result.rc != 0:
        raise ParseError("ibv_devinfo", 0, result.stderr.strip() or "exit status %d" % result.rc)
    report = parse_ibv_devinfo(result.stdout.splitlines(keepends=True))
    return {(device.name, port.port): port.active_mtu for device in report.devices for port in device.ports}
