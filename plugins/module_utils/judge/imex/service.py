# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who runs the daemon, and what the driver offers."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from ...finding import Finding, Severity
from .base import ROLE, Judge

__all__ = ["judge_channels", "judge_driver", "judge_service_off", "judge_service_on"]

_MASK = "systemctl disable --now nvidia-imex && systemctl mask nvidia-imex: only one of both may run the daemon"


def judge_driver(judge: Judge, reading: Dict[str, Any]) -> Finding:
    if "channel_major" in reading["unread"]:
        reason = reading["unread"]["channel_major"]
        return judge(Severity.UNKNOWN, "driver", reason, remedy="see that /proc is mounted")
    major = reading["channel_major"]
    if major is None:
        message = "the driver offers no IMEX channels (nvidia-caps-imex-channels is not in /proc/devices)"
        return judge(
            Severity.FAIL, "driver", message, (None, "a major number"), "is the driver loaded, and that of GB200?"
        )
    return judge(Severity.OK, "driver", "the driver offers IMEX channels (major %d)" % major, (major, None))


def judge_channels(judge: Judge, reading: Dict[str, Any]) -> Finding:
    """In the other modes the DRA driver makes them as they are claimed."""
    channels = reading["channels"]
    if channels:
        return judge(Severity.OK, "channels", "%d IMEX channels" % len(channels), (len(channels), None))
    message = "there is no IMEX channel below /dev/nvidia-caps-imex-channels; they do not outlive a boot"
    remedy = "NVreg_CreateImexChannel0=1 as an option of the nvidia module, or mknod channel0 at each boot"
    return judge(Severity.FAIL, "channels", message, (0, "channel0"), remedy)


def _state(service: Mapping[str, str]) -> str:
    if service["LoadState"] in ("not-found", "masked"):
        return service["LoadState"]
    return "%s, %s" % (service["ActiveState"], service["UnitFileState"] or "no unit file")


def _unread_service(judge: Judge, reading: Dict[str, Any], expected: str) -> Optional[Finding]:
    reason = reading["unread"].get("service")
    return judge(Severity.UNKNOWN, "service", reason, (None, expected), "run it by hand") if reason else None


def judge_service_off(judge: Judge, reading: Dict[str, Any]) -> Finding:
    """The daemons of ComputeDomains and one of the host's own exclude each other."""
    unread = _unread_service(judge, reading, "masked")
    if unread is not None:
        return unread
    service = reading["service"]
    state = _state(service)
    if service["ActiveState"] not in ("inactive", "failed") or service["UnitFileState"].startswith("enabled"):
        message = "the host's own nvidia-imex is %s, so no ComputeDomain becomes ready" % state
        return judge(Severity.FAIL, "service", message, (state, "masked"), _MASK)
    if service["LoadState"] in ("not-found", "masked") and service["UnitFileState"] != "masked-runtime":
        return judge(Severity.OK, "service", "the host's own nvidia-imex is %s" % state, (state, "masked"))
    message = "the host's own nvidia-imex is off (%s), but nothing keeps it from being started" % state
    return judge(Severity.WARN, "service", message, (state, "masked"), _MASK)


def judge_service_on(judge: Judge, reading: Dict[str, Any]) -> Finding:
    unread = _unread_service(judge, reading, "active, enabled")
    if unread is not None:
        return unread
    service, wanted = reading["service"], "active, enabled"
    state = _state(service)
    if service["ActiveState"] != "active":
        return judge(Severity.FAIL, "service", "nvidia-imex is %s" % state, (state, wanted), ROLE)
    if not service["UnitFileState"].startswith("enabled"):
        message = "nvidia-imex runs, but does not start at boot (%s)" % state
        return judge(Severity.WARN, "service", message, (state, wanted), "systemctl enable nvidia-imex")
    return judge(Severity.OK, "service", "nvidia-imex is %s" % state, (state, wanted))
