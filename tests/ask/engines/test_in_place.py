"""A file that a small machine scans in place is the file that a large one has loaded."""

from __future__ import annotations

import datetime as dt

import duckdb
import polars as pl
import pytest

import sfumato as sf
from sfumato.ask.engines import duckdb as duckdb_engine
from sfumato.ask.engines import table_checks
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.errors import GovernanceError, ParameterError

COUNT = "SELECT COUNT(*) FROM t"
FRAME = pl.DataFrame(
    {
        "id": [1, 2, None],
        "ward": ["a", "", "é, 'x'"],
        "x": [0.1, -0.0, 1e300],
        "day": [dt.date(2024, 2, 29), None, dt.date(1, 1, 1)],
        "ok": [True, False, None],
    }
)


@pytest.fixture
def small(monkeypatch):
    """Make this a machine of no memory when called."""
    return lambda: monkeypatch.setattr(duckdb_engine, "memory", lambda: 0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.write_csv("a.csv")
    FRAME.write_parquet("a.parquet")
    FRAME.with_columns(id=pl.col("id") + 10).write_csv("b.csv")
    FRAME.with_columns(id=pl.col("id") + 20).write_csv("c.csv")
    pl.DataFrame({"ward": ["a", "b"], "beds": [1, 2]}).write_csv("wards.csv")
    return tmp_path


def session(*files, **more):
    given = {"unit": "row", "budget": sf.PureDP(5), "name": "t", "ledger": "ledger.sqlite"} | more
    return sf.Session(files[0] if len(files) == 1 else list(files), **given)


@pytest.mark.parametrize("file", ["a.csv", "a.parquet"])
@pytest.mark.parametrize("person", [None, "id"])
def test_a_file_has_one_fingerprint_loaded_or_in_place(folder, small, file, person):
    public = {"wards": "wards.csv"}
    loaded = DuckDBEngine.open(folder / file, person=person, public=public)
    small()
    in_place = DuckDBEngine.open(folder / file, person=person, public=public)
    assert set(in_place._in_place) == {"a", "wards"}
    assert in_place.fingerprint() == loaded.fingerprint()


def test_rows_are_hashed_once_while_the_file_is_the_same(folder, small, monkeypatch):
    small()
    monkeypatch.setattr(table_checks, "_ROUNDED", 0)  # as if the file were an hour old
    engine = DuckDBEngine.open(folder / "a.csv")
    before = engine.fingerprint()
    with monkeypatch.context() as patched:
        patched.setattr(engine, "_rows", None)
        assert engine.fingerprint() == before
    FRAME.head(2).write_csv(folder / "a.csv")
    assert engine.fingerprint() != before


def test_another_table_of_a_database_does_not_change_the_fingerprint(folder, small):
    with duckdb.connect("h.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS who, 'a' AS ward")
    small()
    first = DuckDBEngine.open("h.duckdb", table="t")
    before = first.fingerprint()
    first.close()
    del first
    with duckdb.connect("h.duckdb") as connection:
        connection.execute("CREATE TABLE other AS SELECT range AS n FROM range(100000)")
    assert DuckDBEngine.open("h.duckdb", table="t").fingerprint() == before


def test_blocks_are_known_on_a_smaller_machine(folder, small):
    with session("a.csv", "b.csv") as one:
        one.sql(COUNT, epsilon=4)
    small()
    with pytest.raises(GovernanceError, match="'block 2' is known as 'main'"):
        session("b.csv", "a.csv")
    with pytest.raises(GovernanceError, match="is known as 'block 2'"):
        session("b.csv")
    with pytest.raises(GovernanceError, match="is known as"):
        session("c.csv", "b.csv", "a.csv")
    with session("a.csv", "b.csv") as again:
        again.sql(COUNT, epsilon="1/2")
        assert again.sql(COUNT, epsilon="1/2").stored


def test_public_tables_and_answers_are_known_on_a_smaller_machine(folder, small):
    public = {"wards": "wards.csv"}
    with session("a.csv", public=public) as one:
        one.sql(COUNT, epsilon=1)
    small()
    with session("a.csv", public=public) as again:  # a file in place is told by its times alone
        first, second = (again.sql(COUNT, epsilon=1) for _ in range(2))
        assert (first.stored, second.stored, second.rows) == (False, True, first.rows)
        assert again.remaining.epsilon == 3
    with pytest.raises((GovernanceError, ParameterError)):
        session("b.csv", public={"wards": "a.csv"})
