# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine shows of IMEX: service, node list, channels, and the domain as its daemon sees it. JSON data."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Dict, List, Optional

from ..errors import ClusterError, MeasureError
from ..host.files import Root
from ..parse.nvidia_imex_ctl import ImexReport, parse_nvidia_imex_ctl
from ..runner import CommandResult, Runner

__all__ = ["CHANNELS", "CONFIG", "read_imex"]

CONFIG = "/etc/nvidia-imex/config.cfg"
NODES_CONFIG = "/etc/nvidia-imex/nodes_config.cfg"
CHANNELS = "/dev/nvidia-caps-imex-channels"
UNIT = "nvidia-imex.service"
_NODE_FILE = re.compile(r"^\s*IMEX_NODE_CONFIG_FILE\s*=\s*(\S+)\s*$", re.MULTILINE)
_MAJOR = re.compile(r"^\s*(\d+) nvidia-caps-imex-channels\s*$", re.MULTILINE)
_PROPERTIES = ("LoadState", "ActiveState", "UnitFileState")


def read_imex(root: Root, runner: Runner, timeout: float, config: str = CONFIG) -> Dict[str, Any]:
    """Keys: service, nodes_config_file, nodes_config, channel_major, channels, domain, unread, commands."""
    unread: Dict[str, str] = {}
    commands: List[str] = []

    def run(*argv: str) -> CommandResult:
        commands.append(" ".join(argv))
        return runner.run(argv, timeout=timeout)

    def part(name: str, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except ClusterError as exc:
            unread[name] = str(exc)
            return None

    file = _nodes_file(root, config)
    return {
        "service": part("service", lambda: _service(run)),
        "nodes_config_file": file,
        "nodes_config": part("nodes_config", lambda: _nodes(root, file)),
        "channel_major": part("channel_major", lambda: _major(root)),
        "channels": [name for name in root.names(CHANNELS) if name.startswith("channel")],
        "domain": part("domain", lambda: _domain(run, config)),
        "unread": unread,
        "commands": commands,
    }


def _service(run: Callable[..., CommandResult]) -> Dict[str, str]:
    result = run("systemctl", "show", UNIT, "--property=" + ",".join(_PROPERTIES))
    pairs = (line.partition("=") for line in result.stdout.splitlines())
    found = {name: value.strip() for name, _equals, value in pairs if name in _PROPERTIES}
    if result.rc != 0 or "LoadState" not in found or "ActiveState" not in found:
        raise MeasureError("systemctl show %s: %s" % (UNIT, _why(result)))
    return {name: found.get(name, "") for name in _PROPERTIES}


def _nodes_file(root: Root, config: str) -> str:
    match = _NODE_FILE.search(root.read(config) or "")
    return match.group(1) if match else NODES_CONFIG


def _nodes(root: Root, file: str) -> Optional[List[str]]:
    """Addresses in order; None when there is no such file."""
    text = root.read(file)
    if text is None:
        return None
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def _major(root: Root) -> Optional[int]:
    text = root.read("/proc/devices")
    if not text:
        raise MeasureError("there is no /proc/devices")
    match = _MAJOR.search(text)
    return int(match.group(1)) if match else None


def _domain(run: Callable[..., CommandResult], config: str) -> Dict[str, Any]:
    """As JSON, and as text from a tool that has no -j yet."""
    where = () if config == CONFIG else ("-c", config)
    result = run("nvidia-imex-ctl", *where, "-N", "-j")
    report = _parsed(result)
    if report is None and not (result.missing or result.timed_out or result.flooded):
        result = run("nvidia-imex-ctl", *where, "-N")
        report = _parsed(result)
    if report is None:
        raise MeasureError("nvidia-imex-ctl -N: %s" % _why(result))
    if result.rc != 0:
        raise MeasureError("nvidia-imex-ctl -N: %s" % _why(result))
    if report.domain_state is None or not report.complete:
        raise MeasureError("nvidia-imex-ctl -N: %s" % (report.failure or "no domain state in its answer"))
    return {
        "state": report.domain_state,
        "nodes": [
            {"index": node.index, "address": node.host, "state": node.state, "version": node.version}
            for node in report.nodes
        ],
        "not_connected": [list(pair) for pair in report.not_connected],
    }


def _parsed(result: CommandResult) -> Optional[ImexReport]:
    if result.missing or result.timed_out or result.flooded:
        return None
    try:
        return parse_nvidia_imex_ctl(result.stdout.splitlines(keepends=True))
    except ClusterError:
        return None


def _why(result: CommandResult) -> str:
    words = [line.strip() for line in (result.stderr + os.linesep + result.stdout).splitlines() if line.strip()]
    said = words[0][:300] if words else ""
    if result.rc in (0, 127, 124, 153):
        return said or "it printed nothing"
    return "rc %d: %s" % (result.rc, said or "without a word")
