"""Kernel modules, limits and held packages."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ClusterError, ConfigError, MeasureError
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.holds import hold_packages, read_holds
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.kernel_modules import (
    ModulesState,
    load_modules,
    loaded_modules,
    persistent_modules,
    read_modules,
    render_modules,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.limits import (
    LimitsState,
    apply_limits,
    desired_limits,
    parse_limits,
    read_limits,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult

from tests.fakes.host_root import host_root, tree
from tests.fakes.runner import FakeRunner

FILE = "/etc/modules-load.d/gpufleet.conf"
OK = CommandResult(0, "", "")
KERNEL = {
    "/proc/modules": "br_netfilter 32768 0 - Live 0x0\nbridge 311296 1 br_netfilter, Live 0x0\n",
    "/lib/modules/6.12.1/modules.builtin": "kernel/fs/overlayfs/overlay.ko\nkernel/drivers/net/tun.ko.xz\n",
    "/sys/module/nf_conntrack/refcnt": "0\n",
}


def test_loaded_and_built_in(tmp_path: Path) -> None:
    root = host_root(tmp_path, KERNEL)
    assert loaded_modules(root, "6.12.1") == ["br_netfilter", "bridge", "nf_conntrack", "overlay", "tun"]


def test_only_what_is_missing_is_loaded(tmp_path: Path) -> None:
    root = host_root(tmp_path, KERNEL)
    names = ("overlay", "br-netfilter", "ib_umad", "rdma_cm")
    desired = ModulesState(names, render_modules(names))
    current = read_modules(root, "6.12.1", names)
    assert current == ModulesState(("overlay", "br-netfilter"), "")
    argvs = [("modprobe", "ib_umad"), ("modprobe", "rdma_cm")]
    runner = FakeRunner(dict.fromkeys(argvs, OK))
    load_modules(root, runner, current, desired)
    assert runner.calls == argvs
    assert root.read(FILE) == (
        "# Written by the role node_baseline of gpufleet.cluster. Changes here are lost.\n"
        "overlay\nbr-netfilter\nib_umad\nrdma_cm\n"
    )


def test_a_module_that_is_not_there(tmp_path: Path) -> None:
    failed = CommandResult(1, "", "modprobe: FATAL: Module ib_umad not found in directory /lib/modules/6.12.1\n")
    with pytest.raises(ClusterError) as error:
        load_modules(
            host_root(tmp_path, {}),
            FakeRunner({("modprobe", "ib_umad"): failed}),
            ModulesState((), ""),
            ModulesState(("ib_umad",), ""),
        )
    assert str(error.value) == (
        "load the kernel module ib_umad (modprobe ib_umad): modprobe: FATAL: Module ib_umad not found in directory "
        "/lib/modules/6.12.1; install the package that has it for the running kernel, or take it off the list"
    )


@pytest.mark.parametrize("name", ["nvidia_peermem    # comment", "a b", "", "../x"])
def test_only_a_name_is_a_module(name: str) -> None:
    with pytest.raises(ConfigError, match="only the name"):
        render_modules([name])


def test_what_other_files_load_at_boot(tmp_path: Path) -> None:
    files = {
        "/etc/modules-load.d/k8s.conf": "# c\n; c\noverlay\nnvidia_peermem # comment\n",
        "/usr/lib/modules-load.d/k8s.conf": "hidden\n",
        "/usr/lib/modules-load.d/open-iscsi.conf": "ib-iser\n",
    }
    assert persistent_modules(host_root(tmp_path, files)) == ["ib_iser", "nvidia_peermem # comment", "overlay"]


RAW = [{"item": "memlock", "soft": "unlimited", "hard": "unlimited"}, {"item": "stack", "soft": 8192, "hard": 16384}]
HEADER = "# Written by the role node_baseline of gpufleet.cluster. Changes here are lost.\n"
PAM = HEADER + (
    "* soft memlock unlimited\n* hard memlock unlimited\nroot soft memlock unlimited\nroot hard memlock unlimited\n"
    "* soft stack 8192\n* hard stack 16384\nroot soft stack 8192\nroot hard stack 16384\n"
)
SYSTEMD = HEADER + "[Manager]\nDefaultLimitMEMLOCK=infinity:infinity\nDefaultLimitSTACK=8388608:16777216\n"
MANAGER = {
    "DefaultLimitMEMLOCK": "infinity",
    "DefaultLimitMEMLOCKSoft": "infinity",
    "DefaultLimitSTACK": "16777216",
    "DefaultLimitSTACKSoft": "8388608",
}
SHOW = ("systemctl", "show", "--property=" + ",".join(MANAGER))
SHOWN = CommandResult(0, "".join(f"{key}={value}\n" for key, value in MANAGER.items()), "")
RELOAD = ("systemctl", "daemon-reload")
OLD_SHOWN = CommandResult(0, "DefaultLimitMEMLOCK=8388608\n", "")


class ReloadingRunner(FakeRunner):
    """systemd shows new limits only after a reload."""

    def run(self, argv, timeout=None, stdin=None):
        if RELOAD in self.calls:
            self.answers[SHOW] = SHOWN
        return super().run(argv, timeout, stdin)


def test_limits_for_sessions_and_services(tmp_path: Path) -> None:
    root = host_root(tmp_path, {"/run/systemd/system/.x": ""})
    limits = parse_limits(RAW)
    runner = ReloadingRunner({SHOW: OLD_SHOWN, RELOAD: OK})
    current = read_limits(root, runner, limits)
    desired = desired_limits(current, limits)
    assert desired == LimitsState(PAM, SYSTEMD, MANAGER)
    apply_limits(root, runner, limits, current, desired)
    assert read_limits(root, runner, limits) == desired


def test_limits_that_another_file_sets_are_not_believed(tmp_path: Path) -> None:
    root = host_root(tmp_path, {"/run/systemd/system/.x": ""})
    limits = parse_limits(RAW)
    runner = FakeRunner({SHOW: OLD_SHOWN, RELOAD: OK})
    current = read_limits(root, runner, limits)
    with pytest.raises(ClusterError, match=r"after daemon-reload .* another file in /etc/systemd/system"):
        apply_limits(root, runner, limits, current, desired_limits(current, limits))


def test_limits_where_systemd_does_not_run(tmp_path: Path) -> None:
    root, runner = host_root(tmp_path, {}), FakeRunner({})
    limits = parse_limits(RAW)
    current = read_limits(root, runner, limits)
    apply_limits(root, runner, limits, current, desired_limits(current, limits))
    assert read_limits(root, runner, limits) == LimitsState(PAM, SYSTEMD, None)
    assert runner.calls == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"item": "files", "soft": 1, "hard": 1}, "item is one of core, memlock, nofile, nproc, stack"),
        ({"item": "nofile", "soft": "1k", "hard": 1}, "soft and hard are numbers or unlimited"),
    ],
    ids=["item", "value"],
)
def test_bad_limits(entry: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_limits([entry])


APT_LIST, DNF_LIST = ("apt-mark", "showhold"), ("dnf", "-q", "-C", "versionlock", "list")
DNF_LOCKS = "kernel-core-0:5.14.0-427.el9.*\ncontainerd.io-0:1.6.9-3.1.el9.*\n!tar-2:1.34-6.el9.*\n\n"


@pytest.mark.parametrize(
    ("manager", "argv", "text", "expected"),
    [
        ("apt", APT_LIST, "kubelet\nlibc6:amd64\n", {"kubelet", "libc6"}),
        ("apt", APT_LIST, "", set()),
        ("dnf", DNF_LIST, DNF_LOCKS, {"kernel-core", "containerd.io"}),
    ],
    ids=["apt", "apt-none", "dnf"],
)
def test_holds_are_read(manager: str, argv: tuple[str, ...], text: str, expected: set[str]) -> None:
    assert read_holds(FakeRunner({argv: CommandResult(0, text, "")}), manager) == expected


def test_missing_plugin_names_the_package() -> None:
    failed = CommandResult(1, "", "No such command: versionlock. Please use /usr/bin/dnf --help\n")
    with pytest.raises(MeasureError) as error:
        read_holds(FakeRunner({DNF_LIST: failed}), "dnf")
    assert str(error.value) == (
        "dnf -q -C versionlock list: No such command: versionlock. Please use /usr/bin/dnf --help; it needs the "
        "package python3-dnf-plugin-versionlock"
    )


def test_a_hold_that_did_not_take() -> None:
    runner = FakeRunner({("apt-mark", "hold", "kubelet", "nope"): OK, APT_LIST: CommandResult(0, "kubelet\n", "")})
    with pytest.raises(MeasureError, match="nope still not held; are they installed"):
        hold_packages(runner, "apt", ["kubelet", "nope"])


def test_a_write_that_ends_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    root = host_root(tmp_path, {"/etc/x.conf": "old\n"})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(ClusterError, match=r"write /etc/x\.conf: File too large; the old file is unchanged"):
            root.write("/etc/x.conf", "new\n" * 10000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert tree(tmp_path) == {"/etc/x.conf": "old\n"}
