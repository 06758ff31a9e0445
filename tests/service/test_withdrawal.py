"""Withdrawal codes: whoever holds a report's nonce takes it back, and nobody else can tell."""

from __future__ import annotations

import pytest

from sfumato.local.collect.collector import Collector
from sfumato.local.collect.report_store import _TABLES, ReportStore
from sfumato.local.collect.survey import Survey
from sfumato.local.wire.messages import encode


@pytest.fixture(scope="module")
def survey(site):
    body = {"id": "tea", "question": "Tea?", "answers": ["yes", "no"], "epsilon": "8"}
    assert site.client("owner", token=True).post("/api/v1/surveys", json=body).status_code == 201
    return Survey.of(
        "tea", "Tea?", ["yes", "no"], epsilon="8", send_to="/api/v1/surveys/tea/reports"
    )


def sent(site, survey, answer):
    message = encode(survey.protocol.perturb([answer]), survey.address)
    taken = site.client().post("/api/v1/surveys/tea/reports", content=message).json()
    return message, message[16:24].hex(), taken


def reports(site):
    found = site.client("owner", token=True).get("/api/v1/surveys/tea/estimate").json()
    return found["reports"]


def test_a_report_is_taken_back_by_its_code_and_not_taken_again(site, survey):
    public = site.client()
    for _ in range(3):
        sent(site, survey, "yes")
    message, code, taken = sent(site, survey, "no")
    assert (taken["accepted"], reports(site)) == (1, 4)
    place = "/api/v1/surveys/tea/withdrawals"
    mine = public.post(place, json={"code": code})
    nobodys = public.post(place, json={"code": "00" * 8})
    assert (mine.status_code, mine.json()) == (nobodys.status_code, nobodys.json())
    assert reports(site) == 3
    again = public.post("/api/v1/surveys/tea/reports", content=message).json()
    assert (again["accepted"], again["dropped"]) == (0, {"sent twice": 1})
    assert reports(site) == 3
    assert public.post(place, json={"code": "short"}).status_code == 422
    assert public.post("/api/v1/surveys/none/withdrawals", json={"code": code}).status_code == 404


def test_without_a_script_on_the_page_about_you(site, survey):
    page = site.client(html=True)
    _, code, _ = sent(site, survey, "yes")
    before = reports(site)
    told = page.post("/me/withdrawal", data={"survey": "tea", "withdrawal": code})
    assert told.status_code == 200
    assert "it is erased and counted no more" in told.text
    assert reports(site) == before - 1
    assert page.post("/me/withdrawal", data={"survey": "tea", "withdrawal": "x"}).status_code == 422


def test_the_rows_are_gone_from_the_file_and_nothing_else_can_remove_any(tmp_path, survey):
    with Collector(survey, tmp_path / "reports.db") as collector:
        kept = encode(survey.protocol.perturb(["yes"]), survey.address)
        gone = encode(survey.protocol.perturb(["no"]), survey.address)
        collector.receive_many([kept, gone])
        collector.estimate()
        assert collector.withdraw(gone[16:24].hex()) == 1
        assert collector.withdraw(gone[16:24].hex()) == 0
        assert collector.estimate().n == 1
        file = collector._store._file
        assert [bytes(n) for (n,) in file.execute("SELECT nonce FROM batches")] == [kept[16:24]]
        with pytest.raises(Exception, match="never removed"):
            file.execute("DELETE FROM batches")


def test_a_store_from_before_learns_to_forget(tmp_path, survey):
    path = tmp_path / "old.db"
    with Collector(survey, path) as collector:
        message = encode(survey.protocol.perturb(["yes"]), survey.address)
        collector.receive(message)
        file = collector._store._file
        file.execute("DROP TRIGGER batches_stay")
        file.execute("DROP TABLE withdrawn")
        file.execute(
            "CREATE TRIGGER batches_stay BEFORE DELETE ON batches "
            "BEGIN SELECT RAISE(ABORT, 'reports are never removed'); END"
        )
        file.execute("PRAGMA user_version = 1")
    assert "withdrawn" in _TABLES
    ReportStore(path, survey).close()
    with Collector(survey, path) as collector:
        assert len(collector) == 1
        assert collector.withdraw(message[16:24].hex()) == 1
        assert len(collector) == 0
