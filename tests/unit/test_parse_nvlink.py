# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi nvlink -s`` and ``-e``, of Hopper and of Blackwell."""

from __future__ import annotations

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError
from ansible_collections.gpufleet.cluster.plugins.module_utils.gpu.nvlink_counters import counted
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.nvidia_smi.nvlink import (
    NvlinkGpu,
    parse_nvidia_smi_nvlink,
)

UUID = "GPU-11111111-1111-1111-1111-111111111111"
STATUS = f"""GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA H100 80GB HBM3
NVML: Unable to retrieve Nvlink information as all links are inActive
GPU 2: NVIDIA RTX A4000
Device does not have or support Nvlink
"""
ERRORS = f"""GPU 0: NVIDIA H100 80GB HBM3 (UUID: {UUID})
         Link 0: Replay Errors: 1
         Link 0: Recovery Errors: 0
         Link 0: CRC Errors: 12

         Link 1: Effective BER: 15e-255
         Link 1: FEC Errors - 0: 36140749276
         Link 1: Link recovery failed events: 2
"""
READ_STATUS = (
    NvlinkGpu(0, UUID, {0: 26.562, 1: None}, {}, "links"),
    NvlinkGpu(1, None, {}, {}, "all_inactive"),
    NvlinkGpu(2, None, {}, {}, "none"),
)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(STATUS, READ_STATUS, id="status"),
        pytest.param("".join(f"w1: {line}\n" for line in STATUS.splitlines()), READ_STATUS, id="pdsh"),
        pytest.param(
            ERRORS,
            (
                NvlinkGpu(
                    0,
                    UUID,
                    {},
                    {
                        0: {"Replay Errors": 1, "Recovery Errors": 0, "CRC Errors": 12},
                        1: {"FEC Errors - 0": 36140749276, "Link recovery failed events": 2},
                    },
                ),
            ),
            id="errors",
        ),
    ],
)
def test_reading(text: str, want: tuple[NvlinkGpu, ...]) -> None:
    assert parse_nvidia_smi_nvlink(text.splitlines(keepends=True)) == want


@pytest.mark.parametrize("text", ["", "nvidia-smi: command not found\n", "NVML: ERROR_UNKNOWN\n"])
def test_nothing_in_it(text: str) -> None:
    with pytest.raises(ParseError, match="nvidia-smi nvlink: no GPU in it"):
        parse_nvidia_smi_nvlink(text.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("CRC Errors", True),
        ("Tx discards", True),
        ("Something new Errors", True),
        ("FEC Errors - 3", False),
        ("Total link recovery events", False),
        ("Effective BER", False),
        ("Tx packets", False),
        ("Rx bytes", False),
    ],
)
def test_what_counts_as_an_error(name: str, want: bool) -> None:
    assert counted(name) is want
