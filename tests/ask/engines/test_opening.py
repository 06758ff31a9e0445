"""What DuckDB makes of files, frames and databases: kinds, cells, fingerprints, refusals."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction

import duckdb
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.ask.engines import duckdb as duckdb_engine
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.language import Column, Key, Scan
from sfumato.ask.language.request import Grid, GroupsBound, Request, RowBound, RowsBound, Total
from sfumato.errors import DataError, ParameterError, SchemaError

CSV = (
    "who,zip,score,day,note,mixed\n"
    "1,01234,1.5,2024-02-29,a,1\n"
    "2,00000,,2023-01-01,,x\n"
    '1,99999,-2e1,,"it\'s",2\n'
    ",12345,7,1999-12-31,b,\n"
)
KINDS = {
    "who": "integer", "zip": "text", "score": "real", "day": "date", "note": "text",
    "mixed": "text",
}  # fmt: skip


def kinds(engine, table=0):
    return {column.name: column.kind for column in engine.tables()[table].columns}


def counts(engine, column, *, bound=None, table=None):
    """Count rows by a column."""
    facts = engine.tables()[0] if table is None else table
    one = next(c for c in facts.columns if c.name == column)
    bound = bound or (RowBound() if facts.person is None else GroupsBound(100, 100))
    request = Request(Scan(facts.name, (one,)), (Key("k", one),), (Total("rows"),), bound, b"s")
    found = engine.aggregate(request)
    return {key[0]: int(n) for key, n in zip(found.keys, found.totals[0], strict=True)}


@pytest.fixture
def csv(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text(CSV)
    return file


def test_csv_kinds_by_their_cells(csv):
    engine = DuckDBEngine.open(csv)
    assert kinds(engine) == KINDS
    assert engine.tables()[0].name == "visits"
    assert counts(engine, "note") == {"a": 1, None: 1, "it's": 1, "b": 1}
    assert counts(engine, "day")[dt.date(2024, 2, 29)] == 1
    assert counts(engine, "who") == {1: 2, 2: 1, None: 1}
    assert counts(engine, "zip")["01234"] == 1


def test_declared_kinds_win_and_cells_that_do_not_fit_are_null(csv):
    engine = DuckDBEngine.open(csv, types={"mixed": "integer", "who": "text"})
    assert kinds(engine) == {**KINDS, "mixed": "integer", "who": "text"}
    assert counts(engine, "mixed") == {1: 1, None: 2, 2: 1}
    schema = sf.Schema(attributes={"zip": {"role": "quasi", "type": "integer"}})
    assert kinds(DuckDBEngine.open(sf.read(csv, schema=schema)))["zip"] == "integer"
    with pytest.raises(SchemaError, match="does not have"):
        DuckDBEngine.open(csv, types={"nothing": "text"})
    with pytest.raises(ParameterError, match="must be one of"):
        DuckDBEngine.open(csv, types={"who": "number?"})


def test_a_large_file_is_scanned_in_place_with_the_same_answers(csv, monkeypatch):
    loaded = DuckDBEngine.open(csv, person="who")
    monkeypatch.setattr(duckdb_engine, "memory", lambda: 1)
    in_place = DuckDBEngine.open(csv, person="who")
    assert in_place.tables() == loaded.tables()
    for bound in (GroupsBound(1, 1), RowsBound(2)):
        assert counts(in_place, "note", bound=bound) == counts(loaded, "note", bound=bound)
    before = in_place.fingerprint()
    assert before == in_place.fingerprint()
    csv.write_text(CSV + "5,1,1,,c,\n")
    assert in_place.fingerprint() != before
    assert counts(in_place, "note", bound=GroupsBound(9, 9))["c"] == 1


def test_parquet_with_nan_statistics(tmp_path, monkeypatch):
    """A file's statistics know no NaN, so a test by comparison could be folded away."""
    file = tmp_path / "x.parquet"
    pl.DataFrame({"x": [1.0, math.nan, 3.0, None, math.inf]}).write_parquet(file)
    grid = Grid((Fraction(0), Fraction(10)), Fraction(1), Fraction(0))
    x = Column("x", "real")
    for share in (0.25, 0.0):
        monkeypatch.setattr(duckdb_engine, "LOADED", share)
        engine = DuckDBEngine.open(file)
        totals = (Total("present", x), Total("sum", x, grid))
        found = engine.aggregate(Request(Scan("x", (x,)), (), totals, RowBound(), b"s"))
        assert [int(total[0]) for total in found.totals] == [3, 14]


