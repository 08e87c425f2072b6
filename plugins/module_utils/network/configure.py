# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module does: current and desired files, the live state, one comparison, one place where things change."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import ConfigError
from ..runner import Runner
from . import effective, effective_keyfile, guest_agent, live, transaction
from .agent import STATE_DIRECTORY, Store
from .hardware import Device, parse_altnames, read_hardware
from .model import parse_networks
from .plan import Plan, resolve_plan
from .render_keyfile import keyfile_files
from .render_netplan import NETPLAN_FILE, netplan_files

__all__ = ["Options", "Result", "configure", "confirm", "look", "restore"]

SYSCTL_FILE = "/etc/sysctl.d/90-gpufleet-network.conf"
_SYSCTL_HEADER = "# Written by the role node_network from node_networks; changes made here are lost.\n"
Files = Dict[str, Optional[str]]


@dataclass(frozen=True)
class Options:
    """The module's parameters."""

    networks: Any
    backend: str = "auto"
    conflicts: str = "fail"
    confirm_timeout: int = 60
    apply: bool = True
    sysctls: Mapping[str, str] = field(default_factory=dict)
    check_mode: bool = False
    root: str = "/"


@dataclass(frozen=True)
class Result:
    """``state``: unchanged, planned (check mode), written (not applied); or that of a change: pending, applying,
    applied, differs, settled, confirmed, restored."""

    state: str
    changed: bool = False
    backend: str = ""
    files: Sequence[str] = ()
    transaction: Optional[str] = None
    message: str = ""
    differences: Sequence[str] = ()
    notes: Sequence[str] = ()
    diff: Sequence[Mapping[str, str]] = ()

    def as_dict(self) -> Dict[str, Any]:
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}


@dataclass(frozen=True)
class _Host:
    """Everything read from the host, once."""

    store: Store
    runner: Runner
    plan: Plan
    hardware: Tuple[Device, ...]
    backend: str
    before: Mapping[str, Any]  # the open change, whose old files are the state to go back to

    def original(self, path: str) -> Optional[str]:
        """A file as it was before an open change touched it."""
        for entry in self.before.get("files", ()):
            if entry["path"] == path:
                place = "%s/%s/%s" % (STATE_DIRECTORY, self.before["id"], entry["old"])
                return self.store.read(place) if entry["old"] else None
        return self.store.read(path)

    def touched(self) -> List[str]:
        return [entry["path"] for entry in self.before.get("files", ())]

    def subjects(self) -> List[effective.Subject]:
        altnames = {device.name: device.altnames for device in self.hardware}
        return effective.subjects_of(self.plan, altnames, {device.name: device.driver for device in self.hardware})


def configure(options: Options, runner: Runner) -> Result:
    host = _read_host(options, runner)
    desired, notes = _desired(host, options)
    current = {path: host.store.read(path) for path in desired}
    changed_files = [path for path, text in desired.items() if text != current[path]]
    differences, live_notes, state = _live(host, options)
    pending = host.before.get("id")
    result = Result(
        state="planned",
        changed=bool(changed_files or differences or pending),
        backend=host.backend,
        files=tuple(changed_files),
        differences=tuple(differences),
        notes=tuple(notes + live_notes),
        diff=tuple(_diff(desired, current, changed_files, differences)),
    )
    if not result.changed:
        return _replace(result, state="unchanged")
    if options.check_mode:
        return result
    modes = {
        path: 0o644 if path.startswith(("/etc/sysctl", "/etc/default", "/etc/systemd")) else 0o600 for path in desired
    }
    if not options.apply:
        transaction.write_files(host.store, {path: desired[path] for path in changed_files}, modes)
        return _replace(result, state="written")
    if pending and not changed_files and not differences and host.store.status(pending).get("state") == "applied":
        return _replace(result, state="pending", transaction=pending, message="an open change is what is wanted")
    return _replace(result, state="pending", transaction=_begin(host, options, desired, modes, state))


