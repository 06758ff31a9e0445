"""Questions over HTTP: charged first, shown on a clock, free again, one at a time, one charge."""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import datetime
from types import SimpleNamespace

import pytest
from sqlalchemy import text

from sfumato.govern.office import questions
from sfumato.govern.office.entry import end_token, make_token
from sfumato.govern.office.grants import list_grants, revoke
from sfumato.service import answering
from sfumato.service.house import Workers

COUNT = "SELECT COUNT(*) AS n FROM people WHERE age > {}"


def charges(site, dataset="people"):
    return [one for one in site.house.reader.entries(dataset) if one.kind == "charged"]


def test_an_answer_has_intervals_a_guarantee_and_its_charge(site, ask):
    told = ask(COUNT.format(30)).json()
    assert told["state"] == "ready"
    assert told["charged"]
    [(low, high)] = told["answer"]["intervals"]["n"]
    assert low <= told["answer"]["rows"][0][0] <= high
    assert told["answer"]["guarantee"] == {"epsilon": 0.1}
    entry = site.house.reader.entry(told["charge"])
    assert entry.kind == "charged"
    assert entry.analyst == site.people["analyst"].pseudonym  # never her name
    assert "ann" not in json.dumps([vars(one) for one in site.house.reader.entries()], default=str)


def test_without_a_wait_it_is_202_with_a_place_to_look(site):
    client = site.client("analyst", token=True)
    body = {"question": COUNT.format(31), "price": {"epsilon": "0.1"}}
    taken = client.post("/api/v1/datasets/people/questions", json=body)
    assert taken.status_code == 202
    assert taken.headers["retry-after"]
    for _ in range(200):
        told = client.get(taken.headers["location"]).json()
        if told["state"] == "ready":
            break
        assert told["state"] in {"queued", "charged"}
        time.sleep(0.01)
    assert told["answer"]["columns"] == ["n"]
    assert site.client("stranger", token=True).get(taken.headers["location"]).status_code == 404


def test_again_is_the_same_and_free_for_her_and_dear_for_another(site, ask):
    first = ask(COUNT.format(32)).json()
    before = len(charges(site))
    again = ask("select  count( * ) n from people where not age <= 32").json()
    assert again["answer"]["stored"]
    assert not again["charged"]
    assert again["answer"]["rows"] == first["answer"]["rows"]
    assert len(charges(site)) == before
    assert ask(COUNT.format(32), role="owner").json()["charged"]


