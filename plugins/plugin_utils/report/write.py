# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files on the controller, each complete or not there at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...module_utils.errors import ClusterError
from .model import SCHEMA_VERSION

__all__ = ["read_report", "write_report"]


def read_report(path: Path) -> dict[str, Any]:
    """The content of an earlier run's findings.json; ``path`` may be the directory that it is in."""
    file = path / "findings.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ClusterError(f"Reading the earlier report {file} failed: {exc}") from exc
    version = found.get("schema_version") if isinstance(found, dict) else None
    if version != SCHEMA_VERSION:
        raise ClusterError(f"The earlier report {file} has schema_version {version}, not {SCHEMA_VERSION}.")
    return dict(found)


def write_report(directory: Path, files: Mapping[str, str]) -> None:
    """Write ``files`` (name -> text) into ``directory`` and let the link ``latest`` beside it point there."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            _replace(directory / name, text)
        _link(directory.parent / "latest", directory.name)
    except OSError as exc:
        raise ClusterError(
            f"Writing the report to {directory} failed: {exc.strerror or exc}. "
            "Make room, or choose another report_directory."
        ) from exc


def _beside(path: Path) -> Path:
    """A temporary name in the same directory, so that renaming is atomic; no pattern such as *.prom matches it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


def _replace(path: Path, text: str) -> None:
    temporary = _beside(path)
    try:
        with temporary.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _link(path: Path, target: str) -> None:
    temporary = _beside(path)
    try:
        temporary.symlink_to(target)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
