"""The effective result: what other files change about our interfaces, named and taken over."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.effective import (
    TAKEN_OVER,
    Conflict,
    Generator,
    netplan_conflicts,
    subjects_of,
    without_conflicts,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.effective_keyfile import keyfile_conflicts
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.plan import resolve_plan
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.render_netplan import netplan_files
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import SubprocessRunner

from tests.unit.network_examples import EXAMPLE, HOST, networks

PLAN = resolve_plan(networks(EXAMPLE), HOST)
SUBJECTS = subjects_of(PLAN, {d.name: d.altnames for d in HOST}, {d.name: d.driver for d in HOST})
OTHER = '    other:\n      match:\n        name: "wl*"\n      dhcp4: true\n'
HEAD = "network:\n  version: 2\n"
ETH = HEAD + "  ethernets:\n"

# name, the other file's text, conflicts (key, interface, wanted, found), what is left of the file afterwards
NETPLAN = [
    ("another port", ETH + OTHER, [], "untouched"),
    (
        "dhcp on the same definition",
        ETH + "    mgmt:\n      dhcp4: true\n      addresses: [10.0.1.99/24]\n" + OTHER,
        # dhcp4 is overridden by our later file; addresses of both files are joined.
        [("addresses", "mgmt", ("10.0.1.11/24",), ("10.0.1.11/24", "10.0.1.99/24"))],
        ETH + OTHER,
    ),
    ("wildcard that sorts after ours", ETH + '    zz: {match: {name: "m*"}, dhcp4: true}\n', [], "untouched"),
    (
        "another name for the port",
        ETH + '    zz:\n      match: {macaddress: "52:54:00:00:01:00"}\n      set-name: mgmt0\n' + OTHER,
        [("set-name", "mgmt", ("mgmt",), ("mgmt", "mgmt0"))],
        ETH + OTHER,
    ),
    (
        "parameters of our bond",
        HEAD + "  bonds:\n    bond0:\n      parameters: {up-delay: 200}\n",
        [("bonds parameters", "bond0", (), ("200ms",))],
        TAKEN_OVER,
    ),
]


def conflicts(text: str, root: Path) -> list[Conflict]:
    files = {"/etc/netplan/50-cloud-init.yaml": text}
    return netplan_conflicts(Generator(SubprocessRunner()), netplan_files(PLAN), files, str(root), SUBJECTS)


@pytest.mark.parametrize(("text", "expected", "left"), [c[1:] for c in NETPLAN], ids=[c[0] for c in NETPLAN])
def test_netplan(text: str, expected: list[tuple[str, ...]], left: str | None, tmp_path: Path) -> None:
    found = conflicts(text, tmp_path)
    assert [(c.key, c.interface, c.wanted, c.found) for c in found] == expected
    assert {c.path for c in found} <= {"/etc/netplan/50-cloud-init.yaml"}
    files = {"/etc/netplan/50-cloud-init.yaml": text}
    ours = netplan_files(PLAN)
    changes = without_conflicts(Generator(SubprocessRunner()), ours, files, str(tmp_path), SUBJECTS)
    assert changes == ({} if left == "untouched" else {"/etc/netplan/50-cloud-init.yaml": left})


def test_dhcp_by_a_name_of_today_is_named_and_taken_over(tmp_path: Path) -> None:
    text = ETH + "    enp0s3: {dhcp4: true}\n"
    found = [str(c) for c in conflicts(text, tmp_path)]
    assert "/etc/netplan/50-cloud-init.yaml: dhcp4 or dhcp6 of mgmt: ipv4 (the plan: nothing)" in found
    assert "/etc/netplan/50-cloud-init.yaml: addresses of mgmt: nothing (the plan: 10.0.1.11/24)" in found
    arguments = (Generator(SubprocessRunner()), netplan_files(PLAN), {"/etc/netplan/50-cloud-init.yaml": text})
    changes = without_conflicts(*arguments, str(tmp_path), SUBJECTS)
    assert changes == {"/etc/netplan/50-cloud-init.yaml": TAKEN_OVER}


def test_unit_of_networkd_that_netplan_did_not_make(tmp_path: Path) -> None:
    folder = tmp_path / "etc/systemd/network"
    folder.mkdir(parents=True)
    (folder / "05-dhcp.network").write_text("[Match]\nName=enp1s0\n\n[Network]\nDHCP=yes\n")
    (folder / "99-late.network").write_text("[Match]\nName=*\n\n[Network]\nDHCP=yes\n")
    arguments = (Generator(SubprocessRunner()), netplan_files(PLAN), {}, str(tmp_path), SUBJECTS)
    assert {(c.path, c.interface) for c in netplan_conflicts(*arguments)} == {
        ("/etc/systemd/network/05-dhcp.network", "enp1s0")
    }
    assert without_conflicts(*arguments) == {"/etc/systemd/network/05-dhcp.network": None}


def test_netplans_own_words_reach_the_user() -> None:
    with pytest.raises(ConfigError, match="netplan refuses the new configuration, nothing was changed"):
        Generator(SubprocessRunner()).units(
            {"/etc/netplan/90-x.yaml": "network: {version: 2, ethernets: {a: {mtu: x}}}"}
        )


KEYFILES = {
    "by name": ("etc", "lan", "[connection]\nid=lan\ninterface-name=eth0\n", ["interface-name of mgmt: eth0"]),
    "by mac": ("run", "m", "[ethernet]\nmac-address=52:54:00:00:01:01\n", ["mac-address of enp1s0: 52:54:00:00:01:01"]),
    "any port": ("etc", "any", "[connection]\nid=any\ntype=ethernet\n", []),
    "ours": ("etc", "gpufleet-x", "[connection]\ninterface-name=eth0\n", []),
}


@pytest.mark.parametrize(("place", "name", "text", "expected"), KEYFILES.values(), ids=KEYFILES)
def test_keyfiles(tmp_path: Path, place: str, name: str, text: str, expected: list[str]) -> None:
    folder = tmp_path / place / "NetworkManager/system-connections"
    folder.mkdir(parents=True)
    (folder / f"{name}.nmconnection").write_text(text)
    path = f"/{place}/NetworkManager/system-connections/{name}.nmconnection"
    assert [str(c) for c in keyfile_conflicts(str(tmp_path), SUBJECTS)] == [
        f"{path}: {words} (the plan: nothing)" for words in expected
    ]


def test_ifcfg(tmp_path: Path) -> None:
    folder = tmp_path / "etc/sysconfig/network-scripts"
    folder.mkdir(parents=True)
    (folder / "ifcfg-eth0").write_text('# old\nDEVICE="eth0"\nBOOTPROTO=dhcp\n')
    (folder / "ifcfg-lo").write_text("DEVICE=lo\n")
    found = [c.path for c in keyfile_conflicts(str(tmp_path), SUBJECTS)]
    assert found == ["/etc/sysconfig/network-scripts/ifcfg-eth0"]
