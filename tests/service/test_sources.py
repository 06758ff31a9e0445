"""Rows that stay where they are: a DuckDB file and a Postgres table, asked and anonymised."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

import sfumato as sf

from .test_journeys import over, until

ROWS = "SELECT i AS visit, 20 + i % 40 AS age, 't' || (i % 4) AS town FROM range(200) t(i)"
SCHEMA = """
attributes:
  visit: identifier
  age: {role: quasi, type: integer, hierarchy: {intervals: {width: 10}}}
  town: {role: quasi}
"""


@pytest.fixture
def owner(site):
    return site.client("owner", token=True)


def asked_and_anonymised(site, owner, ask, name, source):
    """Register a source, ask about it as the analyst, and have it anonymised by a job."""
    body = {
        "name": name, "source": source, "schema_text": SCHEMA, "unit": {"unit": "row"},
        "told": {"tick": 0.02}, "owner": {"budget": {"budget": "100"}},
    }  # fmt: skip
    made = owner.post("/api/v1/datasets", json=body)
    assert made.status_code == 201, made.text
    owner.post(f"/api/v1/datasets/{name}/grants", json={"analyst": "ann", "purpose": None})
    told = ask(f"SELECT COUNT(*) AS n FROM {name}", "20", dataset=name).json()
    assert told["state"] == "ready", told
    # ε = 20: the noise is beyond 3 with probability 2·e⁻⁶⁰/(1 + e⁻²⁰), less than 10⁻²⁵.
    assert abs(told["answer"]["rows"][0][0] - 200) <= 3
    site.house.settings.to_environment()
    wanted = {"promise": [{"definition": "KAnonymity", "k": 4}]}
    started = owner.post(f"/api/v1/datasets/{name}/releases", json=wanted)
    job = until(lambda: owner.get(started.headers["location"]).json(), over, 500)
    assert job["state"] == "done", job
    text = owner.get(f"/api/v1/releases/{job['result']['release']}/file").text
    assert len(text.splitlines()) > 190
    assert "visit" not in text


def test_a_password_stands_in_no_command_line_and_no_environment(tmp_path, monkeypatch):
    from sfumato.errors import ParameterError
    from sfumato.requests.serve import ServeCommand
    from sfumato.service.settings import VARIABLE, Settings, address_of

    secret = "postgresql://ann:pass-in-the-mine@db/clinic"
    for stated in (secret, "postgresql://db/clinic?user=ann&password=pass-in-the-mine"):
        with pytest.raises(ParameterError, match="@FILE") as refused:
            address_of(stated)
        assert "pass-in-the-mine" not in str(refused.value)
    (tmp_path / "address").write_text(f"{secret}\n")
    monkeypatch.setenv("CLINIC", secret)
    assert address_of(f"@{tmp_path}/address") == address_of("env:CLINIC") == secret
    assert "CLINIC" not in os.environ
    assert address_of("postgresql://ann@db/clinic") == "postgresql://ann@db/clinic"
    ServeCommand.of({"database": {"clinic": "@address"}})
    monkeypatch.setenv(VARIABLE, "")
    settings = Settings(folder=str(tmp_path / "site"), ledger=secret, databases={"clinic": secret})
    settings.to_environment()
    assert "pass-in-the-mine" not in str(dict(os.environ))
    assert Path(os.environ[VARIABLE]).stat().st_mode & 0o077 == 0
    assert Settings.from_environment() == settings


def test_a_table_of_a_duckdb_file_is_asked_and_anonymised(site, owner, ask):
    file = site.house.settings.path / "data" / "clinic.duckdb"
    with duckdb.connect(str(file)) as made:
        made.execute(f"CREATE TABLE visits AS {ROWS}")
    asked_and_anonymised(site, owner, ask, "in_duckdb", "data/clinic.duckdb::visits")


def test_a_table_of_a_named_postgres_is_asked_and_anonymised(site, owner, ask, fresh_postgres_url):
    import psycopg

    with psycopg.connect(fresh_postgres_url) as made:
        rows = ROWS.replace("range(200)", "generate_series(0, 199)").replace("20 +", "21 +")
        made.execute(f"CREATE TABLE visits AS {rows}")  # other rows: the same have one budget
    settings = site.house.settings
    object.__setattr__(settings, "databases", {"clinic": fresh_postgres_url})
    try:
        asked_and_anonymised(site, owner, ask, "in_postgres", "database:clinic::visits")
        shown = owner.get("/api/v1/datasets/in_postgres").text + owner.get("/").text
        assert fresh_postgres_url not in shown  # nor is the address told
    finally:
        site.house._open.pop("in_postgres").asking.close()  # it is emptied next
        object.__setattr__(settings, "databases", {})


def in_a_file(site, name, rows=ROWS):
    file = site.house.settings.path / "data" / f"{name}.duckdb"
    file.parent.mkdir(exist_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE visits AS {rows}")
    return file


def test_purposes_of_rows_elsewhere_are_kept_without_a_schema(site, owner):
    in_a_file(site, "used", ROWS.replace("200", "202"))
    body = {"name": "used", "source": "data/used.duckdb::visits", "unit": {"unit": "row"},
            "purposes": ["care"], "owner": {"budget": {"budget": "9"}}}  # fmt: skip
    made = owner.post("/api/v1/datasets", json=body)
    assert made.status_code == 201, made.text
    assert made.json()["purposes"] == ["care"]
    assert site.house.reader.registration("used").purposes == ("care",)


def test_names_are_not_told_apart_by_capitals(site, owner):
    body = {"name": "PEOPLE", "source": "age\n" + "1\n2\n" * 30, "unit": {"unit": "row"},
            "owner": {"budget": {"budget": "9"}}}  # fmt: skip
    refused = owner.post("/api/v1/datasets", json=body)
    assert refused.status_code == 422
    assert "'people'" in refused.text
    assert not (site.house.settings.path / "data" / "PEOPLE").exists()


def test_a_dataset_of_the_ledger_is_taken_in_with_its_budget_by_one_who_has_its_rows(site, owner):
    file = in_a_file(site, "shared", ROWS.replace("200", "203"))
    with sf.Session(
        f"{file}::visits", name="shared", unit="row", budget=sf.PureDP(3),
        ledger=sf.Ledger(site.house.settings.place),
    ) as session:  # fmt: skip
        session.sql("SELECT COUNT(*) FROM shared", epsilon=1)
        session.ledger.close()
    in_a_file(site, "others", ROWS.replace("200", "201"))
    body = {"name": "shared", "source": "data/others.duckdb::visits"}
    stated = (
        {"owner": {"budget": {"budget": "5"}}},
        {"purposes": ["care"]},
        {"unit": {"unit": "age"}},
    )
    for changed in (body, *({**body, "source": "data/shared.duckdb::visits", **s} for s in stated)):
        refused = owner.post("/api/v1/datasets", json=changed)
        assert refused.status_code == 422
        assert "taken in with the rows" in refused.text
        assert "3" not in refused.json()["detail"]  # of its limits nothing is told
    made = owner.post("/api/v1/datasets", json={**body, "source": "data/shared.duckdb::visits"})
    assert made.status_code == 201, made.text
    assert site.house.reader.snapshot("shared", "ann").registration.limits.dataset.epsilon == 3
    assert site.house.reader.remaining("shared", "ann")["dataset"].epsilon == 2


def test_rows_that_an_owner_hands_over_tell_nothing_of_the_rows_of_others(site, owner):
    """Knowing all rows but one, an owner could try what the last one is."""
    rows = "age\n" + "".join(f"{20 + i}\n" for i in range(40))
    with sf.Session(
        {"age": [20 + i for i in range(40)]}, name="theirs", unit="row", budget=sf.PureDP(3),
        ledger=sf.Ledger(site.house.settings.place), keys={"age": list(range(20, 60))},
    ) as session:  # fmt: skip
        session.ledger.close()
    stated = {"unit": {"unit": "row"}, "owner": {"budget": {"budget": "9"}}}
    for name, guess in (("right", rows), ("wrong", rows.replace("59", "58"))):
        made = owner.post("/api/v1/datasets", json={"name": name, "source": guess, **stated})
        assert made.status_code == 201, made.text
        lying = {"name": f"{name}_2", "source": f"data/{name}/rows.csv", **stated}
        again = owner.post("/api/v1/datasets", json=lying)
        assert "have one budget" in again.text  # of their own rows they are told
        assert "theirs" not in again.text
        taken = owner.post("/api/v1/datasets", json={"name": "theirs", "source": guess})
        assert taken.status_code == 422
        assert "taken in by the operator alone" in taken.text


def test_what_a_view_is_is_stated_by_the_operator(site, owner):
    in_a_file(site, "stated", ROWS.replace("200", "204"))
    body = {"name": "stated", "source": "data/stated.duckdb::visits?view=rows",
            "unit": {"unit": "row"}, "owner": {"budget": {"budget": "9"}}}  # fmt: skip
    refused = owner.post("/api/v1/datasets", json=body)
    assert refused.status_code == 422
    assert "operator" in refused.text
