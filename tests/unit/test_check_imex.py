# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""check_imex in each mode: service, channels, list of nodes, domain; and the members out of the inventory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.gpufleet.cluster.plugins.filter.imex_members import imex_members
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding, Severity, verdict
from ansible_collections.gpufleet.cluster.plugins.module_utils.imex.reading import read_imex
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.imex import judge_imex

from tests.fakes.gpu import FIXTURES, changed
from tests.fakes.gpu_runner import MachineRunner
from tests.fakes.host_root import host_root

MEMBERS = {"w1": ["192.0.2.1"], "w2": ["192.0.2.2"]}
IMEX = FIXTURES / "nvidia-imex-ctl"
UP = json.loads((IMEX / "04-json-up-two-nodes.json").read_text())
DEVICES = "Character devices:\n  1 mem\n234 nvidia-caps-imex-channels\n\nBlock devices:\n259 blkext\n"
FILES = {
    "/proc/devices": DEVICES,
    "/dev/nvidia-caps-imex-channels/channel0": "",
    "/etc/nvidia-imex/nodes_config.cfg": "# members of nvl_d1\n192.0.2.1\n192.0.2.2\n",
}
MASKED = "LoadState=masked\nActiveState=inactive\nUnitFileState=masked\n"


def check(
    folder: Path, mode: str = "host", files: dict[str, Any] | None = None, members: Any = None, **answers: str
) -> list[Finding]:
    """``answers`` by program, with "_" for "-"; a file of None is not there."""
    tree = {path: text for path, text in {**FILES, **(files or {})}.items() if text is not None}
    machine = changed(answers={name.replace("_", "-"): text for name, text in answers.items()})
    reading = read_imex(host_root(folder, tree), MachineRunner(machine), 30)
    return judge_imex("w1", reading, mode, MEMBERS if members is None else members, "580.95.05")


def bad(findings: list[Finding]) -> list[tuple[str, str | None, str]]:
    return [(f.severity.name, f.subject.item, f.message) for f in findings if f.severity is not Severity.OK]


@pytest.mark.parametrize(
    ("mode", "answers", "files", "items"),
    [
        pytest.param("host", {}, {}, ["driver", "service", "channels", "nodes_config", "domain"], id="host"),
        pytest.param("dra", {"systemctl": MASKED}, {}, ["driver", "service"], id="dra"),
        pytest.param(
            "dra_host_managed",
            {},
            {"/dev/nvidia-caps-imex-channels/channel0": None},
            ["driver", "service", "nodes_config", "domain"],
            id="dra-host-managed-makes-channels-later",
        ),
        pytest.param("none", {}, {}, [], id="none"),
    ],
)
def test_healthy(tmp_path: Path, mode: str, answers: dict[str, str], files: dict[str, Any], items: list[str]) -> None:
    findings = check(tmp_path, mode, files, **answers)
    assert bad(findings) == []
    assert [finding.subject.item for finding in findings] == items


def edited(**changes: Any) -> str:
    """The domain of two members with something changed: ``status``, or ``n1`` for keys of node 1."""
    document = json.loads(json.dumps(UP))
    document["status"] = changes.pop("status", "UP")
    for key, value in changes.items():
        document["nodes"][key[1:]].update(value)
    return json.dumps(document)


def matrix(state: str) -> dict[str, Any]:
    return {"connections": {"0": {"host": "192.0.2.1", "status": state, "changed": True}}}


