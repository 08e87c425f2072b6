# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Agents of several hosts in one process, on loopback addresses: they meet, measure, give up and end as promised."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.agent import Agent
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.outcome import Outcome, Reading
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.plan import Plan, Step
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.presence import Presence
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.schedule import make_schedule
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult

# Each test has ports of its own, as the kernel keeps closed connections in mind for a while.
PORTS = itertools.count(21000, 16)


def plan(host: str, hosts: Sequence[str], port: int, **changes: Any) -> Plan:
    made = Plan(
        host=host,
        run_id="test",
        rounds=make_schedule("full", hosts, {}),
        rails={"rail0": frozenset(hosts), "rail1": frozenset(hosts)},
        addresses={name: (f"127.0.7.{number}",) for number, name in enumerate(hosts, 1)},
        tests=("ib_write_bw",),
        directions="both",
        together=False,
        port=port,
        patience=2.0,
        limit=5.0,
    )
    return replace(made, **changes)


@dataclass
class Tool:
    """A client that answers with ``figures`` in turn; a server that ends by itself. ``starts``: who was what."""

    figures: Sequence[str] = ("392",)
    server: Sequence[str] = ("sleep", "0.4")
    unable: Mapping[str, str] = field(default_factory=dict)
    starts: list[tuple[str, Step, bool]] = field(default_factory=list)
    clients: int = 0

    def ready(self, network: str) -> str:
        return self.unable.get(network, "")

    def device(self, network: str) -> str | None:
        return "nic"

    def environment(self) -> Mapping[str, str]:
        return {}

    def command(self, network: str, step: Step, address: str | None) -> Sequence[str]:
        self.starts.append((network, step, address is None))
        if address is None:
            return self.server
        self.clients += 1
        return ["echo", self.figures[min(self.clients, len(self.figures)) - 1]]

    def read(self, test: str, result: CommandResult) -> Reading:
        text = result.stdout.strip()
        return Reading("ok", float(text), "Gb/s") if text.isdigit() else Reading("unknown", detail=text, again=True)


class Listens:
    """The server's port: free when it is asked for first, listened on when asked again."""

    def __init__(self) -> None:
        self._answers = itertools.cycle((False, True))

    def __call__(self, port: int) -> bool:
        return next(self._answers)


def run(plans: Sequence[Plan], tools: Mapping[str, Tool] | None = None) -> dict[str, list[Outcome]]:
    async def all_of_them() -> list[list[Outcome]]:
        agents = [Agent(each, (tools or {}).get(each.host, Tool()), listens=Listens()) for each in plans]
        return await asyncio.gather(*(agent.run() for agent in agents))

    return dict(zip((each.host for each in plans), asyncio.run(all_of_them()), strict=True))


def told(outcomes: dict[str, list[Outcome]]) -> set[tuple[str, str, str, str, float | None]]:
    return {
        (each.network, each.step.client, each.step.server, each.reading.state, each.reading.value)
        for mine in outcomes.values()
        for each in mine
    }


def test_every_pair_is_measured_once_in_each_direction_on_each_rail() -> None:
    hosts, port = ("a", "b", "c"), next(PORTS)
    outcomes = run([plan(host, hosts, port) for host in hosts])
    assert sum(len(mine) for mine in outcomes.values()) == 12
    assert told(outcomes) == {
        (rail, one, other, "ok", 392.0)
        for rail in ("rail0", "rail1")
        for one, other in itertools.permutations(hosts, 2)
    }
    assert all(each.step.client == host for host, mine in outcomes.items() for each in mine), "the sender keeps it"


def test_a_dead_partner_costs_one_time_limit_for_all_its_rails() -> None:
    hosts, port = ("a", "b", "c"), next(PORTS)
    began = time.monotonic()
    outcomes = run([plan(host, hosts, port, patience=5.0) for host in ("a", "c")])
    assert time.monotonic() - began < 2 * 5.0, "one patience, not one for each rail"
    assert {each for each in told(outcomes) if "b" in each[1:3]} == {
        (rail, one, other, "no_answer", None)
        for rail in ("rail0", "rail1")
        for one, other in (("a", "b"), ("b", "a"), ("c", "b"), ("b", "c"))
    }
    assert sum(each[3] == "ok" for each in told(outcomes)) == 4
    details = {
        each.reading.detail.split(" in ")[0] for mine in outcomes.values() for each in mine if each.reading.detail
    }
    assert details == {"b has never answered"}


def test_another_run_on_the_same_ports_is_a_stranger() -> None:
    hosts, port = ("a", "b"), next(PORTS)
    outcomes = run([plan("a", hosts, port), plan("b", hosts, port, run_id="other")])
    assert {each[3] for each in told(outcomes)} == {"no_answer"}


def test_a_rail_that_one_end_does_not_have_is_unknown_and_says_whose() -> None:
    hosts, port = ("a", "b"), next(PORTS)
    outcomes = run([plan(host, hosts, port) for host in hosts], {"b": Tool(unable={"rail1": "no RDMA device"})})
    assert told(outcomes) == {
        ("rail0", "a", "b", "ok", 392.0),
        ("rail0", "b", "a", "ok", 392.0),
        ("rail1", "a", "b", "unknown", None),
        ("rail1", "b", "a", "unknown", None),
    }
    assert {each.reading.detail for mine in outcomes.values() for each in mine if each.network == "rail1"} == {
        "b: no RDMA device"
    }


