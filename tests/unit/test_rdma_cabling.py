# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cabling against a plan: LLDP and ibnetdiscover as they print, and what is missing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError, ParseError
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.cabling import (
    LLDP,
    End,
    Neighbour,
    Planned,
    check_cabling,
    parse_ibnetdiscover,
    parse_lldp,
    planned_cables,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult

from tests.fakes.runner import FakeRunner


def entry(switch: str, port: str) -> dict[str, Any]:
    return {
        "via": "LLDP",
        "chassis": {switch: {"id": {"type": "mac", "value": "0c:42:a1:00:00:01"}, "descr": "Switch"}},
        "port": {"id": {"type": "ifname", "value": port}, "descr": port, "ttl": "120"},
    }


RAIL0, RAIL1 = {"rail0": entry("leaf-1", "Ethernet1/7")}, {"rail1": entry("leaf-2", "Ethernet1/7")}
NAMELESS = {"rail0": {**RAIL0["rail0"], "chassis": {"id": {"type": "mac", "value": "0c:42:a1:00:00:01"}}}}
IBNET = """vendid=0x2c9
devid=0xd2f0
switchguid=0x98039b0300a1b2c3(98039b0300a1b2c3)
Switch  41 "S-98039b0300a1b2c3"         # "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 1 lmc 0
[7]     "H-0c42a10300d4e5f6"[1](c42a10300d4e5f6)                # "node-1 mlx5_0" lid 5 4xHDR

vendid=0x2c9
devid=0x101b
caguid=0xc42a10300d4e5f6
Ca      1 "H-0c42a10300d4e5f6"          # "node-1 mlx5_0"
[1](c42a10300d4e5f6)    "S-98039b0300a1b2c3"[7]         # lid 5 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 1 4xHDR
"""


def lldp(entries: Any) -> str:
    return json.dumps({"lldp": {"interface": entries}})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(lldp([RAIL0, RAIL1]), ["leaf-1", "leaf-2"], id="several-are-a-list"),
        pytest.param(lldp(RAIL0), ["leaf-1"], id="one-is-a-mapping"),
        pytest.param(lldp(NAMELESS), ["0c:42:a1:00:00:01"], id="switch-without-a-name"),
        pytest.param('{"lldp": {}}', [], id="nobody"),
    ],
)
def test_lldp(text: str, wanted: list[str]) -> None:
    assert [each.switch for each in parse_lldp(text)] == wanted


def test_ibnetdiscover_is_read_from_the_adapters_side() -> None:
    assert parse_ibnetdiscover(IBNET.splitlines()) == [Neighbour(GUID, "leaf-1", "7")]
    with pytest.raises(ParseError, match="no switch and no adapter"):
        parse_ibnetdiscover(["ibwarn: can't open UMAD port"])


@pytest.mark.parametrize(
    ("planned", "answer", "wanted"),
    [
        pytest.param(
            {"rail0": Planned("leaf-1", "Ethernet1/7")},
            CommandResult(0, lldp(RAIL0), ""),
            [("OK", "leaf-1 port Ethernet1/7")],
            id="right",
        ),
        pytest.param(
            {"rail0": Planned("leaf-1")}, CommandResult(0, lldp(RAIL0), ""), [("OK", "leaf-1")], id="any-port"
        ),
        pytest.param(
            {"rail0": Planned("leaf-2"), "rail1": Planned("leaf-1")},
            CommandResult(0, lldp([RAIL0, RAIL1]), ""),
            [("FAIL", "leaf-1"), ("FAIL", "leaf-2")],
            id="two-cables-swapped",
        ),
        pytest.param(
            {"rail1": Planned("leaf-2")}, CommandResult(0, lldp(RAIL0), ""), [("UNKNOWN", None)], id="silent-switch"
        ),
        pytest.param(
            {"rail0": Planned("leaf-1")},
            CommandResult(127, "", "lldpcli: not installed"),
            [("UNKNOWN", None)],
            id="tool-missing",
        ),
        pytest.param({"rail0": Planned("leaf-1")}, CommandResult(0, "", ""), [("UNKNOWN", None)], id="prints-nothing"),
        pytest.param({"rail0": Planned("leaf-1")}, CommandResult(1, lldp(RAIL0), ""), [("UNKNOWN", None)], id="exit-1"),
        pytest.param(
            {"rail0": Planned("leaf-1")},
            CommandResult(0, "[lldpctl] unable to get global configuration: Unable to connect to lldpd\n", ""),
            [("UNKNOWN", None)],
            id="exit-0-with-an-error-text",
        ),
        pytest.param(
            {"rail0": Planned("leaf-1")}, CommandResult(124, lldp(RAIL0), "no end"), [("UNKNOWN", None)], id="hangs"
        ),
        pytest.param(
            {"rail0": Planned("leaf-1")}, CommandResult(153, lldp(RAIL0), "too much"), [("UNKNOWN", None)], id="floods"
        ),
        pytest.param({}, CommandResult(127, "", ""), [], id="no-plan"),
    ],
)
def test_a_cable_against_its_plan(
    planned: dict[str, Planned], answer: CommandResult, wanted: list[tuple[str, str | None]]
) -> None:
    ends = {"rail0": End("rail0"), "rail1": End("rail1")}
    rows, findings = check_cabling("node-1", ends, planned, FakeRunner({LLDP: answer}))
    assert [(each.severity.name, each.measured) for each in findings] == wanted
    assert [row["network"] for row in rows] == sorted(planned)