@pytest.mark.parametrize(
    ("answers", "files", "want"),
    [
        pytest.param(
            {"nvidia_imex_ctl": (IMEX / "05-json-down-one-unavailable.json").read_text()},
            {},
            [("FAIL", "members", "member w2 is UNAVAILABLE"), ("FAIL", "domain", "the IMEX domain is DOWN")],
            id="down",
        ),
        pytest.param(
            {"nvidia_imex_ctl": edited(status="DEGRADED")},
            {},
            [("FAIL", "domain", "the IMEX domain is DEGRADED")],
            id="degraded",
        ),
        pytest.param(
            {"nvidia_imex_ctl": edited(n1={"version": "580.105.08"})},
            {},
            [("FAIL", "version", "the members run different versions: 580.105.08, 580.95.05")],
            id="two-versions",
        ),
        pytest.param(
            {"nvidia_imex_ctl": edited(n0={"version": "570.172"}, n1={"version": "570.172"})},
            {},
            [("FAIL", "version", "IMEX 570.172 instead of 580.95.05")],
            id="not-the-recipes-version",
        ),
        pytest.param(
            {"nvidia_imex_ctl": edited(n0={"version": ""}, n1={"version": ""})},
            {},
            [("UNKNOWN", "version", "nvidia-imex-ctl shows no version")],
            id="no-version",
        ),
        pytest.param(
            {"nvidia_imex_ctl": edited(n1=matrix("NODE_MAP_MISMATCH"))},
            {},
            [("FAIL", "connections", "w2 to w1: the two have different lists of nodes")],
            id="other-list-on-the-other-member",
        ),
        pytest.param(
            {"nvidia_imex_ctl": edited(n1=matrix("VERSION_MISMATCH"))},
            {},
            [("FAIL", "connections", "w2 to w1: the two run different versions of IMEX")],
            id="other-version-refused",
        ),
        pytest.param(
            {"nvidia_imex_ctl": edited(n1={"host": "192.0.2.9"})},
            {},
            [("FAIL", "members", "member w2 is not in the domain")],
            id="a-stranger-in-its-place",
        ),
        pytest.param(
            {},
            {"/etc/nvidia-imex/nodes_config.cfg": "192.0.2.1\n192.0.2.9\n192.0.2.1\n"},
            [
                (
                    "FAIL",
                    "nodes_config",
                    "/etc/nvidia-imex/nodes_config.cfg is not the list of the domain's 2 members: "
                    "not in it: w2; of no member: 192.0.2.9; twice: 192.0.2.1",
                )
            ],
            id="wrong-list",
        ),
        pytest.param(
            {},
            {"/etc/nvidia-imex/nodes_config.cfg": None},
            [("FAIL", "nodes_config", "there is no /etc/nvidia-imex/nodes_config.cfg")],
            id="no-list",
        ),
        pytest.param(
            {},
            {
                "/etc/nvidia-imex/config.cfg": "# one\nIMEX_NODE_CONFIG_FILE=/srv/nodes.cfg\n",
                "/srv/nodes.cfg": "192.0.2.1\n",
            },
            [
                (
                    "FAIL",
                    "nodes_config",
                    "/srv/nodes.cfg is not the list of the domain's 2 members: not in it: w2",
                )
            ],
            id="list-elsewhere",
        ),
        pytest.param(
            {},
            {"/dev/nvidia-caps-imex-channels/channel0": None},
            [
                (
                    "FAIL",
                    "channels",
                    "there is no IMEX channel below /dev/nvidia-caps-imex-channels; they do not outlive a boot",
                )
            ],
            id="no-channel",
        ),
        pytest.param(
            {},
            {"/proc/devices": "Character devices:\n  1 mem\n"},
            [
                (
                    "FAIL",
                    "driver",
                    "the driver offers no IMEX channels (nvidia-caps-imex-channels is not in /proc/devices)",
                )
            ],
            id="driver-without-channels",
        ),
        pytest.param(
            {"systemctl": "LoadState=loaded\nActiveState=failed\nUnitFileState=enabled\n"},
            {},
            [("FAIL", "service", "nvidia-imex is failed, enabled")],
            id="service-failed",
        ),
        pytest.param(
            {"systemctl": "LoadState=loaded\nActiveState=active\nUnitFileState=disabled\n"},
            {},
            [("WARN", "service", "nvidia-imex runs, but does not start at boot (active, disabled)")],
            id="service-not-at-boot",
        ),
        pytest.param(
            {"systemctl": MASKED}, {}, [("FAIL", "service", "nvidia-imex is masked")], id="service-masked-in-host-mode"
        ),
    ],
)
def test_faults_where_the_host_runs_the_daemon(
    tmp_path: Path, answers: dict[str, str], files: dict[str, Any], want: list[Any]
) -> None:
    assert bad(check(tmp_path, "host", files, **answers)) == want


