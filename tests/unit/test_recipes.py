# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stack recipes: the shipped ones, their form, overrides, and the lookup that reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import Problem
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.fleet import Fleet
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.recipe import (
    check_stack,
    host_stack,
    load_recipe,
    merge_overrides,
    recipe_errors,
    recipe_folders,
)

from tests.ansible_run import ROOT, play

RECIPES = ROOT / "recipes"
SHIPPED = sorted(path.stem for path in RECIPES.glob("*.yml"))
BASE: dict[str, Any] = {
    "name": "base",
    "driver": {"version": "580.126.20", "source": "DeepOps"},
    "addons": {"kueue": {"version": "0.17.1", "source": "Cluster Toolkit"}},
    "constraints": {"architecture": ["aarch64"], "memory_mib": {"min": 524288}},
    "constraints_by_group": {"control_plane": {"architecture": ["x86_64"]}},
}


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def test_the_first_recipes_are_there() -> None:
    assert {"a4x-1.34", "maas-1.34", "lab"} <= set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_recipe_has_the_right_form_and_says_its_sources(name: str) -> None:
    recipe = load_recipe(name, [RECIPES])
    components = [value for value in recipe.values() if isinstance(value, dict) and "version" in value]
    components += recipe.get("addons", {}).values()
    assert components
    assert [component for component in components if not component.get("source")] == []


@pytest.mark.parametrize("name", SHIPPED)
def test_versions_fit(name: str) -> None:
    """DRA wants Kubernetes 1.34.2 and driver 570.158.01; IMEX has its driver's version."""
    recipe = load_recipe(name, [RECIPES])
    assert version(recipe["kubernetes"]["version"]) >= (1, 34, 2)
    if "dra-driver-nvidia-gpu" in recipe.get("addons", {}):
        assert version(recipe["driver"]["version"]) >= (570, 158, 1)
    assert recipe.get("imex", {}).get("version") in (None, recipe.get("driver", {}).get("version"))


def test_a4x_has_arm_workers_under_an_x86_control_plane() -> None:
    recipe = load_recipe("a4x-1.34", [RECIPES])
    assert host_stack(recipe, ["nvl_d1", "workers"])["constraints"]["architecture"] == ["aarch64"]
    assert host_stack(recipe, ["control_plane"])["constraints"]["architecture"] == ["x86_64"]
    assert recipe["constraints"]["architecture"] == ["aarch64"]


@pytest.mark.parametrize(
    ("change", "errors"),
    [
        pytest.param({}, [], id="right"),
        pytest.param(
            {"dirver": {"version": "1"}},
            [
                "dirver: unknown key; allowed are addons, cni, constraints, constraints_by_group, container_toolkit, "
                "containerd, cuda, description, driver, gib, gpu, imex, kernel, kubernetes, name, nccl, ofed"
            ],
            id="unknown component",
        ),
        pytest.param(
            {"driver": {"versoin": "1"}}, ["driver.versoin: unknown key; allowed are source, version"], id="unknown key"
        ),
        pytest.param(
            {"kubernetes": {"version": 1.34}},
            ["kubernetes.version = 1.34: text (quote a version: 1.30 is the number 1.3 otherwise)"],
            id="version as a number",
        ),
        pytest.param({"driver": "580"}, ["driver = '580': a mapping"], id="no mapping"),
        pytest.param(
            {"constraints": {"architecture": "x86_64"}}, ["constraints.architecture = 'x86_64': a list"], id="no list"
        ),
        pytest.param(
            {"constraints": {"memory_mib": {"min": True}}},
            ["constraints.memory_mib.min = True: a whole number"],
            id="no number",
        ),
        pytest.param(
            {"constraints_by_group": {"gpu_nodes": {"kernel": {"max": "7"}}}},
            ["constraints_by_group.gpu_nodes.kernel.max: unknown key; allowed are min"],
            id="unknown constraint of a group",
        ),
    ],
)
def test_form(change: dict[str, Any], errors: list[str]) -> None:
    assert recipe_errors({**BASE, **change}) == errors


def test_what_a_recipe_must_have() -> None:
    assert recipe_errors({"description": "empty"}) == ["name is missing", "constraints is missing"]
    assert recipe_errors([]) == ["the recipe = []: a mapping"]


def test_an_override_changes_one_value_and_its_source() -> None:
    overrides = {"driver": {"version": "590.1"}, "constraints": {"memory_mib": {"min": 1}}}
    assert merge_overrides(BASE, overrides) == {
        **BASE,
        "driver": {"version": "590.1", "source": "fleet_stack_overrides"},
        "constraints": {"architecture": ["aarch64"], "memory_mib": {"min": 1}},
    }
    assert BASE["driver"]["version"] == "580.126.20"


