# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring containerd's configuration to what is wanted: the decisions, on the controller, which has a reader of TOML.

A machine's Python may be 3.9, which has none. So the machine tells what it has, and what containerd would make of a
text; what is wrong with it is decided here, before anything is changed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..module_utils.containerd.drop_ins import (
    MAIN,
    Loading,
    dropped_imports,
    follow_imports,
    problem_of,
    remark_on,
    unread,
)
from ..module_utils.containerd.effective import Difference, differences, set_by
from ..module_utils.containerd.registry import HEADER, hosts_files
from ..module_utils.containerd.release import Release, parse_release
from ..module_utils.containerd.settings import Settings, desired_config
from ..module_utils.containerd.toml import render_toml
from ..module_utils.errors import ClusterError, ConfigError

__all__ = ["Machine", "Outcome", "check_formats", "configure", "parse_toml"]


class Machine(Protocol):
    """The other half, ``module_utils/containerd/target.py``, through a connection."""

    def read(self, patterns: Sequence[str]) -> dict[str, Any]: ...
    def dump(self, text: str) -> dict[str, Any]: ...
    def write(self, files: Mapping[str, str | None], set_aside: Sequence[str]) -> dict[str, Any]: ...


@dataclass
class Outcome:
    """``restart``: a daemon runs that has not read what is in the files."""

    changed: bool = False
    restart: bool = False
    version: str | None = None
    format: int | None = None
    files: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    diff: list[dict[str, str]] = field(default_factory=list)


@dataclass
class _Found:
    """The machine as read: ``settings`` with the imports that are to be."""

    release: Release
    settings: Settings
    state: dict[str, Any]
    trees: dict[str, Any]
    loading: Loading


def parse_toml(text: str) -> dict[str, Any] | str:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        return str(exc)


def check_formats(settings: Settings) -> None:
    """What is wrong whatever release the machine has. Raises ConfigError."""
    for release in (Release(1, 7, "1.7"), Release(2, 0, "2.0"), Release(2, 3, "2.3")):
        render_toml(desired_config(settings, release))


def configure(settings: Settings, machine: Machine, conflicts: str, unread_action: str, check_mode: bool) -> Outcome:
    """Raises ClusterError with what is wrong; nothing is changed then, unless it says so."""
    state = machine.read(settings.imports)
    if state["version"] is None:
        if not check_mode:
            raise ClusterError("configure containerd: it is not installed; install its package first")
        return Outcome(True, notes=["containerd is not installed yet; its release decides what would be written"])
    found = _look(parse_release(state["version"]), settings, state, machine, unread_action)
    notes = _notes(found)
    desired = desired_config(found.settings, found.release)
    text = HEADER + render_toml(desired)
    set_aside = _agreed(found, desired, text, machine, conflicts)
    files: dict[str, str | None] = dict(hosts_files(settings.registries, found.state["hosts"]))
    if found.state["files"].get(MAIN) != text:
        files[MAIN] = text
    outcome = _outcome(found, files, set_aside, notes)
    if not check_mode and (files or set_aside):
        answer = machine.write(files, set_aside)
        outcome.notes += answer["remarks"]
        _prove(found, desired, answer["dump"])
    return outcome


def _look(release: Release, settings: Settings, state: dict[str, Any], machine: Machine, unread_action: str) -> _Found:
    """Read again while drop-ins import further files, or unread ones are to be imported."""
    matches: dict[str, list[str]] = {}
    while True:
        matches.update(state["matches"])
        trees = {path: parse_toml(text) for path, text in state["files"].items()}
        loading = follow_imports(settings.imports, matches, trees)
        missed = unread(loading, trees)
        if unread_action == "import" and missed and not loading.unknown:
            # One that no TOML reader can read would stop containerd; it stays unread, and is reported.
            useful = {pattern: None for path, pattern in missed.items() if not isinstance(trees[path], str)}
            settings = replace(settings, imports=(*settings.imports, *useful))
            loading.unknown = [pattern for pattern in useful if pattern not in matches]
        if not loading.unknown:
            break
        state = machine.read([*matches, *loading.unknown])
    if loading.missing:
        raise ConfigError("; ".join(_missing(importer, path) for importer, path in loading.missing))
    if unread_action == "fail" and missed:
        raise ConfigError("; ".join(_never_read(path, settings) for path in missed))
    return _Found(release, settings, state, trees, loading)


def _missing(importer: str, path: str) -> str:
    return (
        f"{path}, which {importer} imports, does not exist, and containerd does not start without it; "
        "create it, or take it out of the imports"
    )


def _never_read(path: str, settings: Settings) -> str:
    return (
        f"{path} is never read: containerd imports only {', '.join(settings.imports) or 'nothing'}. Move it there, "
        "remove it, or set unread to import"
    )


