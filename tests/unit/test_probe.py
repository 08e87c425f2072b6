"""The prober in a simulated network with its own clock: nothing sleeps, every loss is planned."""

from __future__ import annotations

import errno
import heapq
import itertools
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.packet import Answer, Event, Refusal
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.prober import (
    Outcome,
    Pace,
    Target,
    last_with,
    probe,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.search import Search


@dataclass
class Way:
    """How a path behaves. ``delay`` gives the seconds a reply takes by the count of probes sent so far; None: lost."""

    mtu: int = 65535
    delay: Callable[[int], float | None] = lambda sent: 0.001
    copies: int = 1
    fragments_above: int = 65535
    error: int = 0
    refusal: Refusal | None = None
    sent: list[int] = field(default_factory=list)


class Net:
    """Wire and clock in one."""

    def __init__(self, ways: dict[str, Way]) -> None:
        self.ways, self.now, self.log = ways, 100.0, []
        self.order = itertools.count()
        self.coming: list[tuple[float, int, Event]] = []

    def clock(self) -> float:
        return self.now

    def send(self, target: Target, number: int, size: int) -> int:
        way = self.ways[target.peer]
        self.log.append(self.now)
        way.sent.append(size)
        if way.error:
            return way.error
        if target.device_mtu is not None and size > target.device_mtu:
            return errno.EMSGSIZE
        if way.refusal is not None and size > way.mtu:
            self.arrive(
                0.001, Refusal(number & 0xFFFF, target.address, way.refusal.sender, way.refusal.mtu, way.refusal.reason)
            )
        delay = way.delay(len(way.sent))
        if size <= way.mtu and delay is not None:
            for copy in range(way.copies):
                self.arrive(delay + copy * 0.1, Answer(number, size, size <= way.fragments_above))
        return 0

    def arrive(self, delay: float, event: Event) -> None:
        heapq.heappush(self.coming, (self.now + delay, next(self.order), event))

    def receive(self) -> Iterator[Event]:
        while self.coming and self.coming[0][0] <= self.now:
            yield heapq.heappop(self.coming)[2]

    def wait(self, seconds: float) -> None:
        soonest = self.coming[0][0] if self.coming else self.now + seconds
        self.now = max(self.now + 1e-6, min(self.now + seconds, soonest))


def target(peer: str = "p", **changed: object) -> Target:
    data = {"network": "storage", "peer": peer, "source": "192.0.2.1", "interface": "bond0", "expected": 9000}
    return Target(**{**data, "address": f"192.0.2.{zlib.crc32(peer.encode()) % 200 + 2}", **changed})  # type: ignore[arg-type]


def run(way: Way, pace: Pace | None = None, **changed: object) -> tuple[Outcome, Net]:
    net = Net({"p": way})
    return probe([target(**changed)], net, pace or Pace(), net.clock)[0], net


def lost(*which: int) -> Callable[[int], float | None]:
    return lambda sent: None if sent in which else 0.001


@pytest.mark.parametrize(
    ("way", "changed", "state", "measured", "sent"),
    [
        pytest.param(Way(), {}, "ok", 9000, [9000], id="ok"),
        pytest.param(Way(delay=lost(1, 2)), {}, "ok", 9000, [9000] * 3, id="two-replies-lost"),
        pytest.param(Way(copies=3), {}, "ok", 9000, [9000], id="duplicates"),
        pytest.param(Way(delay=lambda sent: 0.6), {}, "ok", 9000, [9000] * 2, id="late-reply-counts"),
        pytest.param(
            Way(delay=lambda sent: 3.0 if sent <= 3 else None), {}, "ok", 9000, [9000] * 3 + [84] * 3,
            id="late-reply-after-all-tries",
        ),
        pytest.param(
            Way(mtu=1500), {}, "path_mtu", 1500, [9000] * 3 + [84, 1500] + [1501] * 3, id="black-hole"
        ),
        pytest.param(
            Way(mtu=1500, copies=2), {}, "path_mtu", 1500, [9000] * 3 + [84, 1500] + [1501] * 3,
            id="a-duplicate-settles-nothing",
        ),
        pytest.param(
            Way(mtu=1333, refusal=Refusal(0, "", "192.0.2.254", mtu=1333)), {}, "path_mtu", 1333,
            [9000] * 3 + [84, 1333] + [1334] * 3, id="router-tells-the-mtu",
        ),
        pytest.param(
            Way(mtu=1500, refusal=Refusal(0, "", "192.0.2.254", mtu=600)), {}, "path_mtu", 1500, None,
            id="router-tells-too-little",
        ),
        pytest.param(
            Way(mtu=1500, refusal=Refusal(0, "", "192.0.2.254", mtu=0)), {}, "path_mtu", 1500, None,
            id="old-router-tells-nothing",
        ),
        pytest.param(
            Way(fragments_above=1500), {}, "path_mtu", 1500, [9000, 84, 1500, 1501], id="reply-in-fragments"
        ),
        pytest.param(Way(delay=lambda sent: None), {}, "no_reply", None, [9000] * 3 + [84] * 3, id="silent"),
        pytest.param(
            Way(mtu=0, refusal=Refusal(0, "", "192.0.2.254", reason="net unreachable")), {}, "no_route", None,
            [9000] * 3 + [84] * 3, id="router-has-no-route",
        ),
        pytest.param(
            Way(mtu=0, refusal=Refusal(0, "", "192.0.2.1", reason="host unreachable")), {}, "no_reply", None,
            [9000] * 3 + [84] * 3, id="own-kernel-finds-no-neighbour",
        ),
        pytest.param(Way(error=errno.ENETUNREACH), {}, "no_route", None, [9000], id="no-local-route"),
        pytest.param(Way(error=errno.EPERM), {}, "no_route", None, [9000], id="own-packet-filter"),
        pytest.param(Way(error=errno.ENOBUFS), {}, "no_reply", None, [9000] * 3 + [84] * 3, id="send-queue-full"),
        pytest.param(Way(), {"device_mtu": 1500}, "local_mtu", 1500, [9000], id="own-device-too-small"),
        pytest.param(Way(mtu=60), {"expected": 68}, "no_reply", None, [68] * 3, id="smallest-mtu"),
        pytest.param(Way(mtu=8999), {"address": "2001:db8::2"}, "path_mtu", 8999, None, id="one-byte-short-v6"),
    ],
)  # fmt: skip
def test_states(way: Way, changed: dict[str, object], state: str, measured: int | None, sent: list[int] | None) -> None:
    outcome, _net = run(way, **changed)
    assert (outcome.state, outcome.measured) == (state, measured)
    assert sent is None or way.sent == sent


def test_details_and_rtt() -> None:
    ok = run(Way())[0]
    filtered = run(Way(mtu=0, refusal=Refusal(0, "", "192.0.2.254", reason="filtered")))[0]
    silent = run(Way(mtu=0, refusal=Refusal(0, "", "192.0.2.1", reason="host unreachable")))[0]
    assert (ok.rtt_us, filtered.detail, silent.detail) == (
        pytest.approx(1000.0, abs=1),
        "192.0.2.254 says: filtered",
        "no neighbour answers for that address",
    )


@pytest.mark.parametrize("mtu", [84, 85, 575, 576, 1280, 1499, 1501, 4092, 8895, 8896, 8897, 8999, 9000])
def test_search_finds_every_size_in_few_questions(mtu: int) -> None:
    search, asked = Search(9000, 84), 0
    while (size := search.next()) is not None:
        asked += 1
        search.answered(size) if size <= mtu else search.lost(size)
    assert (search.passed, asked <= 22) == (mtu, True)


def test_a_late_answer_refutes_a_loss() -> None:
    search = Search(9000, 84)
    search.lost(9000)
    search.answered(84)
    search.lost(1500)
    search.answered(1500)
    while (size := search.next()) is not None:
        search.answered(size) if size <= 4092 else search.lost(size)
    assert search.passed == 4092


def test_many_paths_one_of_each_fault() -> None:
    ways = {f"p{i}": Way() for i in range(199)}
    ways["p7"], ways["p50"], ways["p198"] = Way(mtu=1500), Way(delay=lambda sent: None), Way(error=errno.EHOSTUNREACH)
    net = Net(ways)
    outcomes = probe([target(peer) for peer in ways], net, Pace(), net.clock)
    assert [outcome.target.peer for outcome in outcomes] == list(ways)
    assert {o.target.peer: (o.state, o.measured) for o in outcomes if o.state != "ok"} == {
        "p7": ("path_mtu", 1500),
        "p50": ("no_reply", None),
        "p198": ("no_route", None),
    }
    assert net.now - 100 < 8


def test_rate_is_bounded_and_lower_after_a_loss() -> None:
    ways = {f"p{i}": Way(delay=lambda sent: None) for i in range(50)}
    net = Net(ways)
    probe([target(peer) for peer in ways], net, Pace(rate=100, window=1000), net.clock)
    first, again = sorted(net.log)[:50], sorted(net.log)[50:]
    assert max(Counter(int(at) for at in first).values()) <= 101
    assert max(Counter(int(at) for at in again).values()) <= 26 + 8
    assert (len(first), len(again)) == (50, 250)


def test_window_bounds_what_is_unanswered() -> None:
    ways = {f"p{i}": Way(delay=lambda sent: None) for i in range(20)}
    net = Net(ways)
    probe([target(peer) for peer in ways], net, Pace(rate=1e6, window=5, retries=0), net.clock)
    assert max(Counter(int((at - 100) / 0.9999) for at in net.log).values()) <= 5


def test_a_dead_peer_does_not_slow_the_others() -> None:
    ways = {f"p{i}": Way() for i in range(500)}
    ways["p0"] = Way(delay=lambda sent: None)
    net = Net(ways)
    probe([target(peer) for peer in ways], net, Pace(rate=1000, window=16), net.clock)
    assert net.now - 100 < 7


@pytest.mark.parametrize(
    ("sequence", "count", "number"),
    [
        (0, 1, 0),
        (5, 10, 5),
        (0, 65536, 0),
        (0, 65537, 65536),
        (65535, 65537, 65535),
        (4464, 70001, 70000),
        (5, 3, -65531),
    ],
)
def test_a_sequence_means_the_latest_probe_with_it(sequence: int, count: int, number: int) -> None:
    assert last_with(sequence, count) == number


def test_nothing_to_probe() -> None:
    net = Net({})
    assert probe([], net, Pace(), net.clock) == []


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"timeout": -1.0}, {"retries": -1}])
def test_pace_is_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="must be above 0"):
        Pace(**wrong)  # type: ignore[arg-type]