def test_types_of_frames(tmp_path):
    frame = pl.DataFrame(
        {
            "small": pl.Series([1, 2], dtype=pl.UInt8),
            "wide": pl.Series([2**64 - 1, 5], dtype=pl.UInt64),
            "price": [Decimal("1.25"), None],
            "cat": pl.Series(["a", "b"], dtype=pl.Categorical),
            "at": [dt.datetime(2020, 1, 1, 23, 59), None],  # noqa: DTZ001 - a time without a zone
            "list": [[1], [2]],
            "raw": [b"x", b"y"],
            "flag": [True, None],
        }
    )
    engine = DuckDBEngine.open(frame, name="t")
    assert kinds(engine) == {
        "small": "integer", "wide": "integer", "price": "real", "cat": "text", "at": "date",
        "flag": "boolean",
    }  # fmt: skip
    assert set(engine.left_out["t"]) == {"list", "raw"}
    assert counts(engine, "at") == {dt.date(2020, 1, 1): 1, None: 1}
    assert counts(engine, "wide") == {2**63 - 1: 1, 5: 1}
    assert counts(engine, "flag") == {True: 1, None: 1}


def test_people_are_told_apart_exactly():
    wide = pl.DataFrame({"who": pl.Series([2**64 - 1, 2**64 - 2, 2**64 - 2], dtype=pl.UInt64)})
    engine = DuckDBEngine.open(wide, person="who")
    assert kinds(engine) == {"who": "text"}
    floats = DuckDBEngine.open(pd.DataFrame({"who": [1.0, math.nan, 2.0]}), person="who")
    assert kinds(floats) == {"who": "text"}  # whatever the cells are: a kind is public
    parts = DuckDBEngine.open(pd.DataFrame({"who": [1.5, 1.25]}), person="who")
    assert kinds(parts) == {"who": "text"}
    for one in (engine, floats, parts):
        request = Request(Scan(one.tables()[0].name, ()), (), (), GroupsBound(1, 1), b"s")
        assert one.aggregate(request).people.tolist() == [2]
    with pytest.raises(SchemaError, match="is of kind boolean"):
        DuckDBEngine.open({"who": [True, False]}, person="who")
    with pytest.raises(SchemaError, match="is not a usable column"):
        DuckDBEngine.open({"who": [1]}, person="whom")


def test_a_database_file(tmp_path):
    file = tmp_path / "hospital.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT 1 AS who, 'a' AS ward")
        connection.execute('CREATE SCHEMA "s\'x"')
        connection.execute('CREATE TABLE "s\'x"."o""dd" AS SELECT 2 AS who, \'b\' AS ward')
    with pytest.raises(SchemaError, match="visits"):
        DuckDBEngine.open(file)
    engine = DuckDBEngine.open(file, table="visits", person="who")
    assert counts(engine, "ward") == {"a": 1}
    assert counts(DuckDBEngine.open(file, table='o"dd', person="who"), "ward") == {"b": 1}
    assert counts(DuckDBEngine.open(str(file), table="s'x.o\"dd"), "ward") == {"b": 1}
    with pytest.raises(DataError, match="is not a file"):
        DuckDBEngine.open(tmp_path / "nothing.db")


def test_tables_of_several_connections_meet_in_one(csv, tmp_path):
    wards = tmp_path / "notes.parquet"
    pl.DataFrame({"note": ["a", "b"], "n": [1, 1], "m": [1, 2]}).write_parquet(wards)
    engine = DuckDBEngine.open(
        csv,
        person="who",
        private={"stays": ({"id": [1, 2], "nights": [3, 4]}, "id")},
        public={"notes": wards, "frame": pd.DataFrame({"k": ["x", "x"], "l": [1, 2]})},
    )
    facts = {table.name: table for table in engine.tables()}
    assert facts["stays"].person == "id"
    assert facts["notes"].unique == (("note",), ("m",))
    assert facts["frame"].unique == (("l",),)
    assert counts(engine, "nights", table=facts["stays"]) == {3: 1, 4: 1}
    with pytest.raises(SchemaError, match="Two tables"):
        DuckDBEngine.open(csv, public={"VISITS": wards})