IBNETDISCOVER = ("ibnetdiscover", "-C", "mlx5_0", "-P", "1")
GUID, OTHER = "0c42a10300d4e5f6", "0c42a10300d4e5f7"
PORT_7, PORT_8 = Planned("leaf-1", "7"), Planned("leaf-1", "8")


@pytest.mark.parametrize(
    ("planned", "guid", "answer", "wanted"),
    [
        pytest.param(PORT_7, GUID, CommandResult(0, IBNET, ""), ("OK", "leaf-1 port 7"), id="right"),
        pytest.param(PORT_8, GUID, CommandResult(0, IBNET, ""), ("FAIL", "leaf-1 port 7"), id="wrong-port"),
        pytest.param(PORT_7, OTHER, CommandResult(0, IBNET, ""), ("UNKNOWN", None), id="not-in-the-subnet"),
        pytest.param(PORT_7, None, CommandResult(0, IBNET, ""), ("UNKNOWN", None), id="port-without-a-guid"),
        pytest.param(
            PORT_7, GUID, CommandResult(127, "", "ibnetdiscover: not installed"), ("UNKNOWN", None),
            id="tool-missing",
        ),
        pytest.param(PORT_7, GUID, CommandResult(0, "", ""), ("UNKNOWN", None), id="prints-nothing"),
        pytest.param(
            PORT_7, GUID, CommandResult(0, "ibwarn: [1] mad_rpc_open_port: can't open UMAD port\n", ""),
            ("UNKNOWN", None), id="exit-0-with-an-error-text",
        ),
        pytest.param(PORT_7, GUID, CommandResult(1, IBNET, "discover failed"), ("UNKNOWN", None), id="exit-1"),
        pytest.param(PORT_7, GUID, CommandResult(124, IBNET, "no end"), ("UNKNOWN", None), id="hangs"),
        pytest.param(PORT_7, GUID, CommandResult(153, IBNET, "too much"), ("UNKNOWN", None), id="floods"),
    ],
)  # fmt: skip
def test_a_cable_of_infiniband(
    planned: Planned, guid: str | None, answer: CommandResult, wanted: tuple[str, str | None]
) -> None:
    """LLDP does not go over InfiniBand: the subnet is walked from the device of the rail."""
    runner = FakeRunner({IBNETDISCOVER: answer})
    _rows, (finding,) = check_cabling("node-1", {"rail0": End("ib0", "mlx5_0", 1, guid)}, {"rail0": planned}, runner)
    assert (finding.severity.name, finding.measured) == wanted
    assert runner.calls == [IBNETDISCOVER]


@pytest.mark.parametrize(
    "wrong", [{"rail0": "leaf-1"}, {"rail0": {"port": "7"}}, {"rail0": {"switch": "a", "slot": 1}}]
)
def test_a_bad_plan_says_what_is_allowed(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"cabling.rail0 = .*allowed are switch \(needed\) and port"):
        planned_cables(wrong)