def _replace(result: Result, **values: Any) -> Result:
    return Result(**{**result.__dict__, **values})


def look(options: Options, runner: Runner, identity: str) -> Result:
    """How the change ``identity`` stands; ``settled`` when the live network is the plan's. Changes nothing.

    Whoever gets the answer ``settled`` knows that the host can still talk to them: it was sent through the new network.
    """
    store = Store(options.root)
    status = store.status(identity)
    if not status:
        raise ConfigError("there is no change of the network %s on this host" % identity)
    found = Result(state=status["state"], transaction=identity, message=status["message"])
    if store.pending() != identity or status["state"] != "applied":
        return found
    host = _read_host(options, runner)
    differences, notes, _state = _live(host, options)
    state = "differs" if differences else "settled"
    return _replace(found, state=state, differences=tuple(differences), notes=tuple(notes))


def confirm(options: Options, runner: Runner, identity: str) -> Result:
    """Close the window if the network is the plan's. To be called over a connection that was made after `look` had
    answered ``settled``: an older one may have been made through the old network, and say nothing of the new one."""
    found = look(options, runner, identity)
    if found.state != "settled":
        return found
    store = Store(options.root)
    transaction.confirm(store, runner, identity)
    return _replace(found, state=store.status(identity)["state"])


def restore(options: Options, runner: Runner, identity: str, reason: str) -> Result:
    store = Store(options.root)
    transaction.restore(store, runner, identity, reason)
    status = store.status(identity)
    return Result(state=status.get("state", "unknown"), transaction=identity, message=status.get("message", ""))


# Reading -------------------------------------------------------------------------------------------------------------


def _read_host(options: Options, runner: Runner) -> _Host:
    networks, problems = parse_networks("this host", options.networks)
    if problems:
        raise ConfigError("\n".join("%s = %r: %s" % (p.variable, p.value, p.allowed) for p in problems))
    store = Store(options.root)
    listing = runner.run(["ip", "-j", "link", "show"], timeout=30)
    hardware = read_hardware(options.root, parse_altnames(listing.stdout))
    pending = store.pending()
    return _Host(
        store=store,
        runner=runner,
        plan=resolve_plan(networks, hardware),
        hardware=hardware,
        backend=_backend(options),
        before=store.load(pending) if pending else {},
    )


def _backend(options: Options) -> str:
    """By what is installed; where both are, or none, by the package manager that the host belongs to."""
    if options.backend != "auto":
        return options.backend
    netplan, manager = _installed(options.root, "netplan"), _installed(options.root, "nmcli")
    if netplan != manager:
        return "netplan" if netplan else "networkmanager"
    return "networkmanager" if _installed(options.root, "dnf") else "netplan"


def _installed(root: str, program: str) -> bool:
    return any(os.path.exists(os.path.join(root, folder, program)) for folder in ("usr/sbin", "usr/bin"))


def _live(host: _Host, options: Options) -> Tuple[List[str], List[str], live.Live]:
    if not options.apply:
        return [], [], live.Live()
    state = live.read_live(host.runner, host.plan, options.root)
    return (*live.compare_live(host.plan, state), state)


# Desired files -------------------------------------------------------------------------------------------------------


def _desired(host: _Host, options: Options) -> Tuple[Files, List[str]]:
    rendered = netplan_files(host.plan) if host.backend == "netplan" else keyfile_files(host.plan)
    files: Files = {path: None for path in _stale(host) if path not in rendered}
    if host.backend == "netplan":
        files.update(_netplan_takeover(host, options, rendered))
    else:
        files.update(_keyfile_takeover(host, options, rendered))
    sysctls = {**host.plan.sysctls, **options.sysctls}
    lines = ["%s = %s\n" % pair for pair in sysctls.items()]
    files[SYSCTL_FILE] = _SYSCTL_HEADER + "".join(lines) if lines else None
    if guest_agent.agent_present(options.root):
        files[guest_agent.AGENT_CONFIG] = guest_agent.without_interface_setup(host.original(guest_agent.AGENT_CONFIG))
    # What only an open change touched is wanted as it was, unless it is named here.
    files.update({path: host.original(path) for path in host.touched() if path not in {**files, **rendered}})
    taken = ["%s: taken over" % path for path in files if path.startswith("/etc/netplan") and path not in rendered]
    return {**files, **rendered}, taken


