"""The two query languages of a list request: partial responses (``fields``) and ``filter`` expressions."""

from __future__ import annotations

import re
from typing import Any

Mask = dict[str, Any]  # name -> Mask; {} means everything below


def parse_fields(text: str) -> Mask:
    """``items(id,name),nextPageToken`` -> {"items": {"id": {}, "name": {}}, "nextPageToken": {}}; also ``a/b(c)``."""
    mask, rest = _parse_level(text)
    if rest:
        raise ValueError(f"Invalid field selection {text}")
    return mask


def _parse_level(text: str) -> tuple[Mask, str]:
    mask: Mask = {}
    while text and text[0] != ")":
        match = re.match(r"[A-Za-z*][A-Za-z0-9*/]*", text)
        if not match:
            raise ValueError(f"Invalid field selection {text}")
        names, text = match.group().split("/"), text[match.end() :]
        leaf: Mask = {}
        if text.startswith("("):
            leaf, text = _parse_level(text[1:])
            if not text.startswith(")"):
                raise ValueError("Invalid field selection: missing )")
            text = text[1:]
        for name in reversed(names):
            leaf = {name: leaf}
        _merge(mask, leaf)
        text = text.removeprefix(",")
    return mask, text


def _merge(into: Mask, other: Mask) -> None:
    for name, below in other.items():
        _merge(into.setdefault(name, {}), below)


def apply_fields(mask: Mask, value: Any) -> Any:
    """The part of ``value`` that the mask names."""
    if not mask:
        return value
    if isinstance(value, list):
        return [apply_fields(mask, item) for item in value]
    if not isinstance(value, dict):
        return value
    if "*" in mask:
        return {name: apply_fields(mask["*"], item) for name, item in value.items()}
    return {name: apply_fields(below, value[name]) for name, below in mask.items() if name in value}


_TERM = re.compile(r"""\(?\s*([A-Za-z_.\-]+)\s*(=|!=|\beq\b|\bne\b)\s*("[^"]*"|[^\s()"]+)\s*\)?""")


def matches(expression: str, resource: dict[str, Any]) -> bool:
    """Terms ``field = value`` and ``field != value``, all of which must hold (AND). Anything else is a ValueError."""
    rest = _TERM.sub("", expression).replace("AND", "").strip()
    if rest:
        raise ValueError(f"Invalid value for field 'filter': '{expression}'")
    for name, operator, quoted in _TERM.findall(expression):
        value: Any = resource
        for part in name.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if (str(value) == quoted.strip('"')) is not (operator in ("=", "eq")):
            return False
    return True
