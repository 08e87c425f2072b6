# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A network change as a transaction: begun by the module, applied by the agent on the node, confirmed by the module.

``begin`` leaves the node with a running restore timer, the new files in place, and a second timer that applies them
once the module has answered. Killed at any step it can be called again: the backup is always that of the last
confirmed state.
"""

from __future__ import annotations

import inspect
import json
import os
import shutil
import sys
import time
import uuid
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..errors import ClusterError
from ..runner import Runner
from . import agent
from .agent import STATE_DIRECTORY, Store
from .plan import Plan

__all__ = ["Change", "Footprint", "begin", "confirm", "footprint_of", "write_files"]

# The node needs a moment to send the module's answer before its network changes.
ANSWER_SECONDS = 3
KEPT_CHANGES = 5
BOOT_UNIT = "gpufleet-network-restore.service"
_BOOT_UNIT_TEXT = """\
# Written by the role node_network.
[Unit]
Description=Restore the network of before a change that was never confirmed
ConditionPathExists={state}/pending
DefaultDependencies=no
RequiresMountsFor={state} /etc
After=local-fs.target systemd-remount-fs.service systemd-udevd.service
Wants=network-pre.target
Before=network-pre.target systemd-networkd.service NetworkManager.service shutdown.target
Conflicts=shutdown.target

[Service]
Type=oneshot
ExecStart={python} {agent} boot

