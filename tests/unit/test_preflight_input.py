# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever stands in an inventory, preflight answers with problems and never with a traceback."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import (
    BOND_KEYS,
    NETWORK_KEYS,
    parse_networks,
)
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.fleet import FLEET_VARIABLES, Fleet, fleet_networks
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.preflight import advise, check_inventory, message
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.recipe import check_stack
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ansible_run import ROOT

WORDS = st.sampled_from(
    ["management", "storage", "eth0", "bond0", "10.0.1.11/24", "10.0.1.1", "10.0.1.0/24", "fd00::1/64", "fd00::1"]
    + ["default", "ethernet", "bond", "vlan", "ipoib", "802.3ad", "52:54:00:00:00:01", "0000:01:00.0", "lab", "", "Ü"]
)  # fmt: skip
PLAIN = st.one_of(WORDS, st.integers(-1, 70000), st.booleans(), st.none(), st.floats(allow_nan=False))
ANYTHING = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3), max_leaves=6
)
PART = st.dictionaries(
    st.sampled_from(["mac", "pci", "name", "to", "via", "from", "table", *BOND_KEYS]), PLAIN, max_size=4
)
NETWORK = st.fixed_dictionaries(
    {"name": WORDS},
    optional={
        key: st.one_of(PLAIN, PART, st.lists(PART, max_size=2), ANYTHING) for key in NETWORK_KEYS if key != "name"
    },
)
HOST = st.fixed_dictionaries(
    {"node_networks": st.lists(NETWORK, max_size=4) | ANYTHING},
    optional=dict.fromkeys(("fleet_hostname", "imex_mode", "kube_addons"), ANYTHING),
)


@settings(max_examples=200, deadline=None)
@given(
    hosts=st.dictionaries(st.sampled_from(["a", "B", "c.d"]), HOST, max_size=3),
    variables=st.dictionaries(st.sampled_from(FLEET_VARIABLES), ANYTHING, max_size=4),
    groups=st.dictionaries(st.sampled_from(["control_plane", "workers"]), st.lists(st.just("a")).map(tuple)),
)
def test_no_input_is_answered_with_a_traceback(hosts: Any, variables: Any, groups: Any) -> None:
    fleet = Fleet(hosts, groups, variables)
    problems = [
        *check_inventory(fleet),
        *check_stack(fleet, [ROOT / "recipes"]),
        *advise(fleet),
        *fleet_networks(fleet)[1],
    ]
    json.dumps([asdict(problem) for problem in problems])
    message(problems)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "management\n"),
        ("interface", "eth0\n"),
        ("members", [{"mac": "52:54:00:00:00:01\n"}]),
        ("members", [{"pci": "0000:01:00.0\n"}]),
        ("mtu", "1500\n"),
        # Python takes anything after % as the zone of an IPv6 address.
        ("address", "fd00::1%a\nmethod=auto/64"),
        ("gateway", "fd00::1%a\nmethod=auto"),
        ("nameservers", ["fd00::1%a\nmethod=auto"]),
        ("routes", [{"to": "fd00::%a\nmethod=auto/64", "via": "fd00::1"}]),
    ],
)
def test_a_newline_at_the_end_is_no_part_of_a_good_value(key: str, value: Any) -> None:
    """It would end up in a file's line, where it begins another one."""
    network = {"name": "management", "interface": "eth0", "address": "10.0.1.11/24", key: value}
    problems = parse_networks("w1", [network])[1]
    assert [problem for problem in problems if key in problem.variable], problems


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("interface", name) for name in ("lo", "all", "default", "0", "ü" * 8, "eth%d", 'a"b', "a=b", "$(id)", True)),
        ("members", [{"name": "$(id)"}]),
        ("members", [{"name": True}]),
        ("members", [{"mac": "00:00:00:00:00:00"}]),
        ("members", [{"mac": "ff:ff:ff:ff:ff:ff"}]),
        ("mtu", "1" * 5000),
        ("mtu", "١٥٠٠"),
    ],
    ids=repr,
)
def test_what_the_kernel_or_a_file_would_not_take_is_refused(key: str, value: Any) -> None:
    network = {"name": "management", "interface": "eth0", "address": "10.0.1.11/24", key: value}
    problems = parse_networks("w1", [network])[1]
    assert [problem for problem in problems if key in problem.variable], problems


@pytest.mark.parametrize(("key", "value"), [("mac", 41135080953), ("pci", 1020.0)])
def test_an_address_that_yaml_read_as_a_number_wants_quotes(key: str, value: Any) -> None:
    [problem] = parse_networks("w1", [{"name": "management", "interface": "eth0", "members": [{key: value}]}])[1]
    assert problem.allowed.endswith(", in quotes")


@pytest.mark.parametrize("value", ["", [], 0, False])
def test_overrides_that_are_no_mapping_are_not_taken_for_none(value: Any) -> None:
    fleet = Fleet({}, {}, {"fleet_stack": "lab", "fleet_stack_overrides": value})
    [problem] = check_stack(fleet, [ROOT / "recipes"])
    assert problem.variable == "fleet_stack_overrides"


def test_a_recipe_name_longer_than_a_file_name() -> None:
    [problem] = check_stack(Fleet({}, {}, {"fleet_stack": "x" * 300}), [ROOT / "recipes"])
    assert problem.allowed.startswith("no recipe of that name; there are: ")


def test_a_recipe_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_bytes("name: site\ndescription: für alle\n".encode("latin-1"))
    [problem] = check_stack(Fleet({}, {}, {"fleet_stack": "site"}), [tmp_path])
    assert problem.allowed.startswith(f"reading the recipe {tmp_path}/site.yml: 'utf-8' codec can't decode")
