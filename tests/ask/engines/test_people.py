"""People are told apart by the cell that names them, whatever it is declared to be."""

from __future__ import annotations

import sys
import uuid
from fractions import Fraction
from pathlib import Path

import duckdb
import polars as pl
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from any_engine import ENGINES, SOAK, opener

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.language import Column, Scan
from sfumato.ask.language.request import Grid, Request, RowsBound, Total
from sfumato.dp.neighbours import Unit
from sfumato.errors import SchemaError
from sfumato.testing.reference_engine import CheckTable, ReferenceEngine

IDS = ["7", "07", " 7", "+7", "7.0", "-0", "0", "7"]


def people(engine, table="t"):
    found = engine.aggregate(Request(Scan(table, ()), (), (Total("rows"),), RowsBound(1), b"salt"))
    return found.people.tolist(), found.totals[0].tolist()


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("declared", ["integer", "text", None])
def test_texts_that_are_read_as_one_number_are_several_people(kind, declared, request):
    types = {} if declared is None else {"types": {"id": declared}}
    engine = opener(kind, request)(pl.DataFrame({"id": IDS}), name="t", person="id", **types)
    assert people(engine) == ([7], [7])


@pytest.mark.parametrize("declared", ["integer", "real", "date", None])
def test_the_cells_of_a_file_name_people_as_they_are_written(declared, tmp_path):
    for place, ids in enumerate((IDS, ["0", "-0"], ["1", "2"])):
        path = tmp_path / f"{place}.csv"
        path.write_text("id,x\n" + "".join(f'"{one}",1\n' for one in ids))
        types = {} if declared is None else {"id": declared}
        engine = DuckDBEngine.open(path, name="t", person="id", types=types)
        assert people(engine) == ([len(set(ids))], [len(set(ids))])


@pytest.mark.parametrize("kind", [int, float])
def test_a_file_and_a_frame_name_the_same_people(kind, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x\n7,1\n8,2\n07,3\n")
    stays = pl.DataFrame({"id": [kind(7), kind(7), kind(8)], "nights": [1, 2, 3]})
    question = "SELECT COUNT(*) FROM {} JOIN {} USING (id)"
    for main, other, names in ((path, stays, ("t", "s")), (stays, path, ("s", "t"))):
        with sf.Session(
            main, unit=Unit("id", rows=9), budget=sf.PureDP(10**4), name=names[0],
            private={names[1]: other}, ledger=tmp_path / f"{names[0]}.sqlite",
        ) as one:  # fmt: skip
            asked = one.sql(question.format(*names), epsilon=10**4)
            assert asked.rows == ((3,),)  # so little noise that none is seen


# -- people named by numbers of other types -------------------------------------------------

WIDE = [str(10**17 + i) for i in range(20)]
HUGE = [str(10**30 + i) for i in range(5)]
PRICES = ["1.10", "1.11", "1.1", "-1.10", "0.00"]
DOUBLES = [
    "0.1", "0.3", "0.30000000000000004", "1.001", "1.002", "7", "-7", "9007199254740992",
    "9007199254740994", "100000000000000000", "100000000000000016", "-0", "0", "1e-300", "1e300",
    "1e-5", "Infinity", "-Infinity", "NaN",
]  # fmt: skip
WHOLE = [str(i) for i in range(-3, 4)]
STORED = {  # by case: the types of the engines, the ids as texts, how many people they name
    "whole of 18 digits": (("decimal(18,0)",) * 3, WIDE, 20),
    "whole of 38 digits": (("decimal(38,0)",) * 3, [*WIDE, *HUGE], 25),
    "of 128 bits": (("hugeint", "numeric", "decimal(38,0)"), [*WIDE, *HUGE], 25),
    "unsigned": (("ubigint", "numeric(20,0)", "decimal(20,0)"), [*WIDE, str(2**64 - 1)], 21),
    "with a point": (("decimal(10,2)",) * 3, PRICES, 4),
    "doubles": (("double", "double precision", "double"), DOUBLES, 17),
    "whole doubles": (("double", "double precision", "double"), [*WHOLE, "-0", "NaN"], 7),
    "floats": (("float", "real", "float"), ["0.1", "0.2", "16777216", "16777218", "NaN"], 4),
}
OF_SPARK = {"whole of 38 digits", "with a point", "doubles"}
"""Cases that Spark is asked in every run: those of its own SQL."""


def held(kind, request, type_, ids, tmp_path, **facts):
    """Open an engine on a table whose person is of a type; every id stands there twice."""
    values = ", ".join(f"('{one}', {i})" for i, one in enumerate([*ids, *ids]))
    rows = f"SELECT CAST(u AS {type_}) AS u, n FROM (VALUES {values}) AS v(u, n)"
    if kind == "spark":
        from sfumato.ask.engines.spark import SparkEngine

        return SparkEngine.open(request.getfixturevalue("spark").sql(rows), name="t", **facts)
    if kind == "postgres":
        import psycopg

        from sfumato.ask.engines.postgres import PostgresEngine

        url, table = request.getfixturevalue("postgres_url"), f"public.t_{uuid.uuid4().hex}"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE {table} AS {rows}")
        return PostgresEngine.open(url, table=table, name="t", **facts)
    path = tmp_path / f"{uuid.uuid4().hex}.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS {rows}")
    return DuckDBEngine.open(path, table="t", name="t", **facts)


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        pytest.param(case, kind, marks=SOAK if kind == "spark" and case not in OF_SPARK else ())
        for case in STORED for kind in ENGINES
    ],
)  # fmt: skip
def test_numbers_of_every_type_name_as_many_people_as_there_are(case, kind, request, tmp_path):
    types, ids, count = STORED[case]
    type_ = types[ENGINES.index(kind)]
    for declared in ({}, {"u": "integer"}, {"u": "text"}):
        engine = held(kind, request, type_, ids, tmp_path, person="u", types=declared)
        assert people(engine) == ([count], [count]), declared


