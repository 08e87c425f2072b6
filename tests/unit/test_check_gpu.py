# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""check_gpu on a fake A4X machine: what is said of each fault, and that nothing unread is OK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.gpufleet.cluster.plugins.filter.nvlink_domains import nvlink_domains
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding, Severity, verdict
from ansible_collections.gpufleet.cluster.plugins.module_utils.gpu.reading import PARTS, read_gpus
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.gpu import ITEMS, GpuExpected, judge_gpus
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.gpu.report import gpu_report

from tests.fakes.gpu import BOOT, CLUSTER, changed, healthy
from tests.fakes.gpu_runner import MachineRunner
from tests.fakes.host_root import host_root

A4X = {"count": 4, "product": "NVIDIA GB200", "driver": "580.126.20", "nvlinks": 18, "fabric": "mnnvl"}
ADDRESSES = ("0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0")


def files(boot_id: str = "boot-1", **errors: int) -> dict[str, str]:
    """``nonfatal=3``: AER totals of the first GPU."""
    found = {"/proc/sys/kernel/random/boot_id": f"{boot_id}\n"}
    words = {"correctable": "COR", "nonfatal": "NONFATAL", "fatal": "FATAL"}
    for address in ADDRESSES:
        for kind, word in words.items():
            total = errors.get(kind, 0) if address == ADDRESSES[0] else 0
            text = f"Undefined 0\nDataLinkProtocol {total}\nTOTAL_ERR_{word} {total}\n"
            found[f"/sys/bus/pci/devices/{address}/aer_dev_{kind}"] = text
    return found


def read(folder: Path, machine: dict[str, Any], tree: dict[str, str] | None = None) -> dict[str, Any]:
    root = host_root(folder, files() if tree is None else tree)
    return read_gpus(root, MachineRunner(machine), PARTS, 60)


def check(folder: Path, machine: dict[str, Any], before: Any = None, **expected: Any) -> list[Finding]:
    return judge_gpus("w1", read(folder, machine), GpuExpected.from_dict({**A4X, **expected}), before)


def bad(findings: list[Finding]) -> list[tuple[str, str | None, int | None, str]]:
    return [
        (f.severity.name, f.subject.item, f.subject.gpu, f.message) for f in findings if f.severity is not Severity.OK
    ]


def test_healthy_is_ok_in_every_item_that_can_be_judged(tmp_path: Path) -> None:
    findings = check(tmp_path, healthy(), gpu_link="NV18", nic_link="NODE")
    assert bad(findings) == []
    assert {finding.subject.item for finding in findings} == set(ITEMS) - {"inforom", "domain"}


def log(*lines: str) -> dict[str, Any]:
    return {"answers": {"journalctl": "\n".join([BOOT, *lines, ""])}}


def kernel(device: str, rest: str) -> str:
    return f"2026-11-30T21:00:00+00:00 w1 kernel: NVRM: Xid (PCI:{device}): {rest}"


