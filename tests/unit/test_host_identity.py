"""Host names and /etc/hosts."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.filter.hosts_entries import hosts_entries
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.identity import (
    HostEntry,
    host_entries,
    render_hosts,
    resolves_to,
    validate_hostname,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.identity_state import (
    IdentityState,
    apply_identity,
    desired_identity,
    read_identity,
)

from tests.fakes.host_root import host_root, tree

ENTRIES = (HostEntry("10.0.1.11", ("w1",)), HostEntry("10.0.1.12", ("w2", "w2.fleet")))
BLOCK = "# BEGIN gpufleet.cluster\n10.0.1.11 w1\n10.0.1.12 w2 w2.fleet\n# END gpufleet.cluster\n"
SEE = "# gpufleet, see below: "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("127.0.0.1\tlocalhost\n", "127.0.0.1\tlocalhost\n" + BLOCK, id="a-plain-file"),
        pytest.param("", BLOCK, id="no-file"),
        pytest.param("127.0.0.1 localhost", "127.0.0.1 localhost\n" + BLOCK, id="no-newline-at-the-end"),
        pytest.param(
            "127.0.0.1 localhost\n127.0.1.1\tw1.lan w1\n10.9.9.9 nas w9\n",
            f"127.0.0.1 localhost\n{SEE}127.0.1.1\tw1.lan w1\n127.0.1.1 w1.lan\n10.9.9.9 nas w9\n{BLOCK}",
            id="the-name-leaves-the-loopback-line",
        ),
        pytest.param("127.0.1.1 w1\n", f"{SEE}127.0.1.1 w1\n{BLOCK}", id="a-loopback-line-of-our-name-only"),
        pytest.param(
            "::1 localhost w2\n127.0.1.1 other\n",
            f"{SEE}::1 localhost w2\n::1 localhost\n127.0.1.1 other\n{BLOCK}",
            id="ipv6-loopback-and-a-stranger",
        ),
        pytest.param("10.7.7.7 w1\n", "10.7.7.7 w1\n" + BLOCK, id="another-address-of-the-name-stays"),
        pytest.param(
            "127.0.0.1 localhost\n# BEGIN gpufleet.cluster\n10.0.1.99 w1\n# END gpufleet.cluster\n10.9.9.9 nas\n",
            "127.0.0.1 localhost\n10.9.9.9 nas\n" + BLOCK,
            id="an-older-block",
        ),
    ],
)
def test_the_block_and_nothing_else(text: str, expected: str) -> None:
    assert render_hosts(text, ENTRIES) == expected
    assert render_hosts(expected, ENTRIES) == expected


def test_without_entries_there_is_no_block() -> None:
    assert render_hosts("127.0.1.1 w1\n" + BLOCK, ()) == "127.0.1.1 w1\n"


@pytest.mark.parametrize(
    "text", ["# BEGIN gpufleet.cluster\n10.9.9.9 nas\n", "# END gpufleet.cluster\n", BLOCK + BLOCK]
)
def test_a_broken_block_is_not_guessed_at(text: str) -> None:
    with pytest.raises(ConfigError, match="/etc/hosts: want one line"):
        render_hosts(text, ENTRIES)


@pytest.mark.parametrize("name", ["w1", "train-node-01", "w0.us-east1-d.c.proj.internal", "a" * 63, "0"])
def test_a_good_host_name(name: str) -> None:
    assert validate_hostname(name) == name


@pytest.mark.parametrize("name", ["K8S-W0", "w_0", "", "-a", "a-", "a..b", "a" * 64, "a." * 32 + "b", "w0\n", "ü"])
def test_a_bad_host_name(name: str) -> None:
    with pytest.raises(ConfigError) as error:
        validate_hostname(name)
    assert str(error.value) == (
        f"host name {name!r}: allowed are lower-case letters, digits and - (not at the ends), up to 63 characters a "
        "label and 64 in all"
    )


def test_entries_are_read() -> None:
    raw = [{"address": "10.0.1.11", "names": ["w1"]}, {"address": "fd00::11", "names": ["w1"]}]
    assert host_entries(raw) == (HostEntry("10.0.1.11", ("w1",)), HostEntry("fd00::11", ("w1",)))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([{"address": "10.0.1.11/24", "names": ["w1"]}], "address has to be an IP address"),
        ([{"address": "10.0.1.11", "names": ["W1"]}], "host name 'W1'"),
        (
            [{"address": "10.0.1.11", "names": ["w1"]}, {"address": "10.0.1.12", "names": ["w1"]}],
            r"the name w1 has the address 10\.0\.1\.11, too",
        ),
    ],
    ids=["prefix", "name", "twice"],
)
def test_bad_entries(raw: list[dict[str, object]], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        host_entries(raw)


def test_entries_from_the_fleets_networks() -> None:
    hosts = {
        "w2": {"addresses": ["10.0.1.12/24"], "interface": "mgmt", "mtu": 1500, "kind": "ethernet"},
        "w1": {"addresses": ["10.0.1.11/24", "fd00::11/64"], "interface": "mgmt", "mtu": 1500, "kind": "ethernet"},
    }
    assert hosts_entries({"management": {"hosts": hosts}}, "management") == [
        {"address": "10.0.1.11", "names": ["w1"]},
        {"address": "fd00::11", "names": ["w1"]},
        {"address": "10.0.1.12", "names": ["w2"]},
    ]


def test_resolves_to() -> None:
    text = "127.0.1.1 w1 # w9\n#10.0.0.1 w1\n10.0.1.11 w1.lan w1\n"
    assert (resolves_to(text, "w1"), resolves_to(text, "w9")) == (["127.0.1.1", "10.0.1.11"], [])


def test_the_files_of_a_machine(tmp_path: Path) -> None:
    root = host_root(
        tmp_path, {"/etc/hostname": "localhost\n", "/etc/hosts": "127.0.1.1 w1\n", "/etc/cloud/cloud.cfg": "x: y\n"}
    )
    current = read_identity(root)
    # The live name is the kernel's: this test must not rename the computer that it runs on.
    current = IdentityState(current.static, "w1", current.hosts, current.cloud_init)
    apply_identity(root, current, desired_identity(current, "w1", ENTRIES))
    assert tree(tmp_path) == {
        "/etc/hostname": "w1\n",
        "/etc/hosts": f"{SEE}127.0.1.1 w1\n{BLOCK}",
        "/etc/cloud/cloud.cfg": "x: y\n",
        "/etc/cloud/cloud.cfg.d/99-gpufleet.cfg": "preserve_hostname: true\nmanage_etc_hosts: false\n",
    }


def test_no_cloud_init_no_file(tmp_path: Path) -> None:
    current = IdentityState("a", "w1", "", None)
    apply_identity(host_root(tmp_path, {}), current, desired_identity(current, "w1", ()))
    assert tree(tmp_path) == {"/etc/hostname": "w1\n"}
