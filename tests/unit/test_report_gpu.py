# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's section about GPUs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import check_result
from ansible_collections.gpufleet.cluster.plugins.module_utils.gpu.reading import PARTS, read_gpus
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.gpu import GpuExpected, judge_gpus
from ansible_collections.gpufleet.cluster.plugins.module_utils.judge.gpu.report import gpu_report
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report import html
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.model import Check
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.sections import gpu

from tests.fakes import report as fake
from tests.fakes.gpu import CLUSTER, changed
from tests.fakes.gpu_runner import MachineRunner
from tests.fakes.host_root import host_root
from tests.unit.test_report_html import Page

GPU = Check("gpu", "gpu_check", "check_gpu_result")
EXPECTED = GpuExpected(count=4, product="GB200", skip=("aer",))


def result(folder: Path, host: str, **changes: Any) -> dict[str, Any]:
    reading = read_gpus(host_root(folder / host, {}), MachineRunner(changed(**changes)), PARTS, 60)
    findings = judge_gpus(host, reading, EXPECTED)
    return check_result("gpu", fake.RUN.id, gpu_report(reading, findings), findings)


def test_gpus_with_findings_come_first_and_the_others_are_summed_up(tmp_path: Path) -> None:
    faulty = result(tmp_path, "w2", links={"1": [53.125] * 17 + [None]}, gpu_3={"name": "NVIDIA <GB200>"})
    hosts = [fake.host("w1", "nvl_d1", gpu=result(tmp_path, "w1")), fake.host("w2", "nvl_d1", gpu=faulty)]
    report = fake.report(hosts, (GPU,))
    data = gpu.context(report)
    assert [(each["host"], each["index"], each["state"], each["links"]) for each in data["bad"]] == [
        ("w2", 1, "FAIL", "17")
    ]
    assert [(each["name"], each["count"]) for each in data["good"]] == [
        ("NVIDIA GB200 (FAKE)", 6),
        ("NVIDIA <GB200>", 1),
    ]
    assert data["domains"] == [{"name": f"{CLUSTER}.32766", "hosts": ["w1", "w2"]}]
    text = html.render(report)
    Page(text)
    assert "NVIDIA &lt;GB200&gt;" in text
    assert "w2 GPU 1" in text


@pytest.mark.parametrize(
    "rows", [None, "text", [None], [{}], [{"index": [], "state": "splendid", "clock_reasons": 7, "nvlink_domain": {}}]]
)
def test_a_report_of_another_form_does_not_stop_the_page(tmp_path: Path, rows: Any) -> None:
    given = result(tmp_path, "w1")
    given["report"] = {"gpus": rows}
    report = fake.report([fake.host("w1", gpu=given)], (GPU,))
    Page(html.render(report))
    assert {each["state"] for each in gpu.context(report)["bad"]} <= {"UNKNOWN"}
