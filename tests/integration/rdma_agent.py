"""One host's agent inside a network namespace, with the stand-in for ib_write_bw: ``python -m ... PLAN.json HOST``.

Prints its outcomes and when it began and ended (by the kernel's clock, which all hosts share) as one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ansible/collections"))

from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.fleet import Inventory, Wanted, fleet_plan
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.follow import follow
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.outcome import Reading
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.perftest import read_output
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.plan import Plan, Step
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult


@dataclass(frozen=True)
class StandIn:
    """``gbps``: what each host's NIC is said to carry; a pair gets what its slower end has."""

    plan: Plan
    program: str
    milliseconds: int
    gbps: Mapping[str, float]

    def ready(self, network: str) -> str:
        return ""

    def device(self, network: str) -> str | None:
        return "stand-in"

    def environment(self) -> Mapping[str, str]:
        return {}

    def command(self, network: str, step: Step, address: str | None) -> Sequence[str]:
        value = min(self.gbps[step.server], self.gbps[step.client])
        argv = [self.program, "-p", str(self.plan.rail_port(network)), "-t", str(self.milliseconds), "-v", str(value)]
        return [*argv, address] if address else argv

    def read(self, test: str, result: CommandResult) -> Reading:
        return read_output(test, result)


def plan_of(data: Mapping[str, Any], host: str) -> Plan:
    inventory = Inventory(host, "test", data["fleet"], data["hosts"], {})
    wanted = Wanted(**{**data["wanted"], "tests": tuple(data["wanted"]["tests"])})
    return replace(fleet_plan(inventory, wanted), host=host)


def main(path: str, host: str) -> None:
    data = json.loads(Path(path).read_text())
    plan = plan_of(data, host)
    began = time.monotonic()
    measured = follow(plan, StandIn(plan, data["program"], data["milliseconds"], data["gbps"]))
    rows = [outcome.as_dict() for outcome in measured.outcomes]
    json.dump({"pairs": rows, "rails": [], "began": began, "ended": began + measured.seconds}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