FAULTS = [
    pytest.param(
        {"gpus": healthy()["gpus"][:3], "fabric": healthy()["fabric"][:3]},
        [("FAIL", "count", None, "3 GPUs instead of 4")],
        id="one-gpu-less",
    ),
    pytest.param(
        {"gpu_1": {"temperature.gpu": "[GPU is lost]"}},
        [("FAIL", "count", None, "GPU 1 is lost or does not answer")],
        id="gpu-lost",
    ),
    pytest.param(
        {"gpu_3": {"power.draw": "[Unknown Error]"}},
        [("FAIL", "count", None, "GPU 3 is lost or does not answer")],
        id="gpu-answers-with-an-error",
    ),
    pytest.param(
        {"gpu_0": {"name": "NVIDIA B200 (FAKE)"}},
        [("FAIL", "product", None, "NVIDIA B200 (FAKE), NVIDIA GB200 (FAKE) instead of NVIDIA GB200")],
        id="another-product",
    ),
    pytest.param(
        {"gpu_0": {"driver_version": "580.105.08"}},
        [("FAIL", "driver", None, "several driver versions: 580.105.08, 580.126.20")],
        id="two-drivers",
    ),
    pytest.param(
        {f"gpu_{index}": {"driver_version": "580.105.08"} for index in range(4)},
        [("FAIL", "driver", None, "driver 580.105.08 instead of 580.126.20")],
        id="not-the-recipes-driver",
    ),
    pytest.param(
        {"gpu_2": {"gpu_recovery_action": "Drain and Reset"}},
        [("FAIL", "recovery", 2, "the driver asks for: Drain and Reset")],
        id="recovery-action",
    ),
    pytest.param(
        {"gpu_2": {"ecc.errors.uncorrected.volatile.total": 3, "ecc.errors.uncorrected.aggregate.total": 3}},
        [("FAIL", "ecc", 2, "3 uncorrected ECC errors since the driver was loaded")],
        id="ecc-uncorrected",
    ),
    pytest.param(
        {"gpu_2": {"ecc.errors.uncorrected.aggregate.total": 3}},
        [("WARN", "ecc", 2, "3 uncorrected ECC errors in the GPU's history, none since the driver was loaded")],
        id="ecc-in-history",
    ),
    pytest.param(
        {"gpu_2": {"ecc.mode.current": "Disabled"}},
        [("FAIL", "ecc", 2, "ECC is off: memory errors go unnoticed")],
        id="ecc-off",
    ),
    pytest.param(
        {"gpu_2": {"ecc.mode.current": "[N/A]"}},
        [("UNKNOWN", "ecc", 2, "nvidia-smi does not tell about ECC errors")],
        id="ecc-not-told",
    ),
    pytest.param(
        {"remapped_rows": {"1": [0, 1, "Yes", "No"]}},
        [
            (
                "FAIL",
                "remapped_rows",
                1,
                "a memory row waits for a reset to be remapped; until then the bad row is in use",
            ),
            ("WARN", "remapped_rows", 1, "1 memory rows were remapped after uncorrectable errors"),
        ],
        id="row-pending",
    ),
    pytest.param(
        {"remapped_rows": {"1": [0, 0, "No", "Yes"]}},
        [("FAIL", "remapped_rows", 1, "a memory row could not be remapped")],
        id="row-remapping-failed",
    ),
    pytest.param(
        {"gpu_1": {"retired_pages.pending": "Yes"}},
        [("FAIL", "remapped_rows", 1, "memory pages wait for a reset to be retired; until then they are in use")],
        id="page-retirement-pending",
    ),
    pytest.param(
        {"gpu_0": {"pcie.link.width.current": 8}}, [("FAIL", "pcie", 0, "PCIe x8 instead of x16")], id="pcie-narrow"
    ),
    pytest.param(
        {"gpu_0": {"pcie.link.gen.current": 3, "clocks_event_reasons.gpu_idle": "Not Active"}},
        [("FAIL", "pcie", 0, "PCIe generation 3 instead of 5")],
        id="pcie-slow-under-load",
    ),
    pytest.param(
        {"gpu_0": {"pcie.link.gen.current": 1, "pstate": "P8"}},
        [
            (
                "WARN",
                "pcie",
                0,
                "PCIe generation 1 instead of 5, while idle (that saves power): measure it under load",
            )
        ],
        id="pcie-slow-while-idle",
    ),
    pytest.param(
        {"gpu_1": {"clocks_event_reasons.hw_slowdown": "Active", "clocks_event_reasons.hw_thermal_slowdown": "Active"}},
        [
            (
                "FAIL",
                "clocks",
                1,
                "hw_thermal_slowdown: too hot: clocks are at half or less (1965 MHz of 2062, 35 degrees)",
            )
        ],
        id="too-hot",
    ),
    *(
        pytest.param({"gpu_1": {f"clocks_event_reasons.{name}": "Active"}}, [("FAIL", "clocks", 1, None)], id=name)
        for name in ("hw_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
    ),
    *(
        pytest.param({"gpu_1": {f"clocks_event_reasons.{name}": "Active"}}, [], id=name)
        for name in ("applications_clocks_setting", "sw_power_cap", "sync_boost")
    ),
    pytest.param(
        {"links": {"2": [53.125] * 5 + [None] + [53.125] * 12}},
        [("FAIL", "nvlink", 2, "17 of 18 NVLinks up; down: 5")],
        id="one-nvlink-down",
    ),
    pytest.param({"links": {"2": []}}, [("FAIL", "nvlink", 2, "0 of 18 NVLinks up")], id="all-nvlinks-of-one-gpu-down"),
    pytest.param(
        {"links": {"2": [53.125] * 17 + [25.0]}},
        [("WARN", "nvlink", None, "links of different speed: 25, 53.125 GB/s")],
        id="one-nvlink-slow",
    ),
    pytest.param(
        {"counters": {"1/7/Symbol Errors": 4}},
        [
            (
                "WARN",
                "nvlink_errors",
                1,
                "link 7, Symbol Errors: 4 since the driver was loaded, when is not known",
            )
        ],
        id="counter-of-unknown-age",
    ),
    pytest.param(
        {"fabric": [{"State": "In Progress", "Status": "N/A"}, *healthy()["fabric"][1:]]},
        [("FAIL", "fabric", 0, "00000008:01:00.0: fabric_manager_not_ready")],
        id="fabric-in-progress",
    ),
    pytest.param(
        {"fabric": [{**healthy()["fabric"][0], "CliqueId": 4000000005}, *healthy()["fabric"][1:]]},
        [
            (
                "FAIL",
                "fabric",
                None,
                f"the GPUs are in 2 NVLink partitions: {CLUSTER}.32766, {CLUSTER}.4000000005",
            )
        ],
        id="two-cliques",
    ),
    pytest.param(
        {"fabric": [{**each, "ClusterUUID": "00000000-0000-0000-0000-000000000000"} for each in healthy()["fabric"]]},
        [
            (
                "FAIL",
                "fabric",
                None,
                "no multi-node domain: the cluster UUID is 00000000-0000-0000-0000-000000000000",
            )
        ],
        id="no-multi-node-domain",
    ),
    pytest.param(
        log(kernel("0018:01:00", "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")),
        [
            (
                "FAIL",
                "xid",
                2,
                "Xid 79 on 0018:01:00: GPU has fallen off the bus; last at 2026-11-30T21:00:00+00:00: "
                "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            )
        ],
        id="xid-79",
    ),
    pytest.param(
        {"answers": {"journalctl": "2026-11-30T21:00:00+00:00 w1 kernel: late\n", "dmesg": "[99.0] later\n"}},
        [
            (
                "WARN",
                "xid",
                None,
                "the kernel's log (journalctl) has lost its beginning: it shows nothing before "
                "2026-11-30T21:00:00+00:00",
            )
        ],
        id="log-without-its-beginning",
    ),
    pytest.param(
        {"behaviour": {"journalctl": "missing"}},
        [
            (
                "UNKNOWN",
                "xid",
                None,
                "xid: not measured: the kernel's log cannot be read (journalctl: journalctl: not installed; "
                "dmesg: dmesg: not installed); this needs root",
            )
        ],
        id="no-log",
    ),
]


@pytest.mark.parametrize(("changes", "want"), FAULTS)
def test_faults(tmp_path: Path, changes: dict[str, Any], want: list[tuple[Any, ...]]) -> None:
    found = bad(check(tmp_path, changed(**changes)))
    if want and want[0][3] is None:
        found = [(*each[:3], None) for each in found]
    assert found == want


@pytest.mark.parametrize(
    "behaviour", ["missing", "not_executable", "silent", "error_text", "refuses", "hangs", "floods"]
)
def test_a_tool_that_fails_is_never_ok(tmp_path: Path, behaviour: str) -> None:
    """Whatever nvidia-smi does wrong, nothing that it would have told is judged."""
    findings = check(tmp_path, changed(behaviour={"nvidia-smi": behaviour}))
    assert {finding.subject.item for finding in findings if finding.severity is Severity.OK} == {"xid"}
    assert verdict(findings) is Severity.UNKNOWN


@pytest.mark.parametrize(
    "behaviour", ["missing", "not_executable", "silent", "error_text", "refuses", "hangs", "floods"]
)
def test_a_kernel_log_that_cannot_be_read_says_nothing_of_xid(tmp_path: Path, behaviour: str) -> None:
    findings = check(tmp_path, changed(behaviour={"journalctl": behaviour, "dmesg": "missing"}))
    assert [finding.severity for finding in findings if finding.subject.item == "xid"] == [Severity.UNKNOWN]


def test_a_lost_gpu_hides_the_others_and_nothing_of_them_is_ok(tmp_path: Path) -> None:
    findings = check(tmp_path, changed(behaviour={"nvidia-smi": "lost"}))
    assert bad(findings)[0] == ("FAIL", "count", None, "0009:01:00.0 is lost or does not answer")
    assert {finding.subject.item for finding in findings if finding.severity is Severity.OK} == {"xid"}


def test_a_missing_tool_is_told_once_and_a_hanging_one_waited_for_once(tmp_path: Path) -> None:
    for behaviour in ("missing", "hangs"):
        runner = MachineRunner(changed(behaviour={"nvidia-smi": behaviour}))
        read_gpus(host_root(tmp_path / behaviour, files()), runner, PARTS, 60)
        assert [call[0] for call in runner.calls] == ["nvidia-smi", "journalctl"]


@pytest.mark.parametrize(
    ("unknown", "not_offered"),
    [
        pytest.param(["gpu_recovery_action"], ["gpu_recovery_action"], id="a-field-of-newer-drivers"),
        pytest.param(
            [f"clocks_event_reasons.{n}" for n in ("gpu_idle", "hw_slowdown")], [], id="asked-for-by-their-old-name"
        ),
        pytest.param(
            ["clocks_event_reasons.hw_slowdown", "clocks_throttle_reasons.hw_slowdown"],
            ["clocks_event_reasons.hw_slowdown"],
            id="under-neither-name",
        ),
    ],
)
def test_fields_that_the_driver_does_not_know(tmp_path: Path, unknown: list[str], not_offered: list[str]) -> None:
    reading = read(tmp_path, changed(unknown_fields=unknown))
    assert reading["not_offered"] == not_offered
    assert bad(judge_gpus("w1", reading, GpuExpected.from_dict(A4X))) == []


def test_a_required_field_is_not_left_out(tmp_path: Path) -> None:
    reading = read(tmp_path, changed(unknown_fields=["uuid"]))
    assert reading["unread"]["query"] == "nvidia-smi --query-gpu: this driver does not know the field uuid"


def difference(folder: Path, after: dict[str, Any], tree: dict[str, str] | None = None, **before: Any) -> list[Any]:
    """From a healthy machine with ``before`` changed to ``after``."""
    first = read(folder / "before", changed(**before))
    last = read(folder / "after", after, tree)
    last["at"] = first["at"] + 300
    return bad(judge_gpus("w1", last, GpuExpected.from_dict(A4X), json.loads(json.dumps(first))))


CLOCK = "clocks_event_reasons_counters"


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        pytest.param({}, {}, [], id="nothing-grew"),
        pytest.param(
            {"counters": {"1/7/Symbol Errors": 4}},
            {"counters": {"1/7/Symbol Errors": 4}},
            [
                (
                    "WARN",
                    "nvlink_errors",
                    1,
                    "link 7, Symbol Errors: 4 since the driver was loaded, none of them during the run",
                )
            ],
            id="stood-there-before",
        ),
        pytest.param(
            {"counters": {"1/7/Symbol Errors": 4}},
            {"counters": {"1/7/Symbol Errors": 9}},
            [("WARN", "nvlink_errors", 1, "link 7, Symbol Errors: 5 during the run (300 s)")],
            id="a-counter-that-warns",
        ),
        pytest.param(
            {},
            {"counters": {"1/7/Link recovery failed events": 1}},
            [("FAIL", "nvlink_errors", 1, "link 7, Link recovery failed events: 1 during the run (300 s)")],
            id="a-counter-that-fails",
        ),
        pytest.param(
            {"counters": {"1/7/Rx Errors": 50}},
            {"counters": {"1/7/Rx Errors": 2}},
            [("WARN", "nvlink_errors", 1, "link 7, Rx Errors: 2 during the run (300 s)")],
            id="began-again-at-zero",
        ),
        pytest.param(
            {},
            {"gpu_0": {"ecc.errors.corrected.volatile.total": 7}},
            [("WARN", "ecc", 0, "7 ECC errors were corrected during the run (300 s)")],
            id="corrected-ecc",
        ),
        pytest.param(
            {},
            {"gpu_0": {f"{CLOCK}.hw_thermal_slowdown": 2500000}},
            [("FAIL", "clocks", 0, "hw_thermal_slowdown: slowed down for 2.500 s of the run's 300 s")],
            id="was-too-hot-during-the-run",
        ),
        pytest.param(
            {},
            {"gpu_0": {f"{CLOCK}.sw_thermal_slowdown": 2500}},
            [("WARN", "clocks", 0, "sw_thermal_slowdown: slowed down for 0.003 s of the run's 300 s")],
            id="the-driver-slowed-down",
        ),
    ],
)
def test_difference_over_the_run(tmp_path: Path, before: Any, after: Any, want: list[Any]) -> None:
    assert difference(tmp_path, changed(**after), **before) == want


