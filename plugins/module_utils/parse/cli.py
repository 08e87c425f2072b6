# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``scripts/parse TOOL FILE|-``: the reading of a tool's output as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any, BinaryIO, Dict, List, Optional, Sequence

from ..errors import ClusterError, ConfigError
from .source import BoundedLines
from .tools import TOOLS, Read, read

__all__ = ["main"]

_JUDGED = ("nccl", "perftest")
HEALTHY, NOT_OK, NOT_READABLE = 0, 1, 2


def _arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    tools = "\n".join("  %-16s %s" % (name, tool.about) for name, tool in sorted(TOOLS.items()))
    parser = argparse.ArgumentParser(
        prog="parse",
        description="Read a tool's output and print what it says as JSON.",
        epilog="TOOL is one of:\n%s\n\nExit status: 0 finished and healthy, 1 read but not ok, 2 not readable." % tools,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tool", metavar="TOOL", choices=sorted(TOOLS))
    parser.add_argument("file", metavar="FILE", help="a file with the output; - for standard input")
    judge = parser.add_argument_group("judge against limits (nccl and perftest)")
    judge.add_argument("--judge", metavar="LIMITS", help="JSON file with limits, e.g. limits/bandwidth.json")
    judge.add_argument("--host", default="localhost", help="name for the findings (default: %(default)s)")
    judge.add_argument("--sku", help="what was measured: GB200, H100, ... or a link speed: 400G")
    judge.add_argument("--scope", help="single_node, nvlink_domain, cross_domain or loopback")
    judge.add_argument("--nodes", type=int, help="number of nodes; without it what the log shows")
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> int:
    arguments = _arguments(argv)
    try:
        result, passed = _run(arguments)
    except ClusterError as exc:
        print("parse: %s" % exc, file=sys.stderr)
        return NOT_READABLE
    except OSError as exc:
        print("parse: cannot read %s: %s" % (exc.filename or arguments.file, exc.strerror), file=sys.stderr)
        return NOT_READABLE
    json.dump(result, sys.stdout, indent=1)
    print()
    return HEALTHY if passed else NOT_OK


def _run(arguments: argparse.Namespace) -> Any:
    if arguments.judge and arguments.tool not in _JUDGED:
        raise ConfigError("--judge is for %s: %s has no bandwidth" % (" and ".join(_JUDGED), arguments.tool))
    limits = _limits(arguments.judge) if arguments.judge else None
    if arguments.file == "-":
        taken, cut = _read(arguments.tool, sys.stdin.buffer)
    else:
        with open(arguments.file, "rb") as stream:
            taken, cut = _read(arguments.tool, stream)
    result = dict(taken.reading)
    if cut:
        result["lines_cut"] = cut
    passed = result["ok"] is True
    if limits is not None:
        findings = _judge(taken, limits, arguments)
        result["findings"] = findings
        passed = passed and all(finding["severity"] in ("OK", "WARN") for finding in findings)
    return result, passed


def _read(tool: str, stream: BinaryIO) -> Any:
    lines = BoundedLines(stream)
    taken = read(tool, lines)
    return taken, lines.cut


def _limits(path: str) -> List[Dict[str, Any]]:
    with open(path, encoding="utf-8") as stream:
        try:
            data = json.load(stream)
        except ValueError as exc:
            raise ConfigError("%s is no JSON: %s" % (path, exc)) from exc
    rows = data.get("limits") if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise ConfigError("%s has no list of limits: see limits/bandwidth.json" % path)
    return rows


def _judge(taken: Read, limits: List[Dict[str, Any]], arguments: argparse.Namespace) -> List[Dict[str, Any]]:
    from ..judge.bandwidth import Context, judge_bandwidth, load_limits  # noqa: PLC0415  (only who judges pays for it)

    context = Context(host=arguments.host, sku=arguments.sku, scope=arguments.scope, nodes=arguments.nodes)
    return [finding.as_dict() for finding in judge_bandwidth(taken.report, load_limits(limits), context)]
