"""perftest: the kinds of text that the recorded ones do not show. Built after the format strings of the source."""
# ruff: noqa: E501  (lines of tool output are as wide as the tool prints them)

from __future__ import annotations

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError

from tests.unit.parse_cases import reading_of, shown

DASHES = "-" * 87 + "\n"
HEAD = (
    DASHES
    + "                    RDMA_Write BW Test\n"
    + " Dual-port       : OFF\t\tDevice         : mlx5_2\n Number of qps   : 2\t\tTransport type : IB\n"
    + " Connection type : RC\t\tUsing SRQ      : OFF\n Mtu             : 4096[B]\n Link type       : Ethernet\n GID index       : 3\n"
    + DASHES
)
BW = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
ROW = " 65536      5000             392.10             391.80 \t\t     0.747299\n"
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    "   99% percentile[usec]   99.9% percentile[usec] \n"
)


def check(text: str, want: dict[str, object]) -> None:
    assert shown(want, reading_of("perftest", text)) == want


GOOD = {"ok": True, "complete": True, "failure": None, "rows": 1}
TABLES = {
    "plain": (
        HEAD + BW + ROW + DASHES,
        GOOD | {"test": "ib_write_bw", "device": "mlx5_2", "bw_average_gbps": 391.8, "num_qps": 2},
    ),
    "old_without_message_rate": (
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]\n 65536      5000             2900.10   2899.00\n"
        + DASHES,
        GOOD | {"unit": "MB/sec", "bw_average_gbps": 24.32, "msg_rate_mpps": None, "complete": True},
    ),
    "cpu_column": (
        HEAD + BW.rstrip("\n") + "    CPU_Util[%]\n" + ROW.rstrip("\n") + "\t    3.12\n" + DASHES,
        GOOD | {"bw_average": 391.8, "msg_rate_mpps": 0.747299},
    ),
    "service_level_column": (
        HEAD
        + " #bytes     #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
        + " 65536      0        5000             392.10             391.80 \t\t     0.747299\n"
        + DASHES,
        GOOD | {"iterations": 5000, "bw_average": 391.8},
    ),
    "two_ports": (
        HEAD
        + BW.rstrip("\n")
        + "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n"
        + ROW.rstrip("\n")
        + "  196.1 0.37 195.7 0.37\n"
        + "-" * 163
        + "\n",
        GOOD | {"bw_average": 391.8},
    ),
    "noise_between_header_and_row": (
        HEAD
        + BW
        + "Conflicting CPU frequency values detected: 800.0 != 3500.0. CPU Frequency is not max.\n"
        + ROW
        + DASHES,
        GOOD | {"bw_average": 391.8},
    ),
    "old_latency_three_times": (
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2       1000          0.90           6.84         0.98\n"
        + DASHES,
        GOOD | {"kind": "lat", "t_typical": 0.98, "t_avg": None},
    ),
    "send_latency": (
        HEAD.replace("RDMA_Write BW", "Send Latency")
        + LATENCY
        + " 2 1000 1.42 1.93 1.47 \t 1.47 \t0.02 \t\t1.57 \t\t1.93 \n"
        + DASHES,
        GOOD | {"test": "ib_send_lat", "kind": "lat", "p99_9": 1.93, "t_stdev": 0.02},
    ),
    "atomic": (
        HEAD.replace("RDMA_Write BW", "Atomic FETCH_AND_ADD BW") + BW + ROW + DASHES,
        GOOD | {"test": "ib_atomic_bw"},
    ),
    "raw_ethernet": (
        HEAD.replace("RDMA_Write BW", "Send BW").replace(": RC", ": RawEth") + BW + ROW + DASHES,
        GOOD | {"test": "raw_ethernet_bw"},
    ),
    "row_without_header_in_the_window": (ROW + DASHES, GOOD | {"unit": "Gb/sec", "unit_source": "inferred"}),
    "command_kept": (
        "$ ib_read_bw -d mlx5_1 -a 192.0.2.2\n" + BW + ROW + DASHES,
        GOOD | {"test": "ib_read_bw", "role": "client"},
    ),
    "command_of_the_server": (
        "$ ib_read_bw -d mlx5_1\n" + BW + ROW + DASHES,
        GOOD | {"test": "ib_read_bw", "role": "server"},
    ),
    "validation_passed": (HEAD + BW + ROW + DASHES + "VALIDATION: PASSED\n", GOOD),
    "no_closing_dashes": (HEAD + BW + ROW, {"ok": False, "complete": False, "failure": "no_footer", "rows": 1}),
    "nan": (HEAD + BW + ROW.replace("391.80", "nan") + DASHES, {"ok": False, "rows": 0, "damaged_rows": 1}),
    "cut_row": (
        HEAD + BW + ROW + ROW[:45] + "\n" + DASHES,
        {"ok": False, "rows": 1, "damaged_rows": 1, "failure": "unparsable_values"},
    ),
    "bare_latency": ("1.47\n", {"ok": True, "rows": 1, "unit": None, "bw_average_gbps": None}),
}


@pytest.mark.parametrize(("text", "want"), TABLES.values(), ids=TABLES)
def test_table(text: str, want: dict[str, object]) -> None:
    check(text, want)


