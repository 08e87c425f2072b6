# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""junit.xml, metrics.prom, the table for the terminal, and the way files get to the disk."""

from __future__ import annotations

import dataclasses
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ClusterError
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report import junit, prometheus
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.run import (
    RUN_ID,
    collection_version,
    inventory_name,
    new_run,
)
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.table import headline, table
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.write import write_report

from tests.fakes import report as fake


def outcome(case: ElementTree.Element) -> tuple[str, list[tuple[str, str | None]]]:
    return case.get("name") or "", [(child.tag, child.get("type")) for child in case]


def test_junit_has_a_suite_for_each_check_and_a_case_for_each_host() -> None:
    root = ElementTree.fromstring(junit.render(fake.report(fake.lab())))
    found = {suite.get("name"): [outcome(case) for case in suite] for suite in root}
    lost = ("worker-2", [("error", "UNKNOWN")])
    assert found == {
        "baseline": [("cp-1", [("system-out", None)]), ("worker-1", []), lost],
        "bond": [("cp-1", []), ("worker-1", [("failure", "FAIL")]), lost],
        "mtu": [("cp-1", [("failure", "FAIL")]), ("worker-1", [("failure", "FAIL")]), lost],
    }
    counts = [(suite.get("tests"), suite.get("failures"), suite.get("errors")) for suite in root]
    assert counts == [("3", "0", "1"), ("3", "1", "1"), ("3", "2", "1")]


def test_junit_survives_what_xml_cannot_carry() -> None:
    evil = "a\x00b\x1b[31m\ufffe]]></failure> & \ud800"
    root = ElementTree.fromstring(
        junit.render(fake.report([fake.host("w", mtu={"failed": True, "msg": evil})], (fake.MTU,)))
    )
    error = root.find("testsuite/testcase/error")
    assert error is not None
    assert error.get("message") == "Check mtu broke on w. a\ufffdb\ufffd[31m\ufffd]]></failure> & ?"


SAMPLE = re.compile(
    r'gpufleet_[a-z_]+\{[a-z]+="(?:[^"\\\n]|\\\\|\\"|\\n)*"(?:,[a-z]+="(?:[^"\\\n]|\\\\|\\"|\\n)*")*\} -?[0-9.]+'
)


def test_prometheus_lines() -> None:
    text = prometheus.render(fake.report(fake.lab()))
    lines = text.splitlines()
    assert text.endswith("\n")
    assert [line for line in lines if not line.startswith("#") and not SAMPLE.fullmatch(line)] == []
    assert 'gpufleet_run_timestamp_seconds{inventory="lab"} 1796069970' in lines
    assert 'gpufleet_run_verdict{inventory="lab"} 3' in lines
    assert [line for line in lines if line.startswith("gpufleet_host_verdict")] == [
        'gpufleet_host_verdict{inventory="lab",host="cp-1"} 3',
        'gpufleet_host_verdict{inventory="lab",host="worker-1"} 3',
        'gpufleet_host_verdict{inventory="lab",host="worker-2"} 2',
    ]
    assert 'gpufleet_finding_count{inventory="lab",check="mtu",severity="FAIL"} 4' in lines
    assert 'gpufleet_finding_count{inventory="lab",check="host",severity="UNKNOWN"} 1' in lines
    assert 'gpufleet_finding_count{inventory="lab",check="bond",severity="WARN"} 0' in lines
    assert [line for line in lines if line.startswith("gpufleet_mtu_path_bytes")] == [
        'gpufleet_mtu_path_bytes{inventory="lab",host="cp-1",network="storage"} 1500',
        'gpufleet_mtu_path_bytes{inventory="lab",host="cp-1",network="rail0"} 9000',
        'gpufleet_mtu_path_bytes{inventory="lab",host="worker-1",network="storage"} 1500',
        'gpufleet_mtu_path_bytes{inventory="lab",host="worker-1",network="rail0"} 9000',
    ]
    for name in {line.split("{")[0] for line in lines if not line.startswith("#")}:
        heads = [
            number for number, line in enumerate(lines) if line.startswith((f"# HELP {name} ", f"# TYPE {name} gauge"))
        ]
        assert heads[1] == heads[0] + 1, name


def test_prometheus_escapes_labels() -> None:
    run = dataclasses.replace(fake.RUN, inventory='a"b\\c\nd')
    lines = prometheus.render(fake.report([], run=run)).splitlines()
    assert 'gpufleet_run_verdict{inventory="a\\"b\\\\c\\nd"} 2' in lines
    assert [line for line in lines if not line.startswith("#") and not SAMPLE.fullmatch(line)] == []


def test_series_do_not_grow_with_pairs() -> None:
    assert len(prometheus.render(fake.report(fake.fleet(200))).splitlines()) < 2 * 200 + 50


