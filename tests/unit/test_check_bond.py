"""check_bond: the plan against the kernel's text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import Network, parse_networks
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.bonds import check_bonds
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.links import Link

from tests.unit.test_parse_bonding import HEALTHY, LEG_2, leg_2, without_root

LINKS = (
    Link("ens1f0np0", 9000, mac="02:00:00:00:00:01", pci="0000:01:00.0"),
    Link("ens1f1np1", 9000, mac="02:00:00:00:00:02", pci="0000:01:00.1"),
    Link("ens2", 9000, mac="02:00:00:00:00:03", pci="0000:02:00.0"),
    Link("bond0", 9000, mac="02:00:00:00:00:01", kind="bond"),
)
NO_PARTNER = HEALTHY.replace("state: 61", "state: 69").replace("02:00:00:00:0f:01", "00:00:00:00:00:00")


def plan(*members: dict[str, str], **bond: object) -> tuple[Network, ...]:
    raw = {
        "name": "storage",
        "kind": "bond",
        "interface": "bond0",
        "members": list(members) or [{"mac": "02:00:00:00:00:01"}, {"pci": "0000:01:00.1"}],
        "bond": {"lacp_rate": "slow", "min_links": 0, **bond},
    }
    networks, problems = parse_networks("n1", [raw, {"name": "management", "interface": "eth0"}])
    assert problems == []
    return networks


class Clock:
    """Time that passes only by sleeping; runs ``then`` after ``at`` seconds."""

    def __init__(self, at: float = 1e9, then: Any = None) -> None:
        self.now, self.at, self.then = 0.0, at, then

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.at and self.then is not None:
            self.then()


def check(
    folder: Path, text: str | None, networks: Sequence[Network], settle: float = 0, clock: Clock | None = None
) -> tuple[list[dict[str, Any]], list[Finding]]:
    if text is not None:
        (folder / "bond0").write_text(text)
    clock = clock or Clock()
    return check_bonds("n1", networks, lambda: LINKS, settle=settle, clock=clock, sleep=clock.sleep, folder=str(folder))


def brief(findings: list[Finding]) -> list[tuple[str, str | None, Any]]:
    return [(finding.severity.name, finding.subject.port, finding.measured) for finding in findings]


@pytest.mark.parametrize(
    ("text", "networks", "want"),
    [
        pytest.param(HEALTHY, plan(), [("OK", None, "up")], id="healthy"),
        pytest.param(None, plan(), [("FAIL", None, "bond_absent")], id="absent"),
        pytest.param("junk\n", plan(), [("UNKNOWN", None, "unreadable")], id="unreadable"),
        pytest.param(without_root(HEALTHY), plan(), [("UNKNOWN", None, "no_detail")], id="not-root"),
        pytest.param(
            leg_2(actor="71", partner="0"), plan(), [("FAIL", "ens1f1np1", "not_collecting")], id="cut-at-the-switch"
        ),
        pytest.param(
            leg_2(mii="Status: up=>Status: down"), plan(), [("FAIL", "ens1f1np1", "no_carrier")], id="no-carrier"
        ),
        pytest.param(NO_PARTNER, plan(), [("FAIL", None, "no_partner")], id="no-partner-is-one-fault"),
        pytest.param(
            leg_2(agg="Aggregator ID: 5=>Aggregator ID: 6"),
            plan(),
            [("FAIL", "ens1f1np1", "wrong_aggregator")],
            id="wrong-aggregator",
        ),
        pytest.param(
            HEALTHY.replace("Slave Interface: " + LEG_2, "").replace("ports: 2", "ports: 1"),
            plan(),
            [("FAIL", "ens1f1np1", "member_missing")],
            id="member-not-in-the-bond",
        ),
        pytest.param(
            HEALTHY,
            plan({"name": "ens1f0np0"}, {"name": "ens1f1np1"}, {"mac": "02:00:00:00:00:99"}),
            [("FAIL", "mac 02:00:00:00:00:99", "member_missing")],
            id="member-not-on-the-host",
        ),
        pytest.param(
            HEALTHY, plan({"name": "ens1f0np0"}), [("WARN", "ens1f1np1", "unplanned_member")], id="unplanned-member"
        ),
        pytest.param(HEALTHY, plan(mode="active-backup"), [("FAIL", None, "802.3ad")], id="wrong-mode"),
        pytest.param(HEALTHY, plan(lacp_rate="fast"), [("FAIL", None, "slow")], id="wrong-rate"),
        pytest.param(HEALTHY, plan(min_links=1), [("FAIL", None, 0)], id="wrong-min-links"),
        pytest.param(
            leg_2(actor="71", partner="0").replace("Min links: 0", "Min links: 2"),
            plan(min_links=2),
            [("FAIL", "ens1f1np1", "not_collecting"), ("FAIL", None, 1)],
            id="fewer-ports-than-min-links",
        ),
    ],
)
def test_judges(tmp_path: Path, text: str | None, networks: tuple[Network, ...], want: list[Any]) -> None:
    assert brief(check(tmp_path, text, networks)[1]) == want


def test_the_whole_finding(tmp_path: Path) -> None:
    findings = check(tmp_path, leg_2(actor="71", partner="0"), plan())[1]
    assert [finding.as_dict() for finding in findings] == [
        {
            "check": "bond",
            "severity": "FAIL",
            "subject": {"host": "n1", "network": "storage", "interface": "bond0", "port": "ens1f1np1"},
            "measured": "not_collecting",
            "expected": "collecting",
            "unit": "",
            "message": "bond0, leg ens1f1np1: has carrier but does not collect and distribute "
            "(actor state 0x47, partner state 0x00; both need 0x3c; it hears no partner)",
            "remedy": "check that the switch has this port in the same LACP channel group and has not shut it down",
        }
    ]


def test_report_has_the_reading(tmp_path: Path) -> None:
    rows = check(tmp_path, HEALTHY, plan())[0]
    assert [(row["network"], row["interface"], row["lacp_ok"], len(row["slaves"])) for row in rows] == [
        ("storage", "bond0", True, 2)
    ]


def test_without_bonds_there_is_nothing_to_say(tmp_path: Path) -> None:
    assert check(tmp_path, None, [n for n in plan() if n.kind != "bond"]) == ([], [])


@pytest.mark.parametrize(
    ("settle", "want", "seconds"),
    [
        pytest.param(10, [("OK", None, "up")], 3, id="waits-until-good"),
        pytest.param(2, [("FAIL", None, "no_partner")], 2, id="time-is-up"),
    ],
)
def test_settle(tmp_path: Path, settle: float, want: list[Any], seconds: float) -> None:
    clock = Clock(3, lambda: (tmp_path / "bond0").write_text(HEALTHY))
    findings = check(tmp_path, NO_PARTNER, plan(), settle=settle, clock=clock)[1]
    assert (brief(findings), clock.now) == (want, seconds)