def test_a_client_tries_again_and_the_server_starts_anew() -> None:
    hosts, port = ("a", "b"), next(PORTS)
    tools = {"a": Tool(figures=("no server", "no server", "391")), "b": Tool()}
    wanted = {"rails": {"rail0": frozenset(hosts)}, "directions": "one"}
    outcomes = run([plan(host, hosts, port, **wanted) for host in hosts], tools)
    sender = next(each for mine in outcomes.values() for each in mine)
    if sender.step.client == "a":
        assert (sender.reading.value, sender.attempts) == (391.0, 3)
        assert len(tools["b"].starts) == 3
    else:
        assert (sender.reading.value, sender.attempts) == (392.0, 1)


@pytest.mark.parametrize("server", [("sh", "-c", "echo no such device >&2; exit 1"), ("/none/ib_write_bw",)])
def test_a_server_that_does_not_start_is_unknown_with_its_own_words(server: tuple[str, ...]) -> None:
    hosts, port = ("a", "b"), next(PORTS)

    class Never(Listens):
        def __call__(self, port: int) -> bool:
            return False

    async def both() -> list[list[Outcome]]:
        agents = [Agent(plan(host, hosts, port), Tool(server=server), listens=Never()) for host in hosts]
        return await asyncio.gather(*(agent.run() for agent in agents))

    outcomes = [each for mine in asyncio.run(both()) for each in mine]
    assert {each.reading.state for each in outcomes} == {"unknown"}
    assert all("the server did not start: exit status" in each.reading.detail for each in outcomes)
    assert {each.attempts for each in outcomes} == {3}


def test_a_partner_that_goes_away_in_the_middle_is_noticed_at_once() -> None:
    """b speaks the agents' language up to the moment in which it would have to say that its server listens."""
    hosts, port = ("a", "b"), next(PORTS)

    async def half_a_partner() -> None:
        for attempt in itertools.count():
            try:
                reader, writer = await asyncio.open_connection("127.0.7.1", port)
                break
            except OSError:
                assert attempt < 200
                await asyncio.sleep(0.02)
        writer.write(json.dumps({"run": "test", "from": "b", "meet": [0, "rail0"]}).encode() + b"\n")
        assert json.loads(await reader.readline()) == {"ready": True}
        writer.write(b'{"unable": ""}\n')
        await reader.readline()
        writer.close()

    async def both() -> list[Outcome]:
        one_rail = plan("a", hosts, port, rails={"rail0": frozenset(hosts)}, patience=60.0)
        agent = Agent(one_rail, Tool(), listens=Listens())
        running = asyncio.ensure_future(agent.run())
        await half_a_partner()
        return await running

    began = time.monotonic()
    outcomes = asyncio.run(both())
    assert time.monotonic() - began < 10
    assert [each.reading.state for each in outcomes] == ["no_answer", "no_answer"]
    assert all("b went away in the middle" in each.reading.detail for each in outcomes)


def test_the_deadline_ends_a_run_and_names_what_is_missing() -> None:
    hosts, port = ("a", "b"), next(PORTS)

    class Short(Plan):
        @property
        def deadline(self) -> float:
            return 1.0

    made = Short(**{**vars(plan("a", hosts, port)), "patience": 60.0})
    outcomes = run([made])
    assert {each[3] for each in told(outcomes)} == {"no_time"}
    assert len(outcomes["a"]) == 4


def test_both_ends_agree_on_sides_and_ports_and_sending_is_spread() -> None:
    hosts = tuple("abcdefgh")
    plans = {host: plan(host, hosts, 18600, directions="one") for host in hosts}
    sent = dict.fromkeys(hosts, 0)
    for one, other in itertools.combinations(hosts, 2):
        for rail in ("rail0", "rail1"):
            assert plans[one].steps(other, rail) == plans[other].steps(one, rail)
            assert plans[one].rail_port(rail) == plans[other].rail_port(rail)
            sent[plans[one].steps(other, rail)[0].client] += 1
    assert set(sent.values()) == {7}, "each host sends as often as it receives: 14 measurements, 7 of them sent"
    assert {plans["a"].rail_port("rail0"), plans["a"].rail_port("rail1")} == {18601, 18602}


@pytest.mark.parametrize(
    ("together", "directions", "seconds"),
    [(True, "one", 2 * 4.5), (True, "both", 2 * 2 * 4.5), (False, "both", 2 * 2 * 2 * 4.5)],
)
def test_expected_seconds_follow_the_formula(together: bool, directions: str, seconds: float) -> None:
    made = replace(plan("a", tuple("abcd"), 18600), together=together, directions=directions)
    made = replace(made, rounds=make_schedule("ring", tuple("abcd"), {}))
    assert made.seconds({"ib_write_bw": 3.0}) == seconds


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"directions": "all"}, "directions: 'all' is unknown; allowed: one, both", id="directions"),
        pytest.param({"port": 80}, "port: 80 to 82 are needed; allowed are 1024 to 65535", id="privileged"),
        pytest.param({"port": 65535}, "port: 65535 to 65537 are needed", id="above-the-last"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        replace(plan("a", ("a", "b"), 18600), **changes)


def test_presence_counts_from_the_start_and_from_the_last_sign_of_life() -> None:
    now = [100.0]
    presence = Presence(60.0, lambda: now[0])
    now[0] = 160.0
    assert not presence.dead("a")
    presence.saw("b")
    now[0] = 161.0
    assert (presence.dead("a"), presence.dead("b"), presence.fresh("b")) == (True, False, True)
    now[0] = 221.0
    assert (presence.dead("b"), presence.fresh("b")) == (True, False)
    assert presence.words("a") == "a has never answered in 121 s"
    assert presence.words("b") == "b has not answered for 61 s"
