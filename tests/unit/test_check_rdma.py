# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""check_rdma and ib_write_bw as modules, and what the report makes of all hosts' results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ConfigError, MeasureError
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding, Severity, Subject, check_result
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.cabling import Planned
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.check import check_rdma as run_check
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.devices import Endpoint, PortDownError, read_devices
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.fleet import Inventory, Wanted, fleet_plan
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.nics import Ends, NicFinder, commands_of, judge_nics
from ansible_collections.gpufleet.cluster.plugins.module_utils.rdma.perftest import Settings
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import CommandResult
from ansible_collections.gpufleet.cluster.plugins.modules import check_rdma, ib_write_bw, rdma_info
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report import html
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.collect import collect
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.model import Check

from tests.fakes import report as fake
from tests.fakes.infiniband import mapped, nic
from tests.fakes.runner import FakeRunner
from tests.unit.test_rdma_cabling import IBNET

HOSTS = ("cp", "w1", "w2", "w3")
RDMA = Check("rdma", "rdma_check", "check_rdma_result")


def fleet(rails: int = 2) -> dict[str, Any]:
    """The control plane has no rails."""

    def entry(network: str, rail: int | None, number: int) -> dict[str, Any]:
        return {"addresses": [f"{network}.{number}/24"], "interface": f"if{rail}", "mtu": 9000, "rail": rail}

    networks = {"management": {"hosts": {host: entry("10.0.1", None, n) for n, host in enumerate(HOSTS, 11)}}}
    for rail in range(rails):
        members = {host: entry(f"10.0.{10 + rail}", rail, n) for n, host in enumerate(HOSTS, 11) if host != "cp"}
        networks[f"rail{rail}"] = {"hosts": members}
    return networks


def inventory(host: str, hosts: tuple[str, ...] = HOSTS) -> Inventory:
    return Inventory(host, "run", fleet(), hosts, {"nvl_a": ["w1", "w2"], "nvl_b": ["w3"], "workers": ["w1"]})


def checked(host: str, root: Path, *, forks: int = 50, hosts: tuple[str, ...] = HOSTS, pairs: str = "full") -> Any:
    return run_check(
        inventory(host, hosts), Wanted(pairs=pairs), Settings(), [], None,
        forks=forks, log_directory=str(root), measure=False, caller=None,
        cabling={}, runner=FakeRunner({}), root=str(root),
    )  # fmt: skip


def test_every_host_makes_the_same_plan_and_agents_talk_beside_the_rails() -> None:
    plans = [fleet_plan(inventory(host), Wanted(pairs="domain")) for host in ("w1", "w2", "w3")]
    assert len({json.dumps(plan.rounds) for plan in plans}) == 1
    assert plans[0].addresses["w2"] == ("10.0.1.13", "10.0.10.13", "10.0.11.13")
    assert "cp" not in plans[0].addresses
    assert plans[0].rounds == [(("w1", "w2"),), (("w1", "w3"),)], "inside nvl_a, then across"


def test_a_host_without_rails_has_no_findings(tmp_path: Path) -> None:
    assert checked("cp", tmp_path) == ({}, [])


def test_too_few_forks_are_refused_with_the_number_that_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"3 hosts must measure at the same time.*2 of them.*--forks 3"):
        checked("w1", tmp_path, forks=2)


def test_check_mode_tells_rounds_time_and_commands(tmp_path: Path) -> None:
    nic(tmp_path, "mlx5_0", "if0", {2: (mapped("10.0.10.12"), "RoCE v2", "if0")})
    report, findings = checked("w1", tmp_path)
    assert findings == []
    # Three rounds, both directions, two tests: 3 s and 1 s, and 1.5 s beside each.
    assert (report["plan"]["rounds"], report["plan"]["expected_s"]) == (3, 3 * 2 * (4.5 + 2.5))
    assert [(rail["device"], rail["gid_index"]) for rail in report["rails"]] == [("mlx5_0", 2), (None, None)]
    assert "no RDMA device behind if1" in report["rails"][1]["problem"]
    assert len(report["commands"]) == 4
    assert all("-x 2" in " ".join(command) for command in report["commands"])