def _notes(found: _Found) -> list[str]:
    dropped = dropped_imports(found.trees.get(MAIN, {}), found.settings.imports)
    missed = unread(found.loading, found.trees)
    remarks = {path: remark_on(found.release, found.trees[path]) for path in found.loading.paths}
    absent = found.state["absent"]
    return [
        *(f"{MAIN} imported {path}, which the new one does not; add it to imports if it counts" for path in dropped),
        *(_never_read(path, found.settings) for path in missed),
        *(f"{path} {remark}" for path, remark in remarks.items() if remark),
        *(f"the runtime's program {path} is not on the machine; its pods will not start" for path in absent),
    ]


def _agreed(found: _Found, desired: Mapping[str, Any], text: str, machine: Machine, conflicts: str) -> list[str]:
    """The drop-ins to set aside so that containerd loads what is wanted. Raises ClusterError when that is not to be."""
    problems = {path: problem_of(found.release, found.trees[path]) for path in found.loading.paths}
    aside = [path for path, problem in problems.items() if problem]
    if aside and conflicts == "fail":
        raise ConfigError("; ".join(f"{path}: {problems[path]}" for path in aside) + _WAY_OUT)
    wrong = _differences(found, desired, _dump(found, text, aside, machine))
    if wrong and conflicts == "set_aside":
        kept = [path for path in found.loading.paths if path not in aside]
        aside += [path for path in kept if any(path in set_by(one.path, kept, found.trees) for one in wrong)]
        wrong = _differences(found, desired, _dump(found, text, aside, machine))
    if wrong:
        raise ConfigError(_not_loaded(found, wrong, aside))
    return aside


_WAY_OUT = ". Correct or remove it, or set conflicts to set_aside. Nothing was changed"


def _dump(found: _Found, text: str, aside: Sequence[str], machine: Machine) -> dict[str, Any]:
    if not aside and found.state["files"].get(MAIN) == text and found.state["dump"] is not None:
        return dict(found.state["dump"])
    if aside:
        # As it will be: the drop-ins that stay, by name, because the others still match the patterns.
        stay = tuple(path for path in found.loading.paths if path not in aside)
        text = render_toml(desired_config(replace(found.settings, imports=stay), found.release))
    return machine.dump(text)


def _differences(found: _Found, desired: Mapping[str, Any], dump: Mapping[str, Any]) -> list[Difference]:
    loaded = parse_toml(dump["stdout"]) if dump["rc"] == 0 else ""
    if isinstance(loaded, str):
        said = dump["stderr"].strip().splitlines()[-3:] or [loaded or f"rc {dump['rc']}"]
        raise ClusterError(
            f"containerd {found.release.text} refuses the configuration (containerd config dump): {' '.join(said)}"
        )
    return differences(desired, loaded)


def _not_loaded(found: _Found, wrong: Sequence[Difference], aside: Sequence[str]) -> str:
    kept = [path for path in found.loading.paths if path not in aside]
    origins = [set_by(one.path, kept, found.trees) for one in wrong]
    lines = [f"{one} ({', '.join(by) or 'no drop-in has it'})" for one, by in zip(wrong, origins, strict=True)]
    said = f"containerd would not load what is wanted: {'; '.join(lines)}"
    if not any(origins):
        return (
            f"{said}. containerd {found.release.text} does not know this setting: look at further. Nothing was changed"
        )
    if found.release.format == 2:
        said += f". In containerd {found.release.text} a drop-in replaces all settings of a plugin that it names"
    return said + _WAY_OUT


def _outcome(found: _Found, files: Mapping[str, str | None], aside: Sequence[str], notes: list[str]) -> Outcome:
    state = found.state
    stale = state["started"] is not None and state["started"] < state["changed_at"]
    before = {**state["files"], **state["hosts"]}
    if stale:
        notes = [*notes, "the running containerd is older than its configuration"]
    return Outcome(
        changed=bool(files or aside or stale),
        # containerd looks at hosts.toml files at each pull.
        restart=state["active"] and (MAIN in files or bool(aside) or stale),
        version=found.release.text,
        format=found.release.format,
        files=sorted(files),
        set_aside=list(aside),
        notes=notes,
        diff=[
            {"before_header": path, "after_header": path, "before": before.get(path, ""), "after": text or ""}
            for path, text in [*sorted(files.items()), *((path, None) for path in aside)]
        ],
    )


def _prove(found: _Found, desired: Mapping[str, Any], dump: Mapping[str, Any]) -> None:
    wrong = _differences(found, desired, dump)
    if wrong:
        raise ClusterError(
            f"the configuration was written, but containerd does not load it: {'; '.join(str(one) for one in wrong)}; "
            "somebody changed a drop-in at the same time? Run again"
        )
