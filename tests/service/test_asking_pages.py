"""The pages of an analyst, as HTML: their words, what they fill in again, and what is free."""

from __future__ import annotations

import re
from html import unescape

import pytest

from sfumato.message import Argument, Message, Ways
from sfumato.service.pages.wording import in_fields

QUESTION = "SELECT job, COUNT(*) AS n FROM clinic GROUP BY job"
SAID = {"question": QUESTION, "purpose": "research", "epsilon": "0.75", "keys": "job=nurse,driver"}


@pytest.fixture(scope="module")
def clinic(site):
    site.register("clinic", budget="1", seed=7)
    return site.client("analyst", html=True)


def shown(response):
    return unescape(re.sub(r"\s+", " ", response.text))


def test_a_question_of_the_history_is_filled_in_whole_and_free_when_nothing_is_left(clinic, site):
    estimated = shown(clinic.post("/datasets/clinic/ask", data=SAID | {"step": "estimate"}))
    assert "Confirm and ask" in estimated
    assert "asked this before" not in estimated
    answered = clinic.post("/datasets/clinic/ask", data=SAID | {"step": "ask"})
    id_ = answered.headers["location"].rpartition("/")[2]
    assert f"/datasets/clinic/ask?again={id_}" in shown(clinic.get("/history"))
    again = clinic.get(f"/datasets/clinic/ask?again={id_}").text
    for field in ('value="0.75"', "job=nurse,driver", "GROUP BY job"):
        assert field in again
    estimated = shown(clinic.post("/datasets/clinic/ask", data=SAID | {"step": "estimate"}))
    assert "You have asked this before" in estimated
    assert f"/questions/{id_}" in estimated
    assert "Ask again" in estimated  # though ε = 0.75 does not fit the 0.25 that are left
    other = SAID | {"epsilon": "0.5", "step": "estimate"}
    estimated = shown(clinic.post("/datasets/clinic/ask", data=other))
    assert "You have asked this before" not in estimated
    assert "does not fit" in estimated
    stranger = site.client("owner", html=True).get(f"/datasets/clinic/ask?again={id_}")
    assert "GROUP BY job" not in stranger.text


def test_the_page_speaks_of_its_fields_and_not_of_python(clinic):
    asked = {"question": "SELECT AVG(age) AS a FROM clinic", "purpose": "research", "epsilon": "1"}
    told = shown(clinic.post("/datasets/clinic/ask", data=asked | {"step": "estimate"}))
    assert "ask with ‘Accuracy wanted’ to have it found" in told
    assert "accuracy=" not in told


def test_a_line_without_an_equals_sign_is_explained_and_values_may_hold_commas(clinic):
    asked = SAID | {"keys": "job: nurse, driver", "step": "estimate"}
    told = shown(clinic.post("/datasets/clinic/ask", data=asked))
    assert "column=value,value" in told
    assert "<details open><summary>Public facts" in told  # where it is to be mended
    quoted = SAID | {"keys": 'job=nurse,"clerk, retired"', "epsilon": "0.2", "step": "ask"}
    answered = clinic.post("/datasets/clinic/ask", data=quoted)
    id_ = answered.headers["location"].rpartition("/")[2]
    assert "clerk, retired" in shown(clinic.get(f"/questions/{id_}"))
    again = unescape(clinic.get(f"/datasets/clinic/ask?again={id_}").text)
    assert 'job=nurse,"clerk, retired"' in again


def test_messages_are_spelt_as_fields():
    keys = Message("Give {keys}.", keys=Argument("keys", {"job": [...]}))
    assert in_fields(keys) == "Give ‘Values of groups’ (job=…)."
    bounds = Message("Give {} or {}.", Argument("bounds", {"age": (0, 100)}), Argument("epsilon"))
    assert in_fields(bounds) == "Give ‘Bounds’ (age=0,100) or ‘ε to spend’."
    assert in_fields(Message("Use {}.", Ways("a()", "b"))) == "Use a() or `b`."
    assert in_fields(Message("Use {}.", Argument("where"))) == "Use where=."
    assert in_fields("Nothing to spell.") == "Nothing to spell."


def test_rules_and_jobs_say_when_and_nothing_that_is_over(site, clinic):
    owner = site.client("owner", html=True)
    told = shown(owner.get("/datasets/clinic/rules"))
    assert re.search(r"registered, \d{4}-\d\d-\d\d \d\d:\d\d UTC", told)
