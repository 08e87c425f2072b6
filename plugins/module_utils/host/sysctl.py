# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sysctls: the value that a machine has after a boot, computed over all files, and the one it has now.

Keys are kept as paths below /proc/sys (``net/ipv4/conf/eth0.30/rp_filter``), which is the only form without doubt.
"""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from typing import Dict, Iterator, List, Mapping, Optional

from ..errors import ConfigError
from .files import Root

__all__ = [
    "OUR_FILE",
    "Assignment",
    "Override",
    "boot_assignments",
    "disable_overrides",
    "dotted",
    "effective",
    "find_overrides",
    "key_path",
    "live_value",
    "normal_value",
    "parse_sysctl",
    "render",
    "wanted_paths",
]

OUR_FILE = "/etc/sysctl.d/90-gpufleet.conf"
LEGACY_FILE = "/etc/sysctl.conf"
MARK = "# gpufleet, overridden by %s: " % OUR_FILE
# sysctl.d(5): of files with the same name, the one in the first directory counts.
_DIRECTORIES = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
_HEADER = "# Written by the role node_baseline of gpufleet.cluster. Changes here are lost.\n"


@dataclass(frozen=True)
class Assignment:
    """One line of one file. ``value`` None: the line only takes the key out of patterns (``-net.ipv4.conf.eth0.x``)."""

    key: str
    value: Optional[str]
    file: str
    line: int


@dataclass(frozen=True)
class Override:
    """Another file sets a key of ours to another value after ours. ``applier``: who reads it so."""

    key: str
    wanted: str
    assignment: Assignment
    applier: str

    def __str__(self) -> str:
        place = "%s line %d" % (self.assignment.file, self.assignment.line)
        return "%s = %s is overridden with %s by %s (read by %s)" % (
            dotted(self.key), self.wanted, self.assignment.value, place, self.applier,
        )  # fmt: skip


def key_path(key: str) -> str:
    """Both spellings of a key to the path. The first separator decides: after a dot, dots and slashes swap roles."""
    first = re.search(r"[./]", key)
    if first is None or first.group(0) == "/":
        return key.strip("/")
    return key.translate(str.maketrans("./", "/."))


def dotted(path: str) -> str:
    """The spelling that people know; a dot within an interface's name becomes a slash."""
    return path.translate(str.maketrans("./", "/."))


def normal_value(value: object) -> str:
    """Values compare by their words: the kernel writes tabs between them."""
    if isinstance(value, bool):
        return str(int(value))
    return " ".join(str(value).split())


def parse_sysctl(text: str, file: str) -> List[Assignment]:
    """sysctl.d(5). A line without ``=`` means nothing, unless it starts with ``-``."""
    found = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        ignored, line = line.startswith("-"), line.lstrip("-")
        key, equals, value = line.partition("=")
        if equals or ignored:
            path = key_path(key.strip())
            found.append(Assignment(path, normal_value(value) if equals else None, file, number))
    return found


def boot_assignments(root: Root, replaced: Optional[Mapping[str, str]] = None) -> List[Assignment]:
    """All lines in the order in which systemd-sysctl applies them. ``replaced``: texts that are about to be written."""
    replaced = replaced or {}
    chosen: Dict[str, str] = {}
    for path in list(replaced) + ["%s/%s" % (d, name) for d in _DIRECTORIES for name in root.names(d, ".conf")]:
        directory, _slash, name = path.rpartition("/")
        if directory in _DIRECTORIES:
            known = chosen.get(name)
            if known is None or _DIRECTORIES.index(directory) < _DIRECTORIES.index(known.rpartition("/")[0]):
                chosen[name] = path
    assignments: List[Assignment] = []
    for _name, path in sorted(chosen.items()):
        text = replaced[path] if path in replaced else root.read(path)
        assignments += parse_sysctl(text or "", path)
    return assignments