[Install]
WantedBy=sysinit.target
"""


@dataclass(frozen=True)
class Footprint:
    """What a configuration leaves in the kernel that the backends do not reliably take away again."""

    devices: Sequence[str] = ()
    rules: Sequence[Sequence[str]] = ()
    tables: Sequence[int] = ()

    def without(self, other: "Footprint") -> Dict[str, Any]:
        kept = [list(rule) for rule in other.rules]
        return {
            "devices": [device for device in self.devices if device not in other.devices],
            "rules": [list(rule) for rule in self.rules if list(rule) not in kept],
            "tables": [table for table in self.tables if table not in other.tables],
        }


@dataclass(frozen=True)
class Change:
    """All that a transaction needs to know. ``files``: path -> text, or None for a file that has to go."""

    backend: str
    files: Mapping[str, Optional[str]]
    modes: Mapping[str, int]
    footprint: Footprint
    present: Sequence[str]  # virtual devices of the plan that already exist
    recreate: Sequence[str]  # of these, the ones that cannot be changed in place
    ports: Sequence[Mapping[str, Any]]  # mac, old, new, mtu, up
    sysctls: Mapping[str, str]
    old_sysctls: Mapping[str, str]
    connections: Sequence[str] = ()
    old_connections: Sequence[str] = ()
    timeout: int = 60


def footprint_of(plan: Plan) -> Footprint:
    rules, tables = [], []
    for link in plan.links:
        tables += [route.table for route in link.routes if route.table is not None]
        for rule in link.rules:
            words = ["-6" if ":" in (rule.source or rule.destination or "") else "-4"]
            words += ["from", rule.source] if rule.source else []
            words += ["to", rule.destination] if rule.destination else []
            rules.append(words + ["table", str(rule.table), "priority", str(rule.priority)])
    # A VLAN goes before the bond that carries it.
    return Footprint(tuple(reversed(plan.virtual_interfaces())), tuple(rules), tuple(dict.fromkeys(tables)))


def confirmed_footprint(store: Store) -> Footprint:
    text = store.read(STATE_DIRECTORY + "/confirmed.json")
    return Footprint(**json.loads(text)) if text else Footprint()


def begin(store: Store, runner: Runner, change: Change) -> str:
    """Start the window and return the change's id. On an error nothing of the node's configuration is touched."""
    predecessor = store.pending()
    identity = "%s-%s" % (time.strftime("%Y%m%dT%H%M%S", time.gmtime()), uuid.uuid4().hex[:6])
    directory = os.path.join(store.base, identity)
    try:
        _record(store, identity, change, predecessor)
        _install_agent(store, runner)
        # The new timer runs before the old one is let go: at no moment can the process die with nobody to restore.
        _start(runner, store, "restore", identity, ANSWER_SECONDS + agent.APPLY_SECONDS + change.timeout)
        store.write(STATE_DIRECTORY + "/pending", identity)
    except (OSError, ClusterError) as exc:
        shutil.rmtree(directory, ignore_errors=True)
        text = "cannot prepare the change of the network in %s, nothing was changed: %s"
        raise ClusterError(text % (STATE_DIRECTORY, exc)) from exc
    if predecessor is not None:
        stop_timers(runner, predecessor)
    try:
        store.put_new(identity)
        _start(runner, store, "apply", identity, ANSWER_SECONDS)
    except (OSError, ClusterError) as exc:
        _undo(store, runner, identity, predecessor is not None, exc)
        raise ClusterError("cannot write the new network files, the old ones are in place: %s" % exc) from exc
    _prune(store, identity)
    return identity


def _undo(store: Store, runner: Runner, identity: str, live: bool, reason: Exception) -> None:
    """The files go back; the live network as well where an open predecessor had changed it."""
    if live:
        restore(store, runner, identity, str(reason))
        return
    store.put_old(identity)
    store.set_status(identity, "restored", str(reason))
    store.remove(STATE_DIRECTORY + "/pending")
    stop_timers(runner, identity)


def _record(store: Store, identity: str, change: Change, predecessor: Optional[str]) -> None:
    """Old and new files and all facts that the agent needs. An open predecessor lends the state of before itself."""
    before = store.load(predecessor) if predecessor else {}
    base = "%s/%s" % (STATE_DIRECTORY, identity)
    paths = dict.fromkeys([*change.files, *(entry["path"] for entry in before.get("files", ()))])
    inherited = {entry["path"]: entry for entry in before.get("files", ())}
    files = []
    for number, path in enumerate(paths):
        # A file that only the predecessor touched goes back to its original: the new plan says nothing about it.
        original = inherited.get(path)
        if original is not None:
            old = store.read("%s/%s/%s" % (STATE_DIRECTORY, predecessor, original["old"])) if original["old"] else None
            old_mode = original["old_mode"]
        else:
            old, old_mode = store.read(path), _mode(store, path)
        new = change.files.get(path, old)
        entry = {"path": path, "mode": change.modes.get(path, old_mode), "old_mode": old_mode, "old": None, "new": None}
        for kind, text, mode in (("old", old, old_mode), ("new", new, entry["mode"])):
            if text is not None:
                entry[kind] = "%s/%d" % (kind, number)
                store.write("%s/%s" % (base, entry[kind]), text, mode)
        files.append(entry)
    store.write(base + "/transaction.json", json.dumps(_facts(store, identity, change, before, files), indent=1))


def _facts(
    store: Store, identity: str, change: Change, before: Mapping[str, Any], files: List[Dict[str, Any]]
) -> Dict[str, Any]:
    confirmed = confirmed_footprint(store)
    made = change.footprint.without(confirmed)
    made["devices"] = [device for device in made["devices"] if device not in change.present]
    retire = confirmed.without(change.footprint)
    if before:
        for key in ("devices", "rules", "tables"):
            made[key] += [item for item in before["made"][key] if item not in made[key]]
            ours = [list(item) if key == "rules" else item for item in getattr(change.footprint, key)]
            retire[key] += [item for item in before["made"][key] if item not in ours and item not in retire[key]]
    retire["devices"] += [device for device in change.recreate if device not in retire["devices"]]
    return {
        "id": identity,
        "backend": change.backend,
        "timeout": change.timeout,
        "files": files,
        "footprint": change.footprint.__dict__,
        "made": made,
        "retire": retire,
        "ports": _original_ports(change.ports, before.get("ports", ())),
        "connections": list(change.connections),
        "old_connections": list(before.get("old_connections", change.old_connections)),
        "sysctls": dict(change.sysctls),
        "old_sysctls": {**change.old_sysctls, **before.get("old_sysctls", {})},
    }


def _original_ports(ports: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Name, MTU and state as they were before the open predecessor, whose names the ports may bear now."""
    originals = {port["mac"] or port["new"]: port for port in before}
    found = []
    for port in ports:
        first = originals.pop(port["mac"] or port["new"], None)
        found.append({**port, **({key: first[key] for key in ("old", "mtu", "up")} if first else {})})
    return found + [{**port, "new": port["old"]} for port in originals.values()]


