"""The page in Chromium: it shows itself on a desk, on a phone, in the dark and on paper."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf
from sfumato.report.release_page import write_report

pytestmark = pytest.mark.browser

PHONE = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
DESK = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
TOO_WIDE = """
return [...document.querySelectorAll('body *:not(.unseen):not(.unseen *)')].filter(
  e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))
"""


@pytest.fixture(scope="module")
def addresses(by_levels, by_classes, few_nodes, verifications, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    sweep = [(2, 0.3, 4), (5, 0.4, 7), (10, 0.45, 0), (50, None, None)]
    releases = {"levels": by_levels, "classes": by_classes, "lattice": few_nodes}
    return {
        name: write_report(
            release, folder / f"{name}.html", verification=verifications[release], sweep=sweep
        ).as_uri()
        for name, release in releases.items()
    }


@pytest.fixture(scope="module")
def stated(tmp_path_factory):
    """Give the pages of a model and of a synthetic copy, whose promise no file can show."""
    ages = np.arange(600) % 60 + 20
    rows = {"age": ages, "a_column_with_a_name_that_is_as_long_as_names_get": ages % 7}
    bounds = dict.fromkeys(rows, (0, 90))
    model = sf.dp.LogisticRegression(bounds=bounds, classes=["no", "yes"])
    model.fit(rows, np.where(ages > 50, "yes", "no"))
    columns = {name: sf.dp.Column(bounds=(0, 90)) for name in rows}
    copy = sf.dp.synthesize(rows, epsilon=4, delta=1e-5, columns=columns)
    folder = tmp_path_factory.mktemp("stated")
    for name, made in (("model", model.release("illness", predicts="state")), ("copy", copy)):
        release = made if name == "model" else made.release("people")
        release.save(folder / name)
    return {name: (folder / name / "report.html").as_uri() for name in ("model", "copy")}


@pytest.mark.parametrize("which", ["model", "copy"])
def test_what_no_file_can_show_is_stated_and_not_green(browser, stated, which):
    """On a narrow phone, too, nothing is wider than the screen."""
    show(browser, stated[which], PHONE | {"width": 390})
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.execute_script(TOO_WIDE) == []
    verdict = browser.find_element("css selector", ".verdict")
    assert verdict.get_attribute("class") == "verdict stated"
    assert "removed holds" not in verdict.text
    assert "the ledger is the evidence" in verdict.text


def show(browser, address, screen, *, scheme="light"):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get(address)


@pytest.mark.parametrize("which", ["levels", "classes", "lattice"])
@pytest.mark.parametrize("screen", [PHONE, DESK], ids=["phone", "desk"])
def test_a_page_fits_its_screen_and_nothing_complains(browser, addresses, which, screen):
    show(browser, addresses[which], screen)
    assert browser.get_log("browser") == []
    root = "return document.documentElement."
    assert browser.execute_script(f"{root}scrollWidth") <= screen["width"]
    assert browser.execute_script("return innerWidth") == screen["width"]
    assert browser.execute_script(TOO_WIDE) == []
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    verdict = browser.find_element("id", "verdict")
    assert verdict.is_displayed()
    assert "hold" in verdict.text
    top = browser.execute_script("return arguments[0].getBoundingClientRect().top", verdict)
    assert top < screen["height"] / 3


def test_letters_keep_their_size_on_a_phone(browser, addresses):
    sizes = []
    for screen in (PHONE, DESK):
        show(browser, addresses["levels"], screen)
        script = "return document.querySelector('svg.chart text').getBoundingClientRect().height"
        sizes.append(browser.execute_script(script))
    assert sizes[0] == pytest.approx(sizes[1])
    assert sizes[0] >= 10


def test_the_dark_page_is_dark_and_can_be_read(browser, addresses):
    light = {}
    for scheme in ("light", "dark"):
        show(browser, addresses["levels"], DESK, scheme=scheme)
        style = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
        light[scheme] = [brightness(c) for c in browser.execute_script(style)]
    (paper, ink), (night, chalk) = light["light"], light["dark"]
    assert paper - ink > 150
    assert chalk - night > 150


def brightness(colour):
    parts = [float(x) for x in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    return sum(parts) / 3


def test_a_page_can_be_printed(browser, addresses):
    show(browser, addresses["levels"], DESK, scheme="dark")
    printed = base64.b64decode(browser.print_page())
    assert printed.startswith(b"%PDF")
    assert len(printed) > 20_000
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    paper = browser.execute_script("return getComputedStyle(document.body).color")
    assert brightness(paper) < 80  # dark ink on white, whatever the screen was like
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_screenshot_shows_more_than_one_colour(browser, addresses, tmp_path):
    show(browser, addresses["lattice"], DESK)
    file = Path(tmp_path) / "page.png"
    assert browser.save_screenshot(str(file))
    assert file.stat().st_size > 20_000
