"""Swap in all its forms: off now, off after a boot, nothing else touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ClusterError
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.swap import (
    SwapState,
    disable_fstab_swap,
    parse_proc_swaps,
    read_swap,
    turn_swap_off,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult

from tests.fakes.host_root import host_root, tree
from tests.fakes.runner import FakeRunner

UNITS = "/etc/systemd/system"
NULL = "-> /dev/null"
MASKED_TARGET = {f"{UNITS}/swap.target": NULL}
FSTAB = (
    "# /etc/fstab: static file system information\n"
    "UUID=0a3407de-014b-458b-b5c1-848e92a327a3 /               ext4    errors=remount-ro 0       1\n"
    "\n"
    "UUID=f9fe0b69-a280-415d-a03a-a32752370dee none            swap    sw              0       0\n"
    "LABEL=swap0\tnone\tswap\tsw\t0 0\r\n"
    "#/dev/sdb1 none swap sw 0 0\n"
    "/swap.img none swap noauto 0 0\n"
    "tmpfs /swap tmpfs size=1G 0 0\n"
    "//nas/caf\xe9 /mnt/swap cifs credentials=/root/swap 0 0"
)
FSTAB_OFF = (
    "# /etc/fstab: static file system information\n"
    "UUID=0a3407de-014b-458b-b5c1-848e92a327a3 /               ext4    errors=remount-ro 0       1\n"
    "\n"
    "# gpufleet, swap is off: "
    "UUID=f9fe0b69-a280-415d-a03a-a32752370dee none            swap    sw              0       0\n"
    "# gpufleet, swap is off: LABEL=swap0\tnone\tswap\tsw\t0 0\r\n"
    "#/dev/sdb1 none swap sw 0 0\n"
    "# gpufleet, swap is off: /swap.img none swap noauto 0 0\n"
    "tmpfs /swap tmpfs size=1G 0 0\n"
    "//nas/caf\xe9 /mnt/swap cifs credentials=/root/swap 0 0"
)
GPT_UNIT = "[Unit]\nDescription=Swap Partition\n[Swap]\nWhat=/dev/vda3\n"
CUSTOM = "[Swap]\nWhat=/foo\n[Install]\nWantedBy=multi-user.target\n"
ZRAM = "[zram0]\nzram-size = ram / 2\n"
SWAPS = "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"


GPT_FILE = "/run/systemd/generator.late/dev-vdb3.swap"


@pytest.mark.parametrize(
    ("files", "units"),
    [
        pytest.param({GPT_FILE: GPT_UNIT}, (), id="nobody-wants-it"),
        pytest.param(
            {GPT_FILE: GPT_UNIT, "/run/systemd/generator.late/swap.target.wants/dev-vdb3.swap": "-> ../dev-vdb3.swap"},
            (),
            id="only-the-masked-target-wants-it",
        ),
        pytest.param(
            {GPT_FILE: GPT_UNIT, f"{UNITS}/multi-user.target.wants/dev-vdb3.swap": "-> /dev/vdb3"},
            ("dev-vdb3.swap",),
            id="another-target-wants-it",
        ),
    ],
)
def test_a_partition_found_at_a_later_boot(tmp_path: Path, files: dict[str, str], units: tuple[str, ...]) -> None:
    assert read_swap(host_root(tmp_path, {**files, **MASKED_TARGET})) == SwapState(units=units)


@pytest.mark.parametrize(
    ("files", "before", "after"),
    [
        pytest.param(
            {"/etc/fstab": FSTAB},
            SwapState(
                fstab=(
                    "UUID=f9fe0b69-a280-415d-a03a-a32752370dee none            swap    sw              0       0",
                    "LABEL=swap0\tnone\tswap\tsw\t0 0",
                    "/swap.img none swap noauto 0 0",
                ),
                units=("swap.target",),
            ),
            {"/etc/fstab": FSTAB_OFF, **MASKED_TARGET},
            id="a-fstab-by-uuid-label-commented-noauto",
        ),
        pytest.param({}, SwapState(units=("swap.target",)), MASKED_TARGET, id="b-no-fstab"),
        pytest.param(
            {"/run/systemd/generator.late/dev-vda3.swap": GPT_UNIT},
            SwapState(units=("dev-vda3.swap", "swap.target")),
            {
                "/run/systemd/generator.late/dev-vda3.swap": GPT_UNIT,
                f"{UNITS}/dev-vda3.swap": NULL,
                **MASKED_TARGET,
            },
            id="c-partition-found-by-gpt-auto",
        ),
        pytest.param(
            {
                "/usr/lib/systemd/zram-generator.conf": ZRAM,
                "/usr/lib/systemd/zram-generator.conf.d/50-big.conf": ZRAM,
            },
            SwapState(
                units=("swap.target",),
                zram=("/etc/systemd/zram-generator.conf", "/etc/systemd/zram-generator.conf.d/50-big.conf"),
            ),
            {
                "/usr/lib/systemd/zram-generator.conf": ZRAM,
                "/usr/lib/systemd/zram-generator.conf.d/50-big.conf": ZRAM,
                "/etc/systemd/zram-generator.conf": "",
                "/etc/systemd/zram-generator.conf.d/50-big.conf": NULL,
                **MASKED_TARGET,
            },
            id="d-zram-generator-in-usr-lib",
        ),
        pytest.param(
            {"/etc/systemd/zram-generator.conf": ZRAM},
            SwapState(units=("swap.target",), zram=("/etc/systemd/zram-generator.conf",)),
            {
                "/etc/systemd/zram-generator.conf": "",
                "/etc/systemd/zram-generator.conf.gpufleet-disabled": ZRAM,
                **MASKED_TARGET,
            },
            id="d-zram-generator-in-etc",
        ),
        pytest.param(
            {f"{UNITS}/foo.swap": CUSTOM, f"{UNITS}/multi-user.target.wants/foo.swap": "-> ../foo.swap"},
            SwapState(units=("foo.swap", "swap.target")),
            {
                f"{UNITS}/foo.swap": NULL,
                f"{UNITS}/foo.swap.gpufleet-disabled": CUSTOM,
                f"{UNITS}/multi-user.target.wants/foo.swap": "-> ../foo.swap",
                **MASKED_TARGET,
            },
            id="e-custom-unit",
        ),
        pytest.param(
            {"/run/systemd/generator/swap.img.swap": "[Unit]\nSourcePath=/etc/fstab\n"},
            SwapState(units=("swap.target",)),
            {"/run/systemd/generator/swap.img.swap": "[Unit]\nSourcePath=/etc/fstab\n", **MASKED_TARGET},
            id="unit-made-of-fstab-needs-no-mask",
        ),
        pytest.param(
            {"/usr/lib/systemd/system/zramswap.service": "[Service]\n"},
            SwapState(units=("swap.target", "zramswap.service")),
            {
                "/usr/lib/systemd/system/zramswap.service": "[Service]\n",
                f"{UNITS}/zramswap.service": NULL,
                **MASKED_TARGET,
            },
            id="a-swap-makers-service",
        ),
    ],
)
def test_swap_does_not_come_back(
    tmp_path: Path, files: dict[str, str], before: SwapState, after: dict[str, str]
) -> None:
    root = host_root(tmp_path, files)
    state = read_swap(root)
    assert state == before
    turn_swap_off(root, FakeRunner({}), state)
    assert tree(tmp_path) == after
    assert read_swap(root).off, "the second run has nothing to do"


def test_f_active_zram_and_files_are_turned_off_last(tmp_path: Path) -> None:
    swaps = SWAPS + "/dev/zram0    partition 4194300 0 100\n/my\\040swap   file 1048572 512 -2\n"
    root = host_root(
        tmp_path, {"/proc/swaps": swaps, "/run/systemd/system/x.conf": "", "/usr/lib/systemd/zram-generator.conf": ZRAM}
    )
    state = read_swap(root)
    assert state.active == ("/dev/zram0", "/my swap")
    done = CommandResult(0, "", "")
    argvs = [("systemctl", "daemon-reload"), ("swapoff", "/dev/zram0"), ("swapoff", "/my swap")]
    runner = FakeRunner(dict.fromkeys(argvs, done))
    turn_swap_off(root, runner, state)
    assert runner.calls == argvs


def test_a_container_leaves_the_hosts_swap_alone(tmp_path: Path) -> None:
    files = {"/proc/swaps": SWAPS + "/dev/vda3 partition 1 1 -2\n", "/run/systemd/container": "podman\n"}
    assert read_swap(host_root(tmp_path, files)) == SwapState(units=("swap.target",))


def test_too_little_memory_is_said_and_persistence_is_done(tmp_path: Path) -> None:
    root = host_root(tmp_path, {"/proc/swaps": SWAPS + "/dev/vda3 partition 1 1 -2\n", "/etc/fstab": FSTAB})
    failed = CommandResult(255, "", "swapoff: /dev/vda3: swapoff failed: Cannot allocate memory\n")
    with pytest.raises(ClusterError) as error:
        turn_swap_off(root, FakeRunner({("swapoff", "/dev/vda3"): failed}), read_swap(root))
    assert str(error.value) == (
        "turn swap on /dev/vda3 off (swapoff /dev/vda3): swapoff: /dev/vda3: swapoff failed: Cannot allocate memory; "
        "what is swapped out may not fit into memory: stop workloads, or reboot (it will not come back)"
    )
    assert read_swap(root) == SwapState(active=("/dev/vda3",))


def test_fstab_keeps_owner_mode_and_bytes(tmp_path: Path) -> None:
    raw = b"\xff\xfe / ext4 defaults 0 1\n/dev/sda2 none swap sw 0 0\n"
    path = tmp_path / "etc" / "fstab"
    path.parent.mkdir()
    path.write_bytes(raw)
    path.chmod(0o640)
    root = host_root(tmp_path, {})
    turn_swap_off(root, FakeRunner({}), read_swap(root))
    assert path.read_bytes() == raw.replace(b"/dev/sda2", b"# gpufleet, swap is off: /dev/sda2")
    assert os.stat(path).st_mode & 0o777 == 0o640


def test_disabling_twice_is_disabling_once() -> None:
    assert disable_fstab_swap(FSTAB_OFF) == FSTAB_OFF


def test_empty_proc_swaps() -> None:
    assert parse_proc_swaps(SWAPS) == ()
