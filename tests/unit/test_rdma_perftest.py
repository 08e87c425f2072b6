# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""perftest on a rail: its command line, its library path, and what its output is worth."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.devices import Endpoint
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.outcome import Reading
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.perftest import (
    Settings,
    command,
    library_path,
    read_output,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.process import RC_NOT_EXECUTABLE
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import (
    RC_FLOODED,
    RC_NOT_FOUND,
    RC_TIMEOUT,
    CommandResult,
)

FIXTURES = Path(__file__).parent / "fixtures" / "perftest"
LINE = "-" * 87
TABLE = f"""{LINE}
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
{LINE}
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             392.10             391.80 \t\t     0.747299
{LINE}
"""
NIC = Endpoint("mlx5_2", 1, 3, "400G", "72-143")


@pytest.mark.parametrize(
    ("settings", "endpoint", "test", "address", "wanted"),
    [
        pytest.param(
            Settings(), NIC, "ib_write_bw", None,
            "taskset -c 72-143 ib_write_bw -d mlx5_2 -i 1 -p 18601 -F -x 3 --report_gbits -s 1048576 -D 3 -q 2",
            id="server-on-its-numa-node",
        ),
        pytest.param(
            Settings(size_bytes=65536, qps=1, memory="gpu", gpu=2), Endpoint("mlx5_0", 1, 0, "400G"), "ib_write_bw",
            "10.0.4.12",
            "ib_write_bw -d mlx5_0 -i 1 -p 18601 -F -x 0 --report_gbits -s 65536 -D 3 -q 1 --use_cuda=2 10.0.4.12",
            id="client-from-gpu-memory",
        ),
        pytest.param(
            Settings(), Endpoint("mlx5_0", 2, None, "400G"), "ib_write_lat", "10.0.4.12",
            "ib_write_lat -d mlx5_0 -i 2 -p 18601 -F -s 8 -n 1000 10.0.4.12",
            id="latency-on-infiniband",
        ),
    ],
)  # fmt: skip
def test_command_lines(settings: Settings, endpoint: Endpoint, test: str, address: str | None, wanted: str) -> None:
    assert command(settings, endpoint, test, 18601, address) == wanted.split()


@pytest.mark.parametrize(
    ("result", "wanted"),
    [
        pytest.param(CommandResult(0, TABLE, ""), Reading("ok", 391.8, "Gb/s", 65536), id="good"),
        pytest.param(
            CommandResult(RC_NOT_FOUND, "", "ib_write_bw: No such file or directory"),
            Reading("unknown", detail="ib_write_bw is not installed; install perftest"),
            id="missing",
        ),
        pytest.param(
            CommandResult(RC_NOT_EXECUTABLE, TABLE, ""),
            Reading("unknown", detail="ib_write_bw may not be executed; install perftest anew"),
            id="not-executable",
        ),
        pytest.param(
            CommandResult(0, "", ""),
            Reading("unknown", detail="ib_write_bw: exit status 0 and nothing readable"),
            id="prints-nothing",
        ),
        pytest.param(
            CommandResult(0, TABLE, " Completion with error at client\n Failed status 12: wr_id 0 syndrom 0x81\n"),
            Reading(
                "fault",
                detail="ib_write_bw: the run is not healthy: completion_error: Failed status 12: wr_id 0 syndrom 0x81",
            ),
            id="exit-0-with-an-error-text",
        ),
        pytest.param(
            CommandResult(1, TABLE, ""),
            Reading("unknown", detail="ib_write_bw: a table, but exit status 1: " + " ".join(TABLE.split())[-400:]),
            id="exit-1-with-a-good-table",
        ),
        pytest.param(
            CommandResult(RC_TIMEOUT, TABLE, "ib_write_bw: no end after 30 s"),
            Reading("unknown", detail="ib_write_bw did not end in time: ib_write_bw: no end after 30 s"),
            id="hangs-after-a-good-table",
        ),
        pytest.param(
            CommandResult(RC_FLOODED, TABLE, ""),
            Reading("unknown", detail="ib_write_bw printed without end and was stopped"),
            id="floods-after-a-good-table",
        ),
        pytest.param(
            CommandResult(0, TABLE[: TABLE.rindex(LINE)], ""),
            Reading("unknown", detail="ib_write_bw: the run is not healthy: no_footer"),
            id="cut-before-its-end",
        ),
        pytest.param(
            CommandResult(0, TABLE.replace("RDMA_Write", "Send"), ""),
            Reading("unknown", detail="ib_write_bw was asked for, ib_send_bw has answered"),
            id="another-test",
        ),
        pytest.param(
            CommandResult(
                1, "", "Couldn't connect to 10.0.4.12:18601\nUnable to open file descriptor for socket connection"
            ),
            Reading(
                "unknown",
                detail="ib_write_bw: the run is not healthy: tcp_connect_failed: Couldn't connect to 10.0.4.12:18601",
                again=True,
            ),
            id="server-not-there-yet",
        ),
    ],
)
def test_only_a_whole_table_with_exit_status_0_is_a_figure(result: CommandResult, wanted: Reading) -> None:
    assert read_output("ib_write_bw", result) == wanted


def test_a_recorded_latency_of_soft_roce() -> None:
    text = (FIXTURES / "08-lat-rxe-wide-spread.txt").read_text()
    reading = read_output("ib_write_lat", CommandResult(0, text, ""))
    assert (reading.state, reading.unit) in (("ok", "us"), ("unknown", ""))
    assert (reading.value is not None) == (reading.state == "ok")


@pytest.mark.parametrize("folder", ["/usr/lib/aarch64-linux-gnu", "/usr/lib64"])
def test_the_systems_libibverbs_comes_before_that_of_gib(tmp_path: Path, folder: str) -> None:
    """gIB's images have LD_LIBRARY_PATH=/usr/local/gib/lib64, where another libibverbs is."""
    for place in (folder, "/usr/local/gib/lib64"):
        (tmp_path / place.lstrip("/")).mkdir(parents=True)
        (tmp_path / place.lstrip("/") / "libibverbs.so.1").touch()
    assert library_path(str(tmp_path), "aarch64") == {"LD_LIBRARY_PATH": folder, "LD_PRELOAD": ""}


def test_without_libibverbs_nothing_foreign_is_left_on_the_path(tmp_path: Path) -> None:
    assert library_path(str(tmp_path), "x86_64") == {"LD_LIBRARY_PATH": "", "LD_PRELOAD": ""}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        pytest.param({"memory": "device"}, "memory: 'device' is unknown; allowed: host, gpu", id="memory"),
        pytest.param({"duration": 0.2}, "duration: 0.2 s is too short", id="duration"),
    ],
)
def test_bad_settings_say_what_is_allowed(wrong: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Settings(**wrong)  # type: ignore[arg-type]
