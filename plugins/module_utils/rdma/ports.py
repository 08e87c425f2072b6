# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a TCP port of this host is listened on. Asked of the kernel, so that nobody has to connect to find out."""

from __future__ import annotations

import contextlib

__all__ = ["listening"]

_TABLES = ("/proc/self/net/tcp", "/proc/self/net/tcp6")
_LISTEN = "0A"


def listening(port: int) -> bool:
    wanted = ":%04X" % port
    for table in _TABLES:
        with contextlib.suppress(OSError), open(table, encoding="ascii") as stream:
            for line in stream:
                fields = line.split(None, 4)
                if len(fields) > 3 and fields[3] == _LISTEN and fields[1].endswith(wanted):
                    return True
    return False
