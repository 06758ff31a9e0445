"""Who sees, points or runs scripts otherwise: 400 % zoom, no scripts, a keyboard and nothing else.

A flow here takes seconds, because a person's way through the site is many pages and one job.
"""

from __future__ import annotations

import time
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.browser

OWNER_PAGES = (
    "/", "/me", "/login", "/datasets", "/datasets/new", "/datasets/patients",
    "/datasets/patients/rules", "/datasets/patients/release", "/datasets/patients/ask",
    "/history", "/jobs", "/surveys", "/subjects", "/requests", "/people", "/ledger", "/log",
    "/account", "/nothing",
)  # fmt: skip

STICKS_OUT = """
const inside = '.wide, .wide *:not(caption), figure, figure *, .skip';  // these scroll on their own
const shown = e => e.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true});
const all = [...document.querySelectorAll('body *')].filter(e => shown(e) && !e.matches(inside));
const name = e => e.outerHTML.slice(0, 90), room = document.documentElement.clientWidth;
return {
  scrolls: document.scrollingElement.scrollWidth - room,
  wide: all.filter(e => e.getBoundingClientRect().right > room + 1 ||
                        e.getBoundingClientRect().left < -1).map(name),
  cut: all.filter(e => ['hidden', 'clip'].includes(getComputedStyle(e).overflowX) &&
                       e.textContent.trim() && e.scrollWidth > e.clientWidth + 1).map(name),
  stuck: all.filter(e => ['fixed', 'sticky'].includes(getComputedStyle(e).position)).map(name),
  over: all.filter(e => e.matches('button, a, input, select, textarea, label')).filter(
    (e, i, some) => some.some(o => { if (o === e || o.contains(e) || e.contains(o)) return false;
      const a = e.getBoundingClientRect(), b = o.getBoundingClientRect();
      return a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 2 &&
             b.top < a.bottom - 2 && !e.matches('p a, li a, dd a') })).map(name),
};
"""
"""What a page at this size does wrong: it scrolls in two directions, sticks out, cuts text off,
keeps something in front of the text, or lays one control over another."""


@contextmanager
def zoomed(browser, times=4):
    """A window of 1280 × 1024 at a zoom: so many fewer CSS pixels, each so many times as large."""
    metrics = {"width": 1280 // times, "height": 1024 // times, "deviceScaleFactor": times,
               "mobile": False}  # fmt: skip
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def without_scripts(browser):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def reflows(browser, where):
    found = browser.execute_script(STICKS_OUT)
    assert found == {"scrolls": 0, "wide": [], "cut": [], "stuck": [], "over": []}, (where, found)


@pytest.fixture(scope="module")
def granted(hand):
    """The owner may ask, too."""
    hand.go("/datasets/patients/rules").fill(analyst="Olga", purpose="research")
    return hand.leave_by("Grant")


def test_the_look_sees_what_is_wrong(hand):
    """Each fault that is looked for is found where it is made on purpose."""
    wrong = {
        "scrolls": "main.style.width = '500px'",
        "wide": "main.style.cssText = 'overflow: hidden; width: 300px';"
                "main.firstElementChild.style.width = '500px'",
        "cut": "const p = main.querySelector('p'); p.textContent = 'x'.repeat(999);"
               "p.style.cssText = 'overflow: hidden; white-space: nowrap; overflow-wrap: normal'",
        "stuck": "document.querySelector('header').style.position = 'sticky'",
        "over": "main.querySelector('button').style.marginTop = '-40px'",
    }  # fmt: skip
    with zoomed(hand.browser):
        for fault, made in wrong.items():
            hand.go("/login")
            reflows(hand.browser, "before")
            hand.browser.execute_script(f"const main = document.querySelector('main'); {made}")
            found = hand.browser.execute_script(STICKS_OUT)
            assert found[fault] not in (0, []), (fault, found)


@pytest.mark.parametrize("path", OWNER_PAGES)
def test_every_page_reflows_at_400_per_cent(hand, granted, path):
    with zoomed(hand.browser):
        hand.go(path)
        hand.browser.execute_script(
            "document.querySelectorAll('details').forEach(d => { d.open = true })"
        )
        reflows(hand.browser, path)


def test_a_question_at_400_per_cent(hand, granted):
    with zoomed(hand.browser):
        hand.go("/datasets/patients/ask")
        hand.fill(question="SELECT COUNT(*) AS n FROM patients WHERE age > 50", epsilon="0.01")
        hand.press("What would it cost").until("Confirm and ask")
        reflows(hand.browser, "estimate")
        hand.press("Confirm and ask").until("charged as entry")
        reflows(hand.browser, "answer")
        hand.go("/history")
        reflows(hand.browser, "history")


# -- without scripts ------------------------------------------------------------------------


