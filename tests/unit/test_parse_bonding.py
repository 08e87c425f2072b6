"""/proc/net/bonding: recorded texts, and the kinds of damage they come with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.bonding import parse_bonding, reading

FIXTURES = Path(__file__).parent / "fixtures" / "bonding"
CASES = sorted(FIXTURES.glob("*.txt"))
HEALTHY = (FIXTURES / "01-lacp-two-100g-healthy.txt").read_text()
BACKUP = (FIXTURES / "05-active-backup-one-leg-down.txt").read_text()
LEG_1, LEG_2 = HEALTHY.split("Slave Interface: ")[1:]


def read(text: str) -> dict[str, object]:
    return reading(parse_bonding(text.splitlines()))


def verdict(text: str) -> tuple[object, object, object]:
    shown = read(text)
    return shown["lacp_ok"], shown["ok"], shown["failure"]


def shown_keys(want: object, got: object) -> object:
    """What was read, cut down to the keys that the expectation names."""
    if isinstance(want, dict) and isinstance(got, dict):
        return {key: shown_keys(value, got.get(key)) for key, value in want.items()}
    if isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        return [shown_keys(a, b) for a, b in zip(want, got, strict=True)]
    return got


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_recorded_texts(path: Path) -> None:
    want = json.loads(path.with_suffix(".expected.json").read_text())
    del want["case"]
    assert shown_keys(want, read(path.read_text())) == want


def without_root(text: str) -> str:
    """What the kernel shows to a user without CAP_NET_ADMIN."""
    kept, skipping = [], False
    for line in text.splitlines():
        skipping = line.startswith(("Active Aggregator", "details")) or (skipping and line[:1] in ("\t", " "))
        if not skipping and not line.startswith(("System ", "Actor Churn", "Partner Churn")):
            kept.append(line)
    return "\n".join(kept)


def leg_2(**changed: str) -> str:
    """The healthy bond with the second leg's lines changed."""
    leg = LEG_2
    for old, new in changed.items():
        actor, partner = leg.split("details partner")
        if old == "actor":
            leg = actor.replace("state: 61", f"state: {new}") + "details partner" + partner
        elif old == "partner":
            leg = actor + "details partner" + partner.replace("state: 61", f"state: {new}")
        else:
            leg = leg.replace(*new.split("=>"))
    return HEALTHY.replace(LEG_2, leg)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(HEALTHY.replace("state: 61", "state: 63"), (True, True, None), id="fast-63"),
        pytest.param(HEALTHY.replace("state: 61", "state: 62"), (True, True, None), id="passive-62"),
        pytest.param(without_root(HEALTHY), (None, None, None), id="not-root"),
        pytest.param(
            leg_2(actor="71", partner="0"), (False, False, "slave_not_collecting: ens1f1np1"), id="cut-at-the-switch"
        ),
        pytest.param(leg_2(partner="53"), (False, False, "slave_not_collecting: ens1f1np1"), id="partner-not-in-sync"),
        pytest.param(leg_2(actor="125"), (False, False, "slave_not_collecting: ens1f1np1"), id="defaulted-0x40"),
        pytest.param(leg_2(actor="189"), (False, False, "slave_not_collecting: ens1f1np1"), id="expired-0x80"),
        pytest.param(leg_2(mii="Status: up=>Status: down"), (False, False, "slave_down: ens1f1np1"), id="one-leg-down"),
        pytest.param(
            leg_2(mii="Status: up=>Status: going back"), (False, False, "slave_down: ens1f1np1"), id="going-back"
        ),
        pytest.param(
            leg_2(agg="Aggregator ID: 5=>Aggregator ID: 6"),
            (False, False, "wrong_aggregator: ens1f1np1"),
            id="other-aggregator",
        ),
        pytest.param(leg_2(churn="State: none=>State: monitoring"), (True, True, None), id="monitoring-is-transient"),
        pytest.param(
            HEALTHY.replace("Number of ports: 2", "Number of ports: 1"),
            (False, False, "ports_missing: 1 of 2 in the aggregator"),
            id="a-port-less",
        ),
        pytest.param(HEALTHY.partition("details partner")[0], (None, None, None), id="cut-inside-a-leg"),
        pytest.param(HEALTHY.partition("\nSlave")[0], (None, None, None), id="cut-before-the-legs"),
        pytest.param(
            "Bonding Mode: load balancing (round-robin)\nMII Status: down\n", (None, False, "no_slaves"), id="no-legs"
        ),
        pytest.param(BACKUP.replace(": down", ": up"), (None, True, None), id="active-backup-healthy"),
        pytest.param(HEALTHY.replace("\n", "\r\n    "), (True, True, None), id="pasted-with-indent"),
    ],
)
def test_verdicts(text: str, want: tuple[object, object, object]) -> None:
    assert verdict(text) == want


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        ("load balancing (round-robin)", "balance-rr"),
        ("fault-tolerance (active-backup) (fail_over_mac active)", "active-backup"),
        ("load balancing (xor)", "balance-xor"),
        ("fault-tolerance (broadcast)", "broadcast"),
        ("IEEE 802.3ad Dynamic link aggregation", "802.3ad"),
        ("transmit load balancing", "balance-tlb"),
        ("adaptive load balancing", "balance-alb"),
    ],
)
def test_every_mode_has_its_name(line: str, mode: str) -> None:
    assert parse_bonding([f"Bonding Mode: {line}"]).mode == mode


@pytest.mark.parametrize("text", ["", "cat: /proc/net/bonding/bond0: No such file or directory", "a: b\nc: d\n"])
def test_unknown_text_is_an_error(text: str) -> None:
    with pytest.raises(ParseError, match="no line of /proc/net/bonding"):
        parse_bonding(text.splitlines())
