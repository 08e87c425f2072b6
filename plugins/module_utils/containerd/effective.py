# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What containerd really loads (``containerd config dump``) against what is wanted. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from .drop_ins import Trees
from .release import Release
from .settings import CRI, CRI_IMAGES, CRI_RUNTIME, NRI

__all__ = ["Difference", "differences", "nri_enabled", "set_by"]

# 1.7 prints its list of files here, and each release its own version.
_NOT_COMPARED = ("version", "imports")
_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")


@dataclass(frozen=True)
class Difference:
    """``loaded`` None: containerd's configuration does not have it."""

    path: Tuple[str, ...]
    wanted: Any
    loaded: Any

    def __str__(self) -> str:
        found = "missing" if self.loaded is None else repr(self.loaded)
        return "%s is %s, wanted is %r" % (" ".join(self.path), found, self.wanted)


def differences(wanted: Mapping[str, Any], loaded: Mapping[str, Any]) -> List[Difference]:
    """Everything wanted has to be loaded. More than that (other runtimes, other directories) is no difference."""
    found: List[Difference] = []
    _compare((), {key: value for key, value in wanted.items() if key not in _NOT_COMPARED}, loaded, found)
    return found


def _compare(
    path: Tuple[str, ...], wanted: Mapping[str, Any], loaded: Mapping[str, Any], found: List[Difference]
) -> None:
    for key, value in wanted.items():
        here, other = (*path, key), loaded.get(key)
        if isinstance(value, Mapping) and (value or other is None):
            _compare(here, value, other if isinstance(other, Mapping) else {}, found)
        elif not _satisfied(value, other):
            found.append(Difference(here, value, other))


def _satisfied(wanted: Any, loaded: Any) -> bool:
    if isinstance(wanted, list) and isinstance(loaded, list):
        return all(item in loaded for item in wanted)
    if isinstance(wanted, str) and isinstance(loaded, str) and wanted != loaded:
        nanoseconds = _nanoseconds(wanted)
        return nanoseconds is not None and nanoseconds == _nanoseconds(loaded)
    # True == 1 in Python, not in TOML.
    return isinstance(wanted, bool) is isinstance(loaded, bool) and bool(wanted == loaded)


def _nanoseconds(text: str) -> Optional[float]:
    """A duration of Go: containerd prints 1h as 1h0m0s."""
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def set_by(path: Sequence[str], order: Sequence[str], trees: Trees) -> List[str]:
    """The drop-ins that have something under the same plugin, or the same key outside of plugins."""
    keys = [path[:1]] if path[0] != "plugins" else [path[:2]]
    if path[:1] == ("plugins",) and path[1] in (CRI_IMAGES, CRI_RUNTIME):
        keys.append((path[0], CRI))
    return [name for name in order if any(_has(trees[name], key) for key in keys)]


def _has(tree: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(tree, Mapping) or key not in tree:
            return False
        tree = tree[key]
    return True


def nri_enabled(release: Release, tree: Mapping[str, Any]) -> bool:
    """Whether a configuration has NRI on. Without the setting the release decides: off in 1.7, on since 2.0."""
    table = tree.get("plugins", {}).get(NRI, {})
    return not table.get("disable", release.format == 2)
