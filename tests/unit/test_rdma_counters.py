# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Error counters of RDMA ports: the difference over the measuring, never what was there before."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.counters import judge_counters, read_counters

from tests.fakes.infiniband import write

DIFFERENCES: dict[str, tuple[dict[str, int], dict[str, int], list[tuple[str, str, int | None]]]] = {
    "old_errors_are_no_finding": (
        {"symbol_error": 7, "link_downed": 3},
        {"symbol_error": 7, "link_downed": 3},
        [("OK", "error counters", None)],
    ),
    "the_link_went_down": (
        {"symbol_error": 7, "link_downed": 3},
        {"symbol_error": 9, "link_downed": 4},
        [("WARN", "symbol_error", 2), ("FAIL", "link_downed", 1)],
    ),
    "lost_packets": ({"out_of_sequence": 0}, {"out_of_sequence": 40}, [("WARN", "out_of_sequence", 40)]),
    "retries_exceeded": (
        {"req_transport_retries_exceeded": 0},
        {"req_transport_retries_exceeded": 1},
        [("FAIL", "req_transport_retries_exceeded", 1)],
    ),
    "reset_in_between": ({"symbol_error": 900}, {"symbol_error": 5}, [("WARN", "symbol_error", 5)]),
    "full": ({"link_downed": 255}, {"link_downed": 255}, [("UNKNOWN", "link_downed", 255)]),
    "gone": ({"link_downed": 0}, {}, [("UNKNOWN", "link_downed", None)]),
    "none_at_all": ({}, {}, []),
}


@pytest.mark.parametrize(("before", "after", "want"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_difference(before: dict[str, int], after: dict[str, int], want: list[tuple[str, str, int | None]]) -> None:
    found = judge_counters("w1", "rail0", "mlx5_0", before, after)
    assert [(each.severity.name, each.subject.item, each.measured) for each in found] == want
    assert all(
        (each.subject.host, each.subject.network, each.subject.port) == ("w1", "rail0", "mlx5_0") for each in found
    )


def test_reading(tmp_path: Path) -> None:
    """Another port's, a word in place of a number and a counter that nobody judges are left aside."""
    port = "sys/class/infiniband/mlx5_0/ports/1"
    write(tmp_path, f"{port}/counters/symbol_error", "12")
    write(tmp_path, f"{port}/counters/port_xmit_data", "99")
    write(tmp_path, f"{port}/counters/link_downed", "N/A")
    write(tmp_path, f"{port}/hw_counters/packet_seq_err", "3")
    write(tmp_path, "sys/class/infiniband/mlx5_0/ports/2/counters/symbol_error", "5")
    assert read_counters("mlx5_0", 1, str(tmp_path)) == {"symbol_error": 12, "packet_seq_err": 3}
    assert read_counters("mlx5_9", 1, str(tmp_path)) == {}