MESSAGES = {
    "new_completion_error": (
        HEAD
        + BW
        + " Completion with error at client\n Failed status-transport retry counter exceeded (12): wr_id 0 syndrom 0x81\nscnt=1, ccnt=0\n",
        {
            "failure": "completion_error",
            "completion_status": 12,
            "completion_status_name": "IBV_WC_RETRY_EXC_ERR",
            "vendor_syndrome": "0x81",
        },
    ),
    "gpu_memory": (
        "initializing CUDA\nCouldn't allocate MR\nfailed to create mr\n Couldn't create IB resources\n",
        {"failure": "gpu_memory_registration_failed", "cuda": True},
    ),
    "peer_died": (
        HEAD + " Unable to read/write to socket/rdma_cm\n Failed to exchange data between server and clients\n",
        {"failure": "peer_closed_during_exchange"},
    ),
    "keys": (
        "ethernet_read_keys: Couldn't read remote address\n Unable to read to socket/rdma_cm\n",
        {"failure": "peer_closed_during_exchange"},
    ),
    "connect_two_lines": (
        "Couldn't connect to node-b:18515\nUnable to open file descriptor for socket connection\n Unable to init the socket connection\n",
        {"failure": "tcp_connect_failed", "peer": "node-b:18515", "role": "client"},
    ),
    "no_device": (" Unable to find the Infiniband/RoCE device\n", {"failure": "device_not_found"}),
    "silent_peer": (
        HEAD + " Did not get Message for 120 Seconds, exiting..\n Total Received=1, Total Iters Required=5000\n",
        {"failure": "hang"},
    ),
    "message_rate_limit": (
        HEAD + BW + ROW + DASHES + "Error: Msg rate  is below msg_rate limit\n",
        {"failure": "below_bw_limit", "rows": 1},
    ),
    "data_check": (
        HEAD + BW + ROW + DASHES + "VALIDATION: FAILED at byte 7\n",
        {"failure": "data_validation_failed", "rows": 1},
    ),
    "good_table_then_error": (
        HEAD + BW + ROW + DASHES + " Failed to complete run_iter_bw function successfully\n",
        {"rows": 1},
    ),
}


@pytest.mark.parametrize(("text", "want"), MESSAGES.values(), ids=MESSAGES)
def test_message_is_never_ok(text: str, want: dict[str, object]) -> None:
    check(text, {"ok": False} | want)


OLD_JSON = """{
test_info: {
test: RDMA_Write_Bidirectional_BW_Test,
Dual_port : OFF,
Device : mlx5_0,
Number_of_qps : 2,
Connection_type : RC,
TX_depth : 128,
Mtu : 4096,
Link_type : IB,
},
results: {
MsgSize: 65536,
n_iterations: 5000,
BW_peak: 780.10,
BW_average: 779.50,
MsgRate: 1.486778,
},
}
"""
JSON = {
    "before_2024_unquoted": (
        OLD_JSON,
        GOOD
        | {
            "test": "ib_write_bw",
            "bidirectional": True,
            "device": "mlx5_0",
            "num_qps": 2,
            "unit": "Gb/sec",
            "bw_average_gbps": 779.5,
        },
    ),
    "trailing_comma": (
        '{"test_info": {"test": "RDMA_Read_BW_Test"},\n"results": {\n"bw_avg": 390.12,\n}\n}\n',
        GOOD | {"bw_average": 390.12, "unit": None},
    ),
    "latency": (
        '{"test_info": {"test": "Send_Latency_Test", "Mtu": 4096},\n"results": {"MsgSize": 2, "n_iterations": 1000, "t_min": 0.9, "t_max": 6.8,'
        ' "t_typical": 0.98, "t_avg": 1.03, "t_stdev": 0.2, "percentile_99": 1.2, "percentile_99.9": 5.4}}',
        GOOD
        | {"test": "ib_send_lat", "kind": "lat", "t_avg": 1.03, "p99": 1.2, "p99_9": 5.4, "unit": "usec", "mtu": 4096},
    ),
    "not_closed": (OLD_JSON[:-4], {"ok": False, "complete": False, "failure": "no_footer"}),
    "no_results": ('{"test_info": {"test": "RDMA_Write_BW_Test"}}', {"ok": False, "rows": 0}),
}


@pytest.mark.parametrize(("text", "want"), JSON.values(), ids=JSON)
def test_json(text: str, want: dict[str, object]) -> None:
    check(text, want)


@pytest.mark.parametrize("end", range(1, len(OLD_JSON) - 3, 9))
def test_json_cut_anywhere_is_never_ok(end: int) -> None:
    try:
        assert reading_of("perftest", OLD_JSON[:end])["ok"] is False
    except ParseError as error:
        assert end < OLD_JSON.index("results"), error  # noqa: PT017


NOT_OURS = {
    "empty": "",
    "binary": "\x00\x7fELF\ufffd",
    "missing": "bash: ib_write: command not found\n",
    "other": "PING 192.0.2.1\n1 2 3\n",
    "integer": "12\n",
}


@pytest.mark.parametrize("text", NOT_OURS.values(), ids=NOT_OURS)
def test_text_of_something_else_is_not_read(text: str) -> None:
    with pytest.raises(ParseError, match=r"^perftest: "):
        reading_of("perftest", text)
