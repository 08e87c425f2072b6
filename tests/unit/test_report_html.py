# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html: well-formed, self-contained, escaped, of bounded size."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.finding import Finding, Severity, Subject
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report import html
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.grouping import finding_groups, host_groups
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report.sections import bond, mtu

from tests.fakes import report as fake

VOID = {"meta", "link", "input"}
SHAPES = {"rect", "path", "circle"}


class Page(HTMLParser):
    """Checks the nesting while it reads; keeps elements and the text inside each element with a class."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == [], "elements left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append((tag, dict(attrs).get("class") or ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SHAPES, f"<{tag}/> is not empty in HTML"
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without start"
        assert self.open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if data.strip() and not {"style", "script"} & {tag for tag, _ in self.open}:
            self.texts.append((self.open[-1][1] if self.open else "", data.strip()))

    def with_class(self, name: str) -> list[dict[str, str | None]]:
        return [attrs for _, attrs in self.elements if name in (attrs.get("class") or "").split()]

    def text_of(self, name: str) -> list[str]:
        return [text for classes, text in self.texts if name in classes.split()]


def page(hosts: list[Any]) -> tuple[str, Page]:
    text = html.render(fake.report(hosts))
    return text, Page(text)


@pytest.mark.parametrize(
    "hosts",
    [
        pytest.param(fake.lab(), id="lab"),
        pytest.param(fake.well(), id="well"),
        pytest.param([], id="no-hosts"),
        pytest.param([fake.host("w")], id="no-results"),
        pytest.param(fake.fleet(100), id="100"),
    ],
)
def test_page_is_well_formed_and_asks_nobody(hosts: Any) -> None:
    text, parsed = page(hosts)
    for tag, attrs in parsed.elements:
        assert not {name for name in attrs if name.startswith("on")}, "inline handler"
        assert tag not in {"img", "iframe", "object", "base", "form"}
        for name in ("src", "href", "action", "xlink:href"):
            assert (attrs.get(name) or "#").startswith(("#", "data:,")), (tag, attrs)
    assert not re.search(r"https?:|@import|url\((?!#)", text)
    ids = [attrs["id"] for _, attrs in parsed.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = {attrs["href"] for tag, attrs in parsed.elements if tag == "a"}
    assert targets <= {f"#{name}" for name in ids}


def test_lab_shows_what_is_wrong() -> None:
    _, parsed = page(fake.lab())
    assert parsed.text_of("message")[:2] == [
        "storage: worker-1: small packets pass, those of 9000 bytes do not (largest that passes: 1500)",
        "storage: worker-2: no reply, even to small packets",
    ]
    tiles = {
        (attrs["title"] or "").split(":")[0]: (attrs["class"] or "").split()[1] for attrs in parsed.with_class("tile")
    }
    assert tiles == {"cp-1": "v-FAIL", "worker-1": "v-FAIL", "worker-2": "v-UNKNOWN"}
    assert "1 host not measured" in [text for _, text in parsed.texts]
    titles = [text for _, text in parsed.texts if "→" in text and "storage" not in text]
    assert "cp-1 → worker-1: path too small, 1500 of 9000 bytes" in titles
    assert "worker-2 → cp-1: not measured" in titles
    assert "no aggregation, not in sync, not collecting, not distributing" in parsed.text_of("bad")


def test_a_passing_run_has_no_findings() -> None:
    _, parsed = page(fake.well())
    assert parsed.with_class("finding") == []
    assert "Every check that applies passed on every selected host." in parsed.text_of("good")


EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"' onload=alert(3) {{ 7 * 7 }} \x00\x1b[31m"


def test_everything_from_machines_is_escaped() -> None:
    """A hostile machine controls names, messages, readings and reports."""
    path = fake.path(EVIL, network=EVIL, state="path_mtu", measured=1500)
    interface = fake.interface(EVIL, EVIL, measured=1)
    finding = Finding(
        "mtu", Severity.FAIL, Subject(EVIL, EVIL, EVIL, EVIL, EVIL), EVIL, EVIL, EVIL, EVIL, EVIL
    ).as_dict()
    result = fake.mtu(EVIL, path, interfaces=(interface,)) | {"findings": [finding]}
    bad = fake.bond(EVIL, fake.slave(EVIL, 71, 0, EVIL), partner=EVIL)
    hosts = [
        fake.host(EVIL, EVIL, baseline=fake.baseline(EVIL, (EVIL, EVIL, EVIL, "fail")), bond=bad, mtu=result),
        fake.host("w" + EVIL, EVIL, baseline={"unreachable": True, "msg": EVIL}, bond=fake.LOST, mtu=fake.LOST),
    ]
    text, parsed = page(hosts)
    assert [attrs for tag, attrs in parsed.elements if tag == "script"] == [{}]
    assert "<img" not in text
    assert "49" not in re.findall(r"\d+", text.split("</style>")[1].replace("7 * 7", ""))
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)
    for _, attrs in parsed.elements:
        assert not {"onload", "onerror"} & set(attrs)
    assert len([word for _, word in parsed.texts if "<script>alert(1)" in word]) > 10, "shown, as text"


@pytest.mark.parametrize(
    ("check", "report"),
    [
        pytest.param("mtu", {"paths": "all", "interfaces": None}, id="no-lists"),
        pytest.param("mtu", {"paths": [1, {"state": "new"}, {}], "interfaces": [{}]}, id="holes"),
        pytest.param("bond", {"bonds": [{}, {"slaves": [{"actor_state": "63"}]}, 3]}, id="bond-holes"),
        pytest.param("baseline", {"items": [{}, {"item": ["x"], "state": "superb"}]}, id="baseline-holes"),
    ],
)
def test_a_report_of_another_form_does_not_stop_the_page(check: str, report: Any) -> None:
    finding = Finding(check, Severity.OK, Subject("w"), "x").as_dict()
    result = {"check": check, "run_id": fake.RUN.id, "report": report, "findings": [finding], "verdict": "OK"}
    page([fake.host("w", "workers", **{check: result})])


@pytest.mark.parametrize(("size", "limit"), [(100, 300_000), (200, 350_000)])
def test_size_is_bounded(size: int, limit: int) -> None:
    text, parsed = page(fake.fleet(size))
    assert len(parsed.with_class("tile")) == size
    assert len(text) < limit


def test_a_thousand_hosts_share_a_hundred_cells() -> None:
    text, parsed = page(fake.fleet(1000))
    assert len(parsed.with_class("tile")) == 1000
    assert len(text) < 900_000
    shapes = [attrs for tag, attrs in parsed.elements if tag == "rect" and (attrs.get("class") or "").startswith("s-")]
    assert max(float(attrs["width"] or 0) for attrs in shapes) == 100 * 10


def test_a_large_map_draws_only_what_deviates() -> None:
    data = mtu.context(fake.report(fake.fleet(100)))
    drawn = re.findall(r'<rect class="s-(\w+)"', data["networks"][0]["svg"])
    assert (drawn.count("ok"), drawn.count("path_mtu") > 90, len(drawn) < 400) == (1, True, True)
    assert dict(data["networks"][0]["states"]) == {"path_mtu": 195, "no_reply": 98, "none": 198, "ok": 9409}


def test_hosts_stand_in_their_smallest_group() -> None:
    hosts = [
        fake.host("w1", "workers", "nvl_0"),
        fake.host("w2", "workers"),
        fake.host("c", "control_plane"),
        fake.host("x"),
    ]
    grouped = [(name, [host.name for host in group]) for name, group in host_groups(fake.report(hosts).hosts)]
    assert grouped == [("control_plane", ["c"]), ("nvl_0", ["w1"]), ("ungrouped", ["x"]), ("workers", ["w2"])]


def _pair(host: str, peer: str, severity: Severity = Severity.FAIL) -> Finding:
    return Finding("mtu", severity, Subject(host, peer=peer), f"{peer} does not hear {host}", remedy=f"mend {host}")


def test_findings_that_differ_in_names_only_are_one_group() -> None:
    single = Finding("mtu", Severity.FAIL, Subject("a"), "other")
    lost = Finding("host", Severity.UNKNOWN, Subject("z"), "lost")
    pairs = [_pair("a", "x"), _pair("b", "x"), _pair("x", "c")]
    groups = finding_groups([single, *pairs, lost])
    assert [(group.places, group.common) for group in groups] == [
        (["a", "b", "c"], "x"),
        (["a"], None),
        (["z"], None),
    ]
    apart = finding_groups([_pair("a", "b"), _pair("c", "d"), _pair("e", "f")])
    assert [group.common for group in apart] == [None]


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        pytest.param(63, "", id="fast"),
        pytest.param(61, "", id="slow"),
        pytest.param(62, "", id="passive"),
        pytest.param(71, "not in sync, not collecting, not distributing, defaulted", id="no-partner"),
        pytest.param(143, "not collecting, not distributing, expired", id="expired"),
        pytest.param(0, "no aggregation, not in sync, not collecting, not distributing", id="nothing"),
    ],
)
def test_port_states_in_words(value: int, wrong: str) -> None:
    state = bond.port_state(value)
    assert state is not None
    assert (state["value"], state["wrong"]) == (value, wrong)


def test_a_port_state_that_is_not_shown_is_not_a_good_one() -> None:
    assert bond.port_state(None) is None


@pytest.mark.parametrize(
    ("started", "finished", "text"),
    [
        ("2026-11-30T20:15:00Z", "2026-11-30T20:15:09Z", "9 s"),
        ("2026-11-30T20:15:00Z", "2026-11-30T20:19:30Z", "4 min 30 s"),
        ("2026-11-30T20:15:00Z", "2026-11-30T22:19:30Z", "2 h 4 min"),
        ("", "2026-11-30T22:19:30Z", "unknown"),
    ],
)
def test_duration(started: str, finished: str, text: str) -> None:
    assert html._duration(started, finished) == text