def test_a_host_alone_in_the_run_is_unknown_and_leaves_a_log(tmp_path: Path) -> None:
    nic(tmp_path, "mlx5_0", "if0", {2: (mapped("127.0.0.1"), "RoCE v2", "if0")}, state="1: DOWN")
    here = {"rail0": {"hosts": {"w1": {"addresses": ["127.0.0.1/8"], "interface": "if0", "mtu": 1500, "rail": 0}}}}
    report, findings = run_check(
        Inventory("w1", "run", here, ("w1",), {}), Wanted(), Settings(), [], None,
        forks=1, log_directory=str(tmp_path / "log"), measure=True, caller=None,
        cabling={}, runner=FakeRunner({}), root=str(tmp_path),
    )  # fmt: skip
    assert report["pairs"] == []
    assert Path(report["log"]).read_text() == ""
    assert [(each.severity, each.message) for each in findings] == [
        (Severity.FAIL, "rail0: mlx5_0 port 1 of if0 is DOWN, not ACTIVE"),
        (Severity.UNKNOWN, "no other host of this run has a rail that w1 has: nothing was measured"),
    ]


def test_cables_of_infiniband_are_looked_for_from_the_devices_own_port(tmp_path: Path) -> None:
    gid = "fe80:0000:0000:0000:0c42:a103:00d4:e5f6"
    nic(tmp_path, "mlx5_7", "ib0", {0: (gid, "IB/RoCE v1", "")}, link_layer="InfiniBand")
    here = {"rail0": {"hosts": {"w1": {"addresses": ["127.0.0.1/8"], "interface": "ib0", "mtu": 2044, "rail": 0}}}}
    argv = ("ibnetdiscover", "-C", "mlx5_7", "-P", "1")
    report, findings = run_check(
        Inventory("w1", "run", here, ("w1",), {}), Wanted(), Settings(), [], None,
        forks=1, log_directory=str(tmp_path / "log"), measure=True, caller=None,
        cabling={"rail0": Planned("leaf-1", "7")}, runner=FakeRunner({argv: CommandResult(0, IBNET, "")}),
        root=str(tmp_path),
    )  # fmt: skip
    assert report["cabling"][0]["found"] == {"near": "0c42a10300d4e5f6", "switch": "leaf-1", "port": "7"}
    assert (findings[-1].severity, findings[-1].measured) == (Severity.OK, "leaf-1 port 7")


def module_result(module: Any, arguments: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    with patch_module_args(arguments), pytest.raises(SystemExit):
        module.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


ARGUMENTS = {"host": "cp", "run_id": "run", "fleet": fleet(), "hosts": list(HOSTS), "forks": 50}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        pytest.param({}, {"failed": False, "verdict": None}, id="no-rail"),
        pytest.param({"pairs": "none", "host": "w1"}, {"failed": False, "verdict": None}, id="not-wanted"),
        pytest.param({"host": "w1", "forks": 1}, {"failed": True, "msg": "--forks 3"}, id="too-few-forks"),
        pytest.param(
            {"settings": {"duration": 30, "limit": 30}}, {"failed": True, "msg": "must be longer"}, id="limit-too-short"
        ),
        pytest.param({"limits": [{"sku": "x"}]}, {"failed": True, "msg": "limit 1: missing"}, id="bad-limits"),
    ],
)
def test_the_module_fails_for_what_it_is_told_and_not_for_what_it_finds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], wanted: dict[str, Any]
) -> None:
    monkeypatch.setattr(type(check_rdma.sys.stdout), "fileno", lambda _self: 1, raising=False)
    result = module_result(check_rdma, {**ARGUMENTS, **changes}, capsys)
    assert result.get("failed", False) is wanted["failed"]
    assert wanted.get("msg", "") in result.get("msg", "")
    assert result.get("verdict") == wanted.get("verdict")


def test_a_computer_without_rdma_is_unknown_and_has_no_devices(capsys: pytest.CaptureFixture[str]) -> None:
    if read_devices():
        pytest.fail("this test wants a computer without RDMA devices")
    result = module_result(ib_write_bw, {"host": "here"}, capsys)
    assert (result["verdict"], result["report"]) == ("UNKNOWN", {"rows": []})
    assert module_result(rdma_info, {}, capsys)["devices"] == []