def test_table_has_a_line_for_each_host_of_a_small_fleet() -> None:
    report = fake.report(fake.lab())
    assert headline(report) == (
        "Verdict FAIL. Checks: baseline, bond, mtu. Hosts: 2 FAIL, 1 UNKNOWN. "
        "Findings: 5 FAIL, 1 UNKNOWN, 1 WARN, 15 OK."
    )
    assert [line[:60].rstrip() for line in table(report)] == [
        "FAIL     cp-1      [1 FAIL, 1 WARN more] mtu: storage: worke",
        "FAIL     worker-1  [2 FAIL more] bond: bond0, leg fabric1: h",
        "UNKNOWN  worker-2  host: worker-2 could not be reached. Fail",
    ]


def test_table_tells_kinds_of_findings_in_a_large_fleet() -> None:
    lines = table(fake.report(fake.fleet(1000)))
    assert [line[:65].rstrip() for line in lines] == [
        "FAIL     25 pairs, all with train-node-007  mtu: storage: train-n",
        "FAIL     25 pairs, all with train-node-012  mtu: storage: train-n",
        "FAIL     8 hosts                            baseline: swap is on:",
        "FAIL     train-node-007                     mtu: storage: train-n",
        "FAIL     train-node-040                     bond: bond0, leg eth3",
        "UNKNOWN  train-node-012                     host: train-node-012",
    ]
    assert max(map(len, lines)) <= 118


def test_table_is_never_long() -> None:
    hosts = [fake.host(f"w{n}", baseline=fake.baseline(f"w{n}", ("name", n, 0, "fail"))) for n in range(500)]
    lines = table(fake.report(hosts, (fake.BASELINE,)))
    assert (len(lines), lines[-1]) == (21, "and 480 more kinds of findings")


def test_table_says_that_nothing_was_selected() -> None:
    assert table(fake.report([])) == ["No host of the fleet was selected."]


def test_check_mode_is_in_the_headline() -> None:
    run = dataclasses.replace(fake.RUN, check_mode=True)
    assert headline(fake.report(fake.well(), run=run)).startswith("Verdict OK (check mode). ")


def test_files_and_link_are_replaced_whole(tmp_path: Path) -> None:
    write_report(tmp_path / "lab" / "1", {"a.txt": "old", "b.txt": "b"})
    write_report(tmp_path / "lab" / "1", {"a.txt": "new"})
    write_report(tmp_path / "lab" / "2", {"a.txt": "ünï"})
    found = {str(path.relative_to(tmp_path)): path.read_text("utf-8") for path in tmp_path.rglob("*.txt")}
    assert found == {"lab/1/a.txt": "new", "lab/1/b.txt": "b", "lab/2/a.txt": "ünï"}
    assert os.readlink(tmp_path / "lab" / "latest") == "2"
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")]


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "lab").write_text("in the way")
    with pytest.raises(ClusterError, match=r"Writing the report to .*lab/1 failed: Not a directory\. Make room"):
        write_report(tmp_path / "lab" / "1", {"a.txt": "x"})


def test_what_fails_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    write_report(tmp_path / "1", {"a.txt": "old"})
    with pytest.raises(UnicodeEncodeError):
        write_report(tmp_path / "1", {"a.txt": "new\udc80"})
    assert {path.name: path.read_text() for path in (tmp_path / "1").iterdir()} == {"a.txt": "old"}


@pytest.mark.parametrize(
    ("sources", "name"),
    [
        (["inventories/lab"], "lab"),
        (["/etc/fleet/inventories/maas/"], "maas"),
        (["inventories/lab/hosts.yml"], "lab"),
        (["/srv/a4x/hosts"], "a4x"),
        (["inventories/a4x", "extra.yml"], "a4x"),
        (["host1,host2,"], "inline"),
        ([], "inline"),
        (["hosts.yml"], "hosts"),
        (["inventories/../.. x/é"], "inventory"),
        (["inventories/ü lab!"], "lab"),
    ],
)
def test_inventory_name(sources: list[str], name: str) -> None:
    assert inventory_name(sources) == name


def test_run_ids_sort_by_time_and_name_a_directory() -> None:
    run = new_run(datetime(2026, 11, 30, 20, 15, tzinfo=UTC), "3f2a")
    assert run == {"id": "20261130T201500Z-3f2a", "started": "2026-11-30T20:15:00Z"}
    assert RUN_ID.fullmatch(run["id"])
    assert not [name for name in ("", ".", "..", "a/b", ".a", "a\n", "x" * 65) if RUN_ID.fullmatch(name)]


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"galaxy.yml": "version: 1.2.3\n"}, "1.2.3"),
        ({"MANIFEST.json": '{"collection_info": {"version": "2.0.0"}}', "galaxy.yml": "version: 1.2.3\n"}, "2.0.0"),
        ({}, "unknown"),
    ],
    ids=["checkout", "installed", "neither"],
)
def test_collection_version(tmp_path: Path, files: dict[str, str], version: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert collection_version(tmp_path) == version