@pytest.mark.parametrize(
    ("errors", "want"),
    [
        pytest.param(
            {"correctable": 4}, ("WARN", "0008:01:00.0: 4 correctable PCIe errors during the run (300 s)"), id="c"
        ),
        pytest.param({"nonfatal": 1}, ("FAIL", "0008:01:00.0: 1 nonfatal PCIe errors during the run (300 s)"), id="n"),
        pytest.param({"fatal": 1}, ("FAIL", "0008:01:00.0: 1 fatal PCIe errors during the run (300 s)"), id="f"),
    ],
)
def test_pcie_errors_during_the_run(tmp_path: Path, errors: dict[str, int], want: tuple[str, str]) -> None:
    found = difference(tmp_path, healthy(), files(**errors))
    assert found == [(want[0], "aer", None, want[1])]


@pytest.mark.parametrize(
    ("errors", "want"),
    [
        pytest.param({"correctable": 4}, [], id="correctable-errors-of-the-past-are-normal"),
        pytest.param(
            {"nonfatal": 4}, [("WARN", "aer", None, "0008:01:00.0: 4 nonfatal PCIe errors since boot")], id="nonfatal"
        ),
    ],
)
def test_pcie_errors_since_boot(tmp_path: Path, errors: dict[str, int], want: list[Any]) -> None:
    reading = read(tmp_path, healthy(), files(**errors))
    assert bad(judge_gpus("w1", reading, GpuExpected.from_dict(A4X))) == want


