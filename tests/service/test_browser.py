"""The flows in Chromium, as a new user would; every page narrow and wide, light and dark."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from .hand import look

pytestmark = pytest.mark.browser
ordered = "the first tests make the accounts, grants and releases that later ones look at"


def test_register_anonymise_certify_and_verify_elsewhere(hand, live, tmp_path):
    rows = ["name,age,town,illness"]
    rows += [f"p{i},{20 + i % 40},t{i % 4},{'flu' if i % 3 else 'cold'}" for i in range(200)]
    file = tmp_path / "village.csv"
    file.write_text("\n".join(rows) + "\n")
    hand.go("/datasets").press("Register a dataset")
    look(hand, "register-empty")
    hand.browser.find_element("css selector", "input[type=file]").send_keys(str(file))
    hand.press("Send the file").until("What the columns seem to be")
    look(hand, "register")
    hand.fill(title="The village", why="To plan the surgery.", purposes="planning", budget="2")
    hand.press("Register").until("Make a release")
    look(hand, "dataset")
    hand.press("Make a release").until("Anonymise")
    look(hand, "release-form")
    hand.fill(**{"p-k": "4"}).press("Anonymise").until("See the release", 400)
    hand.press("See the release").until("Check it yourself")
    look(hand, "release")
    hand.leave_by("Publish it").until("Check it yourself")
    id_ = hand.browser.current_url.rpartition("/")[2]
    hand.leave_by("The report").go(f"/releases/{id_}")
    clean = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": str(tmp_path),
    }
    for name, path in (
        ("release.csv", f"/api/v1/releases/{id_}/file"),
        ("certificate.json", f"/api/v1/releases/{id_}/certificate"),
        ("keys.json", "/.well-known/sfumato-keys.json"),
    ):
        cookies = "; ".join(f"{c['name']}={c['value']}" for c in hand.browser.get_cookies())
        wanted = urllib.request.Request(live.address + path, headers={"Cookie": cookies})
        # Others get a certificate a minute later.
        with urllib.request.urlopen(wanted, timeout=30) as sent:
            (tmp_path / name).write_bytes(sent.read())
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", "verify", "release.csv", "--certificate",
         "certificate.json", "--key", "keys.json"],
        cwd=tmp_path, env=clean, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the certificate holds" in done.stdout


def test_another_shape_from_the_file_to_its_report_and_a_copy(hand, tmp_path):
    file = tmp_path / "baskets.dat"
    file.write_text("\n".join(f"bread {'milk' if i % 2 else 'wine'} {'abcd'[i % 4]}"
                              for i in range(120)))  # fmt: skip
    hand.go("/datasets/new").fill(shape="sets: baskets, clicks, diagnoses")
    hand.browser.find_element("css selector", "input[type=file]").send_keys(str(file))
    hand.press("Send the file").until("Hierarchy of the items")
    look(hand, "register-sets")
    hand.fill(title="Baskets", why="To order stock.", budget="3", budget_delta="1e-5")
    hand.press("Register").until("they answer no SQL")
    look(hand, "dataset-sets")
    hand.press("Make a release").until("k^m-anonymity")
    look(hand, "release-form-sets")
    hand.press("Anonymise").until("See the release", 400)
    hand.press("See the release").until("Attacks that were tried")
    look(hand, "release-sets")
    hand.go("/datasets/baskets/release")
    items = "bread,milk,wine,a,b,c,d"
    hand.fill(epsilon="1", delta="1e-6", items=items).press("Publish").until("See the release", 400)


def test_ask_with_accuracy_confirm_repeat_and_run_out(hand):
    hand.go("/datasets/patients/rules")
    look(hand, "rules")
    hand.fill(analyst="Olga", purpose="research").press("Grant").until("Revoke")
    hand.go("/datasets/patients").press("Ask a question").until("The question, in SQL")
    look(hand, "ask")
    question = "SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex"
    hand.fill(question=question, accuracy="20")  # the example declares the values of sex
    hand.press("What would it cost").until("What it would cost")
    assert "±" in hand.text
    look(hand, "estimate")
    hand.press("Confirm and ask").until("ready")
    assert "charged as entry" in hand.text
    first = hand.browser.find_element("css selector", "tbody").text
    assert "sf.connect" in hand.text
    look(hand, "answer")
    hand.go("/datasets/patients/ask")
    hand.fill(question=question, accuracy="20")  # the example declares the values of sex
    hand.press("What would it cost").until("asked this before")
    look(hand, "asked before")
    hand.press("Ask again").until("ready")
    assert "nothing" in hand.text
    assert hand.browser.find_element("css selector", "tbody").text == first
    hand.go("/history").until(question)
    look(hand, "history")
    hand.go("/datasets/patients/ask").fill(question="SELECT COUNT(*) FROM patients", epsilon="5")
    hand.press("What would it cost").until("does not fit")
    look(hand, "exhausted")


def test_a_question_can_be_clicked_together(hand):
    hand.go("/datasets/patients/ask")
    hand.browser.find_elements("css selector", "summary")[-1].click()
    hand.browser.find_element("css selector", "input[name=group][value=sex]").click()
    hand.leave_by("Write it as SQL").until("The question, in SQL")
    shown = hand.browser.execute_script(
        "return document.querySelector('textarea[name=question]').value"
    )
    assert 'GROUP BY "sex"' in shown


def test_a_survey_from_the_page_to_an_estimate(hand, live):
    hand.go("/surveys").fill(
        id="coffee", question="Coffee a day?", answers="none\nsome\nmuch", epsilon="1"
    )
    look(hand, "surveys")
    hand.press("Make the survey").until("No report has come yet")
    hand.go("/s/coffee")
    look(hand, "device")
    hand.browser.find_element("css selector", "label.choice").click()
    hand.browser.find_element("id", "go").click()
    hand.until("It speaks for")
    for _ in range(80):  # the device sends it when the page has told so
        if "1 report." in hand.go("/surveys/coffee").text:
            break
        time.sleep(0.25)
    hand.until("1 report.", 1)
    look(hand, "survey")


def test_a_person_asks_is_found_and_is_forgotten(hand, live):
    browser = hand.browser
    with (Path(live.process.args[4]) / "data" / "patients" / "patients.csv").open() as rows:
        header = rows.readline().strip().split(",")
        person = rows.readline().strip().split(",")[header.index("name")]
    for kind in ("access", "forget"):
        hand.go("/me")
        if kind == "access":
            look(hand, "me")
        browser.find_element("css selector", f"input[value={kind}]").click()
        hand.fill(dataset="Patients (made up)", told=f"I am {person}, room 4").press("Send").until(
            "Keep this code"
        )
        code = browser.find_element("css selector", ".secret code").text
        hand.go("/subjects")
        look(hand, f"subjects-{kind}")
        field = browser.find_element("css selector", "input[name=person]")
        field.send_keys(person)
        hand.press("Confirmed").until("confirmed")
        for _ in range(60):
            hand.go("/me").fill(code=code).leave_by("Look")
            if "Read it now" in hand.text:
                break
            time.sleep(0.3)
        hand.press("Read it now").until("What was found")
        look(hand, f"found-{kind}")
        if kind == "access":
            assert person in hand.text
    assert "cannot be recalled" in hand.text
    assert (
        person
        not in (Path(live.process.args[4]) / "data" / "patients" / "patients.csv").read_text()
    )
    hand.go("/datasets/patients/ask")
    hand.fill(question="SELECT COUNT(*) AS n FROM patients", epsilon="0.2").press(
        "What would it cost"
    )
    hand.until("Confirm and ask").press("Confirm and ask").until("charged as entry")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/login",
        "/datasets",
        "/account",
        "/people",
        "/requests",
        "/jobs",
        "/ledger",
        "/log",
        "/nothing",
    ],
)
def test_every_other_page(hand, path):
    hand.go(path)
    look(hand, "page" + path.replace("/", "-"))


def test_nothing_foreign_is_asked_for_and_pages_are_small(hand, live):
    browser = hand.browser
    browser.get_log("performance")
    browser.execute_cdp_cmd("Network.enable", {})
    browser.execute_cdp_cmd("Network.setCacheDisabled", {"cacheDisabled": True})
    hand.go("/")
    hand.go("/datasets/patients")
    sizes, places = {}, set()
    for line in browser.get_log("performance"):
        told = json.loads(line["message"])["message"]
        if told["method"] == "Network.requestWillBeSent":
            places.add(told["params"]["request"]["url"])
        if told["method"] == "Network.loadingFinished":
            sizes[told["params"]["requestId"]] = told["params"]["encodedDataLength"]
    assert all(place.startswith((live.address, "data:")) for place in places), places
    assert sum(sizes.values()) < 60_000  # two pages with style and script
    [script] = {p for p in places if p.endswith(".js")}
    with urllib.request.urlopen(script, timeout=30) as sent:
        assert len(sent.read()) <= 5 * 1024


def test_keyboard_alone_reaches_the_content_and_the_form(hand):
    from selenium.webdriver.common.keys import Keys

    hand.go("/datasets/patients/ask")
    body = hand.browser.find_element("tag name", "body")
    body.send_keys(Keys.TAB)
    assert hand.browser.switch_to.active_element.get_attribute("class") == "skip"
    hand.browser.switch_to.active_element.send_keys(Keys.ENTER)
    seen = []
    for _ in range(12):
        hand.browser.switch_to.active_element.send_keys(Keys.TAB)
        seen.append(hand.browser.switch_to.active_element.get_attribute("name"))
    assert {"question", "epsilon", "accuracy", "step"} <= set(seen)


def test_without_scripts_a_question_is_asked_and_answered(hand):
    hand.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        hand.go("/datasets/patients/ask")
        hand.fill(question="SELECT COUNT(*) AS n FROM patients WHERE age > 40", epsilon="0.1")
        hand.browser.find_element("css selector", "button[value=estimate]").click()
        hand.browser.find_element("css selector", "button[value=ask]").click()
        hand.until("charged as entry")
    finally:
        hand.browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
