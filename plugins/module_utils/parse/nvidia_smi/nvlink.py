# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``nvidia-smi nvlink --status`` and ``--errorcounters``: the links of each GPU, and what they counted.

The counters have other names up to Hopper (Replay, Recovery, CRC) than from Blackwell on; all are taken as they come.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Dict, Iterable, List, Optional, Tuple

from ...errors import ParseError
from ..text import unprefixed

__all__ = ["NvlinkGpu", "parse_nvidia_smi_nvlink"]

TOOL = "nvidia-smi nvlink"

#   GPU 0: NVIDIA GB200 (UUID: GPU-11111111-2222-3333-4444-555555555555)
_GPU = re.compile(r"\s*GPU (\d+): (.*?)(?: \(UUID: (\S+)\))?\s*$")
#   Link 0: 53.125 GB/s   |   Link 1: <inactive>   |   Link 2: Replay Errors: 0   |   Link 2: Effective BER: 15e-255
_SPEED = re.compile(r"\s*Link (\d+): ([\d.]+) GB/s\s*$")
_INACTIVE = re.compile(r"\s*Link (\d+): <inactive>\s*$", re.IGNORECASE)
_COUNTER = re.compile(r"\s*Link (\d+): (\S.*?): (\d+)\s*$")
#   NVML: Unable to retrieve NVLink information as all links are inActive
_ALL_DOWN = re.compile(r"\s*NVML: .*all links are inActive", re.IGNORECASE)
#   Device does not have or support Nvlink
_NONE = re.compile(r"\s*Device does not have or support Nvlink", re.IGNORECASE)
_KNOWN = re.compile(r"\s*(?:GPU \d+: |Link \d+: |NVML: |Device does not have or support Nvlink)", re.IGNORECASE)


@dataclass
class NvlinkGpu:
    """``links``: GB/s by link, None for one that is inactive. ``state``: "links", "all_inactive" or "none"."""

    index: int
    uuid: Optional[str]
    links: Dict[int, Optional[float]] = field(default_factory=dict)
    counters: Dict[int, Dict[str, int]] = field(default_factory=dict)
    state: str = "links"


def parse_nvidia_smi_nvlink(lines: Iterable[str]) -> Tuple[NvlinkGpu, ...]:
    gpus: List[NvlinkGpu] = []
    for _line_number, _label, text in unprefixed(lines, _KNOWN):
        gpu = _GPU.match(text)
        if gpu:
            gpus.append(NvlinkGpu(int(gpu.group(1)), gpu.group(3)))
        elif gpus:
            _take(gpus[-1], text)
    if not gpus:
        raise ParseError(TOOL, 0, "no GPU in it: give the output of 'nvidia-smi nvlink -s' or '-e'")
    return tuple(gpus)


def _take(gpu: NvlinkGpu, text: str) -> None:
    speed, counter = _SPEED.match(text), _COUNTER.match(text)
    inactive = _INACTIVE.match(text)
    if speed:
        gpu.links[int(speed.group(1))] = float(speed.group(2))
    elif inactive:
        gpu.links[int(inactive.group(1))] = None
    elif counter:
        gpu.counters.setdefault(int(counter.group(1)), {})[counter.group(2)] = int(counter.group(3))
    elif _ALL_DOWN.match(text):
        gpu.state = "all_inactive"
    elif _NONE.match(text):
        gpu.state = "none"