def test_pairs_of_columns_that_name_a_row():
    engine = DuckDBEngine.open({"x": [1]}, public={"p": {"a": [1, 1, 2], "b": [1, 2, 1]}})
    assert engine.tables()[1].unique == (("a", "b"),)
    engine = DuckDBEngine.open({"x": [1]}, public={"p": {"a": [2**53, 2**53 + 1]}})
    assert engine.tables()[1].unique == (("a",),)  # whole numbers are joined exactly
    engine = DuckDBEngine.open({"x": [1]}, public={"p": {"a": [1e300, 2e300]}})
    assert engine.tables()[1].unique == ()  # real numbers beyond 10^30 are joined as 10^30


def test_bounds_and_domains_are_typed():
    engine = DuckDBEngine.open(
        {"age": [1, 2], "day": pd.to_datetime(["2020-01-01", None]), "b": [True, False]},
        bounds={"age": (0, "120.5")},
        domains={"day": ["2020-01-01", None], "age": ["1", ""], "b": [True, "false"]},
    )
    facts = engine.tables()[0]
    assert facts.columns[0].bounds == (0, Fraction("120.5"))
    assert dict(facts.domains) == {
        "day": (dt.date(2020, 1, 1), None), "age": (1, None), "b": (True, False),
    }  # fmt: skip
    with pytest.raises(ParameterError, match="not of its kind"):
        DuckDBEngine.open({"age": [1]}, domains={"age": ["secret"]})
    with pytest.raises(ParameterError, match="low ≤ high"):
        DuckDBEngine.open({"age": [1]}, bounds={"age": (3, 1)})


def test_the_source_stays_as_it_was_when_an_engine_closes(csv):
    table = sf.read(csv)
    first, second = DuckDBEngine.open(table, person="who"), DuckDBEngine.open(table)
    assert first.tables() != second.tables()
    first.close()
    assert counts(second, "note")["b"] == 1
    assert table.rows == 4


def test_an_engine_error_quotes_nothing(csv, monkeypatch):
    engine = DuckDBEngine.open(csv)
    monkeypatch.setattr(
        duckdb_engine, "printed", lambda *_: "SELECT CAST(note AS BIGINT) FROM sfumato.visits"
    )
    with pytest.raises(DataError) as caught:
        engine.aggregate(Request(Scan("visits", ()), (), (), RowBound(), b"s"))
    assert "it's" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


EDGES = {
    "UBIGINT": (0, 2**63 - 1, 2**63, 2**64 - 1),
    "HUGEINT": (-(2**127), -(2**63), 2**63, 2**127 - 1),
    "UHUGEINT": (0, 2**63, 2**127 - 1, 2**127, 2**128 - 1),
    "DECIMAL(38,0)": (1 - 10**38, -(2**63), 2**63, 10**38 - 1),
    "DECIMAL(38,1)": (1 - 10**37, 10**37 - 1),
    "FLOAT": (-(2**127), 2**63, 2**127),
    "DOUBLE": (-(2**1000), 2**63, 2**1000),
    "BIGNUM": (-(10**400), -(2**63) - 1, 2**63, 10**400),
    "BIGINT": (-(2**63), 2**63 - 1),
}


@pytest.mark.parametrize("in_place", [False, True], ids=["loaded", "in place"])
@pytest.mark.parametrize("type_", EDGES)
def test_no_cell_of_a_type_of_numbers_makes_the_engine_raise(
    tmp_path, monkeypatch, type_, in_place
):
    """An error would tell of one row whether it is asked about."""
    file = tmp_path / "n.duckdb"
    with duckdb.connect(str(file)) as connection:
        cells = ", ".join(f"('{n}'::{type_})" for n in (5, *EDGES[type_]))
        connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {cells}) AS v(n)")
    if in_place:
        monkeypatch.setattr(duckdb_engine, "memory", lambda: 0)
    engine = DuckDBEngine.open(file, table="t", types={"n": "integer"})
    assert bool(engine._in_place) is in_place
    assert counts(engine, "n") == expected(type_)
    for kind in ("real", "text", "boolean"):
        other = DuckDBEngine.open(file, table="t", types={"n": kind})
        assert len(other.fingerprint()) == 64  # which has read every cell


def expected(type_):
    """Clamp to 64 bits, by the largest double for doubles; 400 digits are the most of a number."""
    most = 2**63 - 1024 if type_ in {"FLOAT", "DOUBLE"} else 2**63 - 1
    least = -(2**63) if type_ == "BIGINT" else -most
    found = {5: 1}
    for n in EDGES[type_]:
        cell = None if len(str(n)) > 400 else max(least, min(n, most))
        found[cell] = found.get(cell, 0) + 1
    return found
