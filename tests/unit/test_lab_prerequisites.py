"""The lab refuses with one clear line, and picks KVM only where it works."""

from __future__ import annotations

import re
import socket

import pytest

from tools.lab.accelerator import find_accelerator
from tools.lab.errors import LabError
from tools.lab.paths import Paths
from tools.lab.plan import make_plan
from tools.lab.prerequisites import GIB, PACKAGES, check_memory, check_ports, check_programs, check_space


def one_line(error) -> str:
    assert "\n" not in str(error.value)
    return str(error.value)


def test_missing_programs_are_named_with_their_packages(tmp_path):
    for program in (thing for things in PACKAGES.values() for thing in things if not thing.startswith("/")):
        if program not in ("qemu-img", "mcopy"):
            (tmp_path / program).touch(mode=0o755)
    with pytest.raises(LabError) as error:
        check_programs(str(tmp_path))
    line = one_line(error)
    assert "qemu-img (package qemu-utils)" in line
    assert "mcopy (package mtools)" in line
    assert re.search(r"apt-get install .*\bmtools .*\bqemu-utils", line)
    assert "mmdebstrap" not in line


def test_too_little_space(tmp_path):
    with pytest.raises(LabError) as error:
        check_space(tmp_path, 2**60)
    assert re.fullmatch(
        rf"{tmp_path} has [\d.]+ GiB free, the lab needs 1073741824.0 GiB. .*XDG_CACHE_HOME.*", one_line(error)
    )


def test_too_little_memory(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 1048576 kB\n")
    check_memory(GIB, tmp_path / "meminfo")
    with pytest.raises(LabError, match=r"1\.0 GiB of memory are available, the lab needs 2\.0 GiB.*--workers"):
        check_memory(2 * GIB, tmp_path / "meminfo")


@pytest.mark.parametrize(
    ("kind", "port", "said"),
    [
        pytest.param(socket.SOCK_STREAM, 2240, "TCP 2240", id="the way in"),
        pytest.param(socket.SOCK_DGRAM, 23407, "UDP 23407", id="the switch's end of a cable"),
    ],
)
def test_taken_ports(kind, port, said):
    nodes = make_plan(20)[-1:]  # worker-20: not the ports of a lab that may be running
    check_ports(nodes)
    with socket.socket(socket.AF_INET, kind) as other:
        other.bind(("127.0.0.1", port))
        if kind == socket.SOCK_STREAM:
            other.listen()
        with pytest.raises(LabError) as error:
            check_ports(nodes)
    assert one_line(error).startswith(f"ports of 127.0.0.1 are taken by another program: {said}. Stop it")


@pytest.mark.parametrize(
    ("flags", "device", "accelerator"),
    [
        pytest.param("fpu vmx sse", True, "kvm", id="Intel"),
        pytest.param("fpu svm sse", True, "kvm", id="AMD"),
        pytest.param("fpu sse", True, "tcg", id="device without the flag: the first vCPU would hang"),
        pytest.param("fpu vmx", False, "tcg", id="flag without device"),
        pytest.param("fpu novmx", True, "tcg", id="part of another word"),
    ],
)
def test_accelerator(tmp_path, flags, device, accelerator):
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
    if device:
        (tmp_path / "kvm").touch()
    assert find_accelerator(tmp_path / "kvm", tmp_path / "cpuinfo") == accelerator


def test_a_cache_folder_too_deep_for_sockets(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/" + "x" * 80)
    with pytest.raises(LabError, match=r"\d+ bytes too long for unix sockets: /x+/gpufleet. Set XDG_CACHE_HOME"):
        Paths.of_user()