def test_every_nic_of_a_host_is_measured_not_the_first_four_times(tmp_path: Path) -> None:
    for number in range(4):
        gids = {1: (mapped(f"10.0.1{number}.12"), "RoCE v2", f"gpu{number}rdma0")}
        state = "1: DOWN" if number == 3 else "4: ACTIVE"
        nic(tmp_path, f"mlx5_{number}", f"gpu{number}rdma0", gids, state=state, pci=f"000{number}:03:00.0")
    nics = NicFinder(read_devices(str(tmp_path))).find([])
    ends = Ends("loopback", 18599, None, 60)
    usable = [each for each in nics.values() if isinstance(each, Endpoint)]
    commands = [command for each in usable for command in commands_of(Settings(), each, "ib_write_bw", ends)]
    devices = [command[command.index("-d") + 1] for command in commands]
    assert devices == ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1", "mlx5_2", "mlx5_2"]
    assert isinstance(nics["mlx5_3/1"], PortDownError)
    findings = judge_nics("w1", nics, [], [], sku=None, role="loopback")
    assert [(each.severity, each.subject.port) for each in findings] == [(Severity.FAIL, "mlx5_3/1")]


def test_a_nic_that_is_not_there_is_refused_with_what_is(tmp_path: Path) -> None:
    nic(tmp_path, "mlx5_0", "if0", {})
    finder = NicFinder(read_devices(str(tmp_path)))
    with pytest.raises(ConfigError, match="mlx5_9 is not on this host; it has mlx5_0"):
        finder.find(["mlx5_9"])
    assert isinstance(finder.find([])["mlx5_0/1"], MeasureError), "no GID, so nothing to measure with"


def result(host: str, slow: dict[tuple[str, str], float]) -> dict[str, Any]:
    pairs = [
        {
            "network": "rail0", "test": "ib_write_bw", "sender": host, "receiver": other, "state": "ok",
            "value": slow.get((host, other), 392.0), "unit": "Gb/s", "size_bytes": 65536, "detail": "",
            "device": "mlx5_0", "attempts": 1, "seconds": 3.0, "raw": f"<raw of {host} to {other}>",
        }
        for other in ("a", "b", "c", "d")
        if other != host
    ]  # fmt: skip
    report = {
        "plan": {"pairs": "full", "rounds": 3, "hosts": 4, "directions": "both", "memory": "host", "expected_s": 42.0,
                 "tolerances": {"bw": 10.0, "lat": 100.0}},
        "rails": [{"network": "rail0", "rate_gbps": 400.0}], "pairs": pairs, "seconds": 44.0, "log": "/var/log/x.log",
    }  # fmt: skip
    good = Finding("rdma", Severity.OK, Subject(host, network="rail0"), "rail0: as wanted")
    return check_result("rdma", fake.RUN.id, report, [good])


def test_the_report_names_the_bad_rail_and_shows_the_way_to_its_raw_output() -> None:
    slow = {("c", other): 98.0 for other in "abd"} | {(other, "c"): 97.0 for other in "abd"}
    hosts = [fake.host(name, "workers", rdma=result(name, slow)) for name in "abcd"]
    report = collect((RDMA,), hosts, fake.RUN)
    bad = [each for each in report.findings if each.severity is Severity.FAIL]
    assert [(each.subject.host, each.subject.network, each.message.split(":")[0]) for each in bad] == [
        ("c", "rail0", "bad rail")
    ]
    assert [host.verdict for host in report.hosts] == [Severity.OK, Severity.OK, Severity.FAIL, Severity.OK]
    page = html.render(report)
    assert page.count('class="s-slow"') == 6 + 1, "six cells of the cross, one swatch"
    assert "&lt;raw of c to a&gt;" in page
    assert "/var/log/x.log on c" in page


def test_all_alike_gives_no_more_than_the_hosts_own_findings() -> None:
    report = collect((RDMA,), [fake.host(name, "workers", rdma=result(name, {})) for name in "abcd"], fake.RUN)
    assert report.passed
    assert len(report.findings) == 4
    assert "Worst measurements" not in html.render(report)
