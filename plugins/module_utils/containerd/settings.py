# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wanted of containerd, checked, and as the tree of its configuration in the format of a release."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from ..errors import ConfigError
from .registry import CONFIG_PATH, Registry, parse_registries
from .release import Release

__all__ = ["Settings", "desired_config", "merge", "parse_settings"]

CRI = "io.containerd.grpc.v1.cri"
CRI_IMAGES = "io.containerd.cri.v1.images"
CRI_RUNTIME = "io.containerd.cri.v1.runtime"
NRI = "io.containerd.nri.v1.nri"
CONFIG_DIRECTORY = "/etc/containerd"
_RUNC = "runc"
# A RuntimeClass's handler is a DNS label.
_HANDLER = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_IMAGE = re.compile(r"[a-z0-9][a-zA-Z0-9._:/@-]*\Z")


@dataclass(frozen=True)
class Settings:
    """``runtimes``: binary by name of further runtimes of runc's kind. ``imports``: absolute.
    ``further``: more of containerd's own configuration tree.
    """

    root: str
    sandbox_image: str
    runtimes: Dict[str, str]
    default_runtime: str
    cdi_spec_dirs: Tuple[str, ...]
    nri: bool
    cni_bin_dir: str
    cni_conf_dir: str
    imports: Tuple[str, ...]
    registries: Tuple[Registry, ...]
    further: Dict[str, Any]


def parse_settings(raw: Mapping[str, Any]) -> Settings:
    """Raises ConfigError with everything that is wrong, at once."""
    problems: List[str] = []
    for name in ("root", "cni_bin_dir", "cni_conf_dir"):
        problems += _absolute(name, [raw[name]])
    problems += _absolute("cdi_spec_dirs", raw["cdi_spec_dirs"])
    if not raw["cdi_spec_dirs"]:
        problems.append("cdi_spec_dirs is empty: name at least one directory, as /etc/cdi")
    if not _IMAGE.match(raw["sandbox_image"]):
        problems.append("sandbox_image %r is no image reference" % raw["sandbox_image"])
    problems += _runtimes(raw["runtimes"], raw["default_runtime"])
    for key in ("version", "imports"):
        if key in raw["further"]:
            problems.append("further.%s: the version is the installed release's, imports have an option" % key)
    registries: Sequence[Registry] = ()
    try:
        registries = parse_registries(raw["registries"])
    except ConfigError as exc:
        problems.append(str(exc))
    if problems:
        raise ConfigError("; ".join(problems))
    values = {field.name: raw[field.name] for field in fields(Settings)}
    values.update(
        cdi_spec_dirs=tuple(raw["cdi_spec_dirs"]),
        imports=tuple(absolute_import(CONFIG_DIRECTORY, pattern) for pattern in raw["imports"]),
        registries=tuple(registries),
    )
    return Settings(**values)


def absolute_import(directory: str, pattern: str) -> str:
    """containerd takes a relative import from the directory of the file that names it."""
    return pattern if pattern.startswith("/") else "%s/%s" % (directory, pattern)


def _absolute(name: str, paths: Sequence[str]) -> List[str]:
    return ["%s: %r is no absolute path" % (name, path) for path in paths if not path.startswith("/")]


def _runtimes(runtimes: Mapping[str, str], default: str) -> List[str]:
    problems = []
    for name, path in runtimes.items():
        if not _HANDLER.match(name):
            problems.append("runtimes: %r is no name of a runtime (a-z, 0-9 and -)" % name)
        problems += _absolute("runtimes.%s" % name, [str(path)])
    known = sorted({_RUNC, *runtimes})
    if default not in known:
        problems.append("default_runtime %r is not one of %s" % (default, ", ".join(known)))
    return problems


def desired_config(settings: Settings, release: Release) -> Dict[str, Any]:
    """The whole configuration. Raises ConfigError where ``further`` says something else than an option."""
    top: Dict[str, Any] = {"version": release.format, "root": settings.root, "imports": list(settings.imports)}
    runtime = {
        # On since 2.0, and off in 1.7: said in each.
        "enable_cdi": True,
        "cdi_spec_dirs": list(settings.cdi_spec_dirs),
        "cni": {**_cni_bin_dir(settings, release), "conf_dir": settings.cni_conf_dir},
        "containerd": {
            "default_runtime_name": settings.default_runtime,
            "runtimes": {name: _runtime(path) for name, path in {_RUNC: "", **settings.runtimes}.items()},
        },
    }
    registry = {"registry": {"config_path": CONFIG_PATH}}
    plugins: Dict[str, Any]
    if release.format == 2:
        plugins = {CRI: {"sandbox_image": settings.sandbox_image, **runtime, **registry}}
    else:
        images = {"pinned_images": {"sandbox": settings.sandbox_image}, **registry}
        plugins = {CRI_IMAGES: images, CRI_RUNTIME: runtime}
    plugins[NRI] = {"disable": not settings.nri}
    return merge({**top, "plugins": plugins}, settings.further)


def _cni_bin_dir(settings: Settings, release: Release) -> Dict[str, Any]:
    # 2.1 brought the list and calls the single one deprecated; both together are refused.
    return {"bin_dirs": [settings.cni_bin_dir]} if release.at_least(2, 1) else {"bin_dir": settings.cni_bin_dir}


def _runtime(binary: str) -> Dict[str, Any]:
    # All runtimes of runc's kind with the same SystemdCgroup: the kubelet has one cgroup driver for them all.
    options = {"BinaryName": binary} if binary else {}
    return {"runtime_type": "io.containerd.runc.v2", "options": {**options, "SystemdCgroup": True}}


def merge(base: Mapping[str, Any], further: Mapping[str, Any], path: Tuple[str, ...] = ()) -> Dict[str, Any]:
    """``base`` with what ``further`` adds. Raises ConfigError where both say something, and not the same."""
    result = dict(base)
    for key, value in further.items():
        here = (*path, key)
        if key not in base:
            result[key] = value
        elif isinstance(base[key], Mapping) and isinstance(value, Mapping):
            result[key] = merge(base[key], value, here)
        elif base[key] != value:
            raise ConfigError(
                "further: %s = %r, but the role's own options make it %r; set the option instead"
                % (" ".join(here), value, base[key])
            )
    return result
