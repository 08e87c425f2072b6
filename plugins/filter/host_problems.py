# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``host_problems`` and ``bare_host_problems``; documentation in the YAML files of these names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.host.constraints import bare_host_problems as judge_bare
from ..module_utils.host.constraints import host_problems as judge


def bare_host_problems(text: Any, host: str) -> list[str]:
    if not isinstance(text, str):
        raise AnsibleFilterError(f"bare_host_problems: want the output of a command, got {type(text).__name__}")
    return [str(problem) for problem in judge_bare(host, text)]


def host_problems(info: Any, host: str, constraints: Any) -> list[str]:
    try:
        return [str(problem) for problem in judge(host, info, constraints)]
    except (KeyError, TypeError, ValueError) as exc:
        raise AnsibleFilterError(f"host_problems: {exc!r} in {info!r} or {constraints!r}") from exc


class FilterModule:
    def filters(self) -> dict[str, Callable[..., list[str]]]:
        return {"bare_host_problems": bare_host_problems, "host_problems": host_problems}
