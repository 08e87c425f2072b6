# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where images are pulled from: a hosts.toml for each registry that has mirrors."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import ConfigError
from .toml import render_toml

__all__ = ["CAPABILITIES", "CONFIG_PATH", "HEADER", "Mirror", "Registry", "hosts_files", "parse_registries"]

CONFIG_PATH = "/etc/containerd/certs.d"
HEADER = "# Written by the role node_containerd of gpufleet.cluster. Changes here are lost.\n"
CAPABILITIES = ("pull", "resolve", "push")
_REGISTRY = re.compile(r"(_default|[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?)\Z")
_URL = re.compile(r"https?://[^\s/@]+(/\S*)?\Z")


@dataclass(frozen=True)
class Mirror:
    url: str
    capabilities: Tuple[str, ...]
    ca: Optional[str]
    skip_verify: bool
    override_path: bool

    def table(self) -> Dict[str, Any]:
        table: Dict[str, Any] = {"capabilities": list(self.capabilities)}
        if self.ca:
            table["ca"] = self.ca
        table.update({key: True for key in ("skip_verify", "override_path") if getattr(self, key)})
        return table


@dataclass(frozen=True)
class Registry:
    """``name``: as in image names, or ``_default``. ``server``: asked when no mirror has the image; None is the
    registry itself.
    """

    name: str
    server: Optional[str]
    mirrors: Tuple[Mirror, ...]


def parse_registries(raw: Sequence[Mapping[str, Any]]) -> List[Registry]:
    registries: List[Registry] = []
    for entry in raw:
        name, server = str(entry["registry"]), entry.get("server")
        where = "registries %s" % name
        if not _REGISTRY.match(name):
            raise ConfigError("%s: the registry is HOST, HOST:PORT or _default, without https://" % where)
        if name in [known.name for known in registries]:
            raise ConfigError("%s: it is there twice; put its mirrors into one list" % where)
        if server:
            _check_url(where + " server", server)
        mirrors = tuple(_mirror(where, mirror) for mirror in entry["mirrors"])
        if not mirrors:
            raise ConfigError("%s: mirrors is empty" % where)
        if len({mirror.url for mirror in mirrors}) < len(mirrors):
            raise ConfigError("%s: a mirror is there twice" % where)
        registries.append(Registry(name, server, mirrors))
    return registries


def _mirror(where: str, raw: Mapping[str, Any]) -> Mirror:
    capabilities = tuple(raw.get("capabilities") or ("pull", "resolve"))
    unknown = [word for word in capabilities if word not in CAPABILITIES]
    _check_url(where + " mirror", str(raw["url"]))
    if unknown:
        raise ConfigError("%s: capability %r is not one of %s" % (where, unknown[0], ", ".join(CAPABILITIES)))
    certificate = raw.get("ca")
    if certificate and not certificate.startswith("/"):
        raise ConfigError("%s: ca %r is no absolute path" % (where, certificate))
    return Mirror(
        str(raw["url"]), capabilities, certificate, bool(raw.get("skip_verify")), bool(raw.get("override_path"))
    )


def _check_url(where: str, url: str) -> None:
    # A user name in it would be a secret in a file that all may read.
    if not _URL.match(url):
        raise ConfigError("%s: %r is no URL http(s)://HOST[:PORT][/PATH]" % (where, url))


def hosts_files(registries: Sequence[Registry], present: Mapping[str, str]) -> Dict[str, Optional[str]]:
    """Text by path of what has to be written; None is a file that we once wrote, to be removed. Others' stay."""
    wanted = {"%s/%s/hosts.toml" % (CONFIG_PATH, registry.name): _render(registry) for registry in registries}
    changes: Dict[str, Optional[str]] = {path: text for path, text in wanted.items() if present.get(path) != text}
    changes.update({path: None for path, text in present.items() if path not in wanted and text.startswith(HEADER)})
    return changes


def _render(registry: Registry) -> str:
    tree: Dict[str, Any] = {"server": registry.server} if registry.server else {}
    tree["host"] = {mirror.url: mirror.table() for mirror in registry.mirrors}
    return HEADER + render_toml(tree)
