"""Which systems are known, and how the others are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.constraints import (
    bare_host_problems,
    host_problems,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.os_family import (
    OperatingSystem,
    identify,
    supported_text,
    version_tuple,
)

FIXTURES = Path(__file__).parent / "fixtures" / "os-release"
APT, DNF = {"/usr/bin/apt-get"}, {"/usr/bin/dnf"}


def text(name: str) -> str:
    return (FIXTURES / name).read_text()


@pytest.mark.parametrize(
    ("name", "programs", "expected"),
    [
        ("debian-13", APT, OperatingSystem("debian", "13", "Debian GNU/Linux 13 (trixie)", "debian", "apt")),
        ("ubuntu-24.04", APT, OperatingSystem("ubuntu", "24.04", "Ubuntu 24.04.1 LTS", "debian", "apt")),
        ("rocky-9", DNF, OperatingSystem("rocky", "9.4", "Rocky Linux 9.4 (Blue Onyx)", "el", "dnf")),
        ("tencentos-4", DNF, OperatingSystem("tencentos", "4.2", "TencentOS Server 4.2", "el", "dnf")),
        # A stray apt-get does not make a Debian of it.
        ("tencentos-4", APT | DNF, OperatingSystem("tencentos", "4.2", "TencentOS Server 4.2", "el", "dnf")),
        ("opencloudos-9", DNF, OperatingSystem("opencloudos", "9.2", "OpenCloudOS 9.2", "el", "dnf")),
    ],
    ids=lambda value: value if isinstance(value, str) else "+".join(sorted(value)) if isinstance(value, set) else "",
)
def test_a_known_system(name: str, programs: set[str], expected: OperatingSystem) -> None:
    assert identify(text(name), programs.__contains__) == expected


@pytest.mark.parametrize(
    ("os_release", "programs", "message"),
    [
        pytest.param(
            text("tencentos-3"),
            DNF,
            "operating system TencentOS Server 3.1 (Final) (ID='tencentos', VERSION_ID='3.1' in /etc/os-release) is "
            "not supported: its Python 3.6 is too old (3.9 is needed); supported are " + supported_text(),
            id="tencentos-3",
        ),
        pytest.param(
            text("fedora-41"),
            DNF,
            "operating system Fedora Linux 41 (Server Edition) (ID='fedora' in /etc/os-release) is not supported; "
            "supported are " + supported_text(),
            id="unknown",
        ),
        pytest.param(
            text("ubuntu-20.04"),
            APT,
            "operating system Ubuntu 20.04.6 LTS (ID='ubuntu', VERSION_ID='20.04' in /etc/os-release) is not "
            "supported; supported are " + supported_text(),
            id="too-old",
        ),
        pytest.param(
            text("ubuntu-24.04").replace("24.04", "24.10"),
            APT,
            "operating system Ubuntu 24.10.1 LTS (ID='ubuntu', VERSION_ID='24.10' in /etc/os-release) is not "
            "supported; supported are " + supported_text(),
            id="an-interim-release",
        ),
        pytest.param(
            None,
            APT,
            "read /etc/os-release: there is no such file; supported are " + supported_text(),
            id="no-file",
        ),
        pytest.param(
            text("rocky-9"),
            set(),
            "Rocky Linux 9.4 (Blue Onyx) has no package manager: none of /usr/bin/dnf, /usr/bin/dnf-3 exists",
            id="no-manager",
        ),
        pytest.param(
            "",
            APT,
            "operating system without a name (ID='' in /etc/os-release) is not supported; supported are "
            + supported_text(),
            id="empty",
        ),
    ],
)
def test_another_system_is_refused_by_name(os_release: str | None, programs: set[str], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        identify(os_release, programs.__contains__)
    assert str(error.value) == message


def test_the_supported_list_is_readable() -> None:
    assert supported_text() == (
        "almalinux (9), debian (12, 13), opencloudos (9), rhel (9), rocky (9), tencentos (4), tlinux (4), "
        "ubuntu (22.04, 24.04)"
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [("5.15.0-91-generic", (5, 15, 0)), ("6.6.30-5.tl4.aarch64", (6, 6, 30)), ("13", (13,)), ("", ()), ("rolling", ())],
)
def test_version_tuple(value: str, expected: tuple[int, ...]) -> None:
    assert version_tuple(value) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        pytest.param(text("rocky-9") + "Python 3.9.18\n", [], id="good"),
        pytest.param(
            text("debian-13") + "sh: 1: python3: not found\n",
            ["w1: python = None: python3 3.9 or later: install the package python3"],
            id="no-python",
        ),
        pytest.param(
            text("tencentos-3") + "Python 3.6.8\r\n",
            [
                "w1: os = 'TencentOS Server 3.1 (Final)': operating system TencentOS Server 3.1 (Final) "
                "(ID='tencentos', VERSION_ID='3.1' in /etc/os-release) is not supported: "
                "its Python 3.6 is too old (3.9 is needed); supported are " + supported_text(),
                "w1: python = '3.6.8': python3 3.9 or later on the machine",
            ],
            id="both-at-once",
        ),
    ],
)
def test_problems_before_python(output: str, expected: list[str]) -> None:
    assert [str(problem) for problem in bare_host_problems("w1", output)] == expected


INFO = {
    "os": {"id": "rocky", "version": "9.4", "name": "Rocky Linux 9.4", "family": "el", "package_manager": "dnf"},
    "kernel": "5.14.0-427.el9.x86_64",
    "architecture": "x86_64",
    "memory_mib": 8192,
    "disk_free_mib": {"/": 30000},
    "python": "3.9.18",
    "cgroup_version": 2,
}
MET = {
    "os": [{"id": "rocky", "versions": ["9"]}],
    "kernel": {"min": "5.14"},
    "architecture": ["x86_64"],
    "memory_mib": {"min": 8192},
    "disk_free_mib": {"/": 30000},
    "python": {"min": "3.9"},
    "cgroup_version": [2],
}


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        pytest.param({}, [], id="none"),
        pytest.param(MET, [], id="all-met"),
        pytest.param({"os": [{"id": "rocky"}]}, [], id="any-release"),
        pytest.param(
            {
                "os": [{"id": "ubuntu", "versions": ["22.04", "24.04"]}, {"id": "rocky", "versions": ["9.5"]}],
                "kernel": {"min": "5.15"},
                "architecture": ["aarch64"],
                "memory_mib": {"min": 8193},
                "disk_free_mib": {"/": 30001, "/var": 1},
                "python": {"min": "3.12"},
                "cgroup_version": [1],
            },
            [
                "w1: os = 'rocky 9.4': one of ubuntu 22.04, 24.04; rocky 9.5",
                "w1: kernel = '5.14.0-427.el9.x86_64': 5.15 or later",
                "w1: python = '3.9.18': 3.12 or later",
                "w1: architecture = 'x86_64': one of aarch64",
                "w1: cgroup_version = 2: one of 1",
                "w1: memory_mib = 8192: 8193 MiB or more",
                "w1: disk_free_mib / = 30000: 30001 MiB or more free",
                "w1: disk_free_mib /var = None: 1 MiB or more free",
            ],
            id="all-wrong-at-once",
        ),
        pytest.param(
            {"cpu": 4},
            [
                "w1: constraints.cpu = 4: one of os, kernel, architecture, memory_mib, disk_free_mib, python, "
                "cgroup_version"
            ],
            id="unknown-key",
        ),
    ],
)
def test_a_recipes_constraints(constraints: dict[str, object], expected: list[str]) -> None:
    assert [str(problem) for problem in host_problems("w1", INFO, constraints)] == expected
