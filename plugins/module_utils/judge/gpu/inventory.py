# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Are the right GPUs there, with the right driver, and does none of them ask for help?"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Set

from ...finding import Finding
from .base import GpuExpected, Judge

__all__ = ["judge_count", "judge_driver", "judge_inforom", "judge_product", "judge_recovery"]

_EXPECT = "say what the machine has: gpu in the recipe, or gpu_expected in the inventory"
_LOST = "drain and boot the machine; if the GPU stays away, report the host as faulty"


def judge_count(host: str, reading: Dict[str, Any], expected: GpuExpected) -> List[Finding]:
    judge, found = Judge(host, "count"), len(reading["gpus"])
    lost = [
        judge.fail("%s is lost or does not answer" % name, "lost", "answers", _LOST, port=name)
        for name in reading["lost"]
    ]
    if lost:
        return lost
    if expected.count is None:
        message = "%d GPUs, and nothing says how many there should be" % found
        return [judge.unknown(message, _EXPECT)]
    if found != expected.count:
        return [
            judge.fail("%d GPUs instead of %d" % (found, expected.count), found, expected.count, _LOST, unit="GPUs")
        ]
    return [judge.ok("%d GPUs" % found, found, expected.count)]


def judge_product(host: str, reading: Dict[str, Any], expected: GpuExpected) -> List[Finding]:
    judge = Judge(host, "product")
    names = sorted({str(gpu["name"]) for gpu in reading["gpus"]})
    if not names:
        return []
    if expected.product is None:
        return [judge.unknown("%s, and nothing says what it should be" % ", ".join(names), _EXPECT)]
    wanted = _words(expected.product)
    wrong = [name for name in names if not wanted <= _words(name)]
    if wrong or len(names) > 1:
        message = "%s instead of %s" % (", ".join(names), expected.product)
        return [judge.fail(message, names, expected.product, "is this the machine that the inventory means?")]
    return [judge.ok(names[0], names[0], expected.product)]


def _words(name: str) -> Set[str]:
    """NVIDIA-A800-SXM4-80GB is NVIDIA A800-SXM4-80GB, and GB200 is in NVIDIA GB200, but B200 is not."""
    return set(re.findall(r"[a-z0-9]+", name.lower()))


def judge_driver(host: str, reading: Dict[str, Any], expected: GpuExpected) -> List[Finding]:
    judge = Judge(host, "driver")
    versions = sorted({str(gpu["driver_version"]) for gpu in reading["gpus"]})
    if not versions:
        return []
    text = ", ".join(versions)
    if len(versions) > 1:
        return [judge.fail("several driver versions: %s" % text, versions, expected.driver, "install one driver")]
    if expected.driver is not None and versions != [expected.driver]:
        message = "driver %s instead of %s" % (text, expected.driver)
        return [judge.fail(message, text, expected.driver, "install the recipe's driver, or change the recipe")]
    return [judge.ok("driver %s" % text, text, expected.driver)]


def judge_recovery(host: str, reading: Dict[str, Any], _expected: GpuExpected) -> List[Finding]:
    """gpu_recovery_action: what the driver itself asks for. Drivers before 565 do not have it."""
    judge = Judge(host, "recovery")
    asked = {gpu["index"]: gpu["gpu_recovery_action"] for gpu in reading["gpus"] if gpu["gpu_recovery_action"]}
    found = [
        judge.fail("the driver asks for: %s" % action, action, "None", "drain the node, then do that", gpu=index)
        for index, action in asked.items()
        if action != "None"
    ]
    return judge.or_ok(found, "the driver asks for no recovery") if asked else []


def judge_inforom(host: str, reading: Dict[str, Any], _expected: GpuExpected) -> List[Finding]:
    judge = Judge(host, "inforom")
    remedy = "the GPU forgets its error history; report the host as faulty"
    return [judge.warn(text, "corrupted", "readable", remedy) for text in reading["warnings"]]
