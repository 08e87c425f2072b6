# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON as tools print it: a banner in front, a prompt behind, cut off in the middle, ``nan`` and ``inf`` unquoted."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

from ..errors import ParseError
from .text import Prefixes, clean

__all__ = ["MOST_CHARACTERS", "Document", "integer", "mapping", "opens_json", "read_document", "sequence", "words"]

# A report of NCCL tests with the times of every iteration has a few MB. More is not a report.
MOST_CHARACTERS = 32 * 1024 * 1024

# Not "[1,0]<stdout>:" nor "[2026-01-02 03:04:05]": what tools print as JSON starts with an object or a list of them.
_OPENS = re.compile(r"""\s*(?:\{\s*(?:["}A-Za-z_]|$)|\[\s*(?:[{\]]|$))""")
_JSON_LINE = re.compile(r"""\s*(?:[{}\]"]|\[\s*(?:[{\["\]]|$)|(?:-?\d[\d.eE+-]*|true|false|null),?\s*$)""")
_BARE = re.compile(r"(:\s*)(?:-?nan|-?inf(?:inity)?)\b", re.IGNORECASE)
_DEEPEST = 64
_CLOSER = {"{": "}", "[": "]"}


@dataclass(frozen=True)
class Document:
    """``complete`` is False when the text stops before the value is closed; ``data`` is then what stood before."""

    data: Any
    complete: bool


def opens_json(line: str) -> bool:
    """Does a JSON value start on this line, behind prefixes or not?"""
    return Prefixes(_OPENS).strip(clean(line)) is not None


def read_document(lines: Iterable[str], tool: str) -> Document:
    """The first JSON value of the text. Raises ParseError when there is none."""
    first, text = _collect(lines, tool)
    for candidate in _candidates(text):
        document = _decode(candidate)
        if document is not None:
            return document
    raise ParseError(tool, first, "starts like JSON and is not: save the tool's output again, without other text in it")


def _collect(lines: Iterable[str], tool: str) -> Tuple[int, str]:
    kept: List[str] = []
    size, first = 0, 0
    prefixes = Prefixes(_OPENS)
    for line_number, raw in enumerate(lines, 1):
        line = clean(raw)
        if not kept and prefixes.strip(line) is None:
            continue
        first = first or line_number
        size += len(line) + 1
        if size > MOST_CHARACTERS:
            raise ParseError(tool, line_number, "more than %d MiB of JSON is no report" % (MOST_CHARACTERS >> 20))
        kept.append(line)
    if not kept:
        raise ParseError(tool, 0, "no JSON in it: run the tool with its JSON option and give its whole output")
    return first, "\n".join(kept) + "\n"


def _candidates(text: str) -> Iterator[str]:
    """The text without prefixes; and from its next opening bracket, for "[ok] tool started" in front."""
    prefixes = Prefixes(_JSON_LINE)
    lines = text.split("\n")
    bare = [line if stripped is None else stripped for line, stripped in ((x, prefixes.strip(x)) for x in lines)]
    yield "\n".join(bare)
    for index in range(1, min(len(bare), 20)):
        if _OPENS.match(bare[index]):
            yield "\n".join(bare[index:])
            return


def _decode(text: str) -> Optional[Document]:
    text = _BARE.sub(r"\1null", text.lstrip())
    decoder = json.JSONDecoder(parse_constant=lambda _word: None)
    try:
        return Document(decoder.raw_decode(text)[0], True)
    except (ValueError, RecursionError):
        pass
    mended = _mend(text)
    try:
        data = decoder.decode(mended) if mended else None
    except (ValueError, RecursionError):
        return None
    return Document(data, False) if data else None


def _mend(text: str) -> str:
    """Cut a truncated value back to its last whole member and close what is open. "" if it is not truncated JSON."""
    open_brackets: List[str] = []
    cut, closers = 0, ""
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[{}\[\],]|"', text):
        mark = match.group()
        if mark == '"':
            break
        if mark not in "{}[],":
            continue
        if mark in "{[":
            open_brackets.append(mark)
        elif mark != "," and (not open_brackets or _CLOSER[open_brackets.pop()] != mark):
            return ""
        if not 0 < len(open_brackets) <= _DEEPEST:
            return ""
        cut = match.start() if mark == "," else match.end()
        closers = "".join(_CLOSER[x] for x in reversed(open_brackets))
    return text[:cut] + closers


def mapping(value: Any) -> Dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> List[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def integer(value: Any) -> Optional[int]:
    """A whole number, also from text (some wrappers make every value a string)."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def words(value: Any) -> Optional[str]:
    """Text that says something: None for other types, for "" and for N/A."""
    if not isinstance(value, str) or value.strip() in ("", "N/A", "[N/A]"):
        return None
    return value.strip()
