# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""report.html in a real browser: what a person sees on a phone, on a desk, in the dark and on paper.

The pictures are left in tests/output/ for a person to look at.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gpufleet.cluster.plugins.plugin_utils.report import html
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

from tests.fakes import report as fake

pytestmark = pytest.mark.browser

OUTPUT = Path(__file__).parents[1] / "output"
PHONE, DESK = 390, 1280
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
FLEETS = {"well": fake.well, "lab": fake.lab, "fleet-100": lambda: fake.fleet(100)}


class Browser:
    """A page at a given width; everything the tests ask of it."""

    def __init__(self, driver: Any, directory: Path) -> None:
        self.driver = driver
        self.directory = directory

    def show(self, name: str, width: int, scheme: str = "light") -> None:
        page = self.directory / f"{name}.html"
        page.write_text(html.render(fake.report(FLEETS[name]())), encoding="utf-8")
        metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
        media = {"media": "", "features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        self.driver.get(page.as_uri())

    def ask(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements(By.CSS_SELECTOR, selector))

    def style(self, selector: str, name: str) -> str:
        return str(
            self.ask("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, name)
        )

    def picture(self, name: str) -> None:
        size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
        OUTPUT.mkdir(exist_ok=True)
        (OUTPUT / f"report-{name}.png").write_bytes(base64.b64decode(taken["data"]))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    directory = tmp_path_factory.mktemp("browser")
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in (*FLAGS, f"--user-data-dir={directory / 'profile'}", f"--window-size={DESK},844"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    yield Browser(driver, directory)
    driver.quit()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", FLEETS)
def test_nothing_is_cut_off(browser: Browser, name: str, width: int, scheme: str) -> None:
    browser.show(name, width, scheme)
    browser.picture(f"{name}-{width}-{scheme}")
    assert browser.ask("return innerWidth") == width
    assert browser.ask("return document.documentElement.scrollWidth") <= width
    outside = browser.ask(
        """return [...document.querySelectorAll("body *")].filter(each =>
             !each.closest(".heatmap") && each.getBoundingClientRect().right > innerWidth + 0.5
             && getComputedStyle(each).clipPath === "none").map(each => each.outerHTML.slice(0, 80))"""
    )
    assert outside == []
    assert [entry["message"] for entry in browser.driver.get_log("browser")] == []


def test_worst_first_on_a_phone(browser: Browser) -> None:
    browser.show("lab", PHONE)
    heading = browser.all("h1")[0]
    assert (heading.text, heading.is_displayed(), heading.rect["y"] < 150) == ("FAIL", True, True)
    lost = browser.all(".lost")[0]
    assert (lost.text.split("\n"), lost.is_displayed()) == (["? 1 host not measured", "worker-2 not reached"], True)
    first = browser.all(".finding")[0]
    assert first.rect["y"] < 844, "the worst finding begins on the first screen"
    assert first.text.split("\n") == [
        "✕ FAIL",
        "2 pairs",
        "mtu",
        "storage",
        "bond0",
        "storage: worker-1: small packets pass, those of 9000 bytes do not (largest that passes: 1500)",
        "measured 1500 bytes",
        "expected 9000 bytes",
        "DO",
        "raise the MTU of the switch ports, routers and tunnels between the two hosts",
        "cp-1 → worker-1",
        "worker-1 → cp-1",
    ]
    words = [badge.text for badge in browser.all(".finding .badge")]
    assert words == ["✕ FAIL"] * 3 + ["? UNKNOWN", "! WARN"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tiles_differ_by_colour_and_by_symbol(browser: Browser, scheme: str) -> None:
    browser.show("fleet-100", DESK, scheme)
    kinds = {}
    for word in ("FAIL", "UNKNOWN", "NOT_SELECTED"):
        selector = f".tile.v-{word}"
        symbol = browser.all(f"{selector} .symbol")[0]
        assert symbol.is_displayed()
        kinds[word] = (symbol.text, browser.style(selector, "backgroundColor"))
    browser.show("well", DESK, scheme)
    kinds["OK"] = (browser.all(".tile.v-OK .symbol")[0].text, browser.style(".tile.v-OK", "backgroundColor"))
    expected = {
        "light": {"FAIL": "196, 60, 20", "UNKNOWN": "106, 76, 192", "OK": "14, 127, 104"},
        "dark": {"FAIL": "208, 70, 28", "UNKNOWN": "118, 87, 214", "OK": "20, 128, 106"},
    }[scheme]
    symbols = {"FAIL": "✕", "UNKNOWN": "?", "OK": "✓"}
    assert kinds == {word: (symbols[word], f"rgb({colour})") for word, colour in expected.items()} | {
        "NOT_SELECTED": ("·", "rgba(0, 0, 0, 0)")
    }


def contrast(one: str, other: str) -> float:
    """WCAG 2 contrast ratio of two computed colours."""

    def luminance(colour: str) -> float:
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("body", "body"),
        (".tile.v-FAIL", ".tile.v-FAIL"),
        (".tile.v-UNKNOWN", ".tile.v-UNKNOWN"),
        (".finding.v-WARN .badge", ".finding.v-WARN .badge"),
        (".finding.v-FAIL .message", ".finding.v-FAIL"),
        (".finding.v-FAIL .part", ".finding.v-FAIL"),
        (".bad", "section"),
        (".hint", "section"),
        ("footer", "body"),
    ],
)
def test_text_has_contrast(browser: Browser, text: str, ground: str, scheme: str) -> None:
    browser.show("lab", DESK, scheme)
    assert contrast(browser.style(text, "color"), browser.style(ground, "backgroundColor")) >= 4.5


def test_only_the_matrix_scrolls_and_its_rows_stay_named(browser: Browser) -> None:
    browser.show("fleet-100", PHONE)
    sizes = "const box = document.querySelector('.heatmap'); return [box.scrollWidth, box.clientWidth]"
    scroll, client = browser.ask(sizes)
    assert scroll > 1000 > PHONE > client
    left = "return document.querySelector('.heatmap .rows').getBoundingClientRect().left"
    before = browser.ask(left)
    browser.ask("document.querySelector('.heatmap').scrollLeft = 500")
    assert browser.ask("return document.querySelector('.heatmap').scrollLeft") == 500
    assert browser.ask(left) == before


def test_the_matrix_tells_states_by_pattern(browser: Browser) -> None:
    browser.show("lab", DESK)
    cells = browser.ask(
        """return [...document.querySelectorAll(".network:last-child .matrix rect[class]:has(title)")].map(cell =>
             [cell.querySelector("title").textContent, getComputedStyle(cell).fill])"""
    )
    assert dict(cells) == {
        "cp-1 → worker-1: path too small, 1500 of 9000 bytes": 'url("#p-path_mtu")',
        "cp-1 → worker-2: no reply, no size passes": 'url("#p-no_reply")',
        "worker-1 → cp-1: path too small, 1500 of 9000 bytes": 'url("#p-path_mtu")',
        "worker-1 → worker-2: no reply, no size passes": 'url("#p-no_reply")',
        "worker-2 → cp-1: not measured": 'url("#p-none")',
        "worker-2 → worker-1: not measured": 'url("#p-none")',
    }
    assert [text.text for text in browser.all(".network:last-child .matrix text[text-anchor]")] == ["1500", "1500"]


def test_the_filter_leaves_what_matches(browser: Browser) -> None:
    browser.show("lab", DESK)
    browser.all("#filter")[0].send_keys("FABRIC1")
    shown = [each for each in browser.all(".finding") if each.is_displayed()]
    assert [each.find_element(By.CLASS_NAME, "where").text for each in shown] == ["worker-1"]


def test_a_tile_leads_to_its_worst_finding(browser: Browser) -> None:
    browser.show("lab", DESK)
    browser.all(".tile.v-UNKNOWN a")[0].click()
    found = browser.all(".finding:target")
    assert [each.find_element(By.CLASS_NAME, "where").text for each in found] == ["worker-2"]


@pytest.mark.parametrize(("name", "pages"), [("lab", 4), ("fleet-100", 6)])
def test_it_prints(browser: Browser, name: str, pages: int) -> None:
    browser.show(name, DESK, "dark")
    options = {"printBackground": True, "paperWidth": 8.27, "paperHeight": 11.69}
    printed = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", options)["data"])
    OUTPUT.mkdir(exist_ok=True)
    (OUTPUT / f"report-{name}.pdf").write_bytes(printed)
    assert printed.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= pages
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert browser.style("body", "backgroundColor") == "rgb(255, 255, 255)"
    assert browser.ask("return document.querySelector('.heatmap').getBoundingClientRect().width") <= 720
    assert not browser.all("#filter")[0].is_displayed()
