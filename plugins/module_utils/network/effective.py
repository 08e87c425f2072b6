# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all files together say about our interfaces, not only our own file.

netplan merges its files, and systemd-networkd takes the first unit that matches a device. So the generator of the host
itself is run twice in a scratch root, on our file alone and on all files: each interface of the plan must get the same
units. What differs is traced to the file that brings it.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from typing import Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from ..errors import ConfigError
from ..runner import Runner
from .agent import NETPLAN_GENERATORS
from .plan import Plan

__all__ = [
    "Conflict",
    "Generator",
    "Subject",
    "netplan_conflicts",
    "parse_unit",
    "subjects_of",
    "without_conflicts",
]

NETPLAN_DIRECTORIES = ("lib/netplan", "etc/netplan", "run/netplan")
UNIT_DIRECTORIES = ("usr/lib/systemd/network", "run/systemd/network", "etc/systemd/network")
_PREFIX = "10-netplan-"
TAKEN_OVER = """\
# The role node_network took over what stood here; the old file is kept in /var/lib/gpufleet/network.
network:
  version: 2
"""
# Units of systemd itself for containers and virtual machines: they match by a Kind or Type that no port here has.
_VENDOR_UNIT = re.compile(r"^(?:7\d|8\d|99)-.*$")
# What a person finds in a netplan file behind a key of a unit.
_NETPLAN_KEYS = {
    "Network.DHCP": "dhcp4 or dhcp6", "Network.Address": "addresses", "Link.MTUBytes": "mtu", "NetDev.MTUBytes": "mtu",
    "Network.Gateway": "gateway4 or gateway6", "Network.DNS": "nameservers", "Network.IPv6AcceptRA": "accept-ra",
    "Network.Bond": "bonds interfaces", "Network.Bridge": "bridges interfaces", "Link.Name": "set-name",
    "Network.VLAN": "vlans link", "Network.LinkLocalAddressing": "link-local",
}  # fmt: skip
_NETPLAN_SECTIONS = {"Route": "routes", "RoutingPolicyRule": "routing-policy", "Bond": "bonds parameters"}
Unit = Tuple[Tuple[str, str], ...]
Units = Dict[str, Unit]


@dataclass(frozen=True)
class Subject:
    """An interface of the plan as networkd will see it."""

    name: str
    names: Tuple[str, ...] = ()  # name, present name and altnames
    mac: Optional[str] = None
    driver: Optional[str] = None


@dataclass(frozen=True)
class Conflict:
    """``path``: the file that says it; ``key``: in that file's words; wanted and found are the values that differ."""

    path: str
    interface: str
    key: str
    wanted: Tuple[str, ...]
    found: Tuple[str, ...]

    def __str__(self) -> str:
        wanted, found = (", ".join(values) or "nothing" for values in (self.wanted, self.found))
        return "%s: %s of %s: %s (the plan: %s)" % (self.path, self.key, self.interface, found, wanted)


def subjects_of(
    plan: Plan, altnames: Mapping[str, Sequence[str]], drivers: Mapping[str, Optional[str]]
) -> List[Subject]:
    found = []
    for port in plan.ports():
        names = dict.fromkeys((port.name, port.device, *altnames.get(port.device, ())))
        found.append(Subject(port.name, tuple(names), port.mac, drivers.get(port.device)))
    return found + [Subject(name, (name,)) for name in plan.virtual_interfaces()]


def parse_unit(text: str) -> Unit:
    """A unit of systemd as (section.key, value); empty for text that is none."""
    section, pairs = "", []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line and not line.startswith(("#", ";")):
            key, value = line.split("=", 1)
            pairs.append(("%s.%s" % (section, key.strip()), value.strip()))
    return tuple(pairs)


# Generating ----------------------------------------------------------------------------------------------------------


