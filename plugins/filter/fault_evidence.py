# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``gpufleet.cluster.fault_evidence``; documentation: fault_evidence.yml."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from ..module_utils.errors import ConfigError
from ..plugin_utils.gce.evidence import read_evidence


def fault_evidence(report: Any, host: str) -> dict[str, str]:
    if not isinstance(report, dict) or not isinstance(report.get("findings"), list):
        raise AnsibleFilterError("fault_evidence: this is no findings.json: it has no list 'findings'")
    try:
        return asdict(read_evidence(report["findings"], host))
    except ConfigError as exc:
        raise AnsibleFilterError(f"fault_evidence: {exc}") from exc


class FilterModule:
    def filters(self) -> dict[str, Callable[..., dict[str, str]]]:
        return {"fault_evidence": fault_evidence}
