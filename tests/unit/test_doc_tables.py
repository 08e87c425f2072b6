# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of docs/gpu.md are those of the code."""

from __future__ import annotations

import pytest

from tools.doc_tables import PAGE, filled


def test_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page, "run: PYTHONPATH=.ansible/collections python -m tools.doc_tables"


def test_a_table_without_a_place_is_told() -> None:
    with pytest.raises(ValueError, match=r"gpu.md: 0 places for the table clocks, not 1"):
        filled("")
