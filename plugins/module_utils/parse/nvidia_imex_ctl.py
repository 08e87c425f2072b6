# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-imex-ctl``: the domain as seen by one node (``-N`` as text or with ``-j``), or one daemon's word (``-q``).

READY of the local daemon does not mean that the domain is UP.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Any, Dict, Iterable, List, Optional, Tuple

from ..errors import ParseError
from .document import integer, mapping, opens_json, read_document, words
from .text import unprefixed

__all__ = ["ImexReport", "parse_nvidia_imex_ctl", "reading"]

TOOL = "nvidia-imex-ctl"

# Letters of the matrix. The legend above it has the same letters, followed by a dash.
_CELLS = {
    "C": "CONNECTED",
    "I": "INVALID",
    "N": "NEVER_CONNECTED",
    "R": "RECOVERING",
    "D": "DISCONNECTED",
    "A": "AUTHENTICATING",
    "!V!": "VERSION_MISMATCH",
    "!M!": "NODE_MAP_MISMATCH",
}
_DAEMON = (
    "INITIALIZING|STARTING_AUTH_SERVER|WAITING_FOR_PEERS|WAITING_FOR_RECOVERY|INIT_GPU|READY|SHUTTING_DOWN|UNAVAILABLE"
)
_KNOWN = re.compile(
    r"\s*(?:Connectivity Table Legend|Nodes:|Node #\d+|Nodes From|Domain State:|\d+(?:\s+(?:[A-Z]|![A-Z]!))+\s*$"
    r"|(?:%s)\s*$)" % _DAEMON
)
_NODE = re.compile(r"\s*Node #(\d+)\s+- (\S+)\s+- (\w+)(?:\s+- Version: (\S*))?")
_COLUMNS = re.compile(r"\s*Nodes From\S*\s+(\d[\d\s]*)$")
_ROW = re.compile(r"\s*(\d+)((?:\s+(?:[A-Z]|![A-Z]!))+)\s*$")
# Old builds print debug text straight behind the word.
_STATE = re.compile(r"\s*Domain State:\s*(UP|DEGRADED|DOWN)")


@dataclass(frozen=True)
class ImexNode:
    index: int
    host: str
    state: str
    version: Optional[str]


@dataclass(frozen=True)
class ImexReport:
    """``not_connected``: (from, to, state) of every pair that is not CONNECTED."""

    domain_state: Optional[str]
    daemon_state: Optional[str]
    nodes: Tuple[ImexNode, ...]
    not_connected: Tuple[Tuple[int, int, str], ...]
    complete: bool

    @property
    def ready(self) -> int:
        return sum(node.state == "READY" for node in self.nodes)

    @property
    def versions(self) -> Tuple[str, ...]:
        return tuple(sorted({node.version for node in self.nodes if node.version}))

    @property
    def ok(self) -> Optional[bool]:
        if self.daemon_state == "READY":
            return None
        return self.failure is None

    @property
    def failure(self) -> Optional[str]:
        if self.daemon_state is not None:
            return None if self.daemon_state == "READY" else "daemon_not_ready: %s" % self.daemon_state
        if self.domain_state is None:
            return "truncated: no domain state"
        if self.domain_state != "UP":
            bad = ["node %d %s" % (node.index, node.state.lower()) for node in self.nodes if node.state != "READY"]
            why = bad or ["%d to %d %s" % (start, end, state.lower()) for start, end, state in self.not_connected[:4]]
            return "domain_%s: %s" % (self.domain_state.lower(), ", ".join(why) or "no node named")
        return None if self.complete and self.nodes else "truncated: not all nodes"


def parse_nvidia_imex_ctl(lines: Iterable[str]) -> ImexReport:
    rest = iter(lines)
    first = next((line for line in rest if line.strip()), "")
    again = chain([first], rest)
    return _from_json(again) if opens_json(first) else _from_text(again)


def _from_text(lines: Iterable[str]) -> ImexReport:
    nodes: List[ImexNode] = []
    columns: List[int] = []
    bad: List[Tuple[int, int, str]] = []
    state = daemon = None
    seen = False
    for _line_number, _label, text in unprefixed(lines, _KNOWN):
        seen = True
        node, row, domain = _NODE.match(text), _ROW.match(text), _STATE.match(text)
        header = _COLUMNS.match(text)
        if node:
            nodes.append(ImexNode(int(node.group(1)), node.group(2), node.group(3), node.group(4) or None))
        elif header:
            columns = [int(token) for token in header.group(1).split()]
        elif row:
            bad.extend(_bad_cells(int(row.group(1)), row.group(2).split(), columns))
        elif domain:
            state = domain.group(1)
        elif re.match(r"\s*(?:%s)\s*$" % _DAEMON, text):
            daemon = text.strip()
    if not seen:
        raise ParseError(
            TOOL, 0, "no domain and no daemon state in it: give the output of 'nvidia-imex-ctl -N' or '-q'"
        )
    return ImexReport(state, daemon if not nodes else None, tuple(nodes), tuple(bad), state is not None)


def _bad_cells(start: int, cells: List[str], columns: List[int]) -> List[Tuple[int, int, str]]:
    ends = columns if len(columns) == len(cells) else list(range(len(cells)))
    return [(start, end, _CELLS.get(cell, cell)) for end, cell in zip(ends, cells) if cell != "C"]  # noqa: B905  (Python 3.9)


def _from_json(lines: Iterable[str]) -> ImexReport:
    document = read_document(lines, TOOL)
    data = mapping(document.data)
    if "nodes" not in data:
        raise ParseError(TOOL, 1, "JSON without nodes: give the output of 'nvidia-imex-ctl -N -j'")
    nodes: List[ImexNode] = []
    bad: List[Tuple[int, int, str]] = []
    for key, value in mapping(data["nodes"]).items():
        node, index = mapping(value), integer(key)
        if index is None:
            continue
        nodes.append(ImexNode(index, str(node.get("host")), str(node.get("status")), words(node.get("version"))))
        for peer, connection in mapping(node.get("connections")).items():
            status = str(mapping(connection).get("status"))
            if status != "CONNECTED":
                bad.append((index, integer(peer) or 0, status))
    return ImexReport(words(data.get("status")), None, tuple(nodes), tuple(bad), document.complete)


def reading(report: ImexReport) -> Dict[str, Any]:
    return {
        "tool": TOOL,
        "domain_state": report.domain_state,
        "daemon_state": report.daemon_state,
        "nodes": len(report.nodes),
        "ready": report.ready,
        "versions": list(report.versions),
        "not_connected": [list(pair) for pair in report.not_connected],
        "ok": report.ok,
        "failure": report.failure,
    }
