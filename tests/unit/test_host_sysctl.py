"""Which value a key has after a boot, who undoes ours, and what is done about it."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ClusterError, ConfigError
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.sysctl import (
    Assignment,
    boot_assignments,
    effective,
    find_overrides,
    key_path,
    parse_sysctl,
    render,
    wanted_paths,
)
from ansible_collections.gpufleet.cluster.plugins.module_utils.host.sysctl_state import apply_sysctls, plan_sysctls

from tests.fakes.host_root import host_root, tree

OURS = "/etc/sysctl.d/90-gpufleet.conf"
FORWARD = "net/ipv4/ip_forward"
LIVE = "/proc/sys/net/ipv4/ip_forward"
WANTED = {FORWARD: "1"}


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("net.ipv4.ip_forward", "net/ipv4/ip_forward"),
        ("net/ipv4/ip_forward", "net/ipv4/ip_forward"),
        ("net.ipv4.conf.eth0/30.rp_filter", "net/ipv4/conf/eth0.30/rp_filter"),
        ("net/ipv4/conf/eth0.30/rp_filter", "net/ipv4/conf/eth0.30/rp_filter"),
        ("net.ipv4.conf.*.rp_filter", "net/ipv4/conf/*/rp_filter"),
    ],
)
def test_both_spellings(key: str, path: str) -> None:
    assert key_path(key) == path


def test_parse_sysctl() -> None:
    text = (
        "# comment\n; comment\n\n  net.ipv4.ip_forward=1  \n-net/ipv4/ip_forward = 0\n"
        "-net.ipv4.conf.eth0.rp_filter\nnonsense\nnet.ipv4.tcp_rmem = 4096\t131072  6291456\n"
    )
    assert parse_sysctl(text, "f") == [
        Assignment("net/ipv4/ip_forward", "1", "f", 4),
        Assignment("net/ipv4/ip_forward", "0", "f", 5),
        Assignment("net/ipv4/conf/eth0/rp_filter", None, "f", 6),
        Assignment("net/ipv4/tcp_rmem", "4096 131072 6291456", "f", 8),
    ]


@pytest.mark.parametrize(
    ("files", "key", "expected"),
    [
        pytest.param(
            {"/usr/lib/sysctl.d/50-x.conf": "net.ipv4.ip_forward = 0\n", "/etc/sysctl.d/50-x.conf": "# nothing\n"},
            FORWARD,
            None,
            id="the-same-name-in-etc-replaces-the-whole-file",
        ),
        pytest.param(
            {"/usr/lib/sysctl.d/50-x.conf": "net.ipv4.ip_forward = 0\n", "/etc/sysctl.d/50-x.conf": "-> /dev/null"},
            FORWARD,
            None,
            id="a-mask",
        ),
        pytest.param(
            {
                "/run/sysctl.d/20-a.conf": "net.ipv4.ip_forward = 2\n",
                "/usr/lib/sysctl.d/20-a.conf": "net.ipv4.ip_forward = 3\n",
            },
            FORWARD,
            Assignment(FORWARD, "2", "/run/sysctl.d/20-a.conf", 1),
            id="run-before-usr-lib",
        ),
        pytest.param(
            {
                "/etc/sysctl.d/10-a.conf": "net.ipv4.ip_forward = 1\n",
                "/usr/lib/sysctl.d/99-z.conf": "net/ipv4/ip_forward=0\n",
            },
            FORWARD,
            Assignment(FORWARD, "0", "/usr/lib/sysctl.d/99-z.conf", 1),
            id="by-name-not-by-directory",
        ),
        pytest.param(
            {"/etc/sysctl.conf": "net.ipv4.ip_forward=0\n", "/etc/sysctl.d/50-a.conf": "net.ipv4.ip_forward=1\n"},
            FORWARD,
            Assignment(FORWARD, "1", "/etc/sysctl.d/50-a.conf", 1),
            id="sysctl-conf-is-not-read-at-boot",
        ),
        pytest.param(
            {"/etc/sysctl.conf": "net.ipv4.ip_forward=0\n", "/etc/sysctl.d/99-sysctl.conf": "-> ../sysctl.conf"},
            FORWARD,
            Assignment(FORWARD, "0", "/etc/sysctl.d/99-sysctl.conf", 1),
            id="unless-it-is-linked",
        ),
        pytest.param(
            {
                "/etc/sysctl.d/10-a.conf": "net.ipv4.conf.eth0.rp_filter = 0\n",
                "/etc/sysctl.d/20-b.conf": "net.ipv4.conf.*.rp_filter = 1\n",
            },
            "net/ipv4/conf/eth0/rp_filter",
            Assignment("net/ipv4/conf/eth0/rp_filter", "0", "/etc/sysctl.d/10-a.conf", 1),
            id="a-name-before-a-later-pattern",
        ),
        pytest.param(
            {"/etc/sysctl.d/20-b.conf": "net.ipv4.conf.*.rp_filter = 1\nnet.ipv4.conf.e*.rp_filter = 2\n"},
            "net/ipv4/conf/eth0.30/rp_filter",
            Assignment("net/ipv4/conf/e*/rp_filter", "2", "/etc/sysctl.d/20-b.conf", 2),
            id="the-last-pattern",
        ),
        pytest.param(
            {"/etc/sysctl.d/20-b.conf": "net.ipv4.conf.*.rp_filter = 1\n-net.ipv4.conf.eth0.rp_filter\n"},
            "net/ipv4/conf/eth0/rp_filter",
            None,
            id="taken-out-of-the-pattern",
        ),
        pytest.param(
            {"/etc/sysctl.d/20-b.conf": "net.*.rp_filter = 1\n"},
            "net/ipv4/conf/eth0/rp_filter",
            None,
            id="a-star-does-not-cross-a-slash",
        ),
        pytest.param(
            {"/etc/sysctl.d/20-b.conf": "net.ipv4.* = 1\n"},
            "net/ipv4/conf/eth0/rp_filter",
            None,
            id="a-pattern-is-not-a-prefix",
        ),
    ],
)
def test_the_value_after_a_boot(tmp_path: Path, files: dict[str, str], key: str, expected: Assignment | None) -> None:
    assert effective(boot_assignments(host_root(tmp_path, files)), key) == expected


OVERRIDDEN = {
    "/etc/sysctl.d/99-k8s.conf": "net.ipv4.ip_forward = 1\n",
    "/etc/sysctl.d/99-zzz.conf": "# site\nnet/ipv4/ip_forward=0\n",
    "/usr/lib/sysctl.d/11-gce-network-security.conf": "net.ipv4.ip_forward=0\n",
    "/usr/lib/sysctl.d/99-vendor.conf": "-net.ipv4.ip_forward = 0\nkernel.panic = 10\n",
    "/etc/sysctl.conf": "kernel.sysrq=1\nnet.ipv4.ip_forward=0\n",
    LIVE: "0\n",
}
BOOT_MESSAGE = "net.ipv4.ip_forward = 1 is overridden with 0 by %s (read by systemd-sysctl)"
HAND_MESSAGE = "net.ipv4.ip_forward = 1 is overridden with 0 by %s (read by sysctl --system)"


def test_overrides_are_named_with_file_and_line(tmp_path: Path) -> None:
    root = host_root(tmp_path, OVERRIDDEN)
    assert [str(o) for o in find_overrides(root, WANTED, {OURS: render(WANTED)})] == [
        BOOT_MESSAGE % "/etc/sysctl.d/99-zzz.conf line 2",
        BOOT_MESSAGE % "/usr/lib/sysctl.d/99-vendor.conf line 1",
        HAND_MESSAGE % "/etc/sysctl.conf line 2",
    ]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"/usr/lib/sysctl.d/11-gce-network-security.conf": "net.ipv4.ip_forward=0\n"}, id="sorts-before"),
        pytest.param({"/usr/lib/sysctl.d/90-gpufleet.conf": "net.ipv4.ip_forward=0\n"}, id="same-name-in-usr-lib"),
        pytest.param({"/etc/sysctl.d/99-k8s.conf": "net.ipv4.ip_forward=1\n"}, id="same-value"),
        pytest.param(
            {"/etc/sysctl.d/99-x.conf": "net.ipv4.ip_forward=0\nnet/ipv4/ip_forward=1\n"}, id="last-word-ours"
        ),
        pytest.param({"/etc/sysctl.d/99-x.conf": "net.ipv4.ip_f*=0\n"}, id="a-pattern"),
        pytest.param({"/etc/sysctl.d/99-x.txt": "net.ipv4.ip_forward=0\n"}, id="not-a-conf"),
    ],
)
def test_no_override(tmp_path: Path, files: dict[str, str]) -> None:
    assert find_overrides(host_root(tmp_path, files), WANTED, {OURS: render(WANTED)}) == []


def test_fail_changes_nothing(tmp_path: Path) -> None:
    root = host_root(tmp_path, OVERRIDDEN)
    with pytest.raises(ConfigError) as error:
        plan_sysctls(root, WANTED, "fail")
    assert str(error.value) == (
        "write /etc/sysctl.d/90-gpufleet.conf: "
        + "; ".join(
            (
                BOOT_MESSAGE % "/etc/sysctl.d/99-zzz.conf line 2",
                BOOT_MESSAGE % "/usr/lib/sysctl.d/99-vendor.conf line 1",
                HAND_MESSAGE % "/etc/sysctl.conf line 2",
            )
        )
        + ". Correct those lines, or set overrides to comment (they are commented out) or report"
    )
    assert tree(tmp_path) == OVERRIDDEN


def test_comment_makes_ours_the_last_word(tmp_path: Path) -> None:
    root = host_root(tmp_path, OVERRIDDEN)
    apply_sysctls(root, plan_sysctls(root, WANTED, "comment"))
    mark = "# gpufleet, overridden by /etc/sysctl.d/90-gpufleet.conf: "
    assert tree(tmp_path) == {
        **OVERRIDDEN,
        OURS: render(WANTED),
        "/etc/sysctl.d/99-zzz.conf": f"# site\n{mark}net/ipv4/ip_forward=0\n",
        "/etc/sysctl.d/99-vendor.conf": f"{mark}-net.ipv4.ip_forward = 0\nkernel.panic = 10\n",
        "/etc/sysctl.conf": f"kernel.sysrq=1\n{mark}net.ipv4.ip_forward=0\n",
        LIVE: "1",
    }
    again = plan_sysctls(root, WANTED, "comment")
    assert (again.changed, again.overrides) == (False, ())


def test_report_leaves_them_and_writes_ours(tmp_path: Path) -> None:
    root = host_root(tmp_path, OVERRIDDEN)
    plan = plan_sysctls(root, WANTED, "report")
    apply_sysctls(root, plan)
    assert tree(tmp_path) == {**OVERRIDDEN, OURS: render(WANTED), LIVE: "1"}
    assert len(plan.overrides) == 3


def test_an_unknown_key_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    root = host_root(tmp_path, {LIVE: "0\n"})
    wanted = {"net/bridge/bridge-nf-call-iptables": "1", FORWARD: "1"}
    plan = plan_sysctls(root, wanted, "fail")
    assert (plan.changed, plan.missing) == (True, ("net.bridge.bridge-nf-call-iptables",))
    with pytest.raises(ClusterError, match=r"does not know net\.bridge.bridge-nf-call-iptables; load the module"):
        apply_sysctls(root, plan)
    assert tree(tmp_path) == {LIVE: "0\n"}


def test_the_kernel_keeps_another_value(tmp_path: Path) -> None:
    root = host_root(tmp_path, {"/proc/sys/kernel/x": "-> /dev/null"})
    plan = plan_sysctls(root, {"kernel/x": "1"}, "fail")
    with pytest.raises(
        ClusterError, match=r"the kernel keeps kernel\.x = , not 1; give a value that this kernel takes"
    ):
        apply_sysctls(root, plan)


def test_values_compare_by_words(tmp_path: Path) -> None:
    root = host_root(tmp_path, {"/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n"})
    assert plan_sysctls(root, wanted_paths({"net.ipv4.tcp_rmem": "4096 131072  6291456"}), "fail").live == {}


@pytest.mark.parametrize(
    ("sysctls", "message"),
    [
        ({"net.ipv4.conf.*.rp_filter": 1}, "name one key"),
        ({"ip_forward": 1}, "name one key"),
        ({"net/../../etc/x": 1}, "name one key"),
        ({"net.ipv4.ip_forward": ""}, "the value is empty"),
        ({"net.ipv4.ip_forward": 1, "net/ipv4/ip_forward": 0}, "given twice, with 1 and 0"),
    ],
    ids=["pattern", "short", "outside", "empty", "twice"],
)
def test_what_cannot_be_meant_is_refused(sysctls: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        wanted_paths(sysctls)


def test_true_is_one() -> None:
    assert wanted_paths({"net.ipv4.ip_forward": True}) == {FORWARD: "1"}