def test_a_kernel_without_pcie_counters_is_not_ok_unless_skipped(tmp_path: Path) -> None:
    reading = read(tmp_path, healthy(), {"/proc/sys/kernel/random/boot_id": "x\n"})
    found = bad(judge_gpus("w1", reading, GpuExpected.from_dict(A4X)))
    assert [each[:2] for each in found] == [("UNKNOWN", "aer")]
    assert bad(judge_gpus("w1", reading, GpuExpected.from_dict({**A4X, "skip": ["aer"]}))) == []


@pytest.mark.parametrize(
    ("before", "reason"),
    [
        pytest.param({"failed": True, "msg": "boom"}, "the reading at the beginning of the run failed", id="failed"),
        pytest.param({"skipped": True}, "the reading at the beginning of the run failed", id="skipped"),
        pytest.param(
            {"counters": {}, "boot_id": "other", "at": 1.0}, "the machine was booted during the run", id="booted"
        ),
    ],
)
def test_a_beginning_that_is_none(tmp_path: Path, before: dict[str, Any], reason: str) -> None:
    found = bad(check(tmp_path, healthy(), before))
    assert found == [("UNKNOWN", "nvlink_errors", None, f"no difference over the run: {reason}")]


@pytest.mark.parametrize(
    ("expected", "want"),
    [
        pytest.param({"count": None}, [("UNKNOWN", "count")], id="no-count"),
        pytest.param({"product": None}, [("UNKNOWN", "product")], id="no-product"),
        pytest.param({"gpu_link": "NV12"}, [("FAIL", "topology")], id="gpu-link"),
        pytest.param({"nic_link": "PIX"}, [("FAIL", "topology")] * 4, id="nic-link"),
        pytest.param({"nvlinks": 0, "fabric": "none"}, [], id="nothing-of-nvlink-expected"),
        pytest.param({"pcie_gen": 6}, [("WARN", "pcie")] * 4, id="pcie-gen"),
        pytest.param({"pcie_width": 32}, [("FAIL", "pcie")] * 4, id="pcie-width"),
        pytest.param({"product": "NVIDIA-GB200"}, [], id="product-as-a-label"),
        pytest.param({"product": "B200"}, [("FAIL", "product")], id="product-is-whole-words"),
    ],
)
def test_expectations(tmp_path: Path, expected: dict[str, Any], want: list[tuple[str, str]]) -> None:
    assert [each[:2] for each in bad(check(tmp_path, healthy(), **expected))] == want


