# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge IMEX on one machine: who runs the daemon, and is the domain of all its members up. Pure.

Each member judges itself against the list of members in the inventory, so that all of them have to have the same list.
Two lists that differ, and two versions, are also seen by the daemons themselves and shown in their matrix.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..finding import Finding, Severity, Subject

__all__ = ["MODES", "judge_imex"]

CHECK = "imex"
MODES = ("dra", "host", "dra_host_managed", "none")
_ROLE = "run role gpufleet.cluster.node_imex"
_MASK = "systemctl disable --now nvidia-imex && systemctl mask nvidia-imex: only one of both may run the daemon"
_PARTNER = "look at the service and at its log (/var/log/nvidia-imex.log) there, and at the way to its port 50000"
_MATRIX = {
    "VERSION_MISMATCH": "the two run different versions of IMEX",
    "NODE_MAP_MISMATCH": "the two have different lists of nodes",
}


class _Judge:
    def __init__(self, host: str) -> None:
        self._host = host

    def __call__(
        self,
        severity: Severity,
        item: str,
        message: str,
        values: Tuple[Any, Any] = (None, None),
        remedy: str = "",
        *,
        peer: Optional[str] = None,
    ) -> Finding:
        """``values``: measured and expected."""
        subject = Subject(self._host, peer=peer, item=item)
        return Finding(CHECK, severity, subject, message, values[0], values[1], "", remedy)


def judge_imex(
    host: str,
    reading: Dict[str, Any],
    mode: str,
    members: Mapping[str, Sequence[str]],
    version: Optional[str] = None,
) -> List[Finding]:
    """``members``: addresses of each member of the domain by host, this one among them."""
    if mode == "none":
        return []
    judge = _Judge(host)
    findings = [_driver(judge, reading)]
    if mode == "dra":
        return findings + [_service_off(judge, reading)]
    findings.append(_service_on(judge, reading))
    if mode == "host":
        findings.append(_channels(judge, reading))
    if host not in members:
        message = "in no NVLink domain of the inventory (a group nvl_<domain>), so its members are not known"
        return findings + [judge(Severity.UNKNOWN, "members", message, remedy="put the machine into its group")]
    findings += _nodes_config(judge, reading, members)
    return findings + _domain(judge, reading, members, version)


def _driver(judge: _Judge, reading: Dict[str, Any]) -> Finding:
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


def _channels(judge: _Judge, reading: Dict[str, Any]) -> Finding:
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


def _unread_service(judge: _Judge, reading: Dict[str, Any], expected: str) -> Optional[Finding]:
    reason = reading["unread"].get("service")
    return judge(Severity.UNKNOWN, "service", reason, (None, expected), "run it by hand") if reason else None


def _service_off(judge: _Judge, reading: Dict[str, Any]) -> Finding:
    """The daemons of ComputeDomains and one of the host's own exclude each other."""
    unread = _unread_service(judge, reading, "masked")
    if unread is not None:
        return unread
    service = reading["service"]
    state = _state(service)
    if service["ActiveState"] not in ("inactive", "failed") or service["UnitFileState"].startswith("enabled"):
        message = "the host's own nvidia-imex is %s, so no ComputeDomain becomes ready" % state
        return judge(Severity.FAIL, "service", message, (state, "masked"), _MASK)
    if service["LoadState"] in ("not-found", "masked"):
        return judge(Severity.OK, "service", "the host's own nvidia-imex is %s" % state, (state, "masked"))
    message = "the host's own nvidia-imex is off (%s), but nothing keeps it from being started" % state
    return judge(Severity.WARN, "service", message, (state, "masked"), _MASK)


def _service_on(judge: _Judge, reading: Dict[str, Any]) -> Finding:
    unread = _unread_service(judge, reading, "active, enabled")
    if unread is not None:
        return unread
    service, wanted = reading["service"], "active, enabled"
    state = _state(service)
    if service["ActiveState"] != "active":
        return judge(Severity.FAIL, "service", "nvidia-imex is %s" % state, (state, wanted), _ROLE)
    if not service["UnitFileState"].startswith("enabled"):
        message = "nvidia-imex runs, but does not start at boot (%s)" % state
        return judge(Severity.WARN, "service", message, (state, wanted), "systemctl enable nvidia-imex")
    return judge(Severity.OK, "service", "nvidia-imex is %s" % state, (state, wanted))


def _nodes_config(judge: _Judge, reading: Dict[str, Any], members: Mapping[str, Sequence[str]]) -> List[Finding]:
    file, nodes = reading["nodes_config_file"], reading["nodes_config"]
    if nodes is None:
        return [judge(Severity.FAIL, "nodes_config", "there is no %s" % file, (None, len(members)), _ROLE)]
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
        return [judge(Severity.FAIL, "nodes_config", message, (len(nodes), len(members)), _ROLE)]
    return [judge(Severity.OK, "nodes_config", "%d members in %s" % (len(nodes), file), (len(nodes), len(members)))]


def _domain(
    judge: _Judge, reading: Dict[str, Any], members: Mapping[str, Sequence[str]], version: Optional[str]
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
    judge: _Judge, domain: Dict[str, Any], members: Mapping[str, Sequence[str]], host_of: Mapping[str, str]
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
        findings.append(judge(Severity.FAIL, "members", message, ("absent", "READY"), _ROLE, peer=name))
    bad = {node["index"] for node in domain["nodes"] if node["state"] != "READY"}
    broken = [each for each in domain["not_connected"] if not bad & set(each[:2])]
    for start, end, state in broken[:8]:
        pair = "%s to %s" % (names.get(start, start), names.get(end, end))
        message = "%s: %s" % (pair, _MATRIX.get(state, state))
        findings.append(judge(Severity.FAIL, "connections", message, (state, "CONNECTED"), _ROLE))
    return findings


def _versions(judge: _Judge, domain: Dict[str, Any], version: Optional[str]) -> List[Finding]:
    """An old tool shows none. IMEX and driver are released together: the recipe's version is the driver's."""
    versions = sorted({node["version"] for node in domain["nodes"] if node["version"]})
    if len(versions) > 1:
        message = "the members run different versions: %s" % ", ".join(versions)
        return [judge(Severity.FAIL, "version", message, (versions, version or "one version"), _ROLE)]
    if versions and version is not None and versions[0] != version:
        message = "IMEX %s instead of %s" % (versions[0], version)
        return [judge(Severity.FAIL, "version", message, (versions[0], version), _ROLE)]
    if not versions and version is not None:
        message = "nvidia-imex-ctl shows no version"
        return [judge(Severity.UNKNOWN, "version", message, (None, version), "install the recipe's version of IMEX")]
    return []
