"""The way that NCCL's data took, and its judgement: proven by lines, never by a bandwidth."""

from __future__ import annotations

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.transport import (
    judge_bootstrap,
    judge_settings,
    judge_transport,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.nccl.transport import (
    TransportReport,
    parse_nccl_transport,
    reading,
)

DOMAINS = {"node-a": "nvl-1", "node-b": "nvl-1", "node-c": "nvl-2"}


def info(host: str, text: str) -> str:
    return f"[1,0]<stdout>:{host}:21:21 [0] NCCL INFO {text}\n"


def channels(a_b: str = "P2P/MNNVL", b_c: str = "NET/IB/3/GDRDMA") -> str:
    return (
        info("node-a", "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM")
        + info("node-a", f"Channel 00/0 : 1[1] -> 2[0] via {a_b}")
        + info("node-b", f"Channel 00/0 : 2[0] -> 4[0] [send] via {b_c}")
        + info("node-c", f"Channel 00/0 : 2[0] -> 4[0] [receive] via {b_c}")
    )


def read(text: str) -> TransportReport:
    return parse_nccl_transport(text.splitlines(keepends=True))


def short(findings: list[Finding]) -> list[tuple[str, str, str | None]]:
    return [(finding.severity.name, finding.subject.host, finding.subject.peer) for finding in findings]


def test_reading() -> None:
    text = (
        channels()
        + info("node-a", "Bootstrap : Using eth0:192.0.2.1<0>")
        + info("node-a", "NCCL_MNNVL_ENABLE set by environment to 1.")
    )
    assert reading(read(text)) == {
        "tool": "nccl-transport",
        "pairs": [
            {"hosts": ["node-a", "node-a"], "ways": ["P2P/CUMEM"]},
            {"hosts": ["node-a", "node-b"], "ways": ["P2P/MNNVL"]},
            {"hosts": ["node-b", "node-c"], "ways": ["NET/IB/GDRDMA"]},
        ],
        "bootstrap": {"node-a": "eth0"},
        "settings": {"NCCL_MNNVL_ENABLE": ["1"]},
    }


JUDGED = {
    "nvlink_inside_and_rdma_between": (channels(), True, [("OK", "node-a", "node-b"), ("OK", "node-b", "node-c")]),
    "fell_back_to_the_network": (
        channels("NET/IB/0"),
        True,
        [("FAIL", "node-a", "node-b"), ("OK", "node-b", "node-c")],
    ),
    "mnnvl_off_means_rdma_inside_too": (
        channels("NET/IB/0"),
        False,
        [("OK", "node-a", "node-b"), ("OK", "node-b", "node-c")],
    ),
    "mnnvl_although_off": (channels(), False, [("FAIL", "node-a", "node-b"), ("OK", "node-b", "node-c")]),
    "tcp_is_no_rdma": (channels(b_c="NET/Socket/0"), True, [("OK", "node-a", "node-b"), ("FAIL", "node-b", "node-c")]),
    "a_node_that_says_nothing": (
        channels().split("[1,0]<stdout>:node-b")[0],
        True,
        [("UNKNOWN", "node-a", None), ("UNKNOWN", "node-b", None), ("UNKNOWN", "node-c", None)],
    ),
}


@pytest.mark.parametrize(("text", "mnnvl", "want"), JUDGED.values(), ids=JUDGED)
def test_each_pair_of_nodes(text: str, mnnvl: bool, want: list[tuple[str, str, str | None]]) -> None:
    assert short(judge_transport(read(text), DOMAINS, mnnvl)) == want


A4X_WAYS = {
    "NET/IB/3/GDRDMA": "OK",
    # As NCCL prints it where GPU and NIC are joined by C2C and by PCIe (Grace), and with Google's plugin.
    "NET/IB/3/GDRDMA(PCI)": "OK",
    "NET/gIB/3/GDRDMA": "OK",
    "NET/gIB/3/GDRDMA(PCI)/Shared": "OK",
    "NET/IB/0/Shared": "OK",
    "NET/GPUDirectTCPX_v7/0": "FAIL",  # of A3 High
    "NET/FasTrak/0": "FAIL",  # TCPXO, of A3 Mega
    "NET/Socket/0": "FAIL",
}


@pytest.mark.parametrize(("way", "severity"), A4X_WAYS.items(), ids=A4X_WAYS)
def test_a4x_is_gpudirect_rdma_over_roce_and_no_tcpx(way: str, severity: str) -> None:
    found = judge_transport(read(channels(b_c=way)), DOMAINS)
    assert short(found)[1] == (severity, "node-b", "node-c")


def test_node_of_unknown_domain() -> None:
    findings = judge_transport(read(channels()), {"node-a": "nvl-1", "node-b": "nvl-1"})
    assert short(findings) == [("OK", "node-a", "node-b"), ("UNKNOWN", "node-b", "node-c")]


def test_every_variable_is_proven_to_be_forwarded() -> None:
    text = (
        channels() + info("node-a", "NCCL_IB_HCA set to mlx5") + info("node-b", "NCCL_ALGO set by environment to Ring")
    )
    findings = judge_settings(read(text), {"NCCL_IB_HCA": "mlx5", "NCCL_ALGO": "Tree", "NCCL_MNNVL_ENABLE": "1"})
    assert [(f.severity.name, f.subject.item) for f in findings] == [
        ("FAIL", "NCCL_ALGO"),
        ("OK", "NCCL_IB_HCA"),
        ("UNKNOWN", "NCCL_MNNVL_ENABLE"),
    ]


def test_mode_2_is_named_because_it_falls_back_silently() -> None:
    findings = judge_settings(read(channels() + info("node-a", "NCCL_MNNVL_ENABLE set by environment to 2.")), {})
    assert [(f.severity.name, f.measured, f.expected) for f in findings] == [("WARN", "2", "1")]


def test_bootstrap_belongs_on_the_management_network() -> None:
    text = info("node-a", "Bootstrap : Using eth0:192.0.2.1<0>") + info("node-b", "Bootstrap : Using ib0:192.0.2.2<0>")
    findings = judge_bootstrap(read(text), ["eth0"])
    assert [(f.severity.name, f.subject.host, f.measured) for f in findings] == [
        ("OK", "node-a", "eth0"),
        ("FAIL", "node-b", "ib0"),
    ]


@pytest.mark.parametrize(
    "text", ["", "True\n", "NCCL version 2.29.7+cuda13.0\n"], ids=["empty", "cuda_is_available", "version_only"]
)
def test_no_communicator_is_no_proof(text: str) -> None:
    with pytest.raises(ParseError, match=r"^nccl-transport: "):
        read(text)
