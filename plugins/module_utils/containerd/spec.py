# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of module containerd_config, which its two halves share."""

from __future__ import annotations

from typing import Any, Dict

from .registry import CAPABILITIES

__all__ = ["OPTIONS"]

_MIRROR: Dict[str, Any] = {
    "url": {"type": "str", "required": True},
    "capabilities": {
        "type": "list",
        "elements": "str",
        "choices": list(CAPABILITIES),
        "default": ["pull", "resolve"],
    },
    "ca": {"type": "str"},
    "skip_verify": {"type": "bool", "default": False},
    "override_path": {"type": "bool", "default": False},
}
_REGISTRY: Dict[str, Any] = {
    "registry": {"type": "str", "required": True},
    "server": {"type": "str"},
    "mirrors": {"type": "list", "elements": "dict", "required": True, "options": _MIRROR},
}
OPTIONS: Dict[str, Any] = {
    "sandbox_image": {"type": "str", "required": True},
    "root": {"type": "str", "default": "/var/lib/containerd"},
    "runtimes": {"type": "dict", "default": {}},
    "default_runtime": {"type": "str", "default": "runc"},
    "cdi_spec_dirs": {"type": "list", "elements": "str", "default": ["/etc/cdi", "/var/run/cdi"]},
    "nri": {"type": "bool", "default": True},
    "cni_bin_dir": {"type": "str", "default": "/opt/cni/bin"},
    "cni_conf_dir": {"type": "str", "default": "/etc/cni/net.d"},
    "imports": {"type": "list", "elements": "str", "default": ["/etc/containerd/conf.d/*.toml"]},
    "registries": {"type": "list", "elements": "dict", "default": [], "options": _REGISTRY},
    "further": {"type": "dict", "default": {}},
    "unread": {"type": "str", "choices": ["report", "import", "fail"], "default": "report"},
    "conflicts": {"type": "str", "choices": ["fail", "set_aside"], "default": "fail"},
    "validate_only": {"type": "bool", "default": False},
}
