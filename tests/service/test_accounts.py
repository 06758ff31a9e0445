"""Accounts that somebody tries to widen: tokens, passwords, links, secrets, requests."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from sfumato.errors import ParameterError
from sfumato.govern.office import events
from sfumato.govern.office.entry import (
    end_session,
    end_token,
    enter_by_session,
    enter_by_token,
    list_sessions,
    list_tokens,
    make_link,
    make_token,
    open_session,
    see_link,
)
from sfumato.govern.office.jobs import add_job, cancel_job, tell_progress
from sfumato.govern.office.people import find_person, set_password
from sfumato.govern.office.releases import add_release
from sfumato.local.collect.survey_files import read_survey
from sfumato.local.wire.messages import encode
from sfumato.service.access import Caller
from sfumato.service.api import releases
from sfumato.service.door import Door
from sfumato.service.pages import entry
from sfumato.service.settings import Settings, secret_at
from sfumato.service.startup import prepare

from .conftest import Site

GOOD = {"password": "a long password", "again": "a long password"}


@pytest.fixture
def asking(site):
    """A program with a token of the owner that may only ask."""
    id_, secret = make_token(site.house.office, site.people["owner"], "narrow", ["ask"], 9)
    made = site.client(html=True)
    made.headers["Authorization"] = f"Bearer {secret}"
    made.token = id_
    return made


def test_a_token_changes_no_account(site, asking):
    office, me = site.house.office, site.people["owner"].id
    set_password(office, me, "the old password")
    site.client("owner")  # a session
    before = list_tokens(office, me), list_sessions(office, me)
    handle = before[1][0]["handle"]
    for path, given in (
        ("tokens", {"label": "x", "scopes": "own", "days": "366"}),
        (f"tokens/{asking.token}/end", {}),
        (f"sessions/{handle}/end", {}),
        ("password", {"old": "the old password", "new": "another password"}),
    ):
        assert asking.post(f"/account/{path}", data=given).status_code == 403, path
    after = list_tokens(office, me), list_sessions(office, me)
    assert [len(one) for one in after] == [len(one) for one in before]
    browser = site.client("owner", html=True)
    made = browser.post("/account/tokens", data={"label": "x", "scopes": "own", "days": "9"})
    assert made.status_code == 200
    assert "sfm_" in made.text


def test_a_token_that_may_only_ask_sees_what_an_analyst_sees(site, asking):
    analyst = site.client("analyst")
    wish = {"amount": "1.5", "reason": "a reason of the analyst"}
    assert analyst.post("/api/v1/datasets/people/requests", json=wish).status_code == 201
    add_release(
        site.house.office, "hidden", dataset="people", person="", kind="anonymize", file="x",
        promise="an unpublished promise", sha256="", entry=1, facts={},
    )  # fmt: skip
    owner = site.client("owner", html=True)
    for path, text in (
        ("/requests", "a reason of the analyst"),
        ("/datasets/people", "an unpublished promise"),
    ):
        assert text in owner.get(path).text
        assert asking.get(path).status_code == 200
        assert text not in asking.get(path).text


def test_the_old_password_is_limited_like_a_login(site):
    set_password(site.house.office, site.people["stranger"].id, "the old password")
    browser = site.client("stranger", html=True)
    wrong = {"old": "not the password", "new": "another password"}
    right = wrong | {"old": "the old password"}
    for _ in range(events.MOST_PER_ACCOUNT):
        assert browser.post("/account/password", data=wrong).status_code == 422
    assert browser.post("/account/password", data=right).status_code == 429


def test_logins_that_are_sent_at_once_are_limited(site, monkeypatch):
    def slow(*_):
        time.sleep(0.5)

    monkeypatch.setattr(entry, "log_in", slow)
    clients = [site.client(html=True) for _ in range(14)]

    def send(client):
        return client.post("/login", data={"name": "raced", "password": "x" * 12}).status_code

    with ThreadPoolExecutor(14) as threads:
        found = sorted(threads.map(send, clients))
    assert found == [401] * events.MOST_PER_ACCOUNT + [429] * 4


def test_a_login_that_succeeds_is_not_counted(site):
    set_password(site.house.office, site.people["analyst"].id, "the right password")
    given = {"name": "ann", "password": "the right password"}
    for _ in range(events.MOST_PER_ACCOUNT + 1):
        assert site.client(html=True).post("/login", data=given).status_code == 303


# -- links and secrets ----------------------------------------------------------------------


def test_a_link_for_an_owner_is_open_only_while_there_is_none(tmp_path, site):
    settings = Settings(folder=str(tmp_path), hosts=("testserver",))
    first, second = prepare(settings), prepare(settings)
    for name in ("signing.pem", "secret", "operator"):
        assert (tmp_path / "keys" / name).stat().st_size > 0
    door = Door(settings)
    office = door.house.office
    guest = Site(door, {}, {}, site.running).client(html=True)
    assert see_link(office, "welcome", first) is None
    third = make_link(office, "welcome", '{"role": "owner", "name": "owner"}', hours=1)
    assert guest.post(f"/welcome/{second}", data=GOOD | {"name": "olga"}).status_code == 303
    assert see_link(office, "welcome", third) is None
    assert prepare(settings) is None
    more = prepare(settings, new_owner=True)
    for name in ("olga", "<script>"):
        refused = guest.post(f"/welcome/{more}", data=GOOD | {"name": name})
        assert refused.status_code == 422
    assert guest.post(f"/welcome/{more}", data=GOOD | {"name": "otto"}).status_code == 303
    left = prepare(settings, new_owner=True)
    assert prepare(settings) is None
    assert see_link(office, "welcome", left) is None
    assert find_person(office, name="otto").role == "owner"
    door.house.close()


@pytest.mark.parametrize("content", ["", "ab" * 31, "zz" * 32])
def test_a_secret_that_is_not_whole_is_refused(tmp_path, content):
    (tmp_path / "secret").write_text(content)
    with pytest.raises(ParameterError, match="no secret of 32 bytes"):
        secret_at(tmp_path / "secret")


def test_an_empty_bearer_is_nobody(site, monkeypatch):
    monkeypatch.setattr(site.house, "operator", "")
    for given in ("Bearer", "Bearer ", "bearer  "):
        response = site.client().get("/metrics", headers={"Authorization": given})
        assert response.status_code == 401


def test_an_address_in_other_letters_is_kept_over_the_login(site):
    browser = site.client(html=True)
    sent = browser.get("/datasets/%E2%82%AC")
    assert sent.status_code == 303
    assert sent.headers["location"] == "/login?next=/datasets/%E2%82%AC"
    set_password(site.house.office, site.people["analyst"].id, "the right password")
    given = {"name": "ann", "password": "the right password", "next": "/datasets/€"}
    assert browser.post("/login", data=given).headers["location"] == "/datasets/%E2%82%AC"


# -- surveys and people ---------------------------------------------------------------------


def test_a_closed_survey_takes_no_report_whatever_is_kept_in_memory(site):
    owner, public = site.client("owner", token=True), site.client()
    body = {"id": "tea", "question": "Tea?", "answers": ["no", "yes"], "epsilon": "2",
            "asked_by": "the office"}  # fmt: skip
    assert owner.post("/api/v1/surveys", json=body).status_code == 201
    survey = read_survey(site.house.settings.path / "surveys" / "tea.yaml")
    message = encode(survey.protocol.perturb(["no"] * 20), survey.address)
    assert owner.post("/api/v1/surveys/tea/close").status_code == 200
    assert owner.get("/api/v1/surveys/tea/estimate").json()["reports"] == 0
    assert public.post("/api/v1/surveys/tea/reports", content=message).status_code == 409
    assert owner.get("/api/v1/surveys/tea/estimate").json()["reports"] == 0


def test_what_cannot_be_looked_up_is_not_confirmed(site):
    site.register("plain", 30, subject="")
    public, owner = site.client(), site.client("owner", token=True)
    made = {"kind": "forget", "dataset": "plain", "told": "me"}
    code = public.post("/api/v1/subjects/requests", json=made).json()["code"]
    [row] = [
        one
        for one in owner.get("/api/v1/subjects/requests").json()["requests"]
        if one["dataset"] == "plain"
    ]
    place = f"/api/v1/subjects/{row['id']}/confirmation"
    assert owner.post(place, json={"person": "Ada Lovelace"}).status_code == 422
    told = public.get(f"/api/v1/subjects/requests/{code}").json()
    assert told == {"state": "received", "due": None}
    jobs = site.house.office.rows(__import__("sqlalchemy").text(
        "SELECT body FROM sfumato_office_jobs"))  # fmt: skip
    assert "Ada Lovelace" not in str(jobs)


def test_requests_of_one_address_are_limited(site, monkeypatch):
    monkeypatch.setattr(events, "MOST_REQUESTS", 3)
    made = {"kind": "access", "dataset": "people", "told": "me"}
    found = [
        site.client().post("/api/v1/subjects/requests", json=made).status_code for _ in range(4)
    ]
    assert found[-1] == 429
    assert site.client(html=True).post("/me", data=made).status_code == 429


def test_live_progress_ends_with_the_session_or_token(site):
    """An event stream that was opened in time tells nothing after the revocation."""
    office, olga = site.house.office, site.people["owner"]
    job = add_job(office, "anonymize", person=olga.id, dataset="people", body={}, at=1e12)
    id_, token = make_token(office, olga, "stream", ["own"], 9)
    session = open_session(office, olga.id)
    ways = ((enter_by_token, token, lambda: end_token(office, olga.id, id_)),
            (enter_by_session, session, lambda: end_session(office, session)))  # fmt: skip

    async def told(caller, end):
        call = SimpleNamespace(house=site.house, caller=caller, path={"job": job})
        parts = (await releases.events(call)).body_iterator
        assert "queued" in await anext(parts)
        await site.house.thread(tell_progress, office, job, "further")
        end()
        async with asyncio.timeout(5):
            assert [part async for part in parts] == []

    for enter, secret, end in ways:
        caller = Caller(enter(office, secret), secret)
        site.running.portal.call(told, caller, end)
    assert not site.house.streams[olga.id]
    cancel_job(office, job)
