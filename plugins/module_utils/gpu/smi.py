# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run ``nvidia-smi`` and read what it prints. Whatever is not a whole answer is a MeasureError with the reason."""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..errors import ClusterError, MeasureError
from ..parse.nvidia_smi import FabricReport, QueryReport, TopologyReport, parse_nvidia_smi
from ..parse.nvidia_smi.nvlink import NvlinkGpu, parse_nvidia_smi_nvlink
from ..runner import CommandResult, Runner
from .fields import ALIASES, FIELDS, REMAPPED_ROWS, REQUIRED

__all__ = ["NvidiaSmi"]

# Field "clocks_event_reasons.hw_slowdown" is not a valid field to query.
_UNKNOWN_FIELD = re.compile(r'Field "([\w.]+)" is not a valid field to query')
# WARNING: infoROM is corrupted at gpu 0000:85:00.0
_WARNING = re.compile(r"\s*WARNING: (infoROM .*\S)\s*$", re.MULTILINE)
_MOST_WORDS = 300


class NvidiaSmi:
    """``commands`` remembers what was run, for people."""

    def __init__(self, runner: Runner, timeout: float) -> None:
        self._runner = runner
        self._timeout = timeout
        self.commands: List[str] = []
        self.not_offered: List[str] = []
        self.warnings: List[str] = []

    def query(self) -> Tuple[List[Dict[str, Any]], Tuple[str, ...]]:
        """(GPUs by field name, GPUs that are lost or broken). Fields that this driver does not have are None."""
        asked = {name: name for name in FIELDS}
        for _attempt in range(2 * len(FIELDS)):
            result = self._run(["--query-gpu=" + ",".join(asked.values()), "--format=csv"])
            unknown = _UNKNOWN_FIELD.search(result.stdout + result.stderr)
            if unknown is None:
                break
            self._replace(asked, unknown.group(1))
        self.warnings = _WARNING.findall(result.stdout + result.stderr)
        report = self._parsed("--query-gpu", result)
        if not isinstance(report, QueryReport):
            raise MeasureError("nvidia-smi --query-gpu: the answer is not its table")
        bad = report.lost + report.unknown
        if result.rc != 0 and not bad:
            raise MeasureError("nvidia-smi --query-gpu: %s" % _why(result))
        if report.damaged or (not report.gpus and not bad):
            raise MeasureError("nvidia-smi --query-gpu: %s" % (report.failure or "no GPU in its table"))
        return [self._row(row, list(asked)) for row in report.gpus], bad

    def _replace(self, asked: Dict[str, str], unknown: str) -> None:
        names = [name for name, question in asked.items() if question == unknown]
        if not names or names[0] in REQUIRED:
            raise MeasureError("nvidia-smi --query-gpu: this driver does not know the field %s" % unknown)
        old = ALIASES.get(names[0], unknown)
        if old == unknown:
            self.not_offered.append(names[0])
            del asked[names[0]]
        else:
            asked[names[0]] = old

    def _row(self, row: Dict[str, Any], names: Sequence[str]) -> Dict[str, Any]:
        """By position, since the header has other names than the question for some columns."""
        if len(row) != len(names):
            raise MeasureError("nvidia-smi --query-gpu: %d columns for %d questions" % (len(row), len(names)))
        found = dict(zip(names, row.values()))  # noqa: B905  (Python 3.9)
        return {name: found.get(name) for name in FIELDS}

    def remapped_rows(self) -> Dict[str, Dict[str, Any]]:
        """By PCI address. GPUs without row remapping have None."""
        result = self._good(["--query-remapped-rows=" + ",".join(REMAPPED_ROWS), "--format=csv"])
        report = self._parsed("--query-remapped-rows", result)
        if not isinstance(report, QueryReport) or report.damaged:
            raise MeasureError("nvidia-smi --query-remapped-rows: the answer is not its table")
        rows = [dict(zip(REMAPPED_ROWS, row.values())) for row in report.gpus]  # noqa: B905  (Python 3.9)
        return {str(row["gpu_bus_id"]): {key: row.get(key) for key in REMAPPED_ROWS[1:]} for row in rows}

    def fabric(self) -> FabricReport:
        report = self._parsed("-q", self._good(["-q"]))
        if not isinstance(report, FabricReport):
            raise MeasureError("nvidia-smi -q: there is no Fabric block in it")
        return report

    def topology(self) -> TopologyReport:
        report = self._parsed("topo -m", self._good(["topo", "-m"]))
        if not isinstance(report, TopologyReport):
            raise MeasureError("nvidia-smi topo -m: the answer is not a matrix")
        if report.failure:
            raise MeasureError("nvidia-smi topo -m: %s" % report.failure)
        return report

    def nvlink(self, option: str) -> Tuple[NvlinkGpu, ...]:
        """``option``: -s for the state of the links, -e for their error counters."""
        result = self._good(["nvlink", option])
        try:
            return parse_nvidia_smi_nvlink(result.stdout.splitlines(keepends=True))
        except ClusterError as exc:
            raise MeasureError("%s%s" % (exc, _said(result))) from exc

    def _run(self, arguments: Sequence[str]) -> CommandResult:
        self.commands.append("nvidia-smi " + " ".join(arguments))
        result = self._runner.run(["nvidia-smi", *arguments], timeout=self._timeout)
        if result.missing or result.timed_out or result.flooded:
            raise MeasureError(_why(result))
        return result

    def _good(self, arguments: Sequence[str]) -> CommandResult:
        result = self._run(arguments)
        if result.rc != 0:
            what = " ".join(arguments).partition("=")[0]
            raise MeasureError("nvidia-smi %s: %s" % (what, _why(result)))
        return result

    def _parsed(self, what: str, result: CommandResult) -> Any:
        """The lost GPU's message may be on either output."""
        lost = "device handle" in result.stderr
        try:
            return parse_nvidia_smi((result.stderr if lost else result.stdout).splitlines(keepends=True))
        except ClusterError as exc:
            if result.rc != 0:
                raise MeasureError("nvidia-smi %s: %s" % (what, _why(result))) from exc
            raise MeasureError("nvidia-smi %s: not readable%s" % (what, _said(result))) from exc


def _why(result: CommandResult) -> str:
    said = _last_words(result)
    if result.missing or result.timed_out or result.flooded:
        return said or "rc %d" % result.rc
    return "rc %d: %s" % (result.rc, said) if said else "rc %d without a word" % result.rc


def _said(result: CommandResult) -> str:
    words = _last_words(result)
    return ": it says %r" % words if words else ": it printed nothing"


def _last_words(result: CommandResult) -> str:
    """What the tool said of its failure: the end of stderr, else of stdout."""
    for text in (result.stderr, result.stdout):
        lines: List[str] = [line.strip() for line in text.splitlines() if line.strip()]
        last: Optional[str] = lines[-1] if lines else None
        if last:
            return last[:_MOST_WORDS]
    return ""