def test_a_machine_without_nvlink(tmp_path: Path) -> None:
    """The driver says of each GPU that all links are inactive: only who expects none may call that right."""
    machine = changed(
        links={str(index): [] for index in range(4)},
        fabric=[{"State": "N/A", "Status": "N/A", "CliqueId": "N/A", "ClusterUUID": "N/A"}] * 4,
    )
    assert bad(check(tmp_path / "a", machine, nvlinks=0, fabric=None)) == []
    found = bad(check(tmp_path / "b", machine, nvlinks=None, fabric=None))
    assert found == [("UNKNOWN", "nvlink", None, "no NVLink is up, and nothing says whether one should be")]
    assert [each[:2] for each in bad(check(tmp_path / "c", machine))] == [("FAIL", "nvlink")] * 4 + [
        ("FAIL", "fabric")
    ] * 4


OWN, OTHER = f"{CLUSTER}.32766", f"{CLUSTER}.7"


@pytest.mark.parametrize(
    ("members", "want"),
    [
        pytest.param({"w1": [OWN]}, [], id="alone"),
        pytest.param({"w1": [OWN], "w2": []}, [], id="nothing-known-of-the-other"),
        pytest.param(
            {"w1": [OWN], "w2": [OWN], "w3": []}, [("OK", "in one NVLink domain with 1 of 2 other members")], id="same"
        ),
        pytest.param(
            {"w1": [OWN], "w2": [OWN], "w3": [OTHER]},
            [("OK", "in one NVLink domain with 1 of 2 other members")],
            id="another-is-the-odd-one",
        ),
        pytest.param(
            {"w1": [OWN], "w2": [OTHER], "w3": [OTHER]},
            [
                (
                    "FAIL",
                    f"in the NVLink domain {OWN}, but other members of its group are elsewhere: 2 in {OTHER}",
                )
            ],
            id="the-odd-one",
        ),
        pytest.param(
            {"w1": [OWN], "w2": [OTHER]},
            [
                (
                    "FAIL",
                    f"in the NVLink domain {OWN}, but other members of its group are elsewhere: 1 in {OTHER}",
                )
            ],
            id="one-against-one",
        ),
    ],
)
def test_the_domain_of_the_group(tmp_path: Path, members: dict[str, list[str]], want: list[tuple[str, str]]) -> None:
    findings = judge_gpus("w1", read(tmp_path, healthy()), GpuExpected.from_dict(A4X), members=members)
    assert [(f.severity.name, f.message) for f in findings if f.subject.item == "domain"] == want