def effective(assignments: List[Assignment], key: str) -> Optional[Assignment]:
    """The line that decides: the last explicit one, else the last pattern that matches."""
    explicit = [a for a in assignments if a.key == key]
    valued = [a for a in explicit if a.value is not None]
    if valued:
        return valued[-1]
    patterns = [] if explicit else [a for a in assignments if _is_pattern(a.key) and a.value is not None]
    matching = [a for a in patterns if _matches(key, a.key)]
    return matching[-1] if matching else None


def _is_pattern(key: str) -> bool:
    return any(character in key for character in "*?[")


def _matches(key: str, pattern: str) -> bool:
    """glob(3) does not cross a slash."""
    parts, patterns = key.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatch.fnmatchcase, parts, patterns))


def find_overrides(root: Root, wanted: Mapping[str, str], replaced: Mapping[str, str]) -> List[Override]:
    """Each line that would undo one of ours: at boot (systemd-sysctl), or when a person runs ``sysctl --system``."""
    boot = boot_assignments(root, replaced)
    legacy = replaced[LEGACY_FILE] if LEGACY_FILE in replaced else root.read(LEGACY_FILE)
    by_hand = boot + parse_sysctl(legacy or "", LEGACY_FILE)
    found: List[Override] = []
    for key, value in wanted.items():
        for applier, assignments in (("systemd-sysctl", boot), ("sysctl --system", by_hand)):
            for assignment in _undoing(assignments, key, value):
                if assignment not in [o.assignment for o in found]:
                    found.append(Override(key, value, assignment, applier))
    return found


def _undoing(assignments: List[Assignment], key: str, value: str) -> Iterator[Assignment]:
    """The later lines that differ, if the last word is not ours; the one that decides comes first."""
    winner = effective(assignments, key)
    if winner is None or winner.value == value:
        return
    later = [a for a in assignments if a.key == key and a.value is not None]
    ours = [index for index, a in enumerate(later) if a.file == OUR_FILE]
    for assignment in reversed(later[ours[-1] + 1 :] if ours else later):
        if assignment.value != value:
            yield assignment


def disable_overrides(root: Root, overrides: List[Override]) -> Dict[str, str]:
    """New texts of the overriding files with those lines commented out.

    A file below /run or /usr belongs to others: it gets a copy of the same name in /etc/sysctl.d, which replaces it.
    """
    lines: Dict[str, List[int]] = {}
    for override in overrides:
        lines.setdefault(override.assignment.file, []).append(override.assignment.line)
    texts = {}
    for path, numbers in lines.items():
        target = path if path.startswith("/etc/") else "/etc/sysctl.d/" + path.rpartition("/")[2]
        rows = (root.read(path) or "").splitlines(keepends=True)
        texts[target] = "".join(MARK + row if i in numbers else row for i, row in enumerate(rows, start=1))
    return texts


def wanted_paths(sysctls: Mapping[str, object]) -> Dict[str, str]:
    """What a person wrote, with keys as paths. Raises ConfigError for a key that cannot be meant."""
    wanted: Dict[str, str] = {}
    for key, value in sysctls.items():
        path = key_path(str(key).strip())
        if not re.fullmatch(r"\w[^\s=]*/[^\s=]+", path) or ".." in path.split("/") or _is_pattern(path):
            raise ConfigError(
                "sysctl %r: name one key, as net.ipv4.ip_forward or net/ipv4/conf/eth0.30/forwarding" % key
            )
        text = normal_value(value)
        if not text:
            raise ConfigError("sysctl %s: the value is empty" % key)
        if wanted.get(path, text) != text:
            raise ConfigError("sysctl %s: given twice, with %s and %s" % (dotted(path), wanted[path], text))
        wanted[path] = text
    return wanted


def render(wanted: Mapping[str, str]) -> str:
    return _HEADER + "".join("%s = %s\n" % (dotted(key), value) for key, value in sorted(wanted.items()))


def live_value(root: Root, key: str) -> Optional[str]:
    """What the kernel says now; None: it does not know the key (a module that is not loaded, a typing error)."""
    try:
        text = root.read("/proc/sys/" + key)
    except OSError:
        # Some keys can only be written.
        return None
    return None if text is None else normal_value(text)
