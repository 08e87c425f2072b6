"""Findings of a host as evidence for a report: the table, and what is no evidence."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.gpufleet.cluster.plugins.filter.fault_evidence import fault_evidence
from ansible_collections.gpufleet.cluster.plugins.module_utils.gce.faulty import HOST_BEHAVIORS
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.gce.evidence import RULES


def finding(check: str, message: str, severity: str = "FAIL", host: str = "w0") -> dict[str, Any]:
    return {"check": check, "severity": severity, "subject": {"host": host}, "message": message, "unit": ""}


XID_79 = finding("gpu", "XID 79: GPU 2 has fallen off the bus")
SLOW = finding("rdma", "bandwidth of rail 1 is 120 Gbit/s")


@pytest.mark.parametrize(
    ("findings", "behavior", "description"),
    [
        ([XID_79], "UNRECOVERABLE_GPU_ERROR", "gpu: XID 79: GPU 2 has fallen off the bus"),
        ([SLOW], "PERFORMANCE", "rdma: bandwidth of rail 1 is 120 Gbit/s"),
        ([SLOW, XID_79], "UNRECOVERABLE_GPU_ERROR", "gpu: XID 79: GPU 2 has fallen off the bus"),
        ([finding("dcgm", "memory: fail")], "UNRECOVERABLE_GPU_ERROR", "dcgm: memory: fail"),
        ([XID_79, finding("gpu", "silent data corruption")], "SILENT_DATA_CORRUPTION", "gpu: silent data corruption"),
    ],
    ids=["xid", "slow", "worst first", "dcgm", "corruption"],
)
def test_evidence(findings: list[dict[str, Any]], behavior: str, description: str) -> None:
    assert fault_evidence({"findings": findings}, "w0") == {"behavior": behavior, "description": description}


@pytest.mark.parametrize(
    "findings",
    [
        [],
        [finding("mtu", "MTU of bond0 is 1500")],
        [finding("gpu", "XID 31: a program wrote where it must not")],
        [{**XID_79, "severity": "UNKNOWN"}],
        [{**XID_79, "subject": {"host": "w1"}}],
    ],
    ids=["none", "software", "program", "unknown", "another host"],
)
def test_no_evidence_of_a_hardware_fault(findings: list[dict[str, Any]]) -> None:
    with pytest.raises(AnsibleFilterError, match="no failed finding of w0 is one of the hardware"):
        fault_evidence({"findings": findings}, "w0")


def test_another_file_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match=r"no findings\.json"):
        fault_evidence([], "w0")


def test_the_table_speaks_googles_words() -> None:
    assert {rule.behavior for rule in RULES} <= set(HOST_BEHAVIORS)
