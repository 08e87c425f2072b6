# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data as TOML. Only what configurations of containerd hold: tables, lists of scalars, strings, numbers, booleans."""

from __future__ import annotations

import json
import re
from typing import Any, List, Mapping, Tuple

from ..errors import ConfigError

__all__ = ["render_toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")


def render_toml(tree: Mapping[str, Any]) -> str:
    """Keys in the order of ``tree``: of hosts in a hosts.toml the first is asked first. Raises ConfigError."""
    lines: List[str] = []
    _table((), tree, lines)
    return "\n".join(lines).lstrip("\n") + "\n"


def _table(path: Tuple[str, ...], tree: Mapping[str, Any], lines: List[str]) -> None:
    leaves = [(key, value) for key, value in tree.items() if not isinstance(value, Mapping)]
    tables = [(key, value) for key, value in tree.items() if isinstance(value, Mapping)]
    # A table that only holds tables is made by them.
    if path and (leaves or not tables):
        lines += ["", "[%s]" % ".".join(_key(key) for key in path)]
    indent = "  " if path else ""
    lines += ["%s%s = %s" % (indent, _key(key), _value((*path, key), value)) for key, value in leaves]
    for key, value in tables:
        _table((*path, key), value, lines)


def _key(key: str) -> str:
    return key if _BARE.match(key) else _string(key)


def _value(path: Tuple[str, ...], value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list):
        return "[%s]" % ", ".join(_value(path, item) for item in value)
    raise ConfigError(
        "write %s as TOML: %r is no string, whole number, boolean, or list of these" % (".".join(path), value)
    )


def _string(text: str) -> str:
    # A JSON string is a basic string of TOML but for DEL, which TOML wants escaped, and surrogates, which it has not.
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise ConfigError("write %r as TOML: it is not valid Unicode" % text) from exc
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
