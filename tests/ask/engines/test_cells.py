"""Cells of a session are read one by one into what is public of their column, on every engine."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.engines.table_facts import KindFacts
from sfumato.errors import Refused

SURE = 10_000
RULES = {"name": "t", "unit": "row"}


def opened(source, **given):
    return sf.Session(
        source, budget=sf.ApproxDP(10**6, 1e-6), **{"ledger": sf.Ledger(None), **RULES, **given}
    )


def counted(source, text="SELECT g, COUNT(*) AS n FROM t GROUP BY g", **given):
    with opened(source, **given) as one:
        return [tuple(row) for row in one.sql(text, epsilon=SURE).rows]


ODD = (
    None, pd.NA, float("nan"), Decimal("sNaN"), float("inf"), 1e308, 2**70, 10**400, 1.5, "x",
    dt.date(2020, 1, 1), [1], {"a": {1}}, "\ud800", object(),
)  # fmt: skip


SAME = (([1, 2], [1, 2]), (["1", "2"], [1, 2]), ([1, 2], ["1", "2"]))
WAYS = [(first, way, listed) for first in (False, True) for way in SAME for listed in (False, True)]


@pytest.mark.parametrize(
    ("place", "way"),
    [
        pytest.param(place, way, marks=() if (way - place) % 5 == 0 else pytest.mark.soak)
        for place in range(len(ODD)) for way in range(len(WAYS))
        if not (WAYS[way][2] and isinstance(ODD[place], list | dict))
        # NumPy refuses a ragged list, whatever it holds
    ],
)  # fmt: skip
def test_one_odd_cell_changes_no_other(place, way):
    """Every odd cell in two or three of all ways; the soak tries every pair."""
    odd, (first, (cells, keys), listed) = ODD[place], WAYS[way]
    rows = [odd, *cells * 100] if first else [*cells * 100, odd]
    series = pd.Series(rows, dtype=object)
    frame = {"g": list(series)} if listed else pd.DataFrame({"g": series})
    assert [n for _, n in counted(frame, keys={"g": keys})] == [100, 100]


def test_a_whole_number_is_one_value_whatever_type_it_is_stored_in(tmp_path):
    for dtype in ("int64", "int8", "float64", "Int64", "object", "str"):
        frame = pd.DataFrame({"g": pd.Series([1, 2] * 100).astype(dtype)})
        for keys in ([1, 2], ["1", "2"]):
            assert [n for _, n in counted(frame, keys={"g": keys})] == [100, 100], dtype
    frame = pl.DataFrame({"g": [1.0, 2.0] * 100})
    assert [n for _, n in counted(frame, keys={"g": [1, 2]})] == [100, 100]
    pd.DataFrame({"g": [1, 2, 1.5] * 50}).to_parquet(tmp_path / "t.parquet")
    assert [n for _, n in counted(tmp_path / "t.parquet", keys={"g": [1, 2]})] == [50, 50]
    (tmp_path / "t.csv").write_text("g\n" + "1\n2\n1.0\n 2\n1.5\nx\n" * 50)
    assert [n for _, n in counted(tmp_path / "t.csv", keys={"g": [1, 2]})] == [100, 100]


@pytest.mark.parametrize("odd", [[], [None], ["x"], [2]])
def test_truth_values_stay_what_they_are(odd):
    frame = pd.DataFrame({"g": pd.Series([True, False] * 100 + odd, dtype=object)})
    assert [n for _, n in counted(frame, keys={"g": [True, False]})] == [100, 100]


@pytest.mark.parametrize("odd", [[], [None], ["x"], [1.5]])
def test_what_is_answered_does_not_depend_on_a_cell(odd):
    with opened(pd.DataFrame({"g": [1, 2] * 100 + odd, "b": [1] * (200 + len(odd))})) as one:
        for text in ("SELECT g, COUNT(*) FROM t GROUP BY g", "SELECT COUNT(*) FROM t WHERE g > 1"):
            with pytest.raises(Refused, match="Nothing public says of which type g is"):
                one.sql(text, epsilon=1)
        with pytest.raises(Refused, match="Nothing public"):
            one.histogram("g", bins=[0, 1, 2], epsilon=1)
        assert one.spent.epsilon == 0
        one.sql("SELECT COUNT(*) FROM t", epsilon=1)


@pytest.mark.parametrize("odd", [[], ["other"], [3.5]])
def test_a_fit_learns_or_is_refused_whatever_one_cell_is(odd):
    rows = {"g": [1, 2] * 100 + odd, "y": ["a", "b"] * 100 + ["a"] * len(odd)}
    with opened(pd.DataFrame(rows), keys={"g": [1, 2], "y": ["a", "b"]}) as one:
        one.fit(sf.dp.NaiveBayes(epsilon=1), target="y")


def test_what_is_guessed_is_used_where_the_owner_says_that_it_may_be_known(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("g,h\n" + "1,a\n2,b\n" * 50)
    assert len(counted(file, public_types=["g"], ledger=sf.Ledger(None))) == 2
    schema = sf.Schema(insensitive=["g", "h"], public_types=["h"])
    schema.write(tmp_path / "t.yaml")
    assert sf.Schema.read(tmp_path / "t.yaml").public_types == ("h",)
    with opened(sf.read(file, schema=tmp_path / "t.yaml"), ledger=sf.Ledger(None)) as one:
        one.sql("SELECT h, COUNT(*) FROM t GROUP BY h", epsilon=1, delta=1e-7)
        with pytest.raises(Refused, match="type g is"):
            one.sql("SELECT COUNT(*) FROM t WHERE g = 1", epsilon=1)


def test_a_later_session_may_declare_what_the_first_left_open(tmp_path):
    file, ledger = tmp_path / "t.csv", sf.Ledger(None)
    file.write_text("g\n" + "1\n2\n" * 50)
    opened(file, ledger=ledger).close()
    with sf.Session(file, name="t", ledger=ledger, public_types=True) as one:
        one.sql("SELECT COUNT(*) FROM t WHERE g = 1", epsilon=1)
    with sf.Session(file, name="t", ledger=ledger) as one, pytest.raises(Refused):
        one.sql("SELECT COUNT(*) FROM t WHERE g = 2", epsilon=1)


# -- databases --------------------------------------------------------------------------------

TEXTS = [
    "1", "1.0", "+1", " 1 ", "1e0", "1.5", "x", "", "2", "true", "inf", "-inf", "9" * 500, "1e400",
    "2020-02-30", "2020-02-29", "2020-03-01 10:30:00", "0000-01-01", "99999999999999999999",
]  # fmt: skip
READ = {
    "a = 1": 6,
    "a = 2": 1,
    "b > 1.2 AND b < 1.8": 1,
    "b > 1000": 3,
    "c >= DATE '0001-01-01'": 2,
    "c = DATE '2020-03-01'": 1,
}
TYPES = {"a": "integer", "b": "number", "c": "date"}
INSTANTS = [
    dt.datetime(2020, 3, 9, 22, 30, tzinfo=dt.UTC),
    dt.datetime(2020, 3, 9, 23, 30, tzinfo=dt.UTC),
]
BEFORE = "SELECT COUNT(*) FROM t WHERE ts < DATE '2020-03-10'"


@pytest.fixture
def place(request, tmp_path):
    """Put a table into an engine: give a function from frame and SQL types to a source."""

    def put(engine, frame, **types):
        if engine == "duckdb":
            return frame
        if engine == "spark":
            spark = request.getfixturevalue("spark")
            columns = ", ".join(f"{name} {types.get(name, 'string')}" for name in frame)
            rows = [*zip(*(frame[name].astype(object) for name in frame), strict=True)]
            rows = [
                tuple(getattr(c, "to_pydatetime", lambda c=c: c)() for c in row) for row in rows
            ]
            return spark.createDataFrame(rows, columns)
        import psycopg

        url, name = request.getfixturevalue("postgres_url"), f"t_{uuid.uuid4().hex}"
        columns = ", ".join(f"{c} {types.get(c, 'text')}" for c in frame)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE TABLE {name} ({columns})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in frame.itertuples(index=False, name=None):
                    copy.write_row(row)
        return f"{url}?table={name}"

    return put


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_texts_are_read_alike_everywhere(engine, place):
    frame = pd.DataFrame({"a": TEXTS, "b": TEXTS, "c": TEXTS})
    schema = sf.Schema(attributes={n: {"role": "quasi", "type": t} for n, t in TYPES.items()})
    counts = ", ".join(f"COUNT(*) FILTER (WHERE {condition})" for condition in READ)
    with opened(place(engine, frame), schema=schema) as one:
        [found] = one.sql(f"SELECT {counts} FROM t", epsilon=6 * SURE).rows
        assert [round(number) for number in found] == list(READ.values())
        if engine != "spark":
            for condition, wanted in READ.items():
                answer = one.sql(f"SELECT COUNT(*) FROM t WHERE {condition}", epsilon=SURE)
                assert round(answer.value) == wanted


@pytest.mark.parametrize("engine", ["duckdb", "postgres", "spark"])
def test_an_instant_has_its_day_in_the_time_zone_of_the_dataset(engine, place):
    types = {"ts": "timestamptz" if engine == "postgres" else "timestamp"}
    kind = sf.Schema(attributes={"ts": {"role": "quasi", "type": "date"}})
    source = place(engine, pd.DataFrame({"ts": INSTANTS * 50}), **types)
    assert counted(source, BEFORE, schema=kind) == [(100,)]
    assert counted(source, BEFORE, schema=kind, time_zone="Europe/Vienna") == [(50,)]
    if engine == "duckdb":
        ledger = sf.Ledger(None)
        opened(source, schema=kind, time_zone="Europe/Vienna", ledger=ledger).close()
        with sf.Session(source, name="t", ledger=ledger) as again:
            assert again.time_zone == "Europe/Vienna"
        with pytest.raises(sf.errors.ParameterError, match="no time zone"):
            opened(source, time_zone="Nowhere/Else")


def test_no_cell_of_postgres_makes_a_question_fail(postgres_url):
    import psycopg

    url, name = postgres_url, f"t_{uuid.uuid4().hex}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE {name} AS SELECT i AS v, DATE '2020-01-01' + i AS dd, "
            "TIMESTAMPTZ '2020-01-01' AS ts, CAST(i AS NUMERIC) AS who, 'note' AS a, 'note' AS b "
            "FROM generate_series(1, 300) AS i"
        )
    more = {"ledger": sf.Ledger(None), "bounds": {"v": (0, 300)}}
    texts = [
        "SELECT COUNT(*) FROM t", "SELECT AVG(v) FROM t WHERE MONTH(dd) = 5",
        "SELECT COUNT(*) FROM t WHERE DATE_TRUNC('month', ts) = DATE '2020-01-01'",
        "SELECT COUNT(*) FROM t WHERE a LIKE 'n%' AND b = 'note'",
    ]  # fmt: skip
    with opened(f"{url}?table={name}", **more) as one:
        before = [round(one.sql(text, epsilon=SURE).value) for text in texts]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                f"INSERT INTO {name} VALUES (1, '300000-01-01', 'infinity', 'NaN', "
                "repeat('x', 3000000), repeat('y', 3000000)), "
                "(1, '-infinity', '294000-01-01', 'NaN', NULL, NULL)"
            )
        after = [round(one.sql(text, epsilon=SURE).value) for text in texts]
    assert after[0] == before[0] + 2
    assert after[1:] == before[1:]
    person = {"unit": sf.Unit("who", rows=1), "name": "t", "budget": sf.PureDP(10**6)}
    with sf.Session(f"{url}?table={name}", ledger=sf.Ledger(None), **person) as one:
        assert round(one.sql("SELECT COUNT(DISTINCT who) FROM t", epsilon=SURE).value) == 300


@pytest.mark.parametrize(
    ("kind", "cell", "read"),
    [
        ("TIMESTAMPTZ", "294247-01-10 04:00:54.775806+00", "date"),
        ("TIMESTAMPTZ", "290309-12-22 (BC) 00:00:00+00", "text"),
        ("DECIMAL(38, 10)", "-9999999999999999999999999999.9999999999", "integer"),
    ],
)
def test_a_cell_at_the_end_of_its_type_makes_nothing_fail(kind, cell, read, tmp_path):
    file = tmp_path / "t.duckdb"
    with duckdb.connect(str(file)) as made:
        made.execute(f"CREATE TABLE t AS SELECT CAST('{cell}' AS {kind}) AS v")
    for zone in ("Asia/Tokyo", "America/New_York"):
        known = {"types": {"v": read}, "kinds": KindFacts(zone=zone)}
        engine = DuckDBEngine.open(file, name="t", person=None, **known)
        assert engine.fingerprint()
        engine.close()


# -- what goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["MEDIAN(x)", "MIN(x)", "QUANTILE(x, 0.9)"])
def test_bounds_that_no_number_has_are_refused_before_the_charge(text):
    with opened({"x": [1.0, 2.0]}, bounds={"x": (-1e299, 1e299)}) as one:
        with pytest.raises(sf.errors.ParameterError, match="within"):
            one.sql(f"SELECT {text} FROM t", epsilon=1)
        assert one.spent.epsilon == 0


def test_a_copy_of_a_table_in_postgres_with_bounds_of_dates(place):
    frame = pd.DataFrame({"g": ["a", "b"] * 200, "d": ["2020-01-01", "2020-06-01"] * 200})
    source = place("postgres", frame, d="date")
    given = {"keys": {"g": ["a", "b"]}, "bounds": {"d": ("2020-01-01", "2020-12-31")}}
    with opened(source, **given) as one:
        made = one.synthesize(epsilon=10, delta=1e-6, size=20)
    assert set(made.table["g"]) <= {"a", "b"}


def test_five_ways_in_which_postgres_cannot_be_opened_are_told_apart(postgres_url):
    from urllib.parse import quote, urlsplit, urlunsplit

    import psycopg

    from sfumato.data.engines.postgres_server import refusal
    from sfumato.errors import DataError

    parts = urlsplit(postgres_url)

    def told(address):
        with pytest.raises(DataError) as caught:
            opened(address)
        assert "s3cret" not in str(caught.value)
        return str(caught.value).replace(parts.path, "")

    nowhere = urlunsplit(parts._replace(path="/nowhere_at_all"))
    mark = "&" if parts.query else "?"
    heard = [
        told(f"{nowhere}{mark}table=t"),
        told("postgresql://ann:s3cret@127.0.0.1:9/clinic?table=t"),
        told(f"postgresql://ann:{quote('s3cret')}@no-such-host.invalid/clinic?table=t"),
    ]
    said = (
        'FATAL:  password authentication failed for user "ann"',
        "server does not support SSL, but SSL was required",
        'server certificate for "a" does not match host name "b"',
    )
    url = "postgresql://ann:s3cret@h/clinic"
    heard += [str(refusal(psycopg.OperationalError(words), url)) for words in said]
    assert len({sentence.partition(" ")[2] for sentence in heard}) == len(heard)
    assert not any("s3cret" in sentence or "ann" in sentence for sentence in heard)


def test_a_table_that_may_not_be_read_is_said_to_be_one(postgres_url):
    import psycopg

    name, role = f"t_{uuid.uuid4().hex}", f"r_{uuid.uuid4().hex}"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {name} AS SELECT 1 AS v")
        connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
    from urllib.parse import urlsplit, urlunsplit

    parts = urlsplit(postgres_url)
    where = parts.netloc.rpartition("@")[2]
    address = urlunsplit(parts._replace(netloc=f"{role}:secret@{where}"))
    with pytest.raises(sf.errors.DataError, match="may not read the table"):
        opened(f"{address}{'&' if parts.query else '?'}table={name}")


def test_totals_of_workers_are_numbers_and_nothing_else():
    import pickle

    from sfumato.ask.engines.spark_kernel import _packed, _unpacked
    from sfumato.ask.language.request import Aggregates

    keys = (("a", 1, True, None, dt.date(2020, 1, 1)), ("b", 2**62, False, "x", None))
    people = np.array([3, 4], np.int64)
    total = np.array([2**70, -1], dtype=object)
    found = Aggregates(keys, people, (total,), (np.array([1, 2], np.int64),))
    assert _unpacked(_packed(found).encode(), 1, 1) == (
        list(keys), [[3, 4], [2**70, -1]], [[1, 2]]
    )  # fmt: skip
    wrong = [pickle.dumps([1]), b"[[[1]], [1.5], [2]]", b"[[[1]], [1]]", b"{}"]
    for odd in wrong:
        with pytest.raises(sf.errors.DataError, match="something else"):
            _unpacked(odd, 1, 0)


KILLED = """
import os, signal
from sfumato.data.engines.duckdb import DuckDB
engine = DuckDB()
(engine.folder / "brought.csv").write_text("a private row")
print(engine.folder, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_rows_that_a_killed_process_left_are_erased_by_the_next(tmp_path):
    import os
    import subprocess
    import sys
    from pathlib import Path

    def run(code):
        return subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    left = Path(run(KILLED).stdout.strip())
    assert (left / "brought.csv").exists()
    alive = (
        "from sfumato.data.engines.duckdb import DuckDB; one = DuckDB(); kept = one.folder; "
        "two = DuckDB(); assert two.folder.is_dir() and kept.is_dir()"
    )
    done = run(alive)
    assert done.returncode == 0, done.stderr
    assert not left.exists()


# -- before the charge ------------------------------------------------------------------------


class Reading:
    """Notes every statement that an engine runs on tables of people."""

    def __init__(self, engine, monkeypatch, name):
        self.seen, run = [], getattr(engine, name)

        def noted(statement, *more, **others):
            self.seen.append(str(statement))
            return run(statement, *more, **others)

        monkeypatch.setattr(engine, name, noted)


@pytest.mark.parametrize("engine", ["postgres", "spark"])
def test_no_row_is_read_before_a_question_is_paid_for(engine, place, monkeypatch):
    frame = pd.DataFrame({"v": [str(i % 7) for i in range(50)]})
    source, ledger = place(engine, frame), sf.Ledger(None)
    keys = {"v": [str(i) for i in range(7)]}
    sf.Session(source, keys=keys, ledger=ledger, budget=sf.PureDP(10), **RULES).close()
    with sf.Session(source, name="t", ledger=ledger) as one:
        inner = one.desk.opened.engine
        reading = Reading(inner, monkeypatch, "_fetched" if engine == "postgres" else "_ask")
        with pytest.raises(sf.BudgetExceeded):
            one.sql("SELECT COUNT(*) FROM t", epsilon=11)
        assert not [text for text in reading.seen if '"v"' in text or "`v`" in text]
        first = one.sql("SELECT COUNT(*) FROM t", epsilon=1)
        assert [text for text in reading.seen if "COUNT" in text]
        spent = one.spent.epsilon
        again = one.sql("SELECT COUNT(*) FROM t", epsilon=1)
        assert (again.value, one.spent.epsilon) == (first.value, spent)


def test_changed_rows_of_postgres_are_asked_anew(place):
    import psycopg

    source = place("postgres", pd.DataFrame({"v": ["a"] * 50}))
    url, _, name = source.rpartition("?table=")
    with opened(source) as one:
        one.sql("SELECT COUNT(*) FROM t", epsilon=1)
        for change in ("INSERT INTO {} VALUES ('a')", "UPDATE {} SET v = 'b'", "TRUNCATE {}"):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(change.format(name))
            spent = one.spent.epsilon
            assert not one.sql("SELECT COUNT(*) FROM t", epsilon=1).stored
            assert one.spent.epsilon == spent + 1


WHOLE = "SELECT COUNT(*) FROM t WHERE v > 3"
REPLACED = "replaced, or its columns are others"


def replaced(odd):
    """Give the rows of a table whose whole numbers are texts now, and one perhaps none."""
    return [*map(str, range(50)), odd]


@pytest.mark.parametrize("odd", ["7", "none"])
def test_a_table_of_postgres_that_is_replaced_is_refused_whatever_its_cells_are(place, odd):
    import psycopg

    source, ledger = place("postgres", pd.DataFrame({"v": range(50)}), v="integer"), sf.Ledger(None)
    url, _, name = source.rpartition("?table=")
    with opened(source, ledger=ledger) as one, psycopg.connect(url, autocommit=True) as other:
        one.sql(WHOLE, epsilon=1)
        other.execute(f"DROP TABLE {name}")
        other.execute(f"CREATE TABLE {name} (v text)")
        other.cursor().executemany(f"INSERT INTO {name} VALUES (%s)", [(v,) for v in replaced(odd)])
        spent = one.spent.epsilon
        with pytest.raises(sf.errors.SchemaError, match=REPLACED):
            one.sql(WHOLE, epsilon=SURE)
        with pytest.raises(sf.errors.SchemaError, match=REPLACED):  # after the charge, as well
            one.desk.opened.engine.columns("t", ["v"])
        assert one.spent.epsilon == spent
    with sf.Session(source, name="t", ledger=ledger) as one:  # reads each cell by itself
        assert round(one.sql(WHOLE, epsilon=SURE).value) == 46 + (odd == "7")


@pytest.mark.parametrize("odd", ["7", "none"])
def test_a_file_in_place_that_is_replaced_is_refused_whatever_its_cells_are(
    tmp_path, monkeypatch, odd
):
    monkeypatch.setattr("sfumato.ask.engines.duckdb.LOADED", 0)
    file, ledger = tmp_path / "t.parquet", sf.Ledger(None)
    pd.DataFrame({"v": range(50)}).to_parquet(file)
    with opened(file, ledger=ledger, public_types=True) as one:
        one.sql(WHOLE, epsilon=1)
        pd.DataFrame({"v": replaced(odd)}).to_parquet(file)
        spent = one.spent.epsilon
        with pytest.raises(sf.errors.SchemaError, match=REPLACED):
            one.sql(WHOLE, epsilon=SURE)
        assert one.spent.epsilon == spent
        assert len(one.desk.opened.engine.columns("t", ["v"])) == 51  # a cast that cannot fail
    with sf.Session(file, name="t", ledger=ledger) as one:
        assert round(one.sql(WHOLE, epsilon=SURE).value) == 46 + (odd == "7")


@pytest.mark.parametrize("odd", ["7", "none"])
def test_a_table_of_a_duckdb_file_that_is_replaced_is_read_cell_by_cell(tmp_path, odd):
    import duckdb

    file, ledger = tmp_path / "t.duckdb", sf.Ledger(None)
    with duckdb.connect(file) as other:
        other.execute("CREATE TABLE t AS SELECT range::INTEGER AS v FROM range(50)")
    opened(f"{file}::t", ledger=ledger).close()
    with duckdb.connect(file) as other:
        other.execute("CREATE OR REPLACE TABLE t (v VARCHAR)")
        other.executemany("INSERT INTO t VALUES (?)", [(v,) for v in replaced(odd)])
    with sf.Session(f"{file}::t", name="t", ledger=ledger) as one:
        assert round(one.sql(WHOLE, epsilon=SURE).value) == 46 + (odd == "7")


def test_types_of_a_table_of_spark_are_in_its_catalogue(spark):
    given = {"ledger": sf.Ledger(None), "budget": sf.PureDP(9), **RULES}
    spark.sql("CREATE TABLE cells_t USING parquet AS SELECT id AS v FROM range(50)")
    try:
        with sf.Session(spark.table("cells_t"), **given) as one:
            one.sql("SELECT COUNT(*) FROM t WHERE v > 3", epsilon=1)
    finally:
        spark.sql("DROP TABLE cells_t")
    spark.range(50).createOrReplaceTempView("cells_view")
    given["ledger"] = sf.Ledger(None)
    with sf.Session(spark.table("cells_view"), **given) as one, pytest.raises(Refused):
        one.sql("SELECT COUNT(*) FROM t WHERE id > 3", epsilon=1)