@pytest.mark.parametrize("kind", ENGINES)
@pytest.mark.parametrize("case", ["whole of 18 digits", "whole of 38 digits", "whole doubles"])
def test_whole_numbers_of_any_type_are_the_same_people(case, kind, request, tmp_path):
    """The rows kept are those the reference keeps of people named by the digits."""
    types, ids, _ = STORED[case]
    engine = held(kind, request, types[ENGINES.index(kind)], ids, tmp_path, person="u")
    digits = [None if one == "NaN" else str(int(one)) for one in [*ids, *ids]]
    cells = {"u": digits, "n": list(range(2 * len(ids)))}
    table = CheckTable({"u": "text", "n": "integer"}, cells, person="u")
    n, grid = Column("n", "integer"), Grid((Fraction(0), Fraction(99)), Fraction(1), Fraction(0))
    asked = Request(Scan("t", (n,)), (), (Total("sum", n, grid),), RowsBound(1), b"salt")
    found, wanted = (one.aggregate(asked) for one in (engine, ReferenceEngine({"t": table})))
    assert found.totals[0].tolist() == wanted.totals[0].tolist()


def test_a_double_that_is_added_to_a_file_later_is_nobody_else(tmp_path, monkeypatch):
    """All ids were whole when the file was opened, which is scanned in place: others are others."""
    monkeypatch.setattr("sfumato.ask.engines.duckdb.LOADED", 0)
    path = tmp_path / "t.parquet"
    pl.DataFrame({"u": [1.0, 2.0]}).write_parquet(path)
    engine = DuckDBEngine.open(path, name="t", person="u")
    assert people(engine) == ([2], [2])
    pl.DataFrame({"u": [1.0, 2.0, 1.2, 2.0**53 + 2, 2.0**60]}).write_parquet(path)
    assert people(engine) == ([5], [5])


def test_people_cannot_be_named_by_lists():
    lists = pl.DataFrame({"u": [["a, b"], ["a", "b"]]})
    with pytest.raises(SchemaError, match="told apart"):
        DuckDBEngine.open(lists, name="t", person="u", types={"u": "text"})


def test_people_cannot_be_named_by_lists_in_spark(spark):
    from sfumato.ask.engines.spark import SparkEngine

    frame = spark.sql("SELECT * FROM VALUES (ARRAY('a, b')), (ARRAY('a', 'b')) AS t(u)")
    with pytest.raises(SchemaError, match="told apart"):
        SparkEngine.open(frame, name="t", person="u", types={"u": "text"})


def test_instants_in_the_hour_that_comes_twice_are_several_people_in_spark(spark):
    from sfumato.ask.engines.spark import SparkEngine

    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        frame = spark.sql("SELECT TIMESTAMP_SECONDS(1730000000 + 1800 * id) AS u FROM RANGE(-8, 8)")
        assert people(SparkEngine.open(frame, name="t", person="u")) == ([16], [16])
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
