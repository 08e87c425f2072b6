"""Capacity by sub-block, placement of domains, calendar reservations, and the topology report."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.fakes.gce import Answer, FakeCompute, Store
from tests.fakes.gce.modules import run_module
from tests.fakes.gce.scenario import (
    BLOCK,
    RESERVATION,
    ZONE,
    a4x,
    add_reservation,
    sub_block,
    sub_block_path,
    worker,
    zone_path,
)

HERE = {"zone": ZONE, "name": RESERVATION}
# Reservation of 36: s1 has 16 of 18 in use and one host degraded, s2 has 4 of 18 in use.
TABLE = """\
sub_block                                 domain    hosts  in_use  degraded  free  health
gb200-reservation-block-0001-subblock-0001  1f3c77aa  18     16      1         1     DEGRADED
gb200-reservation-block-0001-subblock-0002  2f3c77aa  18     4       0         14    HEALTHY"""


@pytest.fixture
def fake() -> Iterator[FakeCompute]:
    store = Store()
    add_reservation(store, in_use=(16, 4), degraded=(1, 0))
    with FakeCompute(store) as running:
        yield running


def domain(name: str, size: int) -> dict[str, Any]:
    return {"name": name, "machines": [f"{name}-{number:02d}" for number in range(size)]}


def both(wanted: dict[str, Any]) -> dict[str, Any]:
    return {"machines": wanted["machines"], "missing": wanted["machines"]}


def affinity(index: int) -> str:
    reservation = f"projects/demo-project/reservations/{RESERVATION}"
    return f"{reservation}/reservationBlocks/{BLOCK}/reservationSubBlocks/{sub_block(index)}"


def test_the_whole_report(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    result = run_module(capsys, fake, "gce_reservation_info", **HERE)
    common = {
        "reservation": RESERVATION,
        "block": BLOCK,
        "cluster": "7c31e0b2d4",
        "topology_block": "b2f0a9",
        "hosts": 18,
    }
    one = {"domain": "1f3c77aa", "in_use": 16, "degraded": 1, "free": 1, "health": "DEGRADED"}
    two = {"domain": "2f3c77aa", "in_use": 4, "degraded": 0, "free": 14, "health": "HEALTHY"}
    places = [
        {"sub_block": sub_block(index), "path": sub_block_path(index), "affinity": affinity(index)} for index in (1, 2)
    ]
    assert result == {
        "failed": False,
        "changed": False,
        "placement": [],
        "ends_soon": False,
        "reservation": {
            "name": RESERVATION,
            "path": zone_path("reservations", RESERVATION),
            "status": "READY",
            "deployment_type": "DENSE",
            "machine_type": "a4x-highgpu-4g",
            "hosts": 36,
            "in_use": 20,
            "start": None,
            "end": None,
            "sub_blocks": [{**common, **one, **places[0]}, {**common, **two, **places[1]}],
        },
        "table": TABLE.replace(
            "sub_block                                 ", "sub_block                                   "
        ),
    }
    assert fake.writes == []


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([4], [2]),
        ([14], [2]),
        ([1], [1]),
        ([1, 14], [1, 2]),
        ([14, 1], [2, 1]),
        ([15], None),
        ([18], None),
        ([2, 2], None),
    ],
)
def test_f20_domains_fit_by_sub_block(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, sizes: list[int], expected: list[int] | None
) -> None:
    wanted = [domain(f"d{index}", size) for index, size in enumerate(sizes)]
    result = run_module(capsys, fake, "gce_reservation_info", **HERE, domains=wanted)
    if expected is None:
        assert result["failed"] is True
        assert "do not fit" in result["msg"]
        assert all(line.split()[0] in result["msg"] for line in TABLE.splitlines())
        return
    assert result["placement"] == [
        {"name": item["name"], "sub_block": sub_block(index), "affinity": affinity(index), **both(item)}
        for item, index in zip(wanted, expected, strict=True)
    ]


def test_machines_that_exist_keep_their_domain(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    fake.store.put(zone_path("instances", "d0-00"), {**worker(0, 0), "name": "d0-00"})
    two = run_module(capsys, fake, "gce_reservation_info", **HERE, domains=[domain("d0", 2)])
    assert two["placement"] == [
        {"name": "d0", "sub_block": sub_block(1), "affinity": affinity(1)}
        | {"machines": ["d0-00", "d0-01"], "missing": ["d0-01"]},
    ]
    three = run_module(capsys, fake, "gce_reservation_info", **HERE, domains=[domain("d0", 3)])
    assert f"do not fit into sub-block {sub_block(1)}, where its other machines are" in three["msg"]


def test_a_full_domain_needs_no_room(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    fake.store.resources[sub_block_path(1)]["inUseCount"] = 18
    fake.store.put(zone_path("instances", "d0-00"), {**worker(0, 0), "name": "d0-00"})
    result = run_module(capsys, fake, "gce_reservation_info", **HERE, domains=[domain("d0", 1)])
    assert (result["failed"], result["placement"][0]["missing"]) == (False, [])


def test_machines_of_one_domain_in_two_are_an_error(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    for index in (0, 1):
        fake.store.put(zone_path("instances", f"d0-0{index}"), {**worker(index, 0), "name": f"d0-0{index}"})
    result = run_module(capsys, fake, "gce_reservation_info", **HERE, domains=[domain("d0", 2)])
    assert "are in several sub-blocks already" in result["msg"]


@pytest.mark.parametrize(("hours", "warned"), [(24, True), (24 * 30, False)])
def test_a_calendar_reservation_that_ends_soon(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, hours: int, warned: bool
) -> None:
    start, end = "2026-11-01T00:00:00Z", (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    future = {"reservationName": RESERVATION, "timeWindow": {"startTime": start, "endTime": end}}
    fake.store.put(zone_path("futureReservations", "calendar"), future)
    result = run_module(capsys, fake, "gce_reservation_info", **HERE)
    assert (result["reservation"]["start"], result["reservation"]["end"]) == (start, end)
    assert result["ends_soon"] is warned
    warning = f"reservation {RESERVATION} ends at {end}; its machines stop then"
    assert (warning in str(result.get("warnings"))) is warned


def test_an_end_of_the_reservation_itself_counts(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    end = (datetime.now(UTC) + timedelta(hours=24)).isoformat()
    fake.store.get(zone_path("reservations", RESERVATION))["deleteAtTime"] = end
    result = run_module(capsys, fake, "gce_reservation_info", **HERE)
    assert (result["reservation"]["end"], result["ends_soon"]) == (end, True)


def test_future_reservations_may_be_unreadable(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    fake.script.plant("GET", "futureReservations", Answer.error(403, "forbidden", "no permission"))
    assert run_module(capsys, fake, "gce_reservation_info", **HERE)["reservation"]["end"] is None


def test_a_reservation_that_is_not_there(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    result = run_module(capsys, fake, "gce_reservation_info", zone=ZONE, name="other")
    assert "reservations/other' was not found" in result["msg"]


def test_topology_of_a_fleet(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeCompute(a4x()) as fleet:
        result = run_module(capsys, fleet, "gce_topology_info", zone=ZONE)
        assert fleet.writes == []
    names = [[machine["name"] for machine in item["machines"]] for item in result["domains"]]
    assert names == [[f"a4x-{letter}-{number:02d}" for number in range(18)] for letter in "ab"]
    assert [(item["domain"], item["health"], item["free"]) for item in result["domains"]] == [
        ("1f3c77aa", "HEALTHY", 0),
        ("2f3c77aa", "DEGRADED", 0),
    ]
    assert result["domains"][1]["machines"][4] == {
        "name": "a4x-b-04",
        "status": "RUNNING",
        "host": "04e4",
        "maintenance": None,
    }
    assert (result["outside"], result["spare_hosts"]) == (["bastion", "cp-1", "stopped-1"], 0)
    assert [item["name"] for item in result["maintenance"]] == ["a4x-b-03"]
    every = [", ".join(names[0]), ", ".join(names[1])]
    assert result["members"] == [f"1f3c77aa: {every[0]}", f"2f3c77aa: {every[1]}"]


def test_topology_shows_machines_that_do_not_run(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    for host, status in ((0, "RUNNING"), (1, "REPAIRING")):
        fake.store.put(zone_path("instances", f"w{host}"), worker(0, host, status=status))
    result = run_module(capsys, fake, "gce_topology_info", zone=ZONE)
    assert result["members"] == ["1f3c77aa: w0, w1 (REPAIRING)", "2f3c77aa: no machine"]


def test_topology_of_a_reservation_without_machines(capsys: pytest.CaptureFixture[str], fake: FakeCompute) -> None:
    result = run_module(capsys, fake, "gce_topology_info", zone=ZONE, reservations=[RESERVATION])
    assert (result["spare_hosts"], [item["machines"] for item in result["domains"]]) == (15, [[], []])
