# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""junit.xml for CI systems: one suite for each check, one case for each host."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ...module_utils.finding import Finding, Severity
from .model import Cell, Check, FleetReport, Status

__all__ = ["render"]

# What XML 1.0 cannot carry, not even escaped.
FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: FleetReport) -> str:
    root = ElementTree.Element("testsuites", name=_clean(f"gpufleet {report.run.inventory} {report.run.id}"))
    for check in report.checks:
        root.append(_suite(report, check))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _suite(report: FleetReport, check: Check) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=check.name, timestamp=report.run.finished)
    for host in report.hosts:
        cell = host.cells.get(check.name)
        if cell is not None and cell.status is not Status.NOT_APPLICABLE:
            suite.append(_case(check, host.name, cell))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    return suite


def _case(check: Check, host: str, cell: Cell) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=f"gpufleet.{check.name}", name=_clean(host))
    told = sorted((each for each in cell.findings if each.severity), key=lambda each: -each.severity)
    texts = ([cell.reason] if cell.reason else []) + [_text(finding) for finding in told]
    if cell.verdict in (Severity.FAIL, Severity.UNKNOWN):
        kind = "failure" if cell.verdict is Severity.FAIL else "error"
        ElementTree.SubElement(case, kind, message=_clean(texts[0].partition("\n")[0]), type=cell.verdict.name)
        case[0].text = _clean("\n".join(texts))
    elif texts:
        ElementTree.SubElement(case, "system-out").text = _clean("\n".join(texts))
    return case


def _text(finding: Finding) -> str:
    measured = f" (measured {finding.measured}, expected {finding.expected} {finding.unit}".rstrip() + ")"
    return f"{finding.severity.name}: {finding.message}{measured} {finding.remedy}".rstrip()


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)
