# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of limits, and the fleet's own baseline: files on the controller."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..module_utils.errors import ClusterError, ConfigError
from ..module_utils.host.files import Root
from ..module_utils.judge.bandwidth import load_limits
from ..module_utils.nccl.baseline import check_baseline_document
from .report.run import followed, inventory_name

__all__ = ["baseline_file", "limits_files", "read_baseline", "read_limits", "write_baseline"]

_SHIPPED = Path(__file__).resolve().parents[2] / "limits" / "bandwidth.json"


def limits_files(inventory_sources: Iterable[str]) -> list[Path]:
    """Beside each inventory first, then the collection's."""
    beside = [Path(source).parent / "limits" / "bandwidth.json" for source in inventory_sources if "," not in source]
    return [*dict.fromkeys(beside), _SHIPPED]


def read_limits(files: Sequence[Path]) -> list[dict[str, Any]]:
    """The rows of the first file that is there, validated."""
    path = next(path for path in files if path.is_file())
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["limits"]
        load_limits(rows)
    except (ValueError, KeyError, TypeError) as exc:
        raise ConfigError(f"reading the limits {path}: not a table of limits: {exc!r}") from exc
    except ConfigError as exc:
        raise ConfigError(f"reading the limits {path}: {exc}") from exc
    return list(rows)


def baseline_file(inventory_sources: Sequence[str]) -> Path:
    """Beside the inventory, named after it. (Ansible reads all files inside an inventory.)"""
    first = next((followed(source) for source in inventory_sources if "," not in source), Path("inline"))
    return first.parent / "baselines" / f"{inventory_name(list(inventory_sources))}.json"


def read_baseline(path: Path) -> dict[str, Any]:
    """Empty when none was recorded."""
    if not path.is_file():
        return {}
    try:
        return check_baseline_document(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, ConfigError) as exc:
        raise ConfigError(f"reading the baseline {path}: {exc}") from exc


def write_baseline(path: Path, document: Mapping[str, Any]) -> None:
    """For the owner only, and never half a file."""
    try:
        Root().write(str(path.absolute()), json.dumps(document, indent=1) + "\n", mode=0o600)
    except ClusterError as exc:
        raise ClusterError(f"recording the baseline: {exc}") from exc
