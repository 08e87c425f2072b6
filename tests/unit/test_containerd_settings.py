"""What is wanted of containerd, and its configuration in the format of each release: whole files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.registry import (
    HEADER,
    hosts_files,
    parse_registries,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.release import Release, parse_release
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.settings import desired_config, parse_settings
from ansible_collections.gpufleet.cluster.plugins.module_utils.containerd.toml import render_toml
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from hypothesis import given
from hypothesis import strategies as st

FIXTURES = Path(__file__).parent / "fixtures" / "containerd"
DEFAULTS: dict[str, Any] = {
    "sandbox_image": "registry.k8s.io/pause:3.10.1",
    "root": "/var/lib/containerd",
    "runtimes": {},
    "default_runtime": "runc",
    "cdi_spec_dirs": ["/etc/cdi", "/var/run/cdi"],
    "nri": True,
    "cni_bin_dir": "/opt/cni/bin",
    "cni_conf_dir": "/etc/cni/net.d",
    "imports": ["/etc/containerd/conf.d/*.toml"],
    "registries": [],
    "further": {},
}
# A GPU machine with its images on a disk of their own.
GPU_NODE: dict[str, Any] = {
    **DEFAULTS,
    "root": "/data/containerd",
    "runtimes": {"nvidia": "/usr/bin/nvidia-container-runtime"},
    "default_runtime": "nvidia",
    "further": {"debug": {"level": "info"}},
}


@pytest.mark.parametrize(
    ("output", "release", "config_format"),
    [
        ("containerd github.com/containerd/containerd 1.7.24~ds1 1.7.24~ds1-6+deb13u1\n", (1, 7, "1.7.24~ds1"), 2),
        ("containerd containerd.io 1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da\n", (1, 7, "1.7.27"), 2),
        ("containerd github.com/containerd/containerd/v2 v2.0.0 207ad71\n", (2, 0, "v2.0.0"), 3),
        ("containerd github.com/containerd/containerd/v2 v2.2.7 207ad71\n", (2, 2, "v2.2.7"), 3),
        ("containerd github.com/containerd/containerd/v2 v2.3.0 207ad71\n", (2, 3, "v2.3.0"), 4),
        ("containerd github.com/containerd/containerd/v2 v2.4.0-beta.0 207ad71\n", (2, 4, "v2.4.0-beta.0"), 4),
        ("containerd github.com/containerd/containerd/v3 v3.0.1 207ad71\n", (3, 0, "v3.0.1"), 4),
    ],
    ids=lambda value: value[2] if isinstance(value, tuple) else "",
)
def test_release(output: str, release: tuple[int, int, str], config_format: int) -> None:
    assert parse_release(output) == Release(*release)
    assert Release(*release).format == config_format


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+b1\n",
            "containerd 1.6.20~ds1 is too old",
        ),
        ("crio version 1.30.0\nGitCommit: 1\n", "'crio version 1.30.0"),
        ("", "'' is not its answer to --version"),
    ],
    ids=["without CDI and NRI", "CRI-O", "silent"],
)
def test_no_release(output: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("(", r"\(")):
        parse_release(output)


@pytest.mark.parametrize(
    ("release", "fixture"),
    [
        (Release(1, 7, "1.7.24"), "wanted-1.7.toml"),
        (Release(2, 0, "v2.0.7"), "wanted-2.0.toml"),
        (Release(2, 2, "v2.2.7"), "wanted-2.2.toml"),
        (Release(2, 3, "v2.3.4"), "wanted-2.3.toml"),
    ],
    ids=["version 2", "version 3 with bin_dir", "version 3 with bin_dirs", "version 4"],
)
def test_whole_file(release: Release, fixture: str) -> None:
    desired = desired_config(parse_settings(GPU_NODE), release)
    text = HEADER + render_toml(desired)
    assert text == (FIXTURES / fixture).read_text()
    assert tomllib.loads(text) == desired


def wrong(**changes: Any) -> dict[str, Any]:
    return {**DEFAULTS, **changes}


MIRROR = {"url": "https://mirror.fleet:5000/v2/hub", "capabilities": ["pull"]}


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (wrong(root="data"), "root: 'data' is no absolute path"),
        (wrong(cdi_spec_dirs=[]), "cdi_spec_dirs is empty: name at least one directory, as /etc/cdi"),
        (wrong(sandbox_image="pause 3.10"), "sandbox_image 'pause 3.10' is no image reference"),
        (wrong(runtimes={"NVIDIA": "/x"}), "runtimes: 'NVIDIA' is no name of a runtime (a-z, 0-9 and -)"),
        (wrong(runtimes={"nvidia": "x"}), "runtimes.nvidia: 'x' is no absolute path"),
        (wrong(default_runtime="nvidia"), "default_runtime 'nvidia' is not one of runc"),
        (
            wrong(further={"version": 3}),
            "further.version: the version is the installed release's, imports have an option",
        ),
        (
            wrong(root="a", cni_bin_dir="b", default_runtime="c"),
            "root: 'a' is no absolute path; cni_bin_dir: 'b' is no absolute path; "
            "default_runtime 'c' is not one of runc",
        ),
        (
            wrong(registries=[{"registry": "https://docker.io", "mirrors": [MIRROR]}]),
            "registries https://docker.io: the registry is HOST, HOST:PORT or _default, without https://",
        ),
        (
            wrong(registries=[{"registry": "../../tmp", "mirrors": [MIRROR]}]),
            "registries ../../tmp: the registry is HOST, HOST:PORT or _default, without https://",
        ),
        (wrong(registries=[{"registry": "docker.io", "mirrors": []}]), "registries docker.io: mirrors is empty"),
        (
            wrong(registries=[{"registry": "docker.io", "mirrors": [MIRROR]}] * 2),
            "registries docker.io: it is there twice; put its mirrors into one list",
        ),
        (
            wrong(registries=[{"registry": "docker.io", "mirrors": [MIRROR, MIRROR]}]),
            "registries docker.io: a mirror is there twice",
        ),
        (
            wrong(registries=[{"registry": "docker.io", "mirrors": [{"url": "https://user:password@mirror"}]}]),
            "registries docker.io mirror: 'https://user:password@mirror' is no URL http(s)://HOST[:PORT][/PATH]",
        ),
        (
            wrong(registries=[{"registry": "docker.io", "mirrors": [{**MIRROR, "capabilities": ["delete"]}]}]),
            "registries docker.io: capability 'delete' is not one of pull, resolve, push",
        ),
        (
            wrong(registries=[{"registry": "docker.io", "mirrors": [{**MIRROR, "ca": "ca.crt"}]}]),
            "registries docker.io: ca 'ca.crt' is no absolute path",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input(raw: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_settings(raw)
    assert str(error.value) == message


def test_a_relative_import_is_beside_the_configuration() -> None:
    assert parse_settings(wrong(imports=["conf.d/*.toml"])).imports == ("/etc/containerd/conf.d/*.toml",)


def test_further_settings_cannot_undo_an_option() -> None:
    further = {"plugins": {"io.containerd.nri.v1.nri": {"disable": True, "socket_path": "/run/nri.sock"}}}
    with pytest.raises(ConfigError) as error:
        desired_config(parse_settings(wrong(further=further)), Release(1, 7, "1.7.24"))
    assert str(error.value) == (
        "further: plugins io.containerd.nri.v1.nri disable = True, but the role's own options make it False; "
        "set the option instead"
    )


REGISTRIES = [
    {
        "registry": "docker.io",
        "server": "https://registry-1.docker.io",
        "mirrors": [
            {"url": "https://z-first.fleet:5000", "ca": "/etc/ssl/fleet.pem"},
            {**MIRROR, "skip_verify": True, "override_path": True},
        ],
    },
    {"registry": "registry.fleet:5000", "mirrors": [{"url": "http://10.0.0.5"}]},
]
DOCKER = (
    HEADER
    + """\
