# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of nodes, and the domain as the daemon of one member sees it."""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ...finding import Finding, Severity
from .base import ROLE, Judge

__all__ = ["judge_domain", "judge_nodes_config"]

_PARTNER = "look at the service and at its log (/var/log/nvidia-imex.log) there, and at the way to its port 50000"
_MATRIX = {
    "VERSION_MISMATCH": "the two run different versions of IMEX",
    "NODE_MAP_MISMATCH": "the two have different lists of nodes",
}


def judge_nodes_config(judge: Judge, reading: Dict[str, Any], members: Mapping[str, Sequence[str]]) -> List[Finding]:
    file, nodes = reading["nodes_config_file"], reading["nodes_config"]
    if nodes is None:
        return [judge(Severity.FAIL, "nodes_config", "there is no %s" % file, (None, len(members)), ROLE)]
    known = {address for addresses in members.values() for address in addresses}
    listed = set(nodes)
    missing = sorted(host for host, addresses in members.items() if not listed & set(addresses))
    strangers = sorted(listed - known)
    double = sorted(address for address, count in Counter(nodes).items() if count > 1)
    problems = [
        "%s: %s" % (what, ", ".join(names[:8]))
        for what, names in (("not in it", missing), ("of no member", strangers), ("twice", double))
        if names
    ]
    if problems:
        message = "%s is not the list of the domain's %d members: %s" % (file, len(members), "; ".join(problems))
        return [judge(Severity.FAIL, "nodes_config", message, (len(nodes), len(members)), ROLE)]
    return [judge(Severity.OK, "nodes_config", "%d members in %s" % (len(nodes), file), (len(nodes), len(members)))]


def judge_domain(
    judge: Judge, reading: Dict[str, Any], members: Mapping[str, Sequence[str]], version: Optional[str]
) -> List[Finding]:
    reason = reading["unread"].get("domain")
    if reason:
        remedy = "run nvidia-imex-ctl -N by hand; the daemon must run with its command service on"
        return [judge(Severity.UNKNOWN, "domain", reason, (None, "UP"), remedy)]
    domain = reading["domain"]
    host_of = {address: host for host, addresses in members.items() for address in addresses}
    findings = _members(judge, domain, members, host_of)
    findings += _versions(judge, domain, version)
    if domain["state"] != "UP":
        message = "the IMEX domain is %s" % domain["state"]
        findings.append(judge(Severity.FAIL, "domain", message, (domain["state"], "UP"), _PARTNER))
    elif not any(finding.severity is Severity.FAIL for finding in findings):
        message = "the IMEX domain is UP, all %d members are READY" % len(domain["nodes"])
        findings.append(judge(Severity.OK, "domain", message, ("UP", "UP")))
    return findings


def _members(
    judge: Judge, domain: Dict[str, Any], members: Mapping[str, Sequence[str]], host_of: Mapping[str, str]
) -> List[Finding]:
    findings: List[Finding] = []
    names: Dict[int, str] = {}
    for node in domain["nodes"]:
        names[node["index"]] = name = host_of.get(node["address"], node["address"])
        if node["state"] != "READY":
            message = "member %s is %s" % (name, node["state"])
            findings.append(judge(Severity.FAIL, "members", message, (node["state"], "READY"), _PARTNER, peer=name))
    absent = sorted(set(members) - {host_of.get(node["address"], "") for node in domain["nodes"]})
    for name in absent:
        message = "member %s is not in the domain" % name
        findings.append(judge(Severity.FAIL, "members", message, ("absent", "READY"), ROLE, peer=name))
    bad = {node["index"] for node in domain["nodes"] if node["state"] != "READY"}
    broken = [each for each in domain["not_connected"] if not bad & set(each[:2])]
    for start, end, state in broken[:8]:
        pair = "%s to %s" % (names.get(start, start), names.get(end, end))
        message = "%s: %s" % (pair, _MATRIX.get(state, state))
        findings.append(judge(Severity.FAIL, "connections", message, (state, "CONNECTED"), ROLE))
    return findings


def _versions(judge: Judge, domain: Dict[str, Any], version: Optional[str]) -> List[Finding]:
    """An old tool shows none. IMEX and driver are released together: the recipe's version is the driver's."""
    versions = sorted({node["version"] for node in domain["nodes"] if node["version"]})
    if len(versions) > 1:
        message = "the members run different versions: %s" % ", ".join(versions)
        return [judge(Severity.FAIL, "version", message, (versions, version or "one version"), ROLE)]
    if versions and version is not None and versions[0] != version:
        message = "IMEX %s instead of %s" % (versions[0], version)
        return [judge(Severity.FAIL, "version", message, (versions[0], version), ROLE)]
    if not versions and version is not None:
        message = "nvidia-imex-ctl shows no version"
        return [judge(Severity.UNKNOWN, "version", message, (None, version), "install the recipe's version of IMEX")]
    return []
