# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""containerd on a machine: what is there, what it makes of a configuration, and writing one."""

from __future__ import annotations

import fnmatch
import glob
import os
import posixpath
import re
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..errors import ClusterError
from ..host.files import Root
from ..runner import Runner
from .drop_ins import MAIN
from .registry import CONFIG_PATH, HEADER
from .settings import CONFIG_DIRECTORY

__all__ = ["dump", "loaded", "read_state", "write_files"]

BEFORE = MAIN + ".gpufleet-before"
_SHOW = ["systemctl", "show", "containerd.service", "--property=ActiveState,ExecMainStartTimestamp", "--timestamp=unix"]


def read_state(root: Root, runner: Runner, patterns: Sequence[str], programs: Sequence[str]) -> Dict[str, Any]:
    """Everything that the controller judges, in one answer. ``version`` None: containerd is not installed.

    ``changed_at``: when the newest of the files was written (or one was taken away), ``started``: when the daemon was;
    both in whole seconds of the machine's clock.
    """
    version = runner.run(["containerd", "--version"], timeout=60)
    matches = {pattern: _matches(root, pattern) for pattern in patterns}
    read = {MAIN, *(path for found in matches.values() for path in found)}
    paths = sorted({*_configurations(root), *read} - (set() if root.exists(MAIN) else {MAIN}))
    directories = {posixpath.dirname(pattern) for pattern in patterns} - {CONFIG_DIRECTORY}
    return {
        "version": None if version.missing else version.stdout + version.stderr,
        "files": {path: _text(root, path) for path in paths},
        "matches": matches,
        "hosts": {path: _text(root, path) for path in _hosts(root)},
        "dump": None if version.missing or MAIN not in paths else loaded(root, runner),
        "changed_at": max(_mtime(root, path) for path in read | directories),
        "absent": [path for path in programs if not root.exists(path)],
        **_daemon(runner),
    }


def _matches(root: Root, pattern: str) -> List[str]:
    if "*" not in pattern:
        return [pattern] if root.exists(pattern) else []
    # Of Go: a star matches a leading dot, too.
    directory, name = posixpath.split(pattern)
    folders = [folder[len(root.path("")) :] for folder in sorted(glob.glob(root.path(directory)))]
    found = [(folder, entry) for folder in folders for entry in root.names(folder) if fnmatch.fnmatchcase(entry, name)]
    return ["%s/%s" % pair for pair in found]


def _configurations(root: Root) -> List[str]:
    found = []
    for folder, directories, names in os.walk(root.path(CONFIG_DIRECTORY)):
        directories[:] = [name for name in directories if os.path.join(folder, name) != root.path(CONFIG_PATH)]
        found += [os.path.join(folder, name)[len(root.path("")) :] for name in names if name.endswith(".toml")]
    return found


def _hosts(root: Root) -> List[str]:
    paths = ["%s/%s/hosts.toml" % (CONFIG_PATH, name) for name in root.names(CONFIG_PATH)]
    return [path for path in paths if root.exists(path)]


def _text(root: Root, path: str) -> str:
    """What is not UTF-8 would not survive the way to the controller. It is no TOML either, and stays that."""
    return (root.read(path) or "").encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _mtime(root: Root, path: str) -> int:
    try:
        return int(os.stat(root.path(path)).st_mtime)
    except FileNotFoundError:
        return 0


def _daemon(runner: Runner) -> Dict[str, Any]:
    shown = runner.run(_SHOW, timeout=60).stdout
    started = re.search(r"^ExecMainStartTimestamp=@(\d+)$", shown, re.MULTILINE)
    active = re.search(r"^ActiveState=active$", shown, re.MULTILINE) is not None
    return {"active": active, "started": int(started.group(1)) if active and started else None}


def dump(runner: Runner, text: str) -> Dict[str, Any]:
    """What containerd would load with ``text`` as its file. It needs no running daemon and changes nothing."""
    with tempfile.NamedTemporaryFile("w", prefix="gpufleet-", suffix=".toml", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        return _dump(runner, stream.name)


def loaded(root: Root, runner: Runner) -> Dict[str, Any]:
    """What containerd loads with the file that is there."""
    return _dump(runner, root.path(MAIN))


def _dump(runner: Runner, path: str) -> Dict[str, Any]:
    result = runner.run(["containerd", "--config", path, "config", "dump"], timeout=120)
    return {"rc": result.rc, "stdout": result.stdout, "stderr": result.stderr}


def write_files(root: Root, files: Mapping[str, Optional[str]], set_aside: Sequence[str]) -> List[str]:
    """Text by path; None removes. Returns remarks. A configuration that is not ours is kept beside it, once."""
    remarks = []
    old = root.read(MAIN)
    if MAIN in files and old and not old.startswith(HEADER) and not root.exists(BEFORE):
        root.write(BEFORE, old)
        remarks.append("the configuration that was there before is kept as %s" % BEFORE)
    try:
        for path in set_aside:
            root.set_aside(path)
        for path in [path for path, text in files.items() if text is None]:
            os.unlink(root.path(path))
            # An empty directory of a registry would still stand before _default.
            if not os.listdir(root.path(posixpath.dirname(path))):
                os.rmdir(root.path(posixpath.dirname(path)))
    except OSError as exc:
        raise ClusterError("put %s out of containerd's way: %s" % (path, exc.strerror)) from exc
    for path, text in files.items():
        if text is not None:
            root.write(path, text)
    return remarks
