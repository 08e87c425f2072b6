"""Projects, reservations and accounts in what we ship are examples, and no role has one as a default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FILES = [
    path
    for pattern in ("docs/google-cloud.md", "README.md", "plugins/*/gce_*", "playbooks/*.yml", "roles/gce_*/**/*.yml")
    for path in sorted(ROOT.glob(pattern))
] + sorted((ROOT / "inventories/a4x").rglob("*.yml"))
CODE = ("str", "project")  # words of Python after a colon or an equals sign
EXAMPLES = {
    "project": {"my-project", "demo-project", "PROJECT", "P", "p", *CODE},
    "reservation": {"my-reservation", "gb200-reservation", "RESERVATION", "NAME", "R", *CODE},
}
NAMED = {
    "project": re.compile(r"(?:projects/|\bproject[s]?(?:=|: )\[?)([A-Za-z][\w-]*)(?=[/\s\],]|$)", re.MULTILINE),
    "reservation": re.compile(r"(?:reservations/|\breservation(?:=|: ))([A-Za-z][\w-]*)(?=[/\s\],]|$)", re.MULTILINE),
}


@pytest.mark.parametrize("kind", NAMED)
def test_only_example_names_are_shipped(kind: str) -> None:
    found = {(path.name, name) for path in FILES for name in NAMED[kind].findall(path.read_text())}
    assert {item for item in found if item[1] not in EXAMPLES[kind]} == set()
    assert found, "the pattern finds nothing any more"


def test_no_bucket_and_no_account_of_anybody_is_shipped() -> None:
    texts = {path.name: re.findall(r"gs://\S+|\S+@\S+\.gserviceaccount\.com", path.read_text()) for path in FILES}
    assert {name: found for name, found in texts.items() if found} == {}


@pytest.mark.parametrize("role", ["gce_network", "gce_nodes"])
def test_roles_must_be_told_where(role: str) -> None:
    defaults = yaml.safe_load((ROOT / "roles" / role / "defaults/main.yml").read_text())
    options = yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text())
    required = {name for name, option in options["argument_specs"]["main"]["options"].items() if option.get("required")}
    assert {f"{role}_project", f"{role}_zone"} <= required
    assert required & set(defaults) == set()
