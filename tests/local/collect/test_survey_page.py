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
from sfumato.local.collect.collector import Collector
from sfumato.local.collect.survey import Survey
from sfumato.local.collect.survey_files import read_survey
from sfumato.local.collect.survey_page import render_page, write_page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[3]
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
        wait(browser, "document.getElementById('other').getClientRects().length > 0")
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


NO_STORAGE = {
    "throws": "Storage.prototype.setItem = () => { throw new Error('full'); };",
    "forgets": "Storage.prototype.setItem = () => {};",
    "denied": "Object.defineProperty(window, 'localStorage', { get() { throw Error('no'); } });",
}


@pytest.fixture
def beforehand(browser):
    """Run a script in every page before the page's own."""
    added = []

    def add(script):
        found = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        added.append(found)
        browser.refresh()

    yield add
    for found in added:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", found)


@pytest.mark.parametrize("how", list(NO_STORAGE))
def test_memory_that_cannot_be_kept_is_refused(browser, asked, beforehand, how):
    """Otherwise every visit would send a fresh report of the same answer."""
    server = asked(survey("OUE", send_to="/reports", remember=True))
    beforehand(NO_STORAGE[how])
    answer(browser, 1)
    wait(browser, "!document.getElementById('missing').hidden")
    words = browser.find_element("id", "missing").text
    assert "does not let the page keep anything" in words
    assert "Nothing was sent" in words
    assert not browser.find_element("id", "result").is_displayed()
    assert server.received == []


def test_without_memory_a_page_that_keeps_nothing_still_tries_the_same_report(
    browser, asked, beforehand
):
    server = asked(survey("OUE", send_to="/reports"))
    beforehand(NO_STORAGE["denied"])
    server.failures = 1
    answer(browser, 1)
    assert state(browser)[0] == "bad"
    browser.find_element("id", "again").click()
    wait(browser, "document.getElementById('state').className === 'good'")
    bodies = [body for _, _, body in server.received]
    assert len(bodies) == 2
    assert len(set(bodies)) == 1


def test_with_memory_the_secret_is_kept_without_a_report_beside_it(browser, asked, beforehand):
    """Secret and report together give the answer: HMAC of every answer, and see which fits."""
    server = asked(survey("OUE", send_to="/reports", remember=True))
    beforehand("StorageManager.prototype.persist = async () => { window.persisted = true; };")
    server.failures = 1
    answer(browser, 1)
    assert state(browser)[0] == "bad"
    browser.find_element("id", "again").click()
    wait(browser, "document.getElementById('state').className === 'good'")
    first, second = (body for _, _, body in server.received)
    assert first == second
    kept = browser.execute_script("return Object.entries(localStorage)")
    assert [name.split()[-1] for name, _ in kept] == ["secret"]
    assert re.fullmatch("[0-9a-f]{64}", kept[0][1])
    assert browser.execute_script("return window.persisted") is True


SUBMIT = """
document.querySelectorAll("input[name=answer]")[arguments[0]].click();
document.getElementById("form").requestSubmit();
"""


@pytest.fixture
def second_tab(browser):
    """Open the page of the first tab in a second one; gives both."""
    first = browser.current_window_handle
    opened = []

    def open_second(address):
        browser.switch_to.new_window("tab")
        opened.append(browser.current_window_handle)
        browser.get(address)
        return first, opened[-1]

    yield open_second
    for tab in opened:
        browser.switch_to.window(tab)
        browser.close()
    browser.switch_to.window(first)


def test_an_answer_in_one_tab_is_the_answer_of_the_other(browser, asked, second_tab):
    server = asked(survey("OUE", send_to="/reports", answers=[f"a{i}" for i in range(12)]))
    first, second = second_tab(server.address)
    browser.switch_to.window(first)
    answer(browser, 3)
    assert state(browser)[0] == "good"
    browser.switch_to.window(second)
    wait(browser, "document.getElementById('state').className === 'good'")
    assert not browser.find_element("id", "form").is_displayed()
    shown = browser.execute_script("return document.getElementById('bytes').textContent")
    assert [body.hex() for _, _, body in server.received] == [shown]


def test_a_tab_that_heard_of_nothing_reads_what_was_kept(browser, asked, second_tab, beforehand):
    server = asked(survey("OUE", send_to="/reports", answers=[f"a{i}" for i in range(12)]))
    first, second = second_tab(server.address)
    deaf = "window.addEventListener('storage', (e) => e.stopImmediatePropagation(), true);"
    beforehand(deaf)
    browser.switch_to.window(first)
    answer(browser, 3)
    assert state(browser)[0] == "good"
    browser.switch_to.window(second)
    answer(browser, 3)
    assert state(browser)[0] == "good"
    assert len({body for _, _, body in server.received}) == 1
    assert len(server.collector) == 1


def test_two_tabs_take_turns(browser, asked, second_tab):
    """While one tab makes its report, the other one waits, and then finds it."""
    agreed = survey("OUE", send_to="/reports", answers=[f"a{i}" for i in range(12)])
    server = asked(agreed)
    tabs = second_tab(server.address)
    hold = """
    const [name, done] = arguments;
    navigator.locks.request(name, () => new Promise((resolve) => {
      window.release = resolve;
      done();
    }));"""
    browser.execute_async_script(hold, f"sfumato cups {agreed.terms.hex()}")
    for tab in tabs:
        browser.switch_to.window(tab)
        browser.execute_script(SUBMIT, 3)
    time.sleep(0.2)
    assert server.received == []
    browser.execute_script("window.release()")
    for tab in tabs:
        browser.switch_to.window(tab)
        wait(browser, "document.getElementById('state').className === 'good'")
    assert len({body for _, _, body in server.received}) == 1
    assert len(server.collector) == 1


def test_the_page_says_where_it_can_connect_to():
    for target, words in (
        ("", "no address at all"),
        ("/reports", "the server it came from only, at /reports"),
        ("https://a.example/r", "one address only, https://a.example/r"),
    ):
        assert f"can connect to {words}," in render_page(survey(send_to=target))


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
