# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a machine is: its host name, and the names of its fellows in /etc/hosts."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Sequence, Set, Tuple

from ..errors import ConfigError

__all__ = ["HostEntry", "host_entries", "render_hosts", "resolves_to", "validate_hostname"]

BEGIN = "# BEGIN gpufleet.cluster"
END = "# END gpufleet.cluster"
MARK = "# gpufleet, see below: "
# RFC 1123, and lower case: Kubernetes and certificates take no other.
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_MAX_LENGTH = 64  # HOST_NAME_MAX of Linux


@dataclass(frozen=True)
class HostEntry:
    address: str
    names: Tuple[str, ...]

    def line(self) -> str:
        return "%s %s\n" % (self.address, " ".join(self.names))


def validate_hostname(name: str) -> str:
    """The name itself. Raises ConfigError with what is allowed."""
    if len(name) > _MAX_LENGTH or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise ConfigError(
            "host name %r: allowed are lower-case letters, digits and - (not at the ends), up to 63 characters a label "
            "and %d in all" % (name, _MAX_LENGTH)
        )
    return name


def host_entries(raw: Sequence[Mapping[str, Any]]) -> Tuple[HostEntry, ...]:
    """Read and check what a person or a filter gave. One name on two addresses is an error."""
    entries: List[HostEntry] = []
    known: Dict[Tuple[str, bool], str] = {}
    for item in raw:
        try:
            address = str(ipaddress.ip_address(str(item["address"])))
        except ValueError:
            raise ConfigError("/etc/hosts entry %r: address has to be an IP address" % dict(item)) from None
        names = tuple(validate_hostname(str(name)) for name in item["names"])
        for name in names:
            if known.setdefault((name, ":" in address), address) != address:
                raise ConfigError(
                    "/etc/hosts entry %r: the name %s has the address %s, too"
                    % (dict(item), name, known[name, ":" in address])
                )
        entries.append(HostEntry(address, names))
    return tuple(entries)


def render_hosts(text: str, entries: Sequence[HostEntry]) -> str:
    """/etc/hosts with our block; all else stays, but for loopback lines that name one of our hosts.

    Installers write ``127.0.1.1 HOSTNAME``: with it a machine finds itself on loopback, and a kubelet, an etcd or an
    MPI rank announces an address that nobody else reaches. Such a line is commented out once a real address is known.
    """
    names = {name for entry in entries for name in entry.names}
    kept = "".join(_without_trap(line, names) for line in _outside_block(text))
    if not entries:
        return kept
    if kept and not kept.endswith("\n"):
        kept += "\n"
    return kept + BEGIN + "\n" + "".join(entry.line() for entry in entries) + END + "\n"


def _outside_block(text: str) -> List[str]:
    lines = text.splitlines(keepends=True)
    marks = [line.strip() for line in lines]
    if BEGIN not in marks and END not in marks:
        return lines
    if (marks.count(BEGIN), marks.count(END)) != (1, 1) or marks.index(BEGIN) > marks.index(END):
        raise ConfigError(
            "/etc/hosts: want one line %r before one line %r; take out what is left of them" % (BEGIN, END)
        )
    return lines[: marks.index(BEGIN)] + lines[marks.index(END) + 1 :]


def _without_trap(line: str, names: Set[str]) -> str:
    fields = line.partition("#")[0].split()
    if len(fields) < 2 or not _is_loopback(fields[0]) or not names.intersection(fields[1:]):
        return line
    others = [name for name in fields[1:] if name not in names]
    ending = "" if line.endswith("\n") else "\n"
    return MARK + line + ending + (" ".join([fields[0], *others]) + "\n" if others else "")


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def resolves_to(text: str, name: str) -> List[str]:
    """The addresses that /etc/hosts gives a name, in order."""
    rows = (line.partition("#")[0].split() for line in text.splitlines())
    return [fields[0] for fields in rows if len(fields) > 1 and name in fields[1:]]