def _stale(host: _Host) -> List[str]:
    own = effective_keyfile.own_keyfiles(host.store.root)
    return own if host.backend == "networkmanager" else [*own, NETPLAN_FILE]


def _netplan_takeover(host: _Host, options: Options, rendered: Mapping[str, str]) -> Files:
    on_disk = effective.read_foreign_netplan(options.root, NETPLAN_FILE)
    paths = dict.fromkeys([*on_disk, *(p for p in host.touched() if p.endswith(".yaml") and p != NETPLAN_FILE)])
    foreign = {path: text for path, text in ((path, host.original(path)) for path in paths) if text is not None}
    arguments = (effective.Generator(host.runner), rendered, foreign, options.root, host.subjects())
    if options.conflicts == "replace":
        return effective.without_conflicts(*arguments)
    _refuse(effective.netplan_conflicts(*arguments))
    return {}


def _keyfile_takeover(host: _Host, options: Options, rendered: Mapping[str, str]) -> Files:
    if options.apply:
        effective_keyfile.validate_keyfiles(host.runner, rendered)
    conflicts = effective_keyfile.keyfile_conflicts(options.root, host.subjects())
    if options.conflicts == "replace":
        return {conflict.path: None for conflict in conflicts}
    _refuse(conflicts)
    return {}


def _refuse(conflicts: Sequence[effective.Conflict]) -> None:
    if conflicts:
        lines = "\n".join(str(conflict) for conflict in conflicts)
        raise ConfigError(
            "other files change what the plan says; set conflicts to replace (node_network_conflicts) to take their "
            "definitions of these interfaces over, or edit them:\n%s" % lines
        )


# Changing ------------------------------------------------------------------------------------------------------------


def _diff(desired: Files, current: Files, paths: Sequence[str], differences: Sequence[str]) -> List[Dict[str, str]]:
    found = [
        {"before_header": path, "after_header": path, "before": current[path] or "", "after": desired[path] or ""}
        for path in paths
    ]
    if differences:
        lines = "".join("%s\n" % difference for difference in differences)
        found.append({"before_header": "live state", "after_header": "live state", "before": lines, "after": ""})
    return found


def _begin(host: _Host, options: Options, desired: Files, modes: Mapping[str, int], state: live.Live) -> str:
    sysctls = {**host.plan.sysctls, **{key.replace(".", "/"): value for key, value in options.sysctls.items()}}
    present = live.devices_present(state, host.plan.virtual_interfaces())
    mtu = {device.name: device.mtu for device in host.hardware}
    ports: List[Dict[str, Any]] = [
        {
            "mac": port.mac,
            "old": port.device,
            "new": port.name,
            "mtu": mtu[port.device],
            "up": state.up.get(port.device, False),
        }
        for port in host.plan.ports()
    ]
    manager = host.backend == "networkmanager"
    devices = [port["old"] for port in ports] + present
    change = transaction.Change(
        backend=host.backend,
        files={path: text for path, text in desired.items() if text != host.original(path)},
        modes=modes,
        footprint=transaction.footprint_of(host.plan),
        present=present,
        recreate=live.bonds_to_recreate(host.plan, state),
        ports=ports,
        sysctls=sysctls,
        old_sysctls={key: (host.store.read("/proc/sys/" + key) or "").strip() for key in sysctls},
        connections=effective_keyfile.connections_of(host.plan) if manager else (),
        old_connections=effective_keyfile.active_connections(host.runner, devices) if manager else (),
        timeout=options.confirm_timeout,
    )
    return transaction.begin(host.store, host.runner, change)
