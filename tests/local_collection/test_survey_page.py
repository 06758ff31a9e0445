"""The page in Chromium: a person answers, one disguised report leaves, and it can be understood."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from sfumato.cli import run as command
from sfumato.local.collector import Collector
from sfumato.local.survey import Survey
from sfumato.local.survey_files import read_survey
from sfumato.local.survey_page import render_page, write_page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ("none", "one", "two", "three", "many")
PHONE = {"width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": True}
DESK = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}


def survey(protocol="GRR", *, epsilon=1, answers=ANSWERS, **more):
    return Survey.of(
        "cups", "How many cups?", list(answers), epsilon=epsilon, protocol=protocol, **more
    )


def open_page(browser, address):
    browser.get(address)
    browser.execute_script("localStorage.clear()")
    browser.get(address)
    browser.get_log("browser")


def wait(browser, script, seconds=20):
    end = time.monotonic() + seconds
    while not browser.execute_script(f"return {script}"):
        assert time.monotonic() < end, f"the page never came to: {script}"
        time.sleep(0.02)


def state(browser):
    wait(browser, "!['', 'busy'].includes(document.getElementById('state').className)"
         " && document.getElementById('state').textContent !== ''")  # fmt: skip
    element = browser.find_element("id", "state")
    return element.get_attribute("class"), element.text


def answer(browser, code):
    browser.find_elements("css selector", "input[name=answer]")[code].click()
    browser.find_element("id", "go").click()


@pytest.fixture
def asked(browser, endpoint, tmp_path):
    """Open a survey on a server of this machine, with a collector behind it."""
    opened = []

    def ask(agreed):
        endpoint.page = render_page(agreed)
        endpoint.collector = Collector(agreed, tmp_path / f"{len(opened)}.db")
        opened.append(endpoint.collector)
        open_page(browser, endpoint.address)
        return endpoint

    yield ask
    for collector in opened:
        collector.close()


def test_one_answer_is_one_report_and_nothing_else_leaves(browser, asked):
    agreed = survey(send_to="/reports")
    server = asked(agreed)
    answer(browser, 3)
    assert state(browser)[0] == "good"
    ((path, headers, body),) = server.received
    assert path == "/reports"
    assert len(body) == 33
    assert "Cookie" not in headers
    assert "Referer" not in headers
    assert len(server.collector) == 1
    shown = browser.execute_script("return document.getElementById('bytes').textContent")
    assert shown == body.hex()
    text = json.loads(browser.execute_script("return document.getElementById('text').value"))
    assert text["reports"] == [{"value": body[32]}]
    spoken = browser.find_element("id", "speaks").text
    assert spoken == ANSWERS[body[32]]
    assert browser.get_log("browser") == []


def test_the_answer_is_kept_nowhere(browser, asked):
    asked(survey(send_to="/reports"))
    answer(browser, 3)
    state(browser)
    assert browser.execute_script("return document.querySelectorAll(':checked').length") == 0
    keys = browser.execute_script("return Object.keys(localStorage)")
    assert len(keys) == 1
    kept = json.loads(browser.execute_script("return localStorage[arguments[0]]", keys[0]))
    assert sorted(kept) == ["bytes", "sent", "speaksFor", "text"]  # all from the perturbed report
    assert browser.execute_script("return document.cookie") == ""


def test_reloading_or_trying_again_never_perturbs_a_second_time(browser, asked):
    server = asked(survey("OUE", send_to="/reports", answers=[f"a{i}" for i in range(12)]))
    server.failures = 2
    answer(browser, 3)
    kind, words = state(browser)
    assert kind == "bad"
    assert "Not sent yet" in words
    browser.find_element("id", "again").click()
    wait(browser, "document.getElementById('state').className === 'bad'")
    browser.refresh()
    assert state(browser)[0] == "good"
    browser.refresh()
    assert state(browser)[0] == "good"
    assert not browser.find_element("id", "form").is_displayed()
    bodies = [body for _, _, body in server.received]
    assert len(bodies) == 3
    assert len(set(bodies)) == 1
    assert len(server.collector) == 1


def test_an_answer_that_was_lost_on_the_way_back_counts_once(browser, asked):
    server = asked(survey(send_to="/reports"))
    server.failures, server.failing_after_storing = 1, True
    answer(browser, 2)
    assert state(browser)[0] == "bad"
    browser.find_element("id", "again").click()
    wait(browser, "document.getElementById('state').className === 'good'")
    assert len(server.received) == 2
    assert len(server.collector) == 1


def test_without_an_answer_nothing_happens(browser, asked):
    server = asked(survey(send_to="/reports"))
    browser.find_element("id", "go").click()
    assert browser.find_element("id", "missing").is_displayed()
    assert server.received == []


def test_another_person_gets_another_report(browser, asked):
    server = asked(survey("OUE", send_to="/reports", answers=[f"a{i}" for i in range(12)]))
    for _ in range(2):
        answer(browser, 0)
        state(browser)
        browser.find_element("id", "other").click()
    bodies = [body for _, _, body in server.received]
    assert len({body[16:24] for body in bodies}) == 2
    assert len(server.collector) == 2


def test_with_memory_the_same_answer_is_the_same_report(browser, asked):
    many = [f"a{i}" for i in range(12)]
    server = asked(survey("OUE", send_to="/reports", answers=many, remember=True))
    for code in (4, 4, 7, 4):
        answer(browser, code)
        state(browser)
        browser.find_element("id", "later").click()
        browser.refresh()
    rows = [body[32:] for _, _, body in server.received]
    assert rows[0] == rows[1] == rows[3]
    nonces = {body[16:24] for _, _, body in server.received}
    assert len(nonces) == 4


def test_the_page_cannot_connect_anywhere_else(browser, asked, endpoint):
    asked(survey(send_to="https://elsewhere.example/reports"))
    blocked = browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "fetch('/reports').then(() => done(false), () => done(true))"
    )
    assert blocked
    assert endpoint.received == []
    browser.get_log("browser")


def test_from_a_disk_the_report_is_shown_to_hand_in(browser, tmp_path):
    agreed = survey(answers=["<b>bold</b> & 'x'", "b", "c"])
    open_page(browser, write_page(agreed, tmp_path / "page.html").as_uri())
    answer(browser, 0)
    assert state(browser)[0] == "good"
    text = browser.execute_script("return document.getElementById('text').value")
    with Collector(agreed, tmp_path / "s.db") as collector:
        assert collector.receive(text.encode()).accepted == 1
    entries = "return performance.getEntriesByType('resource').length"
    assert browser.execute_script(entries) == 0
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("screen", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("count", [5, 30])
def test_a_page_fits_its_screen(browser, tmp_path, screen, count):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    long = ["a" * 80, *(f"answer {i}" for i in range(count - 1))]
    agreed = survey("OUE", answers=long, asked_by="Office " * 8)
    open_page(browser, write_page(agreed, tmp_path / "page.html").as_uri())
    for _ in range(2):
        assert (
            browser.execute_script("return document.documentElement.scrollWidth") <= screen["width"]
        )
        promise = browser.find_element("css selector", ".promise").text
        assert agreed.told in promise
        if count > 12:
            browser.execute_script("document.querySelector('select').value = '4'")
            browser.find_element("id", "go").click()
        else:
            answer(browser, 0)
        state(browser)
        browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert (
            browser.execute_script("return document.documentElement.scrollWidth") <= screen["width"]
        )
        browser.find_element("id", "other").click()
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


# -- the tutorial ----------------------------------------------------------------------

RESPOND = """
const [codes] = arguments, done = arguments[arguments.length - 1];
const state = document.getElementById("state");
const settled = () => new Promise((resolve) => {
  const look = () => ["good", "bad"].includes(state.className) ? resolve() : setTimeout(look, 1);
  look();
});
(async () => {
  let sent = 0;
  for (const code of codes) {
    state.className = "";
    document.querySelectorAll("input[name=answer]")[code].click();
    document.getElementById("go").click();
    await settled();
    if (state.className === "good") sent += 1;
    document.getElementById("other").click();
  }
  done(sent);
})();
"""


def commands_of(page):
    """The `sfumato` lines of the tutorial's console blocks."""
    text = (ROOT / "docs" / "tutorial" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ sfumato ") for line in lines if line.startswith("$ sfumato ")]


def test_the_tutorial_with_people_who_answer_the_page(browser, endpoint, tmp_path, monkeypatch):
    """As the tutorial says: write the survey, let people answer its page, estimate, plot."""
    import shlex

    monkeypatch.chdir(tmp_path)
    new, *_, estimate = commands_of("survey-in-the-browser.md")
    assert command(shlex.split(new)) == 0
    agreed = read_survey("sick-days/survey.yaml")
    people = [0] * 200 + [1] * 120 + [2] * 60 + [3] * 20
    truth = np.bincount(people) / len(people)
    with Collector(agreed, "sick-days.db", most_per_message=1) as endpoint.collector:
        endpoint.page = Path("sick-days/survey.html").read_text(encoding="utf-8")
        open_page(browser, endpoint.address)
        assert browser.execute_async_script(RESPOND, people) == len(people)
        assert len(endpoint.collector) == len(people)
        assert endpoint.collector.dropped == {}
        found = endpoint.collector.estimate()
    assert (np.abs(found.frequencies - truth) < 5 * found.standard_error).all()
    assert command(shlex.split(estimate)) == 0
    counts = Counter(body[32] for _, _, body in endpoint.received)
    p, q = map(float, agreed.protocol.probabilities)
    expected = len(people) * (truth * p + (1 - truth) * q)
    statistic = sum((counts[i] - expected[i]) ** 2 / expected[i] for i in range(4))
    assert chi2.sf(statistic, 3) > 1e-6
    look_at_the_plot(browser, Path("estimates.html"), found)


def look_at_the_plot(browser, plot, found):
    bounds = found.interval()
    for screen in (PHONE, DESK):
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(plot.absolute().as_uri())
        assert browser.get_log("browser") == []
        assert (
            browser.execute_script("return document.documentElement.scrollWidth") <= screen["width"]
        )
        shown = browser.find_element("css selector", "table").text
        for place in range(len(found)):
            for share in (found.frequencies[place], *bounds[place]):
                text = f"{100 * share:.1f} %"
                assert ("0.0 %" if text == "-0.0 %" else text.replace("-", "−")) in shown
        dots = browser.execute_script(
            "return [...document.querySelectorAll('.dot')].map(d => d.getBoundingClientRect().x)"
        )
        order = np.argsort(dots, kind="stable")
        assert order.tolist() == np.argsort(found.frequencies, kind="stable").tolist()
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
