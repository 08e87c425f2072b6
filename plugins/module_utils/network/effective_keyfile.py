# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NetworkManager: the keyfiles checked before they are used, and other profiles that claim our interfaces."""

from __future__ import annotations

import os
from typing import Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import ConfigError
from ..runner import Runner
from .effective import Conflict, Subject, parse_unit
from .plan import Plan
from .render_keyfile import KEYFILE_DIRECTORY, LINK_DIRECTORY

__all__ = ["active_connections", "connections_of", "keyfile_conflicts", "own_keyfiles", "validate_keyfiles"]

PROFILE_DIRECTORIES = (
    "usr/lib/NetworkManager/system-connections",
    "run/NetworkManager/system-connections",
    "etc/NetworkManager/system-connections",
)
# The profiles of RHEL 8 and before, which NetworkManager still reads where its ifcfg-rh plugin is there.
IFCFG_DIRECTORY = "etc/sysconfig/network-scripts"


def connections_of(plan: Plan) -> List[str]:
    """Names of the profiles in the order to bring them up: a bond before its members."""
    names = []
    for link in plan.links:
        names.append("gpufleet-%s" % link.network)
        if link.kind == "bond":
            names += ["gpufleet-%s-%s" % (link.network, port.name) for port in link.ports]
    return names


def validate_keyfiles(runner: Runner, files: Mapping[str, str]) -> None:
    """NetworkManager's own reading of each keyfile, without the daemon. Raises ConfigError with its words."""
    for path, text in files.items():
        if not path.startswith(KEYFILE_DIRECTORY):
            continue
        argv = ["nmcli", "--offline", "connection", "modify", "connection.autoconnect", "yes"]
        done = runner.run(argv, timeout=30, stdin=text)
        if done.missing:
            raise ConfigError("nmcli is not installed: install the package NetworkManager, or set backend: netplan")
        if "--offline" in done.stderr:  # before 1.40, which does not know the option
            return
        if done.rc != 0:
            raise ConfigError("NetworkManager refuses %s, nothing was changed: %s" % (path, done.stderr.strip()))


def active_connections(runner: Runner, devices: Sequence[str]) -> List[str]:
    """Profiles in use on these devices now: what a restore brings up again."""
    done = runner.run(["nmcli", "-t", "-e", "no", "-f", "DEVICE,NAME", "connection", "show", "--active"], timeout=30)
    pairs = [line.split(":", 1) for line in done.stdout.splitlines() if ":" in line] if done.rc == 0 else []
    return [name for device, name in pairs if device in devices]


def own_keyfiles(root: str) -> List[str]:
    """All files that the renderer may have written: those of networks that left the plan must go."""
    found = []
    for directory, ending in ((KEYFILE_DIRECTORY, ".nmconnection"), (LINK_DIRECTORY, ".link")):
        folder = os.path.join(root, directory.lstrip("/"))
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if name.startswith(("gpufleet-", "10-gpufleet-")) and name.endswith(ending):
                found.append("%s/%s" % (directory, name))
    return found


def keyfile_conflicts(root: str, subjects: Sequence[Subject], hidden: Sequence[str] = ()) -> List[Conflict]:
    """Profiles of others bound to an interface of ours by name or MAC. One that fits any port gives way by priority."""
    conflicts = []
    for path, interface, mac in _foreign_profiles(root):
        if path in hidden:
            continue
        for subject in subjects:
            if interface and interface in subject.names:
                conflicts.append(Conflict(path, subject.name, "interface-name", (), (interface,)))
            elif mac and mac == subject.mac:
                conflicts.append(Conflict(path, subject.name, "mac-address", (), (mac,)))
    return conflicts


def _foreign_profiles(root: str) -> List[Tuple[str, Optional[str], Optional[str]]]:
    found = []
    for directory in PROFILE_DIRECTORIES:
        for path, text in _texts(root, directory, ".nmconnection"):
            values: Dict[str, str] = dict(parse_unit(text))
            mac = values.get("ethernet.mac-address") or values.get("802-3-ethernet.mac-address")
            found.append((path, values.get("connection.interface-name"), mac.lower() if mac else None))
    for path, text in _texts(root, IFCFG_DIRECTORY, ""):
        if os.path.basename(path).startswith("ifcfg-") and not path.endswith("ifcfg-lo"):
            pairs = [line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#")]
            values = {key.strip(): value.strip().strip("\"'") for key, value in pairs}
            found.append((path, values.get("DEVICE"), values.get("HWADDR", "").lower() or None))
    return found


def _texts(root: str, directory: str, ending: str) -> List[Tuple[str, str]]:
    folder = os.path.join(root, directory)
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(ending) and not name.startswith("gpufleet-"):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
                found.append(("/%s/%s" % (directory, name), stream.read()))
    return found
