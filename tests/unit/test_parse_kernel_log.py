# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Xid in the kernel's log, and the table that says what they mean."""

from __future__ import annotations

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Severity
from ansible_collections.gpufleet.cluster.plugins.module_utils.gpu.xid_table import XIDS, judged
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.kernel_log import (
    KernelLog,
    XidEvents,
    parse_kernel_log,
)

NETIR = "149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x025525c6 0x00000000)"


@pytest.mark.parametrize(
    ("line", "want"),
    [
        pytest.param(
            "2026-11-30T23:00:01+0000 w1 kernel: NVRM: Xid (PCI:0000:2b:00): 79, GPU has fallen off the bus.",
            ("Xid", "0000:2b:00", 79, "2026-11-30T23:00:01+0000", "GPU has fallen off the bus.", False),
            id="journal",
        ),
        pytest.param(
            f"[171167.620236] NVRM: Xid (PCI:0009:01:00): {NETIR}",
            (
                "Xid",
                "0009:01:00",
                149,
                "[171167.620236]",
                "NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x025525c6 0x00000000)",
                True,
            ),
            id="dmesg-nvlink-5-fatal",
        ),
        pytest.param(
            "[1.0] NVRM: Xid (PCI:0009:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x1)",
            ("Xid", "0009:01:00", 145, "[1.0]", "RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x1)", False),
            id="nvlink-5-nonfatal",
        ),
        pytest.param(
            "Dec 23 23:32:23 rescue kernel: [  266.469093] NVRM: Xid (0000:01:00): 69, Class Error: ChId 0005",
            ("Xid", "0000:01:00", 69, "Dec 23 23:32:23", "Class Error: ChId 0005", False),
            id="old-without-pci",
        ),
        pytest.param(
            "[1.0] NVRM: Xid (PCI:0000:01:00 GPU-I:05): 43, pid=1234, name=python, Ch 00000008",
            ("Xid", "0000:01:00", 43, "[1.0]", "pid=1234, name=python, Ch 00000008", False),
            id="mig-instance",
        ),
        pytest.param(
            "[1.0] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
            ("SXid", "0000:c1:00", 12028, "[1.0]", "Non-fatal, Link 32 egress non-posted PRIV error", False),
            id="nvswitch-non-fatal",
        ),
        pytest.param(
            "[1.0] nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 32 LTSSM Fault Up",
            ("SXid", "0000:c1:00", 20034, "[1.0]", "Fatal, Link 32 LTSSM Fault Up", True),
            id="nvswitch-fatal",
        ),
        pytest.param("[1.0] NVRM: GPU at PCI:0000:01:00: GPU-1234", None, id="no-event"),
        pytest.param("[1.0] NVRM: Xid error: xyz, invalid data", None, id="no-number"),
    ],
)
def test_lines(line: str, want: tuple[str, str, int, str, str, bool] | None) -> None:
    log = parse_kernel_log([line])
    got = [(e.kind, e.device, e.number, e.last_time, e.last, e.fatal) for e in log.events]
    assert got == ([] if want is None else [want])


def test_events_of_one_kind_are_counted() -> None:
    lines = ["[0.0] Linux version 6.8.0"]
    lines += [f"[{second}.0] NVRM: Xid (PCI:0000:2b:00): 31, pid={second}" for second in range(1, 10_001)]
    assert parse_kernel_log(lines) == KernelLog(
        10_001, True, "[0.0]", (XidEvents("Xid", "0000:2b:00", 31, 10_000, "[1.0]", "[10000.0]", "pid=10000", False),)
    )


@pytest.mark.parametrize(
    ("first", "whole"),
    [
        ("[    0.000000] Linux version 6.8.0-40-generic (buildd@host)", True),
        ("[    0.000000] Booting Linux on physical CPU 0x0000000000 [0x410fd4f0]", True),
        ("[ 6416.594688] eth0: link up", False),
    ],
)
def test_whole_log_begins_with_the_boot(first: str, whole: bool) -> None:
    assert parse_kernel_log([first, "[9.0] more"]).whole is whole


def event(number: int, text: str = "", fatal: bool = False, kind: str = "Xid") -> XidEvents:
    return XidEvents(kind, "0000:2b:00", number, 1, "", "", text, fatal)


@pytest.mark.parametrize(
    ("events", "want"),
    [
        pytest.param(event(31), "WARN", id="of-the-application"),
        pytest.param(event(48), "FAIL", id="of-the-gpu"),
        pytest.param(event(9999), "WARN", id="not-in-the-table"),
        pytest.param(event(149, fatal=True), "FAIL", id="nvlink-5-fatal"),
        pytest.param(event(149), "WARN", id="nvlink-5-nonfatal"),
        pytest.param(
            event(154, "GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"), "FAIL", id="asks"
        ),
        pytest.param(
            event(154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"), "WARN", id="done"
        ),
        pytest.param(event(20034, fatal=True, kind="SXid"), "FAIL", id="nvswitch-fatal"),
        pytest.param(event(79, kind="SXid"), "WARN", id="nvswitch-numbers-are-their-own"),
        pytest.param(event(106), "OK", id="test-message"),
    ],
)
def test_severity(events: XidEvents, want: str) -> None:
    assert judged(events).severity.name == want


def test_table_is_in_order_and_complete() -> None:
    numbers = [xid.number for xid in XIDS]
    assert numbers == sorted(set(numbers))
    assert [xid.number for xid in XIDS if not xid.meaning or (not xid.remedy and xid.severity is not Severity.OK)] == []
