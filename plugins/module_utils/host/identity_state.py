# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring the host name (static and live) and /etc/hosts to the wanted state, and keep cloud-init from undoing it."""

from __future__ import annotations

import platform
import socket
from dataclasses import dataclass
from typing import Optional, Sequence

from .files import Root
from .identity import HostEntry, render_hosts, validate_hostname

__all__ = ["IdentityState", "apply_identity", "desired_identity", "read_identity"]

_HOSTNAME = "/etc/hostname"
_HOSTS = "/etc/hosts"
_CLOUD_INIT = "/etc/cloud/cloud.cfg"
_CLOUD_INIT_DROP_IN = "/etc/cloud/cloud.cfg.d/99-gpufleet.cfg"
# cloud-init sets the name that the cloud knows at each boot, unless it is told not to.
_CLOUD_INIT_TEXT = "preserve_hostname: true\nmanage_etc_hosts: false\n"


@dataclass(frozen=True)
class IdentityState:
    """``cloud_init``: the text of our drop-in; None: the machine has no cloud-init."""

    static: str
    live: str
    hosts: str
    cloud_init: Optional[str]

    def describe(self) -> str:
        return "/etc/hostname: %s\nhostname: %s\ncloud-init: %s\n%s" % (
            self.static, self.live, (self.cloud_init or "").replace("\n", " "), self.hosts,
        )  # fmt: skip


def read_identity(root: Root) -> IdentityState:
    return IdentityState(
        static=(root.read(_HOSTNAME) or "").strip(),
        live=platform.node(),
        hosts=root.read(_HOSTS) or "",
        cloud_init=(root.read(_CLOUD_INIT_DROP_IN) or "") if root.exists(_CLOUD_INIT) else None,
    )


def desired_identity(current: IdentityState, hostname: str, entries: Sequence[HostEntry]) -> IdentityState:
    name = validate_hostname(hostname)
    return IdentityState(
        static=name,
        live=name,
        hosts=render_hosts(current.hosts, entries),
        cloud_init=None if current.cloud_init is None else _CLOUD_INIT_TEXT,
    )


def apply_identity(root: Root, current: IdentityState, desired: IdentityState) -> None:
    """/etc/hosts first: a machine whose new name does not resolve yet makes sudo wait."""
    if current.hosts != desired.hosts:
        root.write(_HOSTS, desired.hosts)
    if desired.cloud_init is not None and current.cloud_init != desired.cloud_init:
        root.write(_CLOUD_INIT_DROP_IN, desired.cloud_init)
    if current.static != desired.static:
        root.write(_HOSTNAME, desired.static + "\n")
    if current.live != desired.live:
        socket.sethostname(desired.live)
