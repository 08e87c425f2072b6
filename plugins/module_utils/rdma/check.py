# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""check_rdma from its parameters to its report and findings."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ..errors import ConfigError, MeasureError
from ..finding import Finding
from ..judge.bandwidth import Limit
from ..runner import Runner
from .cabling import End, Planned, check_cabling
from .counters import judge_counters, read_counters
from .devices import Device, Endpoint, read_devices
from .fleet import Endpoints, Inventory, Wanted, endpoints, fleet_plan, perftest_tool
from .follow import follow
from .log import write_log
from .perftest import Perftest, Settings, library_path
from .plan import Plan
from .results import judge, make_report, pair_rows

__all__ = ["check_rdma"]


def check_rdma(
    inventory: Inventory,
    wanted: Wanted,
    settings: Settings,
    limits: Sequence[Limit],
    sku: Optional[str],
    *,
    forks: int,
    log_directory: str,
    measure: bool,
    caller: Optional[int],
    cabling: Mapping[str, Planned],
    runner: Runner,
    root: str = "/",
) -> Tuple[Dict[str, Any], List[Finding]]:
    """Raises ConfigError for what cannot be measured as asked, MeasureError when the run was stopped."""
    plan = fleet_plan(inventory, wanted)
    if inventory.host not in plan.addresses or wanted.pairs == "none":
        return {}, []
    if forks < len(plan.addresses):
        raise ConfigError(
            "%d hosts must measure at the same time, and Ansible runs %d of them at once: add --forks %d"
            % (len(plan.addresses), forks, len(plan.addresses))
        )
    devices = read_devices(root)
    found = endpoints(plan, inventory.fleet, devices)
    report = make_report(plan, wanted, settings, found, devices)
    tool = perftest_tool(plan, settings, found, library_path(root))
    if not measure:
        return dict(report, commands=_first_commands(plan, tool)), []
    before = _counters(found, root)
    measured = follow(plan, tool, caller)
    findings = judge(plan, found, measured.outcomes, limits, sku)
    report["counters"], grown = _grown(plan.host, found, before, _counters(found, root))
    report.update(pairs=pair_rows(measured.outcomes), seconds=round(measured.seconds, 1))
    report["log"] = write_log(log_directory, inventory.run_id, measured.outcomes)
    ends = {
        rail: _end(str(inventory.fleet[rail]["hosts"][plan.host].get("interface")), found[rail], devices)
        for rail in found
    }
    mine = {network: cable for network, cable in cabling.items() if network in ends}
    report["cabling"], cables = check_cabling(plan.host, ends, mine, runner)
    return report, findings + grown + cables


def _counters(found: Endpoints, root: str) -> Dict[str, Dict[str, int]]:
    usable = {rail: each for rail, each in found.items() if isinstance(each, Endpoint)}
    return {rail: read_counters(each.device, each.port, root) for rail, each in usable.items()}


def _grown(
    host: str, found: Endpoints, before: Mapping[str, Mapping[str, int]], after: Mapping[str, Mapping[str, int]]
) -> Tuple[List[Dict[str, Any]], List[Finding]]:
    """The report's rows, and the findings, of all rails."""
    rows, findings = [], []
    for rail, counts in sorted(after.items()):
        device = str(getattr(found[rail], "device", ""))
        rows.append({"network": rail, "device": device, "before": dict(before[rail]), "after": dict(counts)})
        findings += judge_counters(host, rail, device, before[rail], counts)
    return rows, findings


def _end(interface: str, found: Union[Endpoint, MeasureError], devices: Sequence[Device]) -> End:
    """Only InfiniBand needs no GID index. A port that cannot be used is looked for as on Ethernet, and is UNKNOWN."""
    if not isinstance(found, Endpoint) or found.gid_index is not None:
        return End(interface)
    ports = [port for device in devices if device.name == found.device for port in device.ports]
    return End(interface, found.device, found.port, next(port.guid for port in ports if port.port == found.port))


def _first_commands(plan: Plan, tool: Perftest) -> List[List[str]]:
    """What would run with the first partner, on each rail that can be measured."""
    for _number, partner, rails in plan.meetings():
        return [
            list(tool.command(rail, step, None if step.server == plan.host else plan.addresses[partner][0]))
            for rail in rails
            if not tool.ready(rail)
            for step in plan.steps(partner, rail)
        ]
    return []
