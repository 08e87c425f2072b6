# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stack recipes: one YAML file with one set of versions that fit, and what they ask of a machine.

The shape is ``RECIPE`` below; ``docs/inventory.md`` explains it to people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from ..module_utils.errors import ConfigError
from ..module_utils.network.model import Problem
from .fleet import FLEET, Fleet

__all__ = [
    "RECIPE",
    "check_stack",
    "host_stack",
    "load_recipe",
    "merge_overrides",
    "recipe_errors",
    "recipe_folders",
]

# A tuple: one of these types. A dict: these keys and no others. {"*": x}: any key. A list: a list of that.
COMPONENT = {"version": str, "source": str}
# What check_gpu expects; its documentation says what each key means.
GPU = {
    **dict.fromkeys(("count", "nvlinks", "pcie_gen", "pcie_width"), int),
    **dict.fromkeys(("product", "fabric", "gpu_link", "nic_link", "source"), str),
    "skip": [str],
}
CONSTRAINTS: dict[str, Any] = {
    "os": [{"id": str, "versions": [str]}],
    "kernel": {"min": str},
    "architecture": [str],
    "memory_mib": {"min": int},
    "disk_free_mib": {"*": int},
    "python": {"min": str},
}
RECIPE: dict[str, Any] = {
    "name": str,
    "description": str,
    **dict.fromkeys(
        ("kernel", "driver", "imex", "cuda", "nccl", "gib", "ofed", "container_toolkit", "containerd", "kubernetes"),
        COMPONENT,
    ),
    "cni": {"name": str, **COMPONENT},
    "gpu": GPU,
    "addons": {"*": COMPONENT},
    "constraints": CONSTRAINTS,
    "constraints_by_group": {"*": CONSTRAINTS},
}
REQUIRED = ("name", "constraints")
OVERRIDDEN = "fleet_stack_overrides"
KINDS = {str: "text (quote a version: 1.30 is the number 1.3 otherwise)", int: "a whole number"}


def recipe_folders(inventory_sources: Iterable[str]) -> list[Path]:
    """``recipes`` beside each inventory first, then the collection's. (Ansible reads all files inside an inventory.)"""
    beside = [Path(source).parent / "recipes" for source in inventory_sources if "," not in source]
    return [*dict.fromkeys(beside), Path(__file__).resolve().parents[2] / "recipes"]


def load_recipe(name: Any, folders: Sequence[Path]) -> dict[str, Any]:
    """The recipe from the first of ``folders`` that has it, validated."""
    for folder in folders:
        path = folder / f"{name}.yml"
        # Not is_file(): that raises for a name which is too long to be one.
        if path not in folder.glob("*.yml"):
            continue
        try:
            recipe = yaml.safe_load(path.read_text(encoding="utf-8"))
        except yaml.YAMLError as exc:
            raise ConfigError(f"reading the recipe {path}: not YAML: {exc}") from exc
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"reading the recipe {path}: {exc}") from exc
        errors = recipe_errors(recipe)
        if not errors and recipe["name"] != name:
            errors = [f"name is {recipe['name']!r}, but the file is {path.name}"]
        if errors:
            raise ConfigError(f"recipe {path}: " + "; ".join(errors))
        return dict(recipe)
    known = sorted({path.stem for folder in folders for path in folder.glob("*.yml")})
    looked = ", ".join(str(folder) for folder in folders)
    raise ConfigError(f"no recipe of that name; there are: {', '.join(known) or 'none'} (looked in {looked})")


def recipe_errors(recipe: Any) -> list[str]:
    """What is wrong with the form of a recipe; empty when nothing is."""
    errors = list(_errors("", recipe, RECIPE))
    if isinstance(recipe, Mapping):
        errors += [f"{key} is missing" for key in REQUIRED if key not in recipe]
    return errors


def merge_overrides(recipe: Mapping[str, Any], overrides: Any) -> dict[str, Any]:
    """The recipe with single values replaced. Only what the recipe has can be replaced: a new key is a typing error."""
    if not isinstance(overrides, Mapping):
        raise ConfigError(
            f"{OVERRIDDEN} = {overrides!r}: a mapping shaped like the recipe, as {{driver: {{version: ...}}}}"
        )
    unknown = list(_unknown("", overrides, recipe))
    if unknown:
        raise ConfigError(f"{OVERRIDDEN} for recipe {recipe['name']}: " + "; ".join(unknown))
    merged = _merge(recipe, overrides)
    errors = recipe_errors(merged)
    if errors:
        raise ConfigError(f"{OVERRIDDEN} for recipe {recipe['name']}: " + "; ".join(errors))
    return merged


def host_stack(stack: Mapping[str, Any], groups: Iterable[str]) -> dict[str, Any]:
    """The stack as one host sees it: in ``constraints``, what its groups say replaces what holds for all."""
    result = deepcopy(dict(stack))
    for group in groups:
        result["constraints"].update(deepcopy(stack.get("constraints_by_group", {}).get(group, {})))
    return result


def check_stack(fleet: Fleet, folders: Sequence[Path]) -> list[Problem]:
    """Preflight's part: the fleet names a recipe that exists, and overrides what it has."""
    name = fleet.variables.get("fleet_stack")
    if any(problem.variable.startswith("fleet_stack") for problem in fleet.unreadable):
        return []
    try:
        recipe = load_recipe(name, folders)
    except ConfigError as exc:
        return [Problem(FLEET, "fleet_stack", name, str(exc))]
    overrides = fleet.variables.get(OVERRIDDEN)
    try:
        merge_overrides(recipe, {} if overrides is None else overrides)
    except ConfigError as exc:
        return [Problem(FLEET, OVERRIDDEN, overrides, str(exc))]
    return []


def _errors(where: str, value: Any, shape: Any) -> Iterable[str]:
    label = where or "the recipe"
    if isinstance(shape, dict):
        if not isinstance(value, Mapping):
            yield f"{label} = {value!r}: a mapping"
            return
        for key, item in value.items():
            inner = shape.get(key, shape.get("*"))
            place = f"{where}.{key}" if where else str(key)
            if inner is None:
                yield f"{place}: unknown key; allowed are {', '.join(sorted(shape))}"
            else:
                yield from _errors(place, item, inner)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{label} = {value!r}: a list"
            return
        for index, item in enumerate(value):
            yield from _errors(f"{where}[{index}]", item, shape[0])
    elif isinstance(value, bool) or not isinstance(value, shape):
        yield f"{label} = {value!r}: {KINDS[shape]}"


def _unknown(where: str, overrides: Mapping[str, Any], base: Mapping[str, Any]) -> Iterable[str]:
    for key, value in overrides.items():
        place = f"{where}.{key}" if where else str(key)
        if key not in base:
            yield f"{place}: not in the recipe; it has {', '.join(sorted(map(str, base)))}"
        elif isinstance(value, Mapping) and isinstance(base[key], Mapping):
            yield from _unknown(place, value, base[key])


def _merge(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    merged = deepcopy(dict(base))
    for key, value in overrides.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else deepcopy(value)
    if "version" in overrides and "source" in merged and "source" not in overrides:
        merged["source"] = OVERRIDDEN
    return merged