def test_a_hundred_at_once_are_one_charge(site):
    before = len(charges(site))
    body = {"question": COUNT.format(33), "price": {"epsilon": "0.1"}}
    found = []

    def one():
        client = site.client("analyst", token=True)
        found.append(
            client.post(
                "/api/v1/datasets/people/questions", json=body, headers={"Prefer": "wait=20"}
            ).json()
        )

    threads = [threading.Thread(target=one) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(charges(site)) == before + 1
    assert len({json.dumps(one["answer"]["rows"]) for one in found}) == 1


def test_one_question_at_a_time_and_another_is_put_off(site):
    person = site.people["stranger"]
    office = site.house.office
    first = questions.QuestionRow(person.id, "people", "", "{}", "a", "elsewhere")
    taken = questions.take_question(office, first)
    with pytest.raises(questions.QuestionUnderWay):
        questions.take_question(
            office, questions.QuestionRow(person.id, "people", "", "{}", "b", "elsewhere")
        )
    questions.finish(site.house.office, taken.id, state="failed", tick=0, code="test")


def test_a_dead_worker_s_question_is_interrupted_and_not_tried_again(site, monkeypatch):
    monkeypatch.setattr(questions, "LEASE", -1.0)
    stranger = site.people["stranger"].id
    row = questions.QuestionRow(stranger, "people", "", '{"question": "SELECT 1"}', "dead", "dead")
    taken = questions.take_question(site.house.office, row)
    told = site.client("stranger", token=True).get(f"/api/v1/questions/{taken.id}").json()
    assert (told["state"], told["code"], told["charged"]) == ("failed", "interrupted", False)


def test_a_clock_that_is_set_back_keeps_no_question_waiting(site, ask, monkeypatch):
    told, clock = COUNT.format(71), time.time
    assert ask(told).json()["state"] == "ready"
    monkeypatch.setattr(time, "time", lambda: clock() - 3600)
    before = len(charges(site))
    for _ in range(2):
        again = ask(told)
        assert (again.status_code, again.json()["state"]) == (200, "ready")
    assert len(charges(site)) == before
    assert ask(COUNT.format(72)).json()["state"] == "ready"
    monkeypatch.setattr(time, "time", lambda: clock() + 3600)
    assert ask(COUNT.format(73)).json()["state"] == "ready"


def test_an_answer_of_a_clock_that_was_set_back_is_shown(site, monkeypatch):
    """Another process wrote it, before the clock was set back by an hour."""
    office, person = site.house.office, site.people["stranger"].id
    row = questions.QuestionRow(person, "people", "", "{}", "ahead", "elsewhere")
    with monkeypatch.context() as ahead:
        ahead.setattr(questions, "_BEGAN", questions._BEGAN + 3600)
        taken = questions.take_question(office, row)
        questions.finish(office, taken.id, state="ready", tick=0.02, result="{}")
    assert questions.find_question(office, taken.id)["state"] == "ready"
    other = questions.QuestionRow(person, "people", "", "{}", "next", "elsewhere")
    questions.finish(
        office, questions.take_question(office, other).id, state="failed", tick=0, code="test"
    )


def test_the_question_of_a_worker_that_died_is_free_at_once(site):
    """Its lock is given back by the system; no lease and no deadline is waited for."""
    office, workers, person = site.house.office, site.house.workers, site.people["analyst"].id
    died = Workers(site.house.settings.path / "workers", "dead-1")
    row = questions.QuestionRow(person, "people", "research", "{}", "dead", "dead-1")
    taken = questions.take_question(office, row)
    assert not workers.bury(office)  # it lives
    asked = {"question": COUNT.format(74), "price": {"epsilon": "0.1"}}
    client = site.client("analyst", token=True)
    path = "/api/v1/datasets/people/questions"
    assert client.post(path, json=asked).status_code == 409
    os.close(died._held)  # as when its process is killed
    told = client.post(path, json=asked, headers={"Prefer": "wait=10"})
    assert told.json()["state"] == "ready"
    ended = questions.find_question(office, taken.id)
    assert (ended["state"], ended["code"]) == ("failed", "interrupted")
    assert workers.alive() == [site.house.worker]


@pytest.mark.parametrize(
    ("question", "price", "status", "code"),
    [
        ("SELECT name FROM people", {"epsilon": 1}, 422, None),
        ("SELECT COUNT(*) FROM people", {"epsilon": 1e6}, 409, "budget-exceeded"),
        ("SELECT COUNT(*) FROM people", {}, 422, "invalid"),
        ("SELECT COUNT(*) FROM people", {"epsilon": 1, "rho": 1}, 422, "invalid"),
        ("DROP TABLE people", {"epsilon": 1}, 422, None),
        ("SELECT COUNT(*) FROM elsewhere", {"epsilon": 1}, 422, None),
    ],
)
def test_what_is_refused_costs_nothing_and_says_so(site, ask, question, price, status, code):
    before = len(charges(site))
    response = ask(question, price.get("epsilon"), price=price)
    assert response.status_code == status
    told = response.json()
    assert response.headers["content-type"] == "application/problem+json"
    assert told["charged"] is False
    assert code is None or told["code"] == code
    if code == "budget-exceeded":
        assert told["difference"]["epsilon"] > 0
        assert told["requested"]["epsilon"] == 1e6
    assert len(charges(site)) == before


def test_a_purpose_that_was_not_granted_is_refused(ask):
    response = ask(COUNT.format(34), purpose="care")
    assert response.status_code == 403
    assert response.json()["code"] == "wrong-purpose"


def test_estimates_of_a_batch_cost_nothing_and_name_what_cannot_be(site):
    before = len(charges(site))
    body = {"questions": [
        {"question": COUNT.format(35), "price": {"epsilon": "0.5"}},
        {"question": COUNT.format(35), "price": {"accuracy": 10}},
        {"question": "SELECT name FROM people", "price": {"epsilon": "0.5"}},
    ]}  # fmt: skip
    response = site.client("analyst", token=True).post(
        "/api/v1/datasets/people/estimates", json=body
    )
    priced, wanted, refused = response.json()["estimates"]
    assert priced["errors"]["n"] > 0
    assert wanted["errors"]["n"] <= 10
    assert "problem" in refused
    assert len(charges(site)) == before


def test_an_answer_is_hidden_until_its_tick(site, ask):
    site.register("slow", tick=0.5, seed=2)
    ask("SELECT COUNT(*) FROM slow", dataset="slow")
    started = time.time()
    told = ask("SELECT COUNT(*) FROM slow WHERE age > 50", dataset="slow").json()
    row = questions.find_question(site.house.office, told["id"])
    assert time.time() >= row["shown"]
    assert abs(row["shown"] / 0.5 - round(row["shown"] / 0.5)) < 1e-6
    assert row["shown"] >= started


def taken(site, key, role="stranger", charge=None):
    person, worker = site.people[role].id, site.house.worker
    row = questions.QuestionRow(person, "people", "", '{"question": "SELECT 1"}', key, worker)
    return site.house.office.together(lambda now: questions.write_question(now, row, charge))


def test_nothing_tells_when_the_work_ended(site):
    """Before the tick all looks as while it worked: the row, the list, the same, another."""
    client = site.client("stranger", token=True)
    row = taken(site, "hidden", charge=17)

    def seen():
        told = client.get(f"/api/v1/questions/{row.id}").json()
        listed = client.get("/api/v1/questions").json()["questions"]
        with pytest.raises(questions.QuestionUnderWay):
            taken(site, "another")
        again = taken(site, "hidden")
        return told, next(one for one in listed if one["id"] == row.id), (again.id, again.again)

    before = seen()
    assert (before[0]["state"], before[0]["charge"]) == ("charged", 17)
    questions.finish(
        site.house.office, row.id, state="ready", tick=1e9, result='{"x": 1}', charge=18
    )
    questions.beat(site.house.office, site.house.worker)
    assert seen() == before
    site.house.office.change(
        text(f"UPDATE sfumato_office_questions SET shown = 1 WHERE id = '{row.id}'")
    )
    told = client.get(f"/api/v1/questions/{row.id}").json()
    assert (told["state"], told["charge"]) == ("ready", 17)
    other = taken(site, "another")
    assert not other.again
    questions.finish(site.house.office, other.id, state="failed", tick=0)


def test_a_question_that_another_worker_began_first_is_not_charged(site, ask, monkeypatch):
    """The row is written with the charge; where that finds another one, neither is there."""
    row = taken(site, "elsewhere", role="analyst")
    monkeypatch.setattr(questions, "find_under_way", lambda *_: None)  # looked a moment too early
    before = len(charges(site))
    refused = ask(COUNT.format(71))
    assert (refused.status_code, refused.json()["code"]) == (409, "under-way")
    assert refused.json()["charged"] is False
    assert len(charges(site)) == before
    questions.finish(site.house.office, row.id, state="failed", tick=0)


def test_no_charge_is_without_its_row(site, ask):
    before = len(charges(site))
    assert ask(COUNT.format(77)).json()["state"] == "ready"
    mean = "SELECT AVG(CLAMP(age, 0, 100)) AS mean FROM people WHERE age < 70.875"
    told = ask(mean, price={"accuracy": 5}, epsilon=None).json()
    assert told.get("state") == "ready", told  # with a pilot
    noted = {row["charge"] for row in site.house.office.rows(text(
        "SELECT charge FROM sfumato_office_questions WHERE dataset = 'people'"))}  # fmt: skip
    latest = charges(site)[before:]
    assert len(latest) == 3
    assert latest[0].number in noted
    assert latest[1].number in noted  # the pilot's: what follows belongs to the same question


class Slow:
    """Work at the desk that goes on until it is let go; nothing else of the site is changed."""

    def __init__(self, monkeypatch):
        from sfumato.ask.session.desk import Desk

        self.reached, self.go, answer = threading.Event(), threading.Event(), Desk.answer

        def slow(desk, *given):
            self.reached.set()
            assert self.go.wait(30)
            return answer(desk, *given)

        monkeypatch.setattr(Desk, "answer", slow)


def test_another_worker_sees_the_charge_while_it_works(site, monkeypatch):
    site.register("noting", seed=41, tick=0.02)
    slow, client = Slow(monkeypatch), site.client("analyst", token=True)
    body = {"question": "SELECT COUNT(*) FROM noting", "price": {"epsilon": "0.1"}}
    told = client.post("/api/v1/datasets/noting/questions", json=body).json()
    row = questions.find_question(site.house.office, told["id"])
    slow.go.set()
    assert (row["state"], row["charge"]) == ("charged", told["charge"])
    while client.get(f"/api/v1/questions/{told['id']}").json()["state"] != "ready":
        time.sleep(0.01)


def on_the_grid(site, id_, tick):
    row = questions.find_question(site.house.office, id_)
    return abs(row["shown"] / tick - round(row["shown"] / tick)) < 1e-6


def test_work_that_ends_after_its_deadline_ends_at_no_moment_that_shows(site, monkeypatch):
    """Whoever waits is told at the deadline; a repeat and the next question come at ticks."""
    site.register("late", seed=42, tick=0.5, deadline=0.5)
    slow, client = Slow(monkeypatch), site.client("analyst", token=True)
    place, wait = "/api/v1/datasets/late/questions", {"Prefer": "wait=20"}
    body = {"question": "SELECT COUNT(*) FROM late", "price": {"epsilon": "0.1"}}
    first = client.post(place, json=body, headers=wait).json()
    assert (first["state"], first["code"], first["charged"]) == ("failed", "deadline", True)
    assert not slow.go.is_set()  # it still works, and she was told nevertheless
    threading.Timer(0.8, slow.go.set).start()
    again = client.post(place, json=body, headers=wait).json()
    assert again["answer"]["stored"]
    assert on_the_grid(site, again["id"], 0.5)
    once_more = client.post(place, json=body, headers=wait).json()
    assert not on_the_grid(site, once_more["id"], 0.5)  # she has seen it: at once


def test_a_question_after_a_late_one_is_charged_at_a_tick(site, monkeypatch):
    """Had it been charged at once, it would be a fifth of a second after one, however often."""
    assert any(charged_at_a_tick(site, monkeypatch, f"after{number}") for number in range(4))


def charged_at_a_tick(site, monkeypatch, name):
    """Ask while a late question is still worked on; a busy machine may charge it late itself."""
    site.register(name, seed=43, tick=0.5, deadline=0.5)
    slow, client = Slow(monkeypatch), site.client("analyst", token=True)
    place, wait = f"/api/v1/datasets/{name}/questions", {"Prefer": "wait=20"}
    body = {"question": f"SELECT COUNT(*) FROM {name}", "price": {"epsilon": "0.1"}}
    assert client.post(place, json=body, headers=wait).json()["code"] == "deadline"
    monkeypatch.undo()
    time.sleep(0.5 - time.time() % 0.5 + 0.1)
    threading.Timer(0.6, slow.go.set).start()
    other = body | {"question": f"SELECT COUNT(*) FROM {name} WHERE age > 50"}
    told = client.post(place, json=other, headers=wait).json()
    when = datetime.fromisoformat(site.house.reader.entry(told["charge"]).time).timestamp()
    return when % 0.5 < 0.1 or told["code"] == "deadline"


def test_slow_questions_do_not_stop_others(site):
    """Others have their turns, for as long as it takes: the next question is answered anyway."""
    site.register("turns", seed=45, tick=0.02)

    async def take():
        return [site.house.turns.begin(lambda: None) for _ in range(5)]

    slow = site.running.portal.call(take)
    told = site.client("analyst", token=True).post(
        "/api/v1/datasets/turns/questions", headers={"Prefer": "wait=20"},
        json={"question": "SELECT COUNT(*) FROM turns", "price": {"epsilon": "0.1"}},
    )  # fmt: skip
    assert told.json()["state"] == "ready"
    for turn in slow:
        site.running.portal.call(turn.end)


def test_nobody_waits_for_a_late_one_without_end(site, monkeypatch):
    """The next question is refused after a public time, at a tick, and costs nothing."""
    site.register("endless", seed=44, tick=0.5, deadline=0.5)
    slow, client = Slow(monkeypatch), site.client("analyst", token=True)
    place, wait = "/api/v1/datasets/endless/questions", {"Prefer": "wait=20"}
    body = {"question": "SELECT COUNT(*) FROM endless", "price": {"epsilon": "0.1"}}
    assert client.post(place, json=body, headers=wait).json()["code"] == "deadline"
    monkeypatch.setattr(answering, "PATIENCE", 0.3)
    before = len(charges(site))
    other = body | {"question": "SELECT COUNT(*) FROM endless WHERE age > 50"}
    told = client.post(place, json=other, headers=wait)
    assert (told.status_code, told.json()["code"]) == (409, "under-way")
    assert not told.json()["charged"]
    assert not slow.go.is_set()
    assert len(charges(site)) == before
    slow.go.set()


def test_a_question_that_waited_is_not_charged_after_its_grant_or_token_has_ended(
    site, monkeypatch
):
    """Revocation takes effect at once, also for what is in line behind a late question."""
    office, ann = site.house.office, site.people["analyst"]
    site.register("revoked", seed=46, tick=0.2, deadline=0.2)
    place, wait = "/api/v1/datasets/revoked/questions", {"Prefer": "wait=20"}
    body = {"question": "SELECT COUNT(*) FROM revoked", "price": {"epsilon": "0.1"}}
    id_, token = make_token(office, ann, "revoked", ["ask"], 9)
    granted = next(one["id"] for one in list_grants(office, "revoked") if one["name"] == "ann")
    ends = ((token, lambda: end_token(office, ann.id, id_)),
            (site.tokens["analyst"], lambda: revoke(office, granted, "revoked")))  # fmt: skip
    for number, (used, end) in enumerate(ends):
        slow, client = Slow(monkeypatch), site.client()
        client.headers["Authorization"] = f"Bearer {used}"
        first = body | {"question": f"{body['question']} WHERE age > {number}"}
        assert client.post(place, json=first, headers=wait).json()["code"] == "deadline"
        before = len(charges(site, "revoked"))

        def go(end=end, slow=slow):
            end()
            slow.go.set()

        threading.Timer(0.4, go).start()
        other = body | {"question": f"{body['question']} WHERE age > {50 + number}"}
        told = client.post(place, json=other, headers=wait)
        assert (told.status_code, told.json()["charged"]) == (404, False)
        assert len(charges(site, "revoked")) == before
        monkeypatch.undo()


def test_what_is_not_charged_yet_is_not_closed_as_late(site, monkeypatch):
    running = Late()
    closed = []
    monkeypatch.setattr(questions, "finish", lambda *_, **named: closed.append(named["charge"]))
    site.running.portal.call(answering._close_late, site.house, "x", running)
    assert not closed
    running.charge = 3
    site.running.portal.call(answering._close_late, site.house, "x", running)
    assert closed == [3]
    assert running.done.is_set()


class Late:
    is_late, charge = True, None

    def __init__(self):
        self.done = threading.Event()
        self.found = SimpleNamespace(listed=SimpleNamespace(facts=SimpleNamespace(tick=1.0)))
        self.end = self.done.set


def test_signs_of_life_are_given_while_every_thread_works(site):
    go = threading.Event()
    busy = [site.house.threads.submit(go.wait, 30) for _ in range(40)]
    row = taken(site, "alive")
    site.house.office.change(text("UPDATE sfumato_office_questions SET lease = lease - 12"))

    def lease():
        return questions.find_question(site.house.office, row.id)["lease"]

    first, end = lease(), time.monotonic() + 8
    try:
        while lease() <= first and time.monotonic() < end:
            time.sleep(0.05)
        assert lease() > first
    finally:
        go.set()
        for one in busy:
            one.result(60)
    questions.finish(site.house.office, row.id, state="failed", tick=0)


def test_a_late_answer_is_a_charged_failure(site):
    owner, worker = site.people["owner"].id, site.house.worker
    taken = questions.take_question(
        site.house.office, questions.QuestionRow(owner, "people", "", "{}", "late", worker)
    )
    questions.finish(
        site.house.office, taken.id, state="failed", tick=0.01, code="deadline", charge=1
    )
    questions.finish(site.house.office, taken.id, state="ready", tick=0.01, result='{"x": 1}')
    time.sleep(0.02)
    row = questions.find_question(site.house.office, taken.id)
    assert (row["state"], row["code"], row["result"]) == ("failed", "deadline", None)


def test_the_budget_runs_out_and_says_so(site, ask):
    site.register("small", budget="0.3", seed=3)
    for age in (20, 30, 40):
        assert ask(f"SELECT COUNT(*) FROM small WHERE age > {age}", dataset="small").json()[
            "charged"
        ]
    refused = ask("SELECT COUNT(*) FROM small WHERE age > 50", dataset="small")
    assert refused.status_code == 409
    assert refused.json()["remaining"]["epsilon"] == 0
    verified = site.house.reader.verify()
    assert verified


def test_dummy_rows_read_nothing_and_cost_nothing(site):
    before = site.house.reader.count()
    response = site.client("analyst", token=True).get("/api/v1/datasets/people/dummy?rows=7")
    assert len(response.json()["rows"]) == 7
    assert site.house.reader.count() == before


def test_history_lists_one_s_own_alone(site, ask):
    ask(COUNT.format(36))
    mine = site.client("analyst", token=True).get("/api/v1/questions").json()["questions"]
    assert mine
    others = site.client("stranger", token=True).get("/api/v1/questions").json()["questions"]
    assert not {one["id"] for one in mine} & {one["id"] for one in others}
