# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""perftest's messages, as a table: the line, what it is called, how much it says about the cause."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Dict, Optional, Pattern, Tuple

__all__ = ["COMPLETION_NAMES", "MESSAGES", "WARNINGS", "Failure", "read_failure"]


@dataclass(frozen=True)
class Failure:
    """``weight`` decides between several: 4 is the cause itself, 1 what follows from anything."""

    word: str
    weight: int
    detail: str
    values: Dict[str, str]


# ibv_wc_status of rdma-core.
COMPLETION_NAMES = (
    "IBV_WC_SUCCESS",
    "IBV_WC_LOC_LEN_ERR",
    "IBV_WC_LOC_QP_OP_ERR",
    "IBV_WC_LOC_EEC_OP_ERR",
    "IBV_WC_LOC_PROT_ERR",
    "IBV_WC_WR_FLUSH_ERR",
    "IBV_WC_MW_BIND_ERR",
    "IBV_WC_BAD_RESP_ERR",
    "IBV_WC_LOC_ACCESS_ERR",
    "IBV_WC_REM_INV_REQ_ERR",
    "IBV_WC_REM_ACCESS_ERR",
    "IBV_WC_REM_OP_ERR",
    "IBV_WC_RETRY_EXC_ERR",
    "IBV_WC_RNR_RETRY_EXC_ERR",
    "IBV_WC_LOC_RDD_VIOL_ERR",
    "IBV_WC_REM_INV_RD_REQ_ERR",
    "IBV_WC_REM_ABORT_ERR",
    "IBV_WC_INV_EECN_ERR",
    "IBV_WC_INV_EEC_STATE_ERR",
    "IBV_WC_FATAL_ERR",
    "IBV_WC_RESP_TIMEOUT_ERR",
    "IBV_WC_GENERAL_ERR",
)

MESSAGES: Tuple[Tuple[str, int, Pattern[str]], ...] = tuple(
    (word, weight, re.compile(r"\s*(?:%s)" % pattern))
    for word, weight, pattern in (
        ("completion_error", 4, r"Failed status (?P<status>\d+): wr_id \d+ syndrom (?P<syndrome>0x[0-9a-f]+)"),
        ("completion_error", 4, r"Failed status-.*\((?P<status>\d+)\):(?:.*syndrom (?P<syndrome>0x[0-9a-f]+))?"),
        ("completion_error", 3, r"Completion with error at "),
        ("port_down", 4, r"Port number (?P<port>\d+) state is Down"),
        ("qp_to_rtr_failed", 4, r"Failed to modify (?:\w+ )?QP (?:\d+ |0x\w+ )?to RTR"),
        ("gpu_memory_registration_failed", 4, r"(?:Couldn't allocate MR|failed to create mr|Failed to create MR)"),
        ("tcp_connect_failed", 4, r"Couldn't connect to (?P<peer>\S+)"),
        ("below_bw_limit", 4, r"Error: BW result is below bw limit"),
        ("below_bw_limit", 4, r"Error: Msg rate +is below msg_rate limit"),
        ("data_validation_failed", 4, r"VALIDATION: (?:FAILED|WARNING)"),
        ("hang", 4, r"Did not get Message for \d+ Seconds"),
        ("rdma_cm_failed", 3, r"(?:Unexpected CM event|Received \d+ times ADDR_ERROR|Unable to connect \(retries)"),
        ("bad_argument", 3, r"Parser function exited with Error"),
        ("bad_argument", 3, r"(?:Invalid|Unsupported|Unrecognized) .*(?:argument|option|value|command)"),
        ("device_not_found", 3, r"Unable to find the Infiniband/RoCE device"),
        ("device_not_found", 3, r"IB device \S+ not found"),
        ("peer_closed_during_exchange", 3, r"Unable to read/write to socket/rdma_cm"),
        (
            "peer_closed_during_exchange",
            3,
            r"(?:ethernet_\w+|rdma_\w+|pp_read_keys|pp_write_keys): Couldn't (?:read|write)",
        ),
        ("peer_closed_during_exchange", 3, r"Couldn't read remote address"),
        ("peer_closed_during_exchange", 2, r"Failed to exchange data between server and client"),
        ("tcp_connect_failed", 2, r"Unable to (?:open file descriptor for socket|init the socket) connection"),
        ("qp_to_rtr_failed", 2, r"Unable to Connect the HCA's through the link"),
        ("resources_failed", 2, r"Couldn't create IB resources"),
        ("device_failed", 1, r"Couldn't (?:set the link layer|get context for the device|get device)"),
        ("run_failed", 1, r"Failed to complete run_iter_\w+ function successfully"),
    )
)

# The run measures something else than was asked for; it is no failure.
WARNINGS = re.compile(
    r"\s*(?:WARNING: .*|Max msg size in UD is .*|Changing to this MTU|Requested mtu is higher than .*"
    r"|Changing to active mtu.*|Conflicting CPU frequency values .*"
    r"|Disabling dynamic polling.*|.*inline size set to 0)\s*$"
)


def read_failure(text: str) -> Optional[Failure]:
    for word, weight, pattern in MESSAGES:
        match = pattern.match(text)
        if match:
            values = {key: value for key, value in match.groupdict().items() if value}
            return Failure(word, weight, text.strip(), values)
    return None
