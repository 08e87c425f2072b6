# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which operating system a machine runs, decided by ID of /etc/os-release.

Not by Ansible's ``os_family``: that says "TencentOS Server" or "OpenCloudOS" on systems that have no redhat-release
file, and ID_LIKE does not help either (TencentOS 4 names itself there).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Callable, Dict, Optional, Tuple

from ..errors import ConfigError

__all__ = ["SUPPORTED", "OperatingSystem", "identify", "parse_os_release", "supported_text", "version_tuple"]

Version = Tuple[int, ...]


@dataclass(frozen=True)
class _Known:
    """A system that the roles know: its family, and the releases by the leading numbers of VERSION_ID."""

    name: str
    family: str
    releases: Tuple[Version, ...]


# By ID of os-release.
SUPPORTED: Dict[str, _Known] = {
    "almalinux": _Known("AlmaLinux", "el", ((9,),)),
    "debian": _Known("Debian", "debian", ((12,), (13,))),
    "opencloudos": _Known("OpenCloudOS", "el", ((9,),)),
    "rhel": _Known("Red Hat Enterprise Linux", "el", ((9,),)),
    "rocky": _Known("Rocky Linux", "el", ((9,),)),
    "tencentos": _Known("TencentOS Server", "el", ((4,),)),
    "tlinux": _Known("TLinux", "el", ((4,),)),
    "ubuntu": _Known("Ubuntu", "debian", ((22, 4), (24, 4))),
}
# Why a release of a known system is left out, where the reason helps. (ID, major release).
_REASONS = {
    ("tencentos", 2): "its Python 3.6 is too old (3.9 is needed)",
    ("tencentos", 3): "its Python 3.6 is too old (3.9 is needed)",
    ("tlinux", 2): "its Python 3.6 is too old (3.9 is needed)",
    ("tlinux", 3): "its Python 3.6 is too old (3.9 is needed)",
}
# The first program that exists names the package manager.
_MANAGERS = {"debian": (("/usr/bin/apt-get", "apt"),), "el": (("/usr/bin/dnf", "dnf"), ("/usr/bin/dnf-3", "dnf"))}


@dataclass(frozen=True)
class OperatingSystem:
    """``family``: debian | el. ``package_manager``: apt | dnf."""

    id: str
    version: str
    name: str
    family: str
    package_manager: str


def parse_os_release(text: str) -> Dict[str, str]:
    """os-release(5): shell-like assignments, without their quotes. Lines of another form are skipped."""
    values = {}
    for line in text.splitlines():
        match = re.match(r"^\s*([A-Z][A-Z0-9_]*)=(.*?)\s*$", line)
        if match:
            value = match.group(2)
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            values[match.group(1)] = re.sub(r"\\([\"'$`\\])", r"\1", value)
    return values


def version_tuple(text: str) -> Version:
    """The leading numbers: ``5.15.0-91-generic`` is (5, 15, 0). Empty when there are none."""
    match = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in match.group(0).split(".")) if match else ()


def supported_text() -> str:
    """For messages: every system and release that the roles know."""
    return ", ".join(
        "%s (%s)" % (key, ", ".join(_release_text(key, release) for release in known.releases))
        for key, known in sorted(SUPPORTED.items())
    )


def _release_text(system: str, release: Version) -> str:
    # Ubuntu writes its months with two digits.
    return "%d.%02d" % release if system == "ubuntu" else ".".join(str(part) for part in release)


def identify(os_release: Optional[str], exists: Callable[[str], bool]) -> OperatingSystem:
    """The operating system by the text of os-release. ``exists`` answers whether a program is on the machine.

    Raises ConfigError with the system's name and the supported ones when it is not in the table.
    """
    if os_release is None:
        raise ConfigError("read /etc/os-release: there is no such file; supported are " + supported_text())
    values = parse_os_release(os_release)
    system, version = values.get("ID", ""), values.get("VERSION_ID", "")
    name = values.get("PRETTY_NAME") or values.get("NAME") or system
    known = SUPPORTED.get(system)
    if known is None:
        raise ConfigError(
            "operating system %s (ID=%r in /etc/os-release) is not supported; supported are %s"
            % (name or "without a name", system, supported_text())
        )
    release = version_tuple(version)
    if not any(release[: len(wanted)] == wanted for wanted in known.releases):
        reason = _REASONS.get((system, release[0] if release else 0))
        raise ConfigError(
            "operating system %s (ID=%r, VERSION_ID=%r in /etc/os-release) is not supported%s; supported are %s"
            % (name, system, version, ": " + reason if reason else "", supported_text())
        )
    for program, manager in _MANAGERS[known.family]:
        if exists(program):
            return OperatingSystem(system, version, name, known.family, manager)
    raise ConfigError(
        "%s has no package manager: none of %s exists" % (name, ", ".join(p for p, _unused in _MANAGERS[known.family]))
    )