@pytest.mark.parametrize(
    ("states", "want"),
    [
        pytest.param(("masked", "inactive", "masked"), [], id="masked"),
        pytest.param(("masked", "inactive", "masked-runtime"), [("WARN", "service")], id="masked-until-the-next-boot"),
        pytest.param(("not-found", "inactive", ""), [], id="not-installed"),
        pytest.param(("loaded", "inactive", "disabled"), [("WARN", "service")], id="off-but-not-masked"),
        pytest.param(("loaded", "inactive", "enabled"), [("FAIL", "service")], id="starts-at-boot"),
        pytest.param(("loaded", "active", "disabled"), [("FAIL", "service")], id="runs"),
        pytest.param(("masked", "active", "masked"), [("FAIL", "service")], id="masked-while-it-runs"),
        pytest.param(("loaded", "activating", "static"), [("FAIL", "service")], id="starts"),
    ],
)
def test_the_hosts_own_service_and_compute_domains_exclude_each_other(
    tmp_path: Path, states: tuple[str, str, str], want: list[Any]
) -> None:
    text = "LoadState={}\nActiveState={}\nUnitFileState={}\n".format(*states)
    assert [each[:2] for each in bad(check(tmp_path, "dra", systemctl=text))] == want


@pytest.mark.parametrize(
    "behaviour", ["missing", "not_executable", "silent", "error_text", "refuses", "hangs", "floods"]
)
@pytest.mark.parametrize(("program", "item"), [("nvidia-imex-ctl", "domain"), ("systemctl", "service")])
def test_a_tool_that_fails_is_never_ok(tmp_path: Path, program: str, item: str, behaviour: str) -> None:
    reading = read_imex(host_root(tmp_path, FILES), MachineRunner(changed(behaviour={program: behaviour})), 30)
    findings = judge_imex("w1", reading, "host", MEMBERS)
    assert [each[:2] for each in bad(findings)] == [("UNKNOWN", item)]
    assert verdict(findings) is Severity.UNKNOWN
    assert all(reason for reason in reading["unread"].values())


def test_text_of_an_old_tool_is_read(tmp_path: Path) -> None:
    """One without -j prints its usage or the table; here the table, whatever the options."""
    members = {f"w{index}": [f"192.0.2.{index}"] for index in (1, 2, 3)}
    files = {"/etc/nvidia-imex/nodes_config.cfg": "192.0.2.1\n192.0.2.2\n192.0.2.3\n"}
    text = (IMEX / "01-up-three-nodes.txt").read_text()
    found = bad(check(tmp_path / "a", "host", files, members, nvidia_imex_ctl=text))
    assert found == [("FAIL", "version", "IMEX 570.172 instead of 580.95.05")]
    cut = text[: text.index("Domain State")]
    assert [each[:2] for each in bad(check(tmp_path / "b", "host", files, members, nvidia_imex_ctl=cut))] == [
        ("UNKNOWN", "domain")
    ]


def test_a_machine_in_no_domain_is_not_ok(tmp_path: Path) -> None:
    assert [each[:2] for each in bad(check(tmp_path, "host", members={}))] == [("UNKNOWN", "members")]


NETWORKS = {
    "management": {"hosts": {f"w{index}": {"addresses": [f"192.0.2.{index}/24"]} for index in (1, 2, 3)}},
    "storage": {"hosts": {"w1": {"addresses": ["198.51.100.1/24"]}}},
}
GROUPS = {"all": ["w1", "w2", "w3"], "gpu_nodes": ["w1", "w2", "w3"], "nvl_d1": ["w1", "w2"], "nvl_d2": ["w3"]}


@pytest.mark.parametrize(
    ("host", "want"),
    [
        pytest.param("w1", MEMBERS, id="member"),
        pytest.param("w3", {"w3": ["192.0.2.3"]}, id="alone"),
        pytest.param("cp-1", {}, id="in-no-domain"),
    ],
)
def test_members_out_of_the_inventory(host: str, want: dict[str, list[str]]) -> None:
    assert imex_members(GROUPS, host, NETWORKS, "management") == want


@pytest.mark.parametrize(
    ("groups", "network", "message"),
    [
        pytest.param(
            {**GROUPS, "nvl_x": ["w1"]}, "management", "w1 is in several NVLink domains: nvl_d1, nvl_x", id="two"
        ),
        pytest.param(GROUPS, "fast", "no network 'fast'; there are management, storage", id="no-network"),
        pytest.param(GROUPS, "storage", "w2 of nvl_d1 has no address on storage", id="no-address"),
    ],
)
def test_members_that_cannot_be_told(groups: Any, network: str, message: str) -> None:
    with pytest.raises(AnsibleFilterError, match=message):
        imex_members(groups, "w1", NETWORKS, network)
