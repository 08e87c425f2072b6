# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine against what the recipe asks of it. Pure."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..errors import ConfigError
from ..network.model import Problem
from .os_family import identify, version_tuple

__all__ = ["CONSTRAINTS", "bare_host_problems", "host_problems"]

CONSTRAINTS = ("os", "kernel", "architecture", "memory_mib", "disk_free_mib", "python", "cgroup_version")
# ansible-core 2.20 and later run their modules on nothing older.
_PYTHON_MIN = (3, 9)


def bare_host_problems(host: str, text: str) -> List[Problem]:
    """Judge what can be read without Python: the text of os-release, then a line that starts with ``Python``.

    A machine with an old Python fails in every module with a syntax error; this says it in words before.
    """
    problems = []
    try:
        identify(text, lambda _program: True)
    except ConfigError as exc:
        problems.append(Problem(host, "os", _pretty(text), str(exc)))
    found = [line[len("Python ") :] for line in text.splitlines() if line.startswith("Python ")]
    if not found:
        problems.append(Problem(host, "python", None, "python3 3.9 or later: install the package python3"))
    elif version_tuple(found[0])[:2] < _PYTHON_MIN:
        problems.append(Problem(host, "python", found[0], "python3 3.9 or later on the machine"))
    return problems


def _pretty(text: str) -> str:
    lines = [line for line in text.splitlines() if line.startswith("PRETTY_NAME=")]
    return lines[0][len("PRETTY_NAME=") :].strip('"') if lines else ""


def host_problems(host: str, info: Mapping[str, Any], constraints: Mapping[str, Any]) -> List[Problem]:
    """Everything at once. ``info`` is what module host_info returns as ``host``, ``constraints`` the recipe's."""
    unknown = sorted(set(constraints) - set(CONSTRAINTS))
    problems = [
        Problem(host, "constraints." + key, constraints[key], "one of " + ", ".join(CONSTRAINTS)) for key in unknown
    ]
    problems += _os(host, info, constraints)
    for key in ("kernel", "python"):
        problems += _at_least_version(host, key, info[key], constraints.get(key))
    for key in ("architecture", "cgroup_version"):
        allowed = constraints.get(key)
        if allowed is not None and info[key] not in _as_list(allowed):
            problems.append(Problem(host, key, info[key], "one of " + ", ".join(str(a) for a in _as_list(allowed))))
    memory: Dict[str, Any] = constraints.get("memory_mib") or {}
    if info["memory_mib"] < int(memory.get("min", 0)):
        problems.append(Problem(host, "memory_mib", info["memory_mib"], "%s MiB or more" % memory["min"]))
    for path, least in (constraints.get("disk_free_mib") or {}).items():
        free = info["disk_free_mib"].get(path)
        if free is None or free < int(least):
            problems.append(Problem(host, "disk_free_mib %s" % path, free, "%s MiB or more free" % least))
    return problems


def _as_list(value: Any) -> List[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _os(host: str, info: Mapping[str, Any], constraints: Mapping[str, Any]) -> List[Problem]:
    allowed = constraints.get("os")
    if allowed is None:
        return []
    system, version = info["os"]["id"], info["os"]["version"]
    if any(entry["id"] == system and _in_releases(version, entry.get("versions")) for entry in allowed):
        return []
    texts = ["%s %s" % (entry["id"], ", ".join(entry.get("versions") or ["of any release"])) for entry in allowed]
    return [Problem(host, "os", "%s %s" % (system, version), "one of " + "; ".join(texts))]


def _in_releases(version: str, releases: Optional[Sequence[str]]) -> bool:
    """Release 9 allows 9.0 to 9.x; without a list each release is allowed."""
    if releases is None:
        return True
    have = version_tuple(version)
    return any(have[: len(version_tuple(str(release)))] == version_tuple(str(release)) for release in releases)


def _at_least_version(host: str, key: str, value: str, constraint: Any) -> List[Problem]:
    least = str((constraint or {}).get("min", ""))
    if version_tuple(value) >= version_tuple(least):
        return []
    return [Problem(host, key, value, "%s or later" % least)]
