# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the tables of docs/gpu.md that are data in the code: ``python -m tools.doc_tables``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ansible_collections.gpufleet.cluster.plugins.module_utils.gpu.nvlink_counters import NVLINK_COUNTERS
from ansible_collections.gpufleet.cluster.plugins.module_utils.gpu.xid_table import XIDS
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.gpu.clocks import REASONS

PAGE = Path(__file__).resolve().parents[1] / "docs/gpu.md"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def tables() -> dict[str, str]:
    return {
        "clocks": table(
            ("reason", "severity", "meaning"),
            [(f"`{reason.name}`", reason.severity.name, reason.meaning) for reason in REASONS],
        ),
        "nvlink": table(
            ("counter", "when it grows", "meaning", "source"),
            [(f"`{each.name}`", each.severity.name, each.meaning, each.source) for each in NVLINK_COUNTERS],
        ),
        "xid": table(
            ("Xid", "severity", "meaning", "remedy"),
            [(xid.number, xid.severity.name, xid.meaning, xid.remedy) for xid in XIDS],
        ),
    }


def filled(page: str) -> str:
    """The page with each table between its marks: ``<!-- table: xid -->`` and ``<!-- end -->``."""
    for name, text in tables().items():
        places = re.findall(rf"<!-- table: {name} -->\n.*?<!-- end -->", page, flags=re.DOTALL)
        if len(places) != 1:
            raise ValueError(f"{PAGE.name}: {len(places)} places for the table {name}, not 1")
        page = page.replace(places[0], f"<!-- table: {name} -->\n{text}<!-- end -->")
    return page


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