server = "https://registry-1.docker.io"

[host."https://z-first.fleet:5000"]
  capabilities = ["pull", "resolve"]
  ca = "/etc/ssl/fleet.pem"

[host."https://mirror.fleet:5000/v2/hub"]
  capabilities = ["pull"]
  skip_verify = true
  override_path = true
"""
)
FLEET = HEADER + '[host."http://10.0.0.5"]\n  capabilities = ["pull", "resolve"]\n'


def test_mirrors_of_registries() -> None:
    """The first mirror is asked first; what another wrote stays; what we wrote and nobody wants goes."""
    present = {
        "/etc/containerd/certs.d/docker.io/hosts.toml": 'server = "https://old"\n',
        "/etc/containerd/certs.d/quay.io/hosts.toml": 'server = "https://by-hand"\n',
        "/etc/containerd/certs.d/ghcr.io/hosts.toml": HEADER + 'server = "https://once"\n',
    }
    changes = hosts_files(parse_registries(REGISTRIES), present)
    assert changes == {
        "/etc/containerd/certs.d/docker.io/hosts.toml": DOCKER,
        "/etc/containerd/certs.d/registry.fleet:5000/hosts.toml": FLEET,
        "/etc/containerd/certs.d/ghcr.io/hosts.toml": None,
    }
    written = {path: text for path, text in {**present, **changes}.items() if text}
    assert hosts_files(parse_registries(REGISTRIES), written) == {}


KEYS = st.text(min_size=1, max_size=8).filter(lambda text: text.isprintable() or "\n" in text or "\x7f" in text)
LEAVES = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(codec="utf-8"))
TREES = st.dictionaries(
    KEYS,
    st.recursive(LEAVES | st.lists(LEAVES), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=8),
    max_size=4,
)


@given(TREES)
def test_every_tree_comes_back(tree: dict[str, Any]) -> None:
    assert tomllib.loads(render_toml(tree)) == tree


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": {"b": None}}, "write a.b as TOML: None is no string"),
        ({"a": [{"b": 1}]}, "write a as TOML: {'b': 1} is no string"),
        ({"a": "\udc80"}, "it is not valid Unicode"),
    ],
    ids=["null", "table in a list", "surrogate"],
)
def test_what_the_writer_refuses(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        render_toml(tree)
