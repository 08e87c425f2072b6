# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files containerd reads beside its own, and what is wrong with them. Pure; files come as parsed trees."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .release import Release
from .settings import CONFIG_DIRECTORY, absolute_import

__all__ = ["MAIN", "Loading", "dropped_imports", "follow_imports", "problem_of", "remark_on", "unread"]

MAIN = CONFIG_DIRECTORY + "/config.toml"
# A file's tree, or why it is no TOML.
Trees = Mapping[str, Union[Mapping[str, Any], str]]


@dataclass
class Loading:
    """``paths``: in the order in which they are read, a later one over an earlier. ``missing``: (file, import) whose
    file does not exist. ``unknown``: imports that ``matches`` says nothing about.
    """

    paths: List[str] = field(default_factory=list)
    missing: List[Tuple[str, str]] = field(default_factory=list)
    unknown: List[str] = field(default_factory=list)


def follow_imports(imports: Sequence[str], matches: Mapping[str, Sequence[str]], trees: Trees) -> Loading:
    """As containerd does: breadth first, each file once, a drop-in's own imports too."""
    loading = Loading()
    pending = [(MAIN, pattern) for pattern in imports]
    while pending:
        importer, pattern = pending.pop(0)
        if pattern not in matches:
            loading.unknown.append(pattern)
            continue
        # Only a star makes a pattern, and one that matches nothing is no error.
        if not matches[pattern] and "*" not in pattern:
            loading.missing.append((importer, pattern))
        for path in matches[pattern]:
            if path == MAIN or path in loading.paths:
                continue
            loading.paths.append(path)
            pending += [(path, absolute_import(posixpath.dirname(path), inner)) for inner in _imports(trees[path])]
    return loading


def _imports(tree: Union[Mapping[str, Any], str]) -> List[str]:
    found = tree.get("imports", []) if isinstance(tree, Mapping) else []
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def dropped_imports(old: Union[Mapping[str, Any], str], imports: Sequence[str]) -> List[str]:
    """What the configuration that is replaced imports, and the new one does not."""
    found = [absolute_import(CONFIG_DIRECTORY, pattern) for pattern in _imports(old)]
    return [pattern for pattern in found if pattern not in imports]


def unread(loading: Loading, trees: Trees) -> Dict[str, str]:
    """Drop-ins below containerd's directory that it does not read -> the import that would make it read them."""
    return {
        path: posixpath.dirname(path) + "/*.toml"
        for path in sorted(trees)
        if path != MAIN and path.startswith(CONFIG_DIRECTORY + "/") and path not in loading.paths
    }


def problem_of(release: Release, tree: Union[Mapping[str, Any], str]) -> Optional[str]:
    """Why containerd does not start with this drop-in, or forgets everything else because of it."""
    if isinstance(tree, str):
        return "it is no TOML (%s), and containerd does not start with it" % tree
    version = tree.get("version", 0)
    if not isinstance(version, int):
        return "its version %r is no number, and containerd does not start with it" % (version,)
    if version > release.format:
        return "it has version %d, and containerd %s, which reads version %d, does not start with it" % (
            version,
            release.text,
            release.format,
        )
    if release.format == 2 and version == 1:
        return "it has version 1, for which containerd %s then takes all files, without their plugins" % release.text
    return None


def remark_on(release: Release, tree: Union[Mapping[str, Any], str]) -> Optional[str]:
    """What containerd can live with, but people should know."""
    version = tree.get("version", 0) if isinstance(tree, Mapping) else 0
    if release.format > 2 and version < release.format:
        says = "has version %d" % version if version else "says no version, which means 1"
        return "%s: containerd %s converts it to version %d at each start" % (says, release.text, release.format)
    return None
