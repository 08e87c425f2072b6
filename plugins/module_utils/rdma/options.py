# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What check_rdma and ib_write_bw take alike: how a NIC is measured."""

from __future__ import annotations

from typing import Any, Dict, Mapping

from ..errors import ConfigError
from .perftest import MEMORY, TESTS, Settings

__all__ = ["MEASURING", "settings_of"]

MEASURING: Dict[str, Dict[str, Any]] = {
    "tests": {"type": "list", "elements": "str", "choices": list(TESTS), "default": ["ib_write_bw", "ib_write_lat"]},
    "duration": {"type": "int", "default": 3},
    "size_bytes": {"type": "int", "default": 1048576},
    "iterations": {"type": "int", "default": 1000},
    "qps": {"type": "int", "default": 2},
    "memory": {"type": "str", "choices": list(MEMORY), "default": "host"},
    "gpu": {"type": "int"},
    "sku": {"type": "str"},
}


def settings_of(options: Mapping[str, Any], prefix: str = "") -> Settings:
    """Raises ConfigError, with ``prefix`` before the names of the options."""
    if options["limit"] <= options["duration"]:
        raise ConfigError(
            "%slimit (%g s) must be longer than %sduration (%d s)"
            % (prefix, options["limit"], prefix, options["duration"])
        )
    return Settings(
        duration=options["duration"],
        size_bytes=options["size_bytes"],
        iterations=options["iterations"],
        qps=options["qps"],
        memory=options["memory"],
        gpu=options["gpu"],
    )
