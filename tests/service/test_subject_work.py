"""Changes of people's rows at once, and after a crash: nobody who was forgotten comes back."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from sfumato.data.tables import people_rows
from sfumato.govern.office import subjects
from sfumato.govern.office.catalogue import find_dataset
from sfumato.govern.office.jobs import add_job, claim_job
from sfumato.govern.office.people import add_person
from sfumato.service.door import Door
from sfumato.service.job import Work
from sfumato.service.settings import Settings
from sfumato.service.work import subjects as working

from .conftest import Site


@pytest.fixture
def quiet(tmp_path):
    """A site whose jobs nobody takes, with a dataset."""
    door = Door(Settings(folder=str(tmp_path)))
    roles = {"owner": "owner", "analyst": "analyst"}
    people = {role: add_person(door.house.office, role, role) for role in roles}
    made = Site(door, people, {}, None)
    made.register("clinic", 40)
    yield made
    door.house.close()


def forget(site, person):
    """A job that is to leave somebody out."""
    office = site.house.office
    subjects.add_request(office, "forget", "clinic", f"I am {person}")
    row = next(one for one in subjects.list_requests(office) if person in one["told"])
    subjects.confirm(office, row["id"], period=1.0)
    body = {"request": row["id"], "person": person, "corrections": {}}
    id_ = add_job(office, "change", person="o", dataset="clinic", body=body)
    assert claim_job(office, "worker")["id"] == id_
    return Work(site.house.settings, id_)


def people_in(site):
    file = site.house.settings.path / "data" / "clinic" / "patients.csv"
    names, _ = people_rows._scan(file)
    place = names.index("name")
    return [line.split(",")[place] for line in file.read_text().splitlines()[1:]]


def test_two_who_are_forgotten_at_once_both_are(quiet, monkeypatch):
    sync = people_rows.os.fsync

    def slow(file):
        time.sleep(0.3)  # between writing the new file and renaming it
        sync(file)

    before = people_in(quiet)
    works = [forget(quiet, person) for person in before[:2]]
    monkeypatch.setattr(people_rows.os, "fsync", slow)
    with ThreadPoolExecutor(2) as threads:
        told = list(threads.map(working.answer_request, works))
    assert [one["rows"] for one in told] == [1, 1]
    assert people_in(quiet) == before[2:]


def test_a_second_try_tells_how_many_rows_there_were(quiet, monkeypatch):
    person = people_in(quiet)[0]
    work = forget(quiet, person)
    version = find_dataset(quiet.house.office, "clinic").version

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(working, "rows_changed", crash)
        with pytest.raises(KeyboardInterrupt):
            working.answer_request(work)
    assert person not in people_in(quiet)
    again = Work(quiet.house.settings, work.id)
    assert working.answer_request(again) == {"kind": "forget", "rows": 1}
    assert find_dataset(quiet.house.office, "clinic").version == version + 1
    entry = quiet.house.reader.entries("clinic")[-1]
    assert entry.kind == "subject-forget"
    assert entry.details["rows"] == 1