class Generator:
    """netplan's own generator, run in a scratch root. It is slow on a small machine, so each answer is kept."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._known: Dict[Tuple[Tuple[str, str], ...], Units] = {}

    def units(self, files: Mapping[str, str]) -> Units:
        """The units made of ``files`` (path -> text). Raises ConfigError with netplan's words where it refuses them."""
        key = tuple(sorted(files.items()))
        if key not in self._known:
            self._known[key] = self._generate(files)
        return self._known[key]

    def _generate(self, files: Mapping[str, str]) -> Units:
        scratch = tempfile.mkdtemp(prefix="gpufleet-network-")
        try:
            _write(scratch, files)
            folder = os.path.join(scratch, "run/systemd/network")
            # The generator is what `netplan generate` starts. Asked directly it answers at once, where netplan itself
            # loads Python for seconds on a small machine; netplan is asked again, for its words, when this refuses.
            program = next((path for path in NETPLAN_GENERATORS if os.path.exists(path)), None)
            if (
                program
                and self.runner.run([program, "--root-dir", scratch], timeout=60).rc == 0
                and os.path.isdir(folder)
            ):
                return _read_units(folder)
            done = self.runner.run(["netplan", "generate", "--root-dir", scratch], timeout=60)
            if done.missing:
                raise ConfigError("netplan is not installed: install the package netplan.io, or use NetworkManager")
            if done.rc != 0:
                words = (done.stderr or done.stdout).replace(scratch, "").strip()
                raise ConfigError("netplan refuses the new configuration, nothing was changed: %s" % words)
            return _read_units(folder) if os.path.isdir(folder) else {}
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _write(root: str, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        target = os.path.join(root, path.lstrip("/"))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(os.open(target, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as stream:
            stream.write(text)


def _read_units(folder: str) -> Units:
    units: Units = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as stream:
            units[name] = parse_unit(stream.read())
    return units


def read_foreign_netplan(root: str, ours: str) -> Dict[str, str]:
    """All netplan files of the host but our own."""
    files = {}
    for directory in NETPLAN_DIRECTORIES:
        folder = os.path.join(root, directory)
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            path = "/%s/%s" % (directory, name)
            if name.endswith(".yaml") and path != ours:
                with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as stream:
                    files[path] = stream.read()
    return files


def read_other_units(root: str) -> Dict[str, Tuple[str, Unit]]:
    """Units that netplan did not make: name -> (path, unit). /etc hides /run, which hides /usr/lib."""
    found = {}
    for directory in UNIT_DIRECTORIES:
        folder = os.path.join(root, directory)
        for name, unit in (_read_units(folder) if os.path.isdir(folder) else {}).items():
            if name.endswith((".network", ".link")) and not name.startswith(_PREFIX) and not _VENDOR_UNIT.match(name):
                found[name] = ("/%s/%s" % (directory, name), unit)
    return found


# Comparing -----------------------------------------------------------------------------------------------------------


def netplan_conflicts(
    generator: Generator, ours: Mapping[str, str], foreign: Mapping[str, str], root: str, subjects: Sequence[Subject]
) -> List[Conflict]:
    """All that the other files change about our interfaces. Empty: they get what the plan says."""
    alone = generator.units(ours)
    conflicts = []
    if foreign and _differences(alone, generator.units({**foreign, **ours}), subjects):
        for path, text in foreign.items():
            together = generator.units({path: text, **ours})
            conflicts += [Conflict(path, *item) for item in _differences(alone, together, subjects)]
        if not conflicts:
            everything = generator.units({**foreign, **ours})
            conflicts = [Conflict(" and ".join(foreign), *i) for i in _differences(alone, everything, subjects)]
    for name, (path, unit) in read_other_units(root).items():
        conflicts += [Conflict(path, *item) for item in _differences(alone, {**alone, name: unit}, subjects)]
    return conflicts


def _differences(
    alone: Units, together: Units, subjects: Sequence[Subject]
) -> List[Tuple[str, str, Tuple[str, ...], Tuple[str, ...]]]:
    found = []
    for subject in subjects:
        for kind in (".network", ".link", ".netdev"):
            wanted, got = _content(alone, subject, kind), _content(together, subject, kind)
            for key in [key for key in dict.fromkeys([*wanted, *got]) if wanted.get(key) != got.get(key)]:
                words = _NETPLAN_KEYS.get(key) or _NETPLAN_SECTIONS.get(key.split(".")[0], key)
                found.append((subject.name, words, tuple(sorted(wanted.get(key, ()))), tuple(sorted(got.get(key, ())))))
    return found


def _content(units: Units, subject: Subject, kind: str) -> Dict[str, Set[str]]:
    """networkd and udev take the first unit in the order of names that matches."""
    matching = [units[name] for name in sorted(units) if name.endswith(kind) and _matches(units[name], subject, kind)]
    content: Dict[str, Set[str]] = {}
    # netplan makes a rule of udev as well for each set-name, and of these the last one counts.
    for name in (value for unit in matching[1:] for key, value in unit if key == "Link.Name"):
        content.setdefault("Link.Name", set()).add(name)
    for key, value in matching[0] if matching else ():
        # WakeOnLan=off is netplan's own default in every .link file.
        if not key.startswith("Match.") and key not in ("DHCP.RouteMetric", "DHCP.UseMTU", "Link.WakeOnLan"):
            content.setdefault(key, set()).add(value)
    return content


def _matches(unit: Unit, subject: Subject, kind: str) -> bool:
    if kind == ".netdev":
        return ("NetDev.Name", subject.name) in unit
    match = [(key.split(".", 1)[1], value) for key, value in unit if key.startswith("Match.")]
    if not match and kind == ".link":
        return False
    return all(_matches_key(key, value, subject) for key, value in match)


def _matches_key(key: str, value: str, subject: Subject) -> bool:
    if key in ("Name", "OriginalName"):
        return _glob(value, subject.names if key == "OriginalName" else (subject.name, *subject.names))
    if key in ("MACAddress", "PermanentMACAddress"):
        return subject.mac is not None and subject.mac in value.lower().split()
    if key == "Driver":
        return _glob(value, (subject.driver or "",))
    if key == "Type":
        return _glob(value, ("ether",))
    # Anything else (Path, Property, Host...) cannot be told here: better one conflict too many than one unseen.
    return key != "Kind"


def _glob(patterns: str, names: Iterable[str]) -> bool:
    inverted = patterns.startswith("!")
    hit = any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.lstrip("!").split() for name in names)
    return hit != inverted


# Replacing -----------------------------------------------------------------------------------------------------------


def without_conflicts(
    generator: Generator, ours: Mapping[str, str], foreign: Mapping[str, str], root: str, subjects: Sequence[Subject]
) -> Dict[str, Optional[str]]:
    """Files to change so that none speaks about our interfaces any more: path -> new text, or None to remove it.

    Only the definitions that match our interfaces leave a netplan file; the rest of it stays in force.
    """
    changes: Dict[str, Optional[str]] = {}
    for path in dict.fromkeys(
        conflict.path for conflict in netplan_conflicts(generator, ours, foreign, root, subjects)
    ):
        changes[path] = _stripped(generator, path, foreign[path], subjects) if path in foreign else None
    if changes:
        left = {path: text for path, text in {**foreign, **changes}.items() if text is not None and path in foreign}
        remaining = [c for c in netplan_conflicts(generator, ours, left, root, subjects) if c.path not in changes]
        if remaining:
            raise ConfigError("\n".join("cannot be replaced, edit it by hand: %s" % conflict for conflict in remaining))
    return changes


def _stripped(generator: Generator, path: str, text: str, subjects: Sequence[Subject]) -> str:
    units = generator.units({path: text})
    ids = {
        name[len(_PREFIX) :].rsplit(".", 1)[0]
        for name, unit in units.items()
        for subject in subjects
        if name.endswith((".network", ".netdev", ".link")) and _matches(unit, subject, "." + name.rsplit(".", 1)[1])
    }
    scratch = tempfile.mkdtemp(prefix="gpufleet-network-")
    try:
        _write(scratch, {"/etc/netplan/" + os.path.basename(path): text})
        listing = generator.runner.run(["netplan", "get", "--root-dir", scratch, "all"], timeout=60)
        removed: Dict[str, Dict[str, None]] = {}
        for section, name in _definitions(listing.stdout):
            if name in ids:
                removed.setdefault(section, {})[name] = None
        hint = os.path.basename(path)[: -len(".yaml")]
        argv = ["netplan", "set", "--root-dir", scratch, "--origin-hint", hint, "network=" + json.dumps(removed)]
        done = generator.runner.run(argv, timeout=60)
        if done.rc != 0:
            raise ConfigError("%s: cannot take %s out of it: %s" % (path, ", ".join(sorted(ids)), done.stderr.strip()))
        return _remaining(os.path.join(scratch, "etc/netplan", os.path.basename(path)))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _definitions(listing: str) -> List[Tuple[str, str]]:
    """(section, id) of each definition in ``netplan get``, which prints two blanks a level."""
    found, section = [], ""
    for line in listing.splitlines():
        level = re.match(r'^( {2}| {4})"?([^ ].*?)"?:(?: \{\})?$', line)
        if level and len(level.group(1)) == 2:
            section = level.group(2)
        elif level:
            found.append((section, level.group(2)))
    return found


def _remaining(path: str) -> str:
    """netplan removes a file, or leaves only its version in it, when no definition is left.

    The file stays, without a definition: what makes it when it is missing (cloud-init and the like) leaves it alone.
    """
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            text = stream.read()
    return text if re.search(r"^ {4}\S", text, re.MULTILINE) else TAKEN_OVER
