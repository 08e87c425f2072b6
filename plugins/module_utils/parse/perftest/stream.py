# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text: a block of settings, addresses, a table, and whatever went wrong."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Dict, Iterable, List, Optional, Tuple

from ...errors import ParseError
from ..text import Prefixes, clean, number, whole
from .failures import COMPLETION_NAMES, WARNINGS, Failure, read_failure
from .report import TOOL, PerftestReport, PerftestRow, Setup
from .table import Columns, infer_unit, read_columns, read_row

__all__ = ["TextReader", "test_name"]

_MOST_ROWS = 1024
_MOST_WARNINGS = 16

KNOWN = re.compile(
    r"""\s*(?:
      -{20,}\s*$ | \#bytes | \#,\ usec
    | \d+\s+\d+\s+[\d.]+(?:\s+[-\d.]+|\s+nan|\s+-?inf)*\s*$ | [\d.]+\s*$
    | (?:RDMA_(?:Write|Read)|Send|Atomic|Raw|raw_)\S*.*\ (?:BW|Latency|Multicast|forwarding)\b.*Test
    | (?:Dual-port|Number\ of\ qps|Connection\ type|PCIe\ relax\ order|ibv_wr\*\ API|TX\ depth|RX\ depth|Post\ List|Recv\ Post\ List
        |CQ\ Moderation|CQE\ Poll\ Batch|Mtu|Link\ type|GID\ index2?|Max\ inline\ data|Outstand\ reads|rdma_cm\ QPs|Buffer\ size
        |Use\ (?:ROCm|MUSA)\ memory|Data\ ex\.\ method|NUMA\ node|Lock-free)\s*:
    | (?:local|remote)\ address:\ LID | GID:\ [\d:]+ | \*+\s*$ | \*\ Waiting\ for\ client | Waiting\ for\ client
    | Please\ run\ the\ same\ command | (?:ib_|raw_ethernet_)\w+(?:_bw|_lat)\b
    | (?:initializing\ CUDA|creating\ CUDA\ Ctx|cuMemAlloc|allocated\ GPU\ buffer|deallocating\ GPU|destroying\ current\ CUDA|Picking\ device)
    )""",
    re.VERBOSE,
)
_MESSAGE = re.compile(
    r"\s*(?:Couldn't|Failed|Unable|Completion|Port number|Error:|VALIDATION|Did not get|Unexpected CM|Received \d+ times|Parser"
    r"|Invalid|Unsupported|Unrecognized|IB device|ethernet_|rdma_|pp_|failed to|scnt=|WARNING: |Max msg size|Changing to"
    r"|Requested mtu|Conflicting CPU|Disabling dynamic|Perftest doesn't|CUDA DMA-BUF|Total Received)"
)
_ANY = re.compile("%s|%s" % (KNOWN.pattern, _MESSAGE.pattern.replace(" ", r"\ ")), re.VERBOSE)
# A table kept as a comment: the tool itself prints "#" only at the head of the table.
_COMMENTED = re.compile(r"\s*#(?!bytes|iterations|,|flows)\s?(?=.)")

_COMMAND = re.compile(r"(?:^|[\s/#$])((?:ib|raw_ethernet)_\w+?_?(?:bw|lat))((?:\s+\S+)*)\s*$")
_SETTING = re.compile(r"([A-Za-z_*][\w*. -]*?)\s*:\s*(\S+)")
_TITLE = re.compile(r"\s*(RDMA_Write|RDMA_Read|Send|Atomic\S*|Raw\S*|raw_\S*)\s.*?\b(BW|Latency)\b")
_TITLE_NAMES = {"RDMA_Write": "ib_write", "RDMA_Read": "ib_read", "Send": "ib_send"}
_CUDA = re.compile(
    r"\s*(?:initializing CUDA|creating CUDA Ctx|cuMemAlloc|allocated GPU buffer|deallocating GPU|Picking device)"
)
_UNVALUED_OPTIONS = {"-a", "-b", "-F", "-R", "-N", "-e", "-z", "-U", "-H", "-C", "-O", "-g", "--all", "--bidirectional"}


def test_name(title: str) -> Tuple[Optional[str], Optional[str], bool]:
    """(program, kind, bidirectional) of a title: "RDMA_Write Bidirectional BW Test"."""
    match = _TITLE.match(title.replace("_BW", " BW").replace("_Latency", " Latency").replace("_Test", " Test"))
    if match is None:
        return None, None, False
    verb, what = match.groups()
    base = next((name for start, name in _TITLE_NAMES.items() if verb.startswith(start)), None)
    base = base or ("ib_atomic" if verb.startswith("Atomic") else "raw_ethernet")
    kind = "bw" if what == "BW" else "lat"
    return "%s_%s" % (base, kind), kind, "Bidirectional" in title