def test_without_scripts_an_owner_registers_releases_and_publishes(hand, tmp_path):
    file = tmp_path / "hamlet.csv"
    rows = [f"{30 + i % 9},t{i % 2},{'flu' if i % 3 else 'cold'}" for i in range(60)]
    file.write_text("age,town,illness\n" + "\n".join(rows) + "\n")
    with without_scripts(hand.browser):
        hand.go("/datasets").press("Register a dataset")
        hand.browser.find_element("css selector", "input[type=file]").send_keys(str(file))
        hand.press("Send the file").until("What the columns seem to be")
        hand.fill(title="The hamlet", budget="2").press("Register").until("Make a release")
        hand.press("Make a release").fill(**{"p-k": "3"}).press("Anonymise")
        hand.until("See the release", 400)  # the page looks again by itself
        hand.leave_by("See the release").leave_by("Publish it").until("Check it yourself")
        hand.go("/").until("3-anonymity")
        hand.go("/datasets/hamlet/rules").fill(reason="more is needed", budget="3")
        hand.press("Amend").until("more is needed")


def test_without_scripts_a_person_asks_and_is_answered(hand):
    with without_scripts(hand.browser):
        hand.go("/me").fill(dataset="Patients (made up)", told="I am nobody").press("Send")
        code = (
            hand.until("Keep this code").browser.find_element("css selector", ".secret code").text
        )
        hand.go("/subjects").fill(person="Nobody At All").leave_by("Confirmed")
        for _ in range(200):
            hand.go("/me").fill(code=code).leave_by("Look")
            if "Read it now" in hand.text:
                break
            time.sleep(0.3)
        hand.press("Read it now").until("0 rows were about you")


# -- by keyboard ----------------------------------------------------------------------------


class Keyboard:
    """Keys alone; whatever has the focus must show that it has."""

    def __init__(self, browser):
        from selenium.webdriver import ActionChains, Keys

        self.browser, self.chains, self.keys = browser, ActionChains, Keys

    def press(self, *keys):
        self.chains(self.browser).send_keys(*keys).perform()
        return self

    def to(self, wanted):
        """Go on by Tab until something has the focus that a selector or words tell."""
        for _ in range(150):
            self.press(self.keys.TAB)
            at, outline = self.browser.execute_script(
                "const e = document.activeElement; return [[e.id, e.name, e.value, "
                "e.innerText || ''].filter(Boolean), getComputedStyle(e).outlineStyle]"
            )
            if any(str(one).strip().startswith(wanted) for one in at):
                assert outline != "none", f"nobody sees that {wanted!r} has the focus"
                return self
        raise AssertionError(f"no key leads to {wanted!r} at {self.browser.current_url}")


def test_by_keyboard_a_question_is_asked_and_a_release_is_made(hand, granted):
    keys = Keyboard(hand.browser)
    tab, enter, arrow = keys.keys.TAB, keys.keys.ENTER, keys.keys.ARROW_DOWN
    hand.go("/datasets")
    keys.to("Patients (made up)").press(enter)
    hand.until("Ask a question")
    keys.to("Ask a question").press(enter)
    hand.until("The question, in SQL")
    keys.to("f-question").press("SELECT COUNT(*) AS n FROM patients WHERE age > 30")
    keys.to("f-epsilon").press("0.01").to("What would it cost").press(enter)
    hand.until("Confirm and ask")
    keys.to("Confirm and ask").press(enter)
    hand.until("charged as entry")
    hand.go("/datasets/patients/release")
    keys.to("f-p-k").press("5").to("f-algorithm").press(arrow, arrow, tab)
    keys.to("Anonymise").press(enter)
    hand.until("See the release", 400)
    keys.to("See the release").press(enter)
    hand.until("Publish it")
    keys.to("Publish it").press(enter)
    hand.until("Check it yourself")


def test_by_keyboard_a_person_asks_and_a_survey_is_made_and_answered(hand):
    keys = Keyboard(hand.browser)
    enter, arrow, space = keys.keys.ENTER, keys.keys.ARROW_DOWN, keys.keys.SPACE
    hand.go("/me")
    keys.to("access").press(arrow, arrow)  # to be forgotten
    keys.to("f-told").press("I am nobody").to("Send").press(enter)
    hand.until("Keep this code")
    hand.go("/subjects").until("Wants to be forgotten")
    keys.to("Refuse").press(enter)
    hand.until("refused")
    hand.go("/surveys")
    keys.to("f-id").press("tea").to("f-question").press("Tea a day?")
    keys.to("f-answers").press("none\nsome\nmuch").to("Make the survey").press(enter)
    hand.until("No report has come yet").go("/s/tea")
    keys.press(keys.keys.TAB, space)
    keys.to("go").press(enter)
    hand.until("It speaks for")
