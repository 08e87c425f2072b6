"""check_baseline: judging (pure), collecting (files of a made-up machine), and the module's answer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding, Severity, Subject
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.baseline_reading import read_baseline
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.limits import parse_limits
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.swap import SwapState
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.baseline import (
    BaselineReading,
    BaselineWanted,
    SysctlReading,
    judge_baseline,
    report_items,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.chrony import ChronyTracking
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult
from ansible_collections.gpufleet.cluster.plugins.modules import check_baseline

from tests.fakes.host_root import host_root
from tests.fakes.runner import FakeRunner

ROLE = "run role gpufleet.cluster.node_baseline"
FOLLOWING = ChronyTracking("0A4D000B", "10.77.0.11", 11, -0.0123, 0.0, 0.0, "Normal")
GOOD = BaselineReading(
    hostname="w1",
    static_hostname="w1",
    addresses=("10.0.1.11",),
    swap=SwapState(),
    modules_loaded=("br_netfilter", "overlay"),
    modules_persistent=("br_netfilter", "overlay"),
    sysctls={"net.ipv4.ip_forward": SysctlReading("1", "1", "/etc/sysctl.d/90-gpufleet.conf line 2")},
    limits={"DefaultLimitNOFILE": "1024"},
    clock=FOLLOWING,
    holds=("kubelet",),
)
WANTED = BaselineWanted(
    hostname="w1",
    modules=("overlay", "br-netfilter"),
    sysctls={"net.ipv4.ip_forward": "1"},
    limits={"DefaultLimitNOFILE": "1024"},
    holds=("kubelet",),
)


def finding(item, severity, measured, expected, message, remedy=ROLE, unit=""):
    return Finding("baseline", severity, Subject("w1", item=item), message, measured, expected, unit, remedy)


def test_a_good_machine() -> None:
    findings = judge_baseline("w1", GOOD, WANTED)
    assert [(f.subject.item, f.severity, f.remedy) for f in findings] == [
        (item, Severity.OK, "")
        for item in (
            "hostname",
            "static hostname",
            "swap",
            "swap at boot",
            "module overlay",
            "module br-netfilter",
            "sysctl net.ipv4.ip_forward",
            "limit DefaultLimitNOFILE",
            "clock",
            "hold kubelet",
        )
    ]
    assert report_items(findings)[0] == {"item": "hostname", "measured": "w1", "expected": "w1", "state": "ok"}


def bad(**changes):
    return replace(GOOD, **changes)


def sysctl(**values):
    return {"net.ipv4.ip_forward": replace(GOOD.sysctls["net.ipv4.ip_forward"], **values)}


def clock(**values):
    return replace(FOLLOWING, **values)


SYSCTL = "sysctl net.ipv4.ip_forward"
SOURCES = "see `chronyc sources`; "


@pytest.mark.parametrize(
    ("reading", "wanted", "expected"),
    [
        pytest.param(
            bad(hostname="localhost"),
            WANTED,
            finding("hostname", Severity.FAIL, "localhost", "w1", "hostname is localhost, not w1"),
            id="live-name",
        ),
        pytest.param(
            bad(addresses=("127.0.1.1",)),
            WANTED,
            finding(
                "hosts",
                Severity.FAIL,
                ["127.0.1.1"],
                "no loopback address",
                "w1 is 127.0.1.1 in /etc/hosts: services will announce loopback",
                "put the management address into node_baseline_hosts_entries and " + ROLE,
            ),
            id="loopback-only",
        ),
        pytest.param(
            bad(addresses=("127.0.1.1", "10.0.1.11")),
            WANTED,
            finding(
                "hosts",
                Severity.WARN,
                ["127.0.1.1"],
                "no loopback address",
                "w1 is 127.0.1.1 in /etc/hosts: services will announce loopback",
                "put the management address into node_baseline_hosts_entries and " + ROLE,
            ),
            id="loopback-too",
        ),
        pytest.param(
            bad(swap=SwapState(active=("/dev/vda3",))),
            WANTED,
            finding("swap", Severity.FAIL, ["/dev/vda3"], [], "swap is on: /dev/vda3"),
            id="swap-on",
        ),
        pytest.param(
            bad(swap=SwapState(fstab=("/swap.img none swap sw 0 0",), units=("swap.target",))),
            WANTED,
            finding(
                "swap at boot",
                Severity.FAIL,
                ["/swap.img none swap sw 0 0"],
                [],
                "swap comes back at the next boot by /swap.img none swap sw 0 0",
            ),
            id="swap-comes-back",
        ),
        pytest.param(
            bad(swap=SwapState(units=("swap.target",))),
            WANTED,
            finding(
                "swap at boot",
                Severity.WARN,
                ["swap.target"],
                [],
                "no swap is configured, but systemd would use a swap partition that it finds "
                "(swap.target is not masked)",
            ),
            id="swap-target",
        ),
        pytest.param(
            bad(swap="there is no /proc/swaps"),
            WANTED,
            finding("swap", Severity.UNKNOWN, None, [], "swap could not be measured: there is no /proc/swaps"),
            id="swap-unknown",
        ),
        pytest.param(
            bad(modules_persistent=("overlay",)),
            WANTED,
            finding(
                "module br-netfilter",
                Severity.FAIL,
                ["loaded"],
                ["loaded", "persistent"],
                "module br-netfilter is ['loaded'], not ['loaded', 'persistent']",
            ),
            id="module-not-persistent",
        ),
        pytest.param(
            bad(sysctls=sysctl(live="0")),
            WANTED,
            finding(SYSCTL, Severity.FAIL, "0", "1", "sysctl net.ipv4.ip_forward is 0, not 1"),
            id="sysctl-live",
        ),
        pytest.param(
            bad(sysctls=sysctl(live=None)),
            WANTED,
            finding(SYSCTL, Severity.FAIL, None, "1", "the kernel does not know net.ipv4.ip_forward"),
            id="sysctl-unknown",
        ),
        pytest.param(
            bad(sysctls=sysctl(boot=None, place="")),
            WANTED,
            finding(
                SYSCTL, Severity.FAIL, "1", "1", "net.ipv4.ip_forward is 1 now, and the kernel's default after a boot"
            ),
            id="sysctl-not-persistent",
        ),
        pytest.param(
            bad(sysctls=sysctl(boot="0", place="/etc/sysctl.d/99-z.conf line 3")),
            WANTED,
            finding(
                SYSCTL,
                Severity.FAIL,
                "1",
                "1",
                "net.ipv4.ip_forward is 1 now, and 0 after a boot (/etc/sysctl.d/99-z.conf line 3)",
            ),
            id="sysctl-boot",
        ),
        pytest.param(
            bad(sysctls=sysctl(undoing=("x is overridden with 0 by f line 1",))),
            WANTED,
            finding(
                SYSCTL,
                Severity.FAIL,
                "1",
                "1",
                "net.ipv4.ip_forward is 1 now, but x is overridden with 0 by f line 1",
                "take those lines out",
            ),
            id="sysctl-undone",
        ),
        pytest.param(
            bad(limits={}),
            WANTED,
            finding(
                "limit DefaultLimitNOFILE",
                Severity.FAIL,
                None,
                "1024",
                "limit DefaultLimitNOFILE is None, not 1024",
            ),
            id="limit",
        ),
        pytest.param(
            bad(limits="no systemd"),
            WANTED,
            finding(
                "limits",
                Severity.UNKNOWN,
                None,
                {"DefaultLimitNOFILE": "1024"},
                "limits could not be measured: no systemd",
            ),
            id="limits-unknown",
        ),
        pytest.param(
            bad(clock="chronyc is not installed"),
            WANTED,
            finding("clock", Severity.UNKNOWN, None, 100.0, "clock could not be measured: chronyc is not installed"),
            id="clock-unknown",
        ),
        pytest.param(
            bad(clock=clock(reference_id="00000000", leap="Not synchronised")),
            WANTED,
            finding(
                "clock",
                Severity.FAIL,
                12.3,
                100.0,
                "the clock follows nobody",
                SOURCES + "is a server of node_baseline_ntp_servers reached?",
                "ms",
            ),
            id="clock-nobody",
        ),
        pytest.param(
            bad(clock=clock(reference_id="7F7F0101", source="")),
            WANTED,
            finding(
                "clock",
                Severity.FAIL,
                12.3,
                100.0,
                "the machine follows its own clock only",
                SOURCES + "give node_baseline_ntp_servers",
                "ms",
            ),
            id="clock-local",
        ),
        pytest.param(
            bad(clock=clock(offset_s=0.1001)),
            WANTED,
            finding(
                "clock",
                Severity.FAIL,
                100.1,
                100.0,
                "the clock is 100.1 ms off 10.77.0.11",
                "wait for chrony to slew it, or `chronyc makestep` while nothing runs",
                "ms",
            ),
            id="clock-off",
        ),
        pytest.param(
            bad(holds=()),
            WANTED,
            finding("hold kubelet", Severity.FAIL, False, True, "hold kubelet is False, not True"),
            id="hold",
        ),
        pytest.param(
            bad(holds="no plugin"),
            WANTED,
            finding("holds", Severity.UNKNOWN, None, ["kubelet"], "holds could not be measured: no plugin"),
            id="holds-unknown",
        ),
    ],
)
def test_one_thing_is_wrong(reading: BaselineReading, wanted: BaselineWanted, expected: Finding) -> None:
    assert [f for f in judge_baseline("w1", reading, wanted) if f.severity is not Severity.OK] == [expected]


def test_the_time_source_may_follow_itself() -> None:
    local = clock(reference_id="7F7F0101", source="", offset_s=0.0)
    findings = judge_baseline("w1", bad(clock=local), replace(WANTED, clock_local=True))
    assert [f.message for f in findings if f.subject.item == "clock"] == [
        "the clock follows itself, as wanted, 0.0 ms off"
    ]


def test_what_is_not_wanted_is_not_judged() -> None:
    assert judge_baseline("w1", GOOD, BaselineWanted(swap_off=False, clock=False)) == []


TRACKING = "0A4D000B,10.77.0.11,11,1764530000.1,-0.0123,0.0,0.0,-1.2,0.0,0.0,0.0,0.0,64.2,Normal\n"
FILES = {
    "/etc/os-release": "ID=debian\nVERSION_ID=13\n",
    "/usr/bin/apt-get": "",
    "/etc/hostname": "w1\n",
    "/etc/hosts": "10.0.1.11 w1\n",
    "/proc/swaps": "Filename Type Size Used Priority\n",
    "/etc/systemd/system/swap.target": "-> /dev/null",
    "/sys/module/overlay/x": "",
    "/etc/modules-load.d/x.conf": "overlay\n",
    "/proc/sys/net/ipv4/ip_forward": "1\n",
    "/etc/sysctl.d/50-x.conf": "net.ipv4.ip_forward = 1\n",
    "/etc/sysctl.conf": "net.ipv4.ip_forward = 0\n",
}
ANSWERS = {
    ("chronyc", "-c", "tracking"): CommandResult(0, TRACKING, ""),
    ("apt-mark", "showhold"): CommandResult(0, "kubelet\n", ""),
    ("systemctl", "show", "--property=DefaultLimitNOFILE,DefaultLimitNOFILESoft"): CommandResult(
        0, "DefaultLimitNOFILE=1024\nDefaultLimitNOFILESoft=512\n", ""
    ),
}
UNDOING = "net.ipv4.ip_forward = 1 is overridden with 0 by /etc/sysctl.conf line 1 (read by sysctl --system)"


def read(root, answers):
    limits = parse_limits([{"item": "nofile", "soft": "512", "hard": "1024"}])
    reading = read_baseline(root, FakeRunner(answers), WANTED, {"net/ipv4/ip_forward": "1"}, limits)
    # The kernel's own name is the one of the computer that runs this test.
    return replace(reading, hostname="w1")


def test_collecting(tmp_path: Path) -> None:
    assert read(host_root(tmp_path, FILES), ANSWERS) == BaselineReading(
        hostname="w1",
        static_hostname="w1",
        addresses=("10.0.1.11",),
        swap=SwapState(),
        modules_loaded=("overlay",),
        modules_persistent=("overlay",),
        sysctls={"net.ipv4.ip_forward": SysctlReading("1", "1", "/etc/sysctl.d/50-x.conf line 1", (UNDOING,))},
        limits={"DefaultLimitNOFILE": "1024", "DefaultLimitNOFILESoft": "512"},
        clock=FOLLOWING,
        holds=("kubelet",),
    )


def test_collecting_where_nothing_answers(tmp_path: Path) -> None:
    reading = read(host_root(tmp_path, {}), {})
    assert (reading.swap, reading.clock, reading.limits, reading.holds) == (
        "there is no /proc/swaps",
        "chronyc is not installed",
        "ask systemd for its limits (systemctl show --property=DefaultLimitNOFILE,DefaultLimitNOFILESoft): "
        "systemctl: not installed",
        "read /etc/os-release: there is no such file; supported are almalinux (9), debian (12, 13), opencloudos (9), "
        "rhel (9), rocky (9), tencentos (4), tlinux (4), ubuntu (22.04, 24.04)",
    )


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (CommandResult(1, "506 Cannot talk to daemon\n", ""), "chronyc -c tracking: 506 Cannot talk to daemon"),
        (CommandResult(0, "nonsense\n", ""), "chronyc -c tracking: line 1: want 14 fields, got 1: nonsense"),
        (CommandResult(124, "", "chronyc: no end after 15 s"), "chronyc -c tracking: chronyc: no end after 15 s"),
    ],
    ids=["daemon-down", "unreadable", "time-out"],
)
def test_a_clock_that_cannot_be_read(tmp_path: Path, result: CommandResult, reason: str) -> None:
    answers = {**ANSWERS, ("chronyc", "-c", "tracking"): result}
    assert read(host_root(tmp_path, FILES), answers).clock == reason


def run_module(args, capsys):
    with patch_module_args(args), pytest.raises(SystemExit):
        check_baseline.main()
    return json.loads(capsys.readouterr().out)


def test_the_module_answers_a_check_result(capsys) -> None:
    result = run_module({"host": "w1", "run_id": "r1", "hostname": "nobody-has-this", "clock": False}, capsys)
    assert {key: result[key] for key in ("changed", "check", "run_id", "verdict")} == {
        "changed": False,
        "check": "baseline",
        "run_id": "r1",
        "verdict": "FAIL",
    }
    assert result["report"]["items"][0]["item"] == "hostname"
    assert [f["subject"]["item"] for f in result["findings"]] == [row["item"] for row in result["report"]["items"]]


def test_the_module_fails_for_a_bad_parameter_only(capsys) -> None:
    result = run_module({"host": "w1", "run_id": "r1", "sysctls": {"forward": 1}}, capsys)
    assert (result["failed"], result["msg"]) == (
        True,
        "sysctl 'forward': name one key, as net.ipv4.ip_forward or net/ipv4/conf/eth0.30/forwarding",
    )
