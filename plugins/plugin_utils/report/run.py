# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What identifies a run: its id, the name of its inventory, the version of the collection."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

__all__ = ["RUN_ID", "collection_version", "followed", "inventory_name", "new_run", "timestamp"]

# A run id names a directory.
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


def new_run(now: datetime, salt: str) -> dict[str, str]:
    """Ids sort by time; the salt keeps apart two runs of one second."""
    return {"id": f"{now:%Y%m%dT%H%M%SZ}-{salt}", "started": timestamp(now)}


def timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def followed(source: str) -> Path:
    """What the source is a link to: in a private data directory of ansible-runner it is one."""
    return Path(source).resolve() if Path(source).is_symlink() else Path(source)


def inventory_name(sources: Sequence[str]) -> str:
    """The first source's name as people say it: inventories/lab, inventories/lab/hosts.yml and a link to it are lab."""
    first = followed(sources[0]) if sources and "," not in sources[0] else Path("inline")
    stem = (
        first.parent.name if first.suffix in {".yml", ".yaml", ".ini", ".json"} or first.name == "hosts" else first.name
    )
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem or first.stem).strip(".-") or "inventory"


def collection_version(root: Path) -> str:
    """From MANIFEST.json of an installed collection, or galaxy.yml of a checkout."""
    manifest, galaxy = root / "MANIFEST.json", root / "galaxy.yml"
    if manifest.is_file():
        info: Any = json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]
    elif galaxy.is_file():
        info = yaml.safe_load(galaxy.read_text(encoding="utf-8"))
    else:
        info = {}
    return str(info.get("version", "unknown"))
