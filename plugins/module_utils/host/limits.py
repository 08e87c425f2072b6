# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Resource limits: one list, for sessions (pam_limits) and for services (systemd, which does not read PAM's files)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import ClusterError, ConfigError
from ..runner import Runner
from .files import Root

__all__ = [
    "LIMIT_ITEMS",
    "Limit",
    "LimitsState",
    "apply_limits",
    "desired_limits",
    "manager_limits",
    "parse_limits",
    "read_limits",
]

PAM_FILE = "/etc/security/limits.d/90-gpufleet.conf"
SYSTEMD_FILE = "/etc/systemd/system.conf.d/90-gpufleet.conf"
_HEADER = "# Written by the role node_baseline of gpufleet.cluster. Changes here are lost.\n"
# limits.conf(5) item -> (name in systemd-system.conf(5), bytes of PAM's unit: it counts sizes in KiB, systemd in bytes)
LIMIT_ITEMS: Dict[str, Tuple[str, int]] = {
    "core": ("CORE", 1024),
    "memlock": ("MEMLOCK", 1024),
    "nofile": ("NOFILE", 1),
    "nproc": ("NPROC", 1),
    "stack": ("STACK", 1024),
}
UNLIMITED = "unlimited"


@dataclass(frozen=True)
class Limit:
    item: str
    soft: str
    hard: str

    def for_manager(self) -> Dict[str, str]:
        """As ``systemctl show`` words it."""
        name, factor = LIMIT_ITEMS[self.item]
        return {
            "DefaultLimit" + name: _systemd_value(self.hard, factor),
            "DefaultLimit%sSoft" % name: _systemd_value(self.soft, factor),
        }


@dataclass(frozen=True)
class LimitsState:
    """``manager``: what systemd gives to services now; None when systemd does not run the machine."""

    pam: str
    systemd: str
    manager: Optional[Dict[str, str]]

    def describe(self) -> str:
        rows = sorted((self.manager or {}).items())
        return self.pam + self.systemd + "".join("systemd manager: %s=%s\n" % row for row in rows)


def _systemd_value(value: str, factor: int) -> str:
    return "infinity" if value == UNLIMITED else str(int(value) * factor)


def parse_limits(raw: Sequence[Mapping[str, Any]]) -> Tuple[Limit, ...]:
    limits = []
    for entry in raw:
        item = str(entry["item"])
        values = [str(entry[kind]) for kind in ("soft", "hard")]
        if item not in LIMIT_ITEMS:
            raise ConfigError("limit %r: item is one of %s" % (dict(entry), ", ".join(LIMIT_ITEMS)))
        if not all(value == UNLIMITED or value.isdigit() for value in values):
            raise ConfigError("limit %r: soft and hard are numbers or %s" % (dict(entry), UNLIMITED))
        limits.append(Limit(item, *values))
    return tuple(limits)


def desired_limits(current: LimitsState, limits: Sequence[Limit]) -> LimitsState:
    # limits.conf(5): the wildcard does not apply to root.
    pam = "".join(
        "%s %s %s %s\n" % (who, kind, limit.item, getattr(limit, kind))
        for limit in limits
        for who in ("*", "root")
        for kind in ("soft", "hard")
    )
    rows = []
    for limit in limits:
        name, factor = LIMIT_ITEMS[limit.item]
        values = (name, _systemd_value(limit.soft, factor), _systemd_value(limit.hard, factor))
        rows.append("DefaultLimit%s=%s:%s\n" % values)
    manager = {key: value for limit in limits for key, value in limit.for_manager().items()}
    return LimitsState(
        pam=_HEADER + pam,
        systemd=_HEADER + "[Manager]\n" + "".join(rows),
        manager=None if current.manager is None else manager,
    )


def read_limits(root: Root, runner: Runner, limits: Sequence[Limit]) -> LimitsState:
    running = root.exists("/run/systemd/system")
    return LimitsState(
        pam=root.read(PAM_FILE) or "",
        systemd=root.read(SYSTEMD_FILE) or "",
        manager=manager_limits(runner, limits) if running else None,
    )


def manager_limits(runner: Runner, limits: Sequence[Limit]) -> Dict[str, str]:
    """The limits that systemd's manager really gives out. Raises ClusterError when it does not answer."""
    names = [name for limit in limits for name in limit.for_manager()]
    if not names:
        return {}
    argv = ["systemctl", "show", "--property=" + ",".join(names)]
    result = runner.run(argv, timeout=30)
    if result.rc != 0:
        raise ClusterError("ask systemd for its limits (%s): %s" % (" ".join(argv), result.stderr.strip() or result.rc))
    rows: List[Tuple[str, str, str]] = [line.partition("=") for line in result.stdout.splitlines()]
    return {key: value for key, _equals, value in rows if key in names}


def apply_limits(
    root: Root, runner: Runner, limits: Sequence[Limit], current: LimitsState, desired: LimitsState
) -> None:
    if current.pam != desired.pam:
        root.write(PAM_FILE, desired.pam)
    if current.systemd != desired.systemd:
        root.write(SYSTEMD_FILE, desired.systemd)
    if desired.manager is None or (current.systemd, current.manager) == (desired.systemd, desired.manager):
        return
    result = runner.run(["systemctl", "daemon-reload"], timeout=120)
    after = manager_limits(runner, limits)
    if after != desired.manager:
        raise ClusterError(
            "set systemd's default limits: after daemon-reload (rc %d) they are %s, not %s; another file in "
            "/etc/systemd/system.conf.d that sorts after %s may set them"
            % (result.rc, after, desired.manager, SYSTEMD_FILE)
        )
