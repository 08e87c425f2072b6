# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One owner for the ports of a Google Compute Engine machine: its guest agent is told to leave them alone.

The agent writes files of its own for secondary ports and takes them down again at a restart. ``setup = false`` in
``[NetworkInterfaces]`` stops that; the file is read when the agent starts, so nothing is restarted here.
"""

from __future__ import annotations

import os
import re
from typing import Optional

__all__ = ["AGENT_CONFIG", "agent_present", "without_interface_setup"]

AGENT_CONFIG = "/etc/default/instance_configs.cfg"
_AGENT_PROGRAMS = ("usr/bin/google_guest_agent", "usr/bin/google_guest_agent_manager")
_SECTION = re.compile(r"^\s*\[(?P<name>[^\]]*)\]\s*$")
_SETUP = re.compile(r"^(?P<head>\s*setup\s*[=:]\s*)(?P<value>[^#;\s]*)(?P<tail>.*)$", re.IGNORECASE)
# How Go's strconv.ParseBool and ConfigParser spell it.
_FALSE = ("false", "f", "0", "no", "off")


def agent_present(root: str = "/") -> bool:
    return any(os.path.exists(os.path.join(root, path)) for path in (AGENT_CONFIG.lstrip("/"), *_AGENT_PROGRAMS))


def without_interface_setup(text: Optional[str]) -> str:
    """The configuration with ``setup`` off; everything else stays byte for byte. None: there is no file yet."""
    lines = (text or "").splitlines(keepends=True)
    section: Optional[str] = None
    header: Optional[int] = None
    for number, line in enumerate(lines):
        found = _SECTION.match(line)
        if found:
            section = found.group("name").strip()
            header = number if section == "NetworkInterfaces" and header is None else header
            continue
        key = _SETUP.match(line.rstrip("\r\n")) if section == "NetworkInterfaces" else None
        if key:
            if key.group("value").lower() not in _FALSE:
                ending = line[len(line.rstrip("\r\n")) :]
                lines[number] = key.group("head") + "false" + key.group("tail") + ending
            return "".join(lines)
    if header is not None:
        if not lines[header].endswith("\n"):
            lines[header] += "\n"
        lines.insert(header + 1, "setup = false\n")
        return "".join(lines)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return "".join([*lines, "[NetworkInterfaces]\nsetup = false\n"])