def test_domains_of_the_members() -> None:
    groups = {"all": ["w1", "w2", "w3", "cp"], "nvl_d1": ["w1", "w2", "w3"]}
    fabric = [{"cluster_uuid": CLUSTER, "clique_id": 7}] * 4
    hostvars = {"w1": {"gpu": {"fabric": fabric}}, "w2": {"gpu": {"unreachable": True}}, "w3": {}}
    assert nvlink_domains(groups, "w1", hostvars, "gpu") == {"w1": [OTHER], "w2": [], "w3": []}
    assert nvlink_domains(groups, "cp", hostvars, "gpu") == {}
    with pytest.raises(AnsibleFilterError, match="w1 is in several NVLink domains: nvl_a, nvl_d1"):
        nvlink_domains({**groups, "nvl_a": ["w1"]}, "w1", hostvars, "gpu")


def test_skip_takes_known_items_only() -> None:
    with pytest.raises(ConfigError, match=r"expected.skip names clock: allowed are count, product"):
        GpuExpected.from_dict({"skip": ["clock"]})


def test_the_report_has_a_row_for_each_gpu(tmp_path: Path) -> None:
    reading = read(tmp_path, changed(links={"2": [53.125] * 17 + [None]}))
    report = gpu_report(reading, judge_gpus("w1", reading, GpuExpected.from_dict(A4X)))
    assert json.loads(json.dumps(report)) == report
    assert report["gpus"][2] == {
        "index": 2,
        "name": "NVIDIA GB200 (FAKE)",
        "uuid": "GPU-00000000-0000-0000-0000-000000000002",
        "pci": "00000018:01:00.0",
        "driver": "580.126.20",
        "state": "fail",
        "temperature_c": 36,
        "power_w": 165.27,
        "clock_mhz": 1965,
        "clock_max_mhz": 2062,
        "clock_reasons": ["gpu_idle"],
        "pcie_gen": 5,
        "pcie_gen_max": 5,
        "pcie_width": 16,
        "pcie_width_max": 16,
        "ecc_uncorrected": 0,
        "ecc_uncorrected_ever": 0,
        "nvlinks_up": 17,
        "fabric_state": "Completed",
        "nvlink_domain": f"{CLUSTER}.32766",
    }
