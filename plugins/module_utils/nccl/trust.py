# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SSH trust of one run: what the files say. The key exists for this run only and every trace carries the run's id.

The host keys come from the hosts themselves, over the connection that Ansible has already proven; nothing is scanned.
"""

from __future__ import annotations

import re
from typing import Iterable, List, Optional, Sequence, Tuple

from ..errors import ConfigError
from .environment import MARK
from .run import Host

__all__ = ["authorize", "check_id", "entry", "known_hosts", "revoke", "ssh_config"]

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_COMMENT = "gpufleet:"
_EXPIRY = re.compile(r'expiry-time="(\d{14})"')
_PUBLIC_KEY = re.compile(r"ssh-ed25519 [A-Za-z0-9+/=]+\Z")


def check_id(run_id: str) -> str:
    """It becomes a file name, a comment and part of a command: only harmless characters."""
    if not _ID.match(run_id):
        raise ConfigError("run_id is %r; allowed: up to 64 letters, digits, '.', '_' and '-'" % run_id)
    return run_id


def entry(public_key: str, run_id: str, expiry: str, sources: Sequence[str]) -> str:
    """A line of authorized_keys: no terminal, no forwarding, until ``expiry`` (local time), from the launchers only.

    Whatever is started through it carries the run's mark in its environment, and so do all processes below.
    """
    key = " ".join(public_key.split()[:2])
    if not _PUBLIC_KEY.match(key):
        raise ConfigError("a public key is %r; allowed: ssh-ed25519 and its base64" % public_key[:40])
    command = 'env %s=%s sh -c \\"$SSH_ORIGINAL_COMMAND\\"' % (MARK, check_id(run_id))
    options = ["restrict", 'expiry-time="%s"' % expiry, 'command="%s"' % command]
    if sources:
        options.append('from="%s"' % ",".join(sources))
    return "%s %s %s%s" % (",".join(options), key, _COMMENT, run_id)


def authorize(text: str, entries: Iterable[str], run_id: str, now: str) -> str:
    """authorized_keys with these entries for the run. Those of other runs that have expired are taken out, too."""
    lines = [line for line in _lines(text) if not _is_of(line, run_id) and not _expired(line, now)]
    return "".join(line + "\n" for line in [*lines, *entries])


def revoke(text: str, run_id: str, now: str) -> str:
    """The file without the run's entries. All else stays as it is, byte for byte."""
    kept = [
        line
        for line in text.splitlines(keepends=True)
        if not _is_of(line.rstrip("\n"), run_id) and not _expired(line, now)
    ]
    return "".join(kept)


def _lines(text: str) -> List[str]:
    return text.split("\n")[:-1] if text.endswith("\n") else ([*text.split("\n")] if text else [])


def _is_of(line: str, run_id: str) -> bool:
    return line.endswith(" " + _COMMENT + run_id)


def _expired(line: str, now: str) -> bool:
    found = _EXPIRY.search(line)
    return " " + _COMMENT in line and found is not None and found.group(1) < now


def known_hosts(hosts: Iterable[Host], port: int) -> str:
    return "".join(
        "%s %s\n" % (host.address if port == 22 else "[%s]:%d" % (host.address, port), " ".join(key.split()[:2]))
        for host in hosts
        for key in host.session.get("host_keys", ())
    )


def ssh_config(identity: str, known: str, port: int) -> str:
    """For ssh -F: nothing of the user's own configuration is read, and an unknown host key is refused."""
    pairs: Tuple[Tuple[str, Optional[str]], ...] = (
        ("IdentityFile", identity),
        ("IdentitiesOnly", "yes"),
        ("UserKnownHostsFile", known),
        ("GlobalKnownHostsFile", "/dev/null"),
        ("StrictHostKeyChecking", "yes"),
        ("BatchMode", "yes"),
        ("Port", str(port)),
        ("ConnectTimeout", "15"),
        ("ServerAliveInterval", "5"),
        ("ServerAliveCountMax", "3"),
        ("ControlPath", "none"),
        ("LogLevel", "ERROR"),
    )
    return "Host *\n" + "".join("  %s %s\n" % pair for pair in pairs)
