# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs together on the page: findings that say the same of many hosts, hosts of one group."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ...module_utils.finding import Finding
from .model import HostReport, natural

__all__ = ["FindingGroup", "finding_groups", "host_groups"]


@dataclass(frozen=True)
class FindingGroup:
    """Findings that differ only in the names of host and peer. The first one speaks for all."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def places(self) -> list[str]:
        """Host, or pair of hosts, of each finding; beside a common host, the other of the pair."""
        subjects = [each.subject for each in self.findings]
        if self.common:
            return [str(each.peer if each.host == self.common else each.host) for each in subjects]
        return [f"{each.host} → {each.peer}" if each.peer else each.host for each in subjects]

    @property
    def common(self) -> str | None:
        """The one host that is in every pair of a larger group: where to look first."""
        if len(self.findings) < 3 or self.first.subject.peer is None:
            return None
        pairs = [{each.subject.host, each.subject.peer} for each in self.findings]
        counted = Counter(name for pair in pairs for name in pair if name)
        return next((name for name, count in counted.most_common(1) if count == len(pairs)), None)


def finding_groups(findings: Iterable[Finding]) -> list[FindingGroup]:
    """Worst first, and among the equally bad the widest first: what troubles the whole fleet comes before one host."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_pattern(finding), []).append(finding)
    found = [FindingGroup(tuple(members)) for members in groups.values()]
    return sorted(found, key=lambda group: (-group.first.severity, -len(group.findings)))


def _pattern(finding: Finding) -> str:
    """The finding as text, with placeholders for the names in it."""
    data = finding.as_dict()
    for name in ("host", "peer"):
        value = data["subject"].pop(name, None)
        if value:
            whole = re.compile(rf"(?<![\w.-]){re.escape(value)}(?![\w-]|\.\w)")
            data["message"] = whole.sub(f"<{name}>", data["message"])
            data["remedy"] = whole.sub(f"<{name}>", data["remedy"])
    return json.dumps(data, sort_keys=True)


def host_groups(hosts: Sequence[HostReport]) -> list[tuple[str, list[HostReport]]]:
    """Each host once, under the smallest of its inventory groups: an NVLink domain rather than all workers."""
    sizes = Counter(group for host in hosts for group in host.groups)
    groups: dict[str, list[HostReport]] = {}
    for host in hosts:
        own = min(host.groups, key=lambda group: (sizes[group], group), default="ungrouped")
        groups.setdefault(own, []).append(host)
    return sorted(groups.items(), key=lambda item: natural(item[0]))
