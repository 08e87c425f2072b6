# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The section on collectives: curves, limits, the earlier run, and the way to the raw log."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ClusterError
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding, Severity, Subject, check_result
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report import html
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.collect import collect
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.model import Check, FleetReport
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.sections import nccl
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.svg.curves import (
    Bound,
    Curve,
    bytes_text,
    curves,
)
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.write import read_report, write_report

from tests.fakes import report as fake
from tests.unit.test_report_html import Page

G = 1 << 30
SIZES = tuple(1 << power for power in range(29, 35))
LIMIT = {"value": 610, "statistic": "row_at_size", "size_bytes": [16 * G, 16 * G], "source": "0.9 x 684 measured"}


def run(host: str, top: float = 684.0, **changes: Any) -> dict[str, Any]:
    points = [
        {"size_bytes": size, "busbw": round(top * (1 - 0.4 / (n + 1)), 1), "out_of_place": None, "in_place": None}
        for n, size in enumerate(SIZES)
    ]
    log = f"/var/log/gpufleet/nccl/r/all_reduce-single_node-{host}.1.log"
    attempt = {"state": "measured", "problem": None, "log": log, "command": ["mpirun"], "tail": []}
    return {
        "name": f"all_reduce single_node {host}", "scope": "single_node", "collective": "all_reduce", "sku": "GB200",
        "mnnvl": None, "ranks": 4, "nodes": 1, "hosts": [host], "launched_by": host, "stand_in": False, "healthy": True,
        "verdict": "OK", "points": points, "average": 500.0, "limit": LIMIT, "baseline": None, "transport": None,
        "attempts": [attempt], **changes,
    }  # fmt: skip


def fleet(*runs: dict[str, Any], earlier: dict[str, Any] | None = None) -> FleetReport:
    hosts = []
    for one in runs:
        finding = Finding("nccl", Severity[one["verdict"]], Subject(one["launched_by"], item=one["name"]), "said")
        hosts.append(
            fake.host(one["launched_by"], "workers", nccl=check_result("nccl", fake.RUN.id, {"runs": [one]}, [finding]))
        )
    report = collect([Check("nccl", "nccl_check", "nccl_benchmark_check_result")], hosts, fake.RUN)
    return dataclasses.replace(report, earlier=earlier or {})


def test_one_chart_for_each_kind_with_its_limit_and_its_logs() -> None:
    slow = run("w2", 380.0, verdict="FAIL")
    wide = run("w3", 900.0, scope="nvlink_domain", mnnvl=True, name="all_reduce nvlink_domain d1", limit=None)
    page = Page(html.render(fleet(run("w1"), slow, wide)))
    assert len([attrs for tag, attrs in page.elements if tag == "svg" and attrs.get("class") == "curves"]) == 2
    # One in the first chart for both runs of the kind, and one in its legend.
    assert len(page.with_class("k-limit")) == 2
    assert [len(page.with_class(f"k-{word}")) for word in ("OK", "FAIL")] == [2 * (1 + 6) + 2, 1 + 6 + 1]
    text = " ".join(text for _classes, text in page.texts)
    assert "w2:/var/log/gpufleet/nccl/r/all_reduce-single_node-w2.1.log" in text
    assert "limit 610 GB/s: 0.9 x 684 measured" in text


def test_comparison_with_an_earlier_run() -> None:
    before = {"run": {"id": "r0"}, "reports": {"nccl": {"w1": {"runs": [run("w1", 760.0)]}}}}
    data = nccl.context(fleet(run("w1"), run("w9"), earlier=before))
    assert [row["change"] for row in data["kinds"][0]["runs"]] == ["-10 % at 16G", None]
    page = Page(html.render(fleet(run("w1"), earlier=before)))
    assert len(page.with_class("k-earlier")) == 2
    assert "Compared with run r0 (dotted)." in page.text_of("hint")


def test_a_stand_in_is_called_one() -> None:
    page = Page(html.render(fleet(run("w1", stand_in=True, sku="stand-in"))))
    assert any("Measured by a stand-in" in text for text in page.text_of("hint"))


def test_a_run_without_figures_shows_why_and_the_end_of_its_log() -> None:
    attempt = {"state": "timeout", "problem": "no end after 600 s", "log": "/l", "command": [], "tail": ["<b>&", "x"]}
    page = Page(html.render(fleet(run("w1", points=[], limit=None, attempts=[attempt], verdict="UNKNOWN"))))
    text = " ".join(text for _classes, text in page.texts)
    assert "no end after 600 s" in text
    assert "<b>&\nx" in text


def test_a_report_of_another_form_breaks_nothing() -> None:
    assert "Collectives" in html.render(fleet({"verdict": "OK", "launched_by": "w1", "name": "x"}))


def test_baseline_is_drawn() -> None:
    baseline = {"points": [[size, 600.0] for size in SIZES], "of": "the baseline of these hosts"}
    page = Page(html.render(fleet(run("w1", baseline=baseline, limit=None))))
    assert len(page.with_class("k-baseline")) == 2


SIZE_TEXTS = {8: "8 B", 1024: "1K", 536870912: "512M", 17179869184: "16G", 17179869120: "16G"}


@pytest.mark.parametrize(("size", "text"), SIZE_TEXTS.items())
def test_bytes_text(size: int, text: str) -> None:
    assert bytes_text(size) == text


def test_curves_stay_inside_the_picture() -> None:
    svg = curves(
        [Curve(((8, 0.001), (G, 700.0)), "OK", "a"), Curve(((1, 0.0),), "FAIL", "b")], [Bound(900, 8, None, "l")]
    )
    numbers = [
        float(n)
        for part in svg.split(' d="')[2:]
        for n in part.split('"')[0].replace("M", " ").replace("L", " ").replace("H", " ").split()
    ]
    assert all(0 <= number <= 620 for number in numbers)
    assert curves([], []) == ""
    assert curves([Curve(((8, 0.0),), "OK", "one rank")], []) == ""


def test_earlier_report_is_read_from_file_or_directory(tmp_path: Path) -> None:
    document = fleet(run("w1")).as_dict()
    assert document["compared_with"] is None
    write_report(tmp_path / "r0", {"findings.json": json.dumps(document)})
    assert (
        read_report(tmp_path / "r0")
        == read_report(tmp_path / "r0" / "findings.json")
        == json.loads(json.dumps(document))
    )
    (tmp_path / "other.json").write_text('{"schema_version": 0}')
    for path in ("other.json", "lost.json"):
        with pytest.raises(ClusterError, match="earlier report"):
            read_report(tmp_path / path)