@pytest.mark.parametrize(
    ("overrides", "error"),
    [
        pytest.param(
            {"dirver": {"version": "1"}, "addons": {"keue": {"version": "1"}}},
            "fleet_stack_overrides for recipe base: "
            "dirver: not in the recipe; it has addons, constraints, constraints_by_group, driver, name; "
            "addons.keue: not in the recipe; it has kueue",
            id="unknown, all at once",
        ),
        pytest.param(
            {"driver": {"version": 590}},
            "fleet_stack_overrides for recipe base: "
            "driver.version = 590: text (quote a version: 1.30 is the number 1.3 otherwise)",
            id="wrong type",
        ),
        pytest.param(
            {"driver": "590.1"},
            "fleet_stack_overrides for recipe base: driver = '590.1': a mapping",
            id="a value instead of a mapping",
        ),
        pytest.param(
            ["driver"],
            "fleet_stack_overrides = ['driver']: a mapping shaped like the recipe, as {driver: {version: ...}}",
            id="a list",
        ),
    ],
)
def test_wrong_overrides(overrides: Any, error: str) -> None:
    with pytest.raises(ConfigError) as caught:
        merge_overrides(BASE, overrides)
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("name: other\nconstraints: {}\n", "name is 'other', but the file is site.yml", id="another name"),
        pytest.param("name: site\nconstraints: {}\nx: 1\n", "x: unknown key", id="form"),
        pytest.param("name: [\n", "not YAML", id="YAML"),
    ],
)
def test_wrong_files_are_named(tmp_path: Path, text: str, error: str) -> None:
    (tmp_path / "site.yml").write_text(text)
    with pytest.raises(ConfigError, match="site.yml.*" + error):
        load_recipe("site", [tmp_path])


def test_a_recipe_beside_the_inventory_comes_before_the_collections(tmp_path: Path) -> None:
    folders = recipe_folders([str(tmp_path / "inventory"), "localhost,"])
    assert folders == [tmp_path / "recipes", RECIPES]
    folders[0].mkdir()
    (folders[0] / "lab.yml").write_text("name: lab\ndescription: ours\nconstraints: {}\n")
    assert load_recipe("lab", folders)["description"] == "ours"


def test_preflight_says_which_recipes_there_are(tmp_path: Path) -> None:
    (tmp_path / "site.yml").write_text("name: site\nconstraints: {}\n")
    allowed = f"no recipe of that name; there are: site (looked in {tmp_path})"
    assert check_stack(Fleet({}), [tmp_path]) == [Problem("(fleet)", "fleet_stack", None, allowed)]
    assert check_stack(Fleet({}, {}, {"fleet_stack": "sit"}), [tmp_path]) == [
        Problem("(fleet)", "fleet_stack", "sit", allowed)
    ]
    overridden = Fleet({}, {}, {"fleet_stack": "site", "fleet_stack_overrides": {"cni": {}}})
    allowed = "fleet_stack_overrides for recipe site: cni: not in the recipe; it has constraints, name"
    assert check_stack(overridden, [tmp_path]) == [
        Problem("(fleet)", "fleet_stack_overrides", {"cni": {}}, allowed),
    ]
    assert check_stack(Fleet({}, {}, {"fleet_stack": "site"}), [tmp_path]) == []


def test_the_lookup_merges_for_each_host(tmp_path: Path) -> None:
    folder = tmp_path / "inventory"
    folder.mkdir()
    (folder / "hosts.yml").write_text(
        "all:\n  vars:\n    fleet_stack: a4x-1.34\n"
        "    fleet_stack_overrides: {driver: {version: '{{ branch }}.1'}}\n    branch: '590'\n"
        "  children:\n    control_plane: {hosts: {cp: }}\n    workers: {hosts: {w: }}\n"
    )
    played = play(
        folder,
        """
- hosts: all
  gather_facts: false
  tasks:
    - name: Stack
      ansible.builtin.debug:
        msg: "{{ lookup('gpufleet.cluster.fleet_stack') }}"
    - name: Another
      ansible.builtin.debug:
        msg: "{{ lookup('gpufleet.cluster.fleet_stack', 'lab', overrides={}).containerd.version }}"
    - name: Wrong
      ansible.builtin.debug:
        msg: "{{ lookup('gpufleet.cluster.fleet_stack', overrides={'foo': 1}) }}"
""",
        tmp_path,
    )
    stacks = {host: result["msg"] for host, result in played.tasks["Stack"].items()}
    assert [stacks[host]["constraints"]["architecture"] for host in ("cp", "w")] == [["x86_64"], ["aarch64"]]
    assert stacks["w"]["driver"] == {"version": "590.1", "source": "fleet_stack_overrides"}
    assert played.tasks["Another"]["w"]["msg"] == "1.7.24"
    assert "foo: not in the recipe; it has addons, cni" in played.tasks["Wrong"]["w"]["msg"]