class TextReader:
    def __init__(self) -> None:
        self.recognised = False
        self._settings: Dict[str, str] = {}
        self._test: Optional[str] = None
        self._kind: Optional[str] = None
        self._bidirectional: Optional[bool] = None
        self._titled = False
        self._role: Optional[str] = None
        self._duration = False
        self._cuda = False
        self._warnings: Dict[str, None] = {}
        self._columns: Optional[Columns] = None
        self._rows: List[PerftestRow] = []
        self._row_count = 0
        self._damaged = 0
        self._max_average: Optional[float] = None
        self._dashes = 0
        self._open_rows = 0
        self._bare: Optional[float] = None
        self._failure: Optional[Failure] = None
        self._values: Dict[str, str] = {}
        self._waited = False
        self._addresses = False
        self._last_unknown: Optional[str] = None

    def read(self, lines: Iterable[str]) -> PerftestReport:
        prefixes = Prefixes(_ANY)
        for raw in lines:
            line = clean(raw)
            text = prefixes.strip(line)
            if text is None:
                text = self._uncommented(line, prefixes)
            if text is None:
                if line.strip():
                    self._last_unknown = line.strip()[:200]
                continue
            self._line(text, whole(raw))
        if not self.recognised:
            raise ParseError(
                TOOL, 0, "no line of perftest in it: give the whole output of ib_write_bw, ib_write_lat ..."
            )
        return self._report()

    def _uncommented(self, line: str, prefixes: Prefixes) -> Optional[str]:
        match = _COMMENTED.match(line)
        return prefixes.strip(line[match.end() :]) if match else None

    def _line(self, text: str, ended: bool) -> None:
        stripped = text.strip()
        first = stripped[:1]
        if first.isdigit():
            self._figures(stripped.split(), ended)
        elif stripped.startswith("----"):
            self.recognised = self.recognised or len(stripped) > 80
            self._dashes += 1
            self._open_rows = 0
        elif stripped.startswith("#bytes"):
            self._header(stripped)
        elif not self._command(stripped):
            self._words(text, stripped)

    def _header(self, text: str) -> None:
        columns = read_columns(text)
        if columns is not None:
            self.recognised = True
            self._columns, self._open_rows, self._dashed = columns, 0, self._dashes > 0

    def _figures(self, tokens: List[str], ended: bool) -> None:
        if len(tokens) == 1:
            if self._columns is None and not self._titled:
                self._bare = number(tokens[0])
                self.recognised = self.recognised or "." in tokens[0]
            return
        columns = self._columns
        if columns is None:
            columns = Columns(("size_bytes", "iterations", "bw_peak", "bw_average", "msg_rate_mpps"), None)
            row = read_row(tokens, columns)
            if row is None or infer_unit(row) is None:
                return
        self.recognised = True
        row = read_row(tokens, columns)
        if row is None:
            self._damaged += 1
            return
        self._open_rows += 1
        self._row_count += 1
        self._duration = self._duration or (tokens[2:3] == ["0.00"] and "bw_peak" in columns.names)
        self._duration = self._duration or "tps_average" in columns.names
        if row.bw_average is not None:
            self._max_average = max(self._max_average or 0.0, row.bw_average)
        if len(self._rows) >= _MOST_ROWS:
            del self._rows[: _MOST_ROWS // 2]
        self._rows.append(row)

    def _command(self, text: str) -> bool:
        match = _COMMAND.search(text)
        if match is None or "_" not in match.group(1):
            return False
        self.recognised = True
        options = match.group(2).split()
        self._test, self._kind = match.group(1), match.group(1).rsplit("_", 1)[1]
        self._bidirectional = "-b" in options or "--bidirectional" in options
        self._duration = self._duration or "-D" in options
        self._role = "client" if _peer_in(options) else "server"
        return True

    def _words(self, text: str, stripped: str) -> None:
        failure = read_failure(text)
        if failure is not None:
            self._fail(failure)
            return
        if WARNINGS.match(text):
            if len(self._warnings) < _MOST_WARNINGS:
                self._warnings[stripped] = None
            self.recognised = self.recognised or "BW peak won't" in text or "msg size in UD" in text
            return
        if _CUDA.match(text):
            self._cuda = True
        elif "Waiting for client" in text:
            self.recognised, self._role, self._waited = True, "server", True
        elif " address: LID" in text:
            self.recognised, self._addresses = True, True
        else:
            self._title_or_setting(text, stripped)

    def _title_or_setting(self, text: str, stripped: str) -> None:
        name, kind, both = test_name(stripped)
        if name is not None and stripped.endswith("Test"):
            self.recognised, self._titled = True, True
            self._test, self._kind, self._bidirectional = name, kind, both
            return
        found = False
        for key, value in _SETTING.findall(text.replace("\t", "  ")):
            self._settings[key.strip()] = value
            found = True
        self.recognised = self.recognised or (found and bool(set(self._settings) & _TELLING))
        if not found:
            self._last_unknown = stripped[:200]

    def _fail(self, failure: Failure) -> None:
        self.recognised = True
        for key, value in failure.values.items():
            self._values.setdefault(key, value)
        if failure.word == "bad_argument" and self._last_unknown:
            failure = replace(failure, detail=self._last_unknown)
        if self._failure is None or failure.weight > self._failure.weight:
            self._failure = failure

    def _report(self) -> PerftestReport:
        columns = self._columns
        kind = (columns.kind if columns else None) or self._kind or "bw"
        if self._bare is not None and not self._row_count and self._failure is None and columns is None:
            self._row_count, self._rows = 1, [PerftestRow(bw_average=self._bare)]
            return self._make("bw", "bare", None, "unknown", True, None)
        unit = columns.unit if columns and self._row_count else None
        source = None
        if unit is None and self._row_count and kind == "bw":
            unit = infer_unit(self._rows[-1])
            source = "inferred" if unit else "unknown"
        complete = self._complete()
        return self._make(kind, "text", unit, source, complete, self._why(complete))

    def _complete(self) -> Optional[bool]:
        if not self._row_count:
            return False
        if self._open_rows == 0:
            return True
        return False if self._dashes else None

    def _why(self, complete: Optional[bool]) -> Optional[str]:
        if self._failure is not None:
            return self._failure.word
        if not self._row_count:
            waiting = self._waited and not self._addresses and self._columns is None
            return "no_client_connected" if waiting else "no_result_rows"
        if complete is False:
            return "no_footer"
        return "unparsable_values: %d damaged rows" % self._damaged if self._damaged else None

    def _make(
        self,
        kind: str,
        form: str,
        unit: Optional[str],
        source: Optional[str],
        complete: Optional[bool],
        why: Optional[str],
    ) -> PerftestReport:
        seen = self._titled or self._test is not None
        status = self._values.get("status")
        port = self._values.get("port")
        connecting = self._failure is not None and self._failure.word == "tcp_connect_failed"
        return PerftestReport(
            test=_raw(self._test, self._settings) or "unknown",
            kind=kind,
            setup=_setup(self._settings),
            rows=tuple(self._rows),
            row_count=self._row_count,
            damaged_rows=self._damaged,
            max_bw_average=self._max_average,
            unit=unit,
            unit_source=source,
            form=form,
            bidirectional=self._bidirectional if seen else (None if self._row_count else False),
            role=self._role or ("client" if self._titled or connecting else None),
            duration_mode=self._duration,
            cuda=self._cuda,
            complete=complete,
            failure=why,
            completion_status=int(status) if status else None,
            completion_status_name=_status_name(status),
            vendor_syndrome=self._values.get("syndrome"),
            peer=self._values.get("peer"),
            port=int(port) if port else None,
            detail=self._failure.detail if self._failure else None,
            warnings=tuple(self._warnings),
        )


_TELLING = {"Dual-port", "Number of qps", "Connection type", "Link type", "TX depth", "Data ex. method"}


def _peer_in(options: List[str]) -> bool:
    """A word at the end that is not the value of an option: the server's address."""
    if not options or options[-1].startswith("-"):
        return False
    return (
        len(options) == 1 or not options[-2].startswith("-") or options[-2] in _UNVALUED_OPTIONS or "=" in options[-2]
    )


def _raw(test: Optional[str], settings: Dict[str, str]) -> Optional[str]:
    if test and settings.get("Connection type") == "RawEth":
        return "raw_ethernet_%s" % test.rsplit("_", 1)[1]
    return test


def _status_name(status: Optional[str]) -> Optional[str]:
    return COMPLETION_NAMES[int(status)] if status and int(status) < len(COMPLETION_NAMES) else None


def _setup(settings: Dict[str, str]) -> Setup:
    def integer(name: str) -> Optional[int]:
        match = re.match(r"\d+", settings.get(name, ""))
        return int(match.group()) if match else None

    return Setup(
        device=settings.get("Device"),
        mtu=integer("Mtu"),
        link_type=settings.get("Link type"),
        connection=settings.get("Connection type"),
        transport=settings.get("Transport type"),
        num_qps=integer("Number of qps"),
        gid_index=integer("GID index"),
        post_list=integer("Post List"),
    )