def _mode(store: Store, path: str) -> int:
    try:
        return os.stat(store.path(path)).st_mode & 0o777
    except FileNotFoundError:
        return 0o600


def _install_agent(store: Store, runner: Runner) -> None:
    unit = _BOOT_UNIT_TEXT.format(state=STATE_DIRECTORY, agent=agent.AGENT, python=sys.executable)
    unit_path = "/etc/systemd/system/" + BOOT_UNIT
    source = inspect.getsource(agent)
    if store.read(agent.AGENT) != source:
        store.write(agent.AGENT, source, 0o700)
    wanted = "/etc/systemd/system/sysinit.target.wants/" + BOOT_UNIT
    if store.read(unit_path) != unit or store.read(wanted) != unit:
        store.write(unit_path, unit, 0o644)
        done = runner.run(["systemctl", "enable", BOOT_UNIT], timeout=60)
        if done.rc != 0:
            raise ClusterError("cannot enable %s, nothing was changed: %s" % (BOOT_UNIT, done.stderr.strip()))


def _start(runner: Runner, store: Store, verb: str, identity: str, seconds: int) -> None:
    """A timer of systemd, so that neither the end of this process nor that of the connection matters."""
    argv = ["systemd-run", "--unit=gpufleet-network-%s-%s" % (verb, identity), "--on-active=%d" % seconds]
    argv += ["--timer-property=AccuracySec=500ms", sys.executable, store.path(agent.AGENT), verb, identity]
    done = runner.run(argv, timeout=30)
    if done.rc != 0:
        raise ClusterError("%s: %s" % (" ".join(argv[:3]), done.stderr.strip()))


def stop_timers(runner: Runner, identity: str) -> None:
    for verb in ("apply", "restore", "unconfirmed"):
        runner.run(["systemctl", "stop", "gpufleet-network-%s-%s.timer" % (verb, identity)], timeout=30)


def _run_with(runner: Runner) -> agent.Run:
    def run(argv: Sequence[str]) -> Any:
        done = runner.run(argv, timeout=agent.COMMAND_TIMEOUT)
        return done.rc, done.stdout + done.stderr

    return run


def confirm(store: Store, runner: Runner, identity: str) -> None:
    """Close the window. Safe to repeat: the answer to the first call may have been lost."""
    with store.lock():
        if store.pending() != identity:
            return
        store.sweep(identity)
        footprint = store.load(identity)["footprint"]
        store.write(STATE_DIRECTORY + "/confirmed.json", json.dumps(footprint))
        store.set_status(identity, "confirmed")
        store.remove(STATE_DIRECTORY + "/pending")
    stop_timers(runner, identity)


def restore(store: Store, runner: Runner, identity: str, reason: str) -> None:
    agent.restore(store, _run_with(runner), identity, reason)
    stop_timers(runner, identity)


def write_files(store: Store, files: Mapping[str, Optional[str]], modes: Mapping[str, int]) -> None:
    """For a machine that is being built: the files alone, in effect at its first boot."""
    for path, text in files.items():
        if text is None:
            store.remove(path)
        else:
            store.write(path, text, modes.get(path, 0o600))


def _prune(store: Store, current: str) -> None:
    folders = sorted(name for name in os.listdir(store.base) if os.path.isdir(os.path.join(store.base, name)))
    for name in folders[:-KEPT_CHANGES]:
        if name != current:
            shutil.rmtree(os.path.join(store.base, name), ignore_errors=True)
