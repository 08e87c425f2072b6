# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lines of perftest as data: titles, settings, what is known at all."""

from __future__ import annotations

import re
from typing import Optional, Tuple

__all__ = ["COMMAND", "COMMENT", "CUDA", "KNOWN", "SETTING", "TELLING", "test_name"]

# A table kept as a comment has "#" in front of each line; the tool itself prints it only at the head of the table.
_COMMENT = r"\s*#(?!bytes|iterations|,|flows)\s?(?=.)"
COMMENT = re.compile("^" + _COMMENT)
KNOWN = re.compile(
    r"""(?:%s)?\s*(?:
      -{20,}\s*$ | \#bytes | \#,\ usec
    | \d+\s+\d+\s+[\d.]+(?:\s+[-\d.]+|\s+nan|\s+-?inf)*\s*$ | [\d.]+\s*$
    | (?:RDMA_(?:Write|Read)|Send|Atomic|Raw|raw_)\S*.*\ (?:BW|Latency|Multicast|forwarding)\b.*Test
    | (?:Dual-port|Number\ of\ qps|Connection\ type|PCIe\ relax\ order|ibv_wr\*\ API|TX\ depth|RX\ depth|Post\ List
        |Recv\ Post\ List|CQ\ Moderation|CQE\ Poll\ Batch|Mtu|Link\ type|GID\ index2?|Max\ inline\ data|Outstand\ reads
        |rdma_cm\ QPs|Buffer\ size|Use\ (?:ROCm|MUSA)\ memory|Data\ ex\.\ method|NUMA\ node|Lock-free)\s*:
    | (?:local|remote)\ address:\ LID | GID:\ [\d:]+ | \*+\s*$ | \*\ Waiting\ for\ client | Waiting\ for\ client
    | Please\ run\ the\ same\ command | (?:\S*[$\#]\ )?(?:\S*/)?(?:ib_|raw_ethernet_)\w+(?:_bw|_lat)\b
    | (?:initializing\ CUDA|creating\ CUDA\ Ctx|cuMemAlloc|allocated\ GPU\ buffer|deallocating\ GPU
        |destroying\ current\ CUDA|Picking\ device)
    | Couldn't | Failed | Unable | Completion | Port\ number | Error: | VALIDATION | Did\ not\ get | Unexpected\ CM
    | Received\ \d+\ times | Parser | Invalid | Unsupported | Unrecognized | IB\ device | ethernet_ | rdma_ | pp_
    | failed\ to | scnt= | WARNING:\  | Max\ msg\ size | Changing\ to | Requested\ mtu | Conflicting\ CPU
    | Disabling\ dynamic | Perftest\ doesn't | CUDA\ DMA-BUF | Total\ Received
    )"""
    % _COMMENT.replace("#", r"\#"),
    re.VERBOSE,
)
COMMAND = re.compile(r"(?:^|[\s/#$])((?:ib|raw_ethernet)_\w+_(?:bw|lat))((?:\s+\S+)*)\s*$")
SETTING = re.compile(r"([A-Za-z_*][\w*. -]*?)\s*:\s*(\S+)")
CUDA = re.compile(
    r"\s*(?:initializing CUDA|creating CUDA Ctx|cuMemAlloc|allocated GPU buffer|deallocating GPU|Picking device)"
)
# Settings that no other tool prints.
TELLING = {"Dual-port", "Number of qps", "Connection type", "Link type", "TX depth", "Data ex. method"}

_TITLE = re.compile(r"\s*(RDMA_Write|RDMA_Read|Send|Atomic\S*|Raw\S*|raw_\S*)\s.*?\b(BW|Latency)\b")
_NAMES = {"RDMA_Write": "ib_write", "RDMA_Read": "ib_read", "Send": "ib_send"}


def test_name(title: str) -> Tuple[Optional[str], Optional[str], bool]:
    """(program, kind, bidirectional) of a title: "RDMA_Write Bidirectional BW Test"."""
    match = _TITLE.match(title)
    if match is None:
        return None, None, False
    verb, what = match.groups()
    base = _NAMES.get(verb) or ("ib_atomic" if verb.startswith("Atomic") else "raw_ethernet")
    kind = "bw" if what == "BW" else "lat"
    return "%s_%s" % (base, kind), kind, "Bidirectional" in title
