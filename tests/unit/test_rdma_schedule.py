# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who meets whom: every pair once, nobody twice in a round, in as few rounds as there can be."""

from __future__ import annotations

from itertools import combinations

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.schedule import (
    Round,
    domain_rounds,
    make_schedule,
    partners,
    ring,
    tournament,
)


def names(count: int) -> list[str]:
    return [f"host-{number:03}" for number in range(count)]


def all_pairs(schedule: list[Round]) -> list[tuple[str, str]]:
    return [pair for pairs in schedule for pair in pairs]


def nobody_twice(schedule: list[Round]) -> bool:
    return all(len({host for pair in pairs for host in pair}) == 2 * len(pairs) for pairs in schedule)


def test_a_tournament_is_at_the_lower_bound_for_2_to_257_hosts() -> None:
    for count in range(2, 258):
        hosts = names(count)
        schedule = tournament(hosts)
        assert len(schedule) == (count - 1 if count % 2 == 0 else count), count
        assert nobody_twice(schedule), count
        pairs = all_pairs(schedule)
        assert len(pairs) == count * (count - 1) // 2, count
        assert set(pairs) == set(combinations(hosts, 2)), count


def test_a_ring_joins_each_host_with_the_next_in_two_or_three_rounds() -> None:
    for count in range(3, 66):
        hosts = names(count)
        schedule = ring(hosts)
        wanted = {tuple(sorted((hosts[at], hosts[(at + 1) % count]))) for at in range(count)}
        assert len(schedule) == 2 + count % 2, count
        assert nobody_twice(schedule), count
        assert len(all_pairs(schedule)) == len(wanted) == count
        assert set(all_pairs(schedule)) == wanted, count


@pytest.mark.parametrize(
    ("hosts", "wanted"),
    [
        pytest.param([], [], id="nobody"),
        pytest.param(["a"], [], id="one-has-no-partner"),
        pytest.param(["a", "b"], [(("a", "b"),)], id="two-meet-once"),
    ],
)
def test_small_fleets(hosts: list[str], wanted: list[Round]) -> None:
    assert ring(hosts) == tournament(hosts) == wanted


@pytest.mark.parametrize("sizes", [(4, 4), (18, 18), (3, 5, 2), (1, 1, 1), (6,)], ids=str)
def test_domains_are_full_inside_and_a_ring_across(sizes: tuple[int, ...]) -> None:
    domains = {f"d{d}-{n:02}": f"d{d}" for d, size in enumerate(sizes) for n in range(size)}
    schedule = domain_rounds(sorted(domains), domains)
    pairs = all_pairs(schedule)
    inside = [pair for pair in pairs if domains[pair[0]] == domains[pair[1]]]
    across = [pair for pair in pairs if pair not in inside]
    assert nobody_twice(schedule)
    assert len(pairs) == len(set(pairs))
    assert len(inside) == sum(size * (size - 1) // 2 for size in sizes)
    assert all(one[-2:] == other[-2:] for one, other in across)
    reached = {host for pair in across for host in pair}
    assert reached == {host for host in domains if sum(int(host[-2:]) < size for size in sizes) > 1}


def test_the_order_in_which_names_are_given_does_not_matter() -> None:
    hosts = ["w2", "w1", "w10", "w2"]
    assert make_schedule("full", hosts, {}) == make_schedule("full", reversed(hosts), {})
    assert [len(make_schedule(kind, hosts, {})) for kind in ("none", "ring", "domain", "full")] == [0, 3, 3, 3]


def test_an_unknown_kind_lists_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match="'all' is unknown; allowed: none, ring, domain, full"):
        make_schedule("all", ["a", "b"], {})


def test_partners_of_one_host_leave_out_the_rounds_in_which_it_rests() -> None:
    schedule = tournament(["a", "b", "c"])
    met = [partners(schedule, host) for host in "abc"]
    assert [sorted(other for _round, other in each) for each in met] == [["b", "c"], ["a", "c"], ["a", "b"]]
    assert all(len(each) == 2 for each in met)
