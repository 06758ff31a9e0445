"""Jobs about a person: her name goes with the job, however it ends, and her request stays."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest
from sqlalchemy import update

from sfumato.govern.office import jobs, subjects, tables
from sfumato.govern.office.office import Office


@pytest.fixture
def office(tmp_path):
    made = Office(tmp_path / "ledger.sqlite")
    yield made
    made.close()


@pytest.fixture
def job(office):
    """A job that changes the rows of a person, whose request was confirmed."""
    subjects.add_request(office, "forget", "clinic", "It is me")
    [request] = subjects.list_requests(office)
    subjects.confirm(office, request["id"], period=1.0)
    body = {"request": request["id"], "person": "Ada Lovelace", "corrections": {}}
    return jobs.add_job(office, "change", person="o", dataset="clinic", body=body)


def state(office):
    [request] = subjects.list_requests(office)
    return request["state"], request["due"]


def test_a_job_that_is_cancelled_before_it_began(office, job):
    assert jobs.cancel_job(office, job)
    found = jobs.find_job(office, job)
    assert (found["state"], found["body"]) == ("cancelled", {})
    assert state(office) == (subjects.RECEIVED, None)
    assert not jobs.cancel_job(office, job)


def test_a_job_whose_workers_died(office, job):
    for _ in range(jobs.MOST_TRIES):
        assert jobs.claim_job(office, "worker")["id"] == job
        assert jobs.find_job(office, job)["body"]["person"] == "Ada Lovelace"
        office.change(update(tables.jobs).values(lease=0.0))
    assert jobs.claim_job(office, "worker") is None
    found = jobs.find_job(office, job)
    assert (found["state"], found["code"], found["body"]) == ("failed", "interrupted", {})
    assert state(office) == (subjects.RECEIVED, None)


@pytest.mark.parametrize("ended", ["failed", "cancelled"])
def test_a_job_that_came_to_nothing(office, job, ended):
    jobs.claim_job(office, "worker")
    jobs.end_job(office, job, ended)
    assert jobs.find_job(office, job)["body"] == {}
    assert state(office) == (subjects.RECEIVED, None)


def test_a_request_that_was_answered_stays_answered(office, job):
    request = jobs.claim_job(office, "worker")
    id_ = jobs.find_job(office, request["id"])["body"]["request"]
    subjects.answer(office, id_, {"rows": []})
    jobs.end_job(office, job, "failed", code="crashed")
    assert state(office)[0] == subjects.ANSWERED
    assert jobs.find_job(office, job)["body"] == {}


def test_a_job_of_another_kind_keeps_its_body(office):
    id_ = jobs.add_job(office, "anonymize", person="o", dataset="clinic", body={"k": 5})
    assert jobs.cancel_job(office, id_)
    assert jobs.find_job(office, id_)["body"] == {"k": 5}


def test_later_requests_push_no_open_one_out_of_the_list(office, job):
    first = subjects.list_requests(office)[0]["id"]
    subjects.add_request(office, "access", "clinic", "the one that matters")
    for number in range(210):
        subjects.add_request(office, "access", "clinic", f"number {number}")
    listed = subjects.list_requests(office)
    assert listed[0]["told"] == "the one that matters"
    assert first not in {one["id"] for one in listed}  # confirmed: after those that wait


def test_only_changes_are_said_to_take_effect_later(office):
    """Whoever wants to know what is held waits for no fixed time."""
    due = {}
    for kind in subjects.KINDS:
        code = subjects.add_request(office, kind, "clinic", "It is me")
        [request] = [row for row in subjects.list_requests(office) if row["state"] == "received"]
        assert subjects.confirm(office, request["id"], period=1.0) is not None
        assert subjects.confirm(office, request["id"], period=1.0) is None
        due[kind] = subjects.status(office, code)["due"]
    assert due["access"] is None
    assert due["correct"] > 0
    assert due["forget"] > 0


def test_who_a_request_was_about_is_gone_from_the_disk(tmp_path):
    """Neither the file nor its journal keeps what was told, the key, the name or the answer."""
    with contextlib.closing(Office(tmp_path / "ledger.sqlite")) as office:
        code = subjects.add_request(office, "access", "clinic", "I am Ada, 17 Elm Street")
        [request] = subjects.list_requests(office)
        subjects.confirm(office, request["id"], period=1.0)
        body = {"request": request["id"], "person": "Ada Lovelace"}
        job = jobs.add_job(office, "lookup", person="o", dataset="clinic", body=body)
        assert {b"Elm Street", b"Ada Lovelace"} <= kept(tmp_path, b"Elm Street", b"Ada Lovelace")
        key = subjects.find_request(office, request["id"])["key"].encode()
        jobs.claim_job(office, "worker")
        subjects.answer(office, request["id"], {"rows": [{"name": "Ada Lovelace"}]})
        jobs.end_job(office, job, "done")
        sealed = subjects.find_request(office, request["id"])["answer"].encode()
        assert kept(tmp_path, b"Elm Street", b"Ada Lovelace", key, sealed) == {sealed}
        assert subjects.read_once(office, code) == {"rows": [{"name": "Ada Lovelace"}]}
        assert not kept(tmp_path, b"Elm Street", b"Ada Lovelace", key, sealed)


def kept(folder, *texts):
    files = [file.read_bytes() for file in folder.iterdir()]
    return {text for text in texts if any(text in held for held in files)}


def test_a_reader_only_puts_the_wiping_off(tmp_path):
    with contextlib.closing(Office(tmp_path / "ledger.sqlite")) as office:
        subjects.add_request(office, "access", "clinic", "I am Ada, 17 Elm Street")
        [request] = subjects.list_requests(office)
        reader = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
        reader.execute("BEGIN")
        assert reader.execute(f"SELECT count(*) FROM {tables.subjects.name}").fetchone() == (1,)
        subjects.refuse(office, request["id"])  # does not wait for long, and does not fail
        assert kept(tmp_path, b"Elm Street")
        assert not office.store.wipe()
        reader.close()
        assert office.store.wipe()
        assert not kept(tmp_path, b"Elm Street")
