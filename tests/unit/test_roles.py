"""Every role: its defaults and its argument specification say the same, and its task list is a table of contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
# A table of contents fits on a screen.
CONTENTS_LINES = 40


def load(role: str, file: str) -> dict[str, Any]:
    path = ROOT / "roles" / role / file
    return (yaml.safe_load(path.read_text()) or {}) if path.exists() else {}


def options(role: str) -> dict[str, dict[str, Any]]:
    specs = load(role, "meta/argument_specs.yml")["argument_specs"]
    return {name: option for spec in specs.values() for name, option in spec["options"].items()}


def can_be_documented(option: dict[str, Any], default: Any) -> bool:
    """A specification takes no template as the default of a list or a mapping; the description says it then."""
    return option["type"] == "str" or not (isinstance(default, str) and "{{" in default)


@pytest.mark.parametrize("role", ROLES)
def test_defaults_and_argument_specs_agree(role: str) -> None:
    defaults = load(role, "defaults/main.yml")
    documented = {name: option["default"] for name, option in options(role).items() if "default" in option}
    assert documented == {k: v for k, v in defaults.items() if can_be_documented(options(role)[k], v)}


@pytest.mark.parametrize("role", ROLES)
def test_options_without_default_are_required(role: str) -> None:
    defaults = load(role, "defaults/main.yml")
    assert [name for name, option in options(role).items() if name not in defaults and not option.get("required")] == []


@pytest.mark.parametrize("role", ROLES)
def test_public_variables_carry_the_roles_name(role: str) -> None:
    assert [name for name in load(role, "defaults/main.yml") if not name.startswith(f"{role}_")] == []


@pytest.mark.parametrize("role", ROLES)
def test_main_is_a_table_of_contents(role: str) -> None:
    assert len((ROOT / "roles" / role / "tasks/main.yml").read_text().splitlines()) <= CONTENTS_LINES


@pytest.mark.parametrize("role", ROLES)
def test_role_has_a_molecule_scenario(role: str) -> None:
    assert (ROOT / "molecule" / role / "molecule.yml").exists()
