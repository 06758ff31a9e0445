"""Every engine that holds the rows of tables passes the same kit, and agrees on every cell."""

from __future__ import annotations

import math
import random
import struct

import pytest
from table_places import PLACES, put

import sfumato as sf
from sfumato.data.engines.postgres import Postgres
from sfumato.data.tables.memory_rows import brought
from sfumato.errors import DataError
from sfumato.testing import check_table_engine
from sfumato.testing.table_engines import SETTINGS


@pytest.mark.parametrize(
    ("place", "ways"),
    [
        *((place, SETTINGS) for place in PLACES if place != "spark"),
        ("spark", SETTINGS[2:3]),  # which counts at once, joins row by row and suppresses
        pytest.param("spark", SETTINGS, marks=pytest.mark.soak),
    ],
    ids=lambda told: told if isinstance(told, str) else f"{len(told)} ways",
)
def test_conformance(place, ways, request, monkeypatch):
    monkeypatch.setattr("sfumato.testing.table_engines.SETTINGS", ways)

    def make(columns):
        kinds = {name: column.kind for name, column in columns.items()}
        return sf.read(put(place, request, kinds, [c.cells for c in columns.values()]))

    found = check_table_engine(make)
    assert len(found.passed) == 8


def test_a_kit_needs_reasons():
    with pytest.raises(AssertionError, match="reason"):
        check_table_engine(lambda _: None, notimpl={"orders_tell_nothing": ""})


def test_a_wrong_engine_fails(request):
    """A table that loses blanks at the end of texts is found out."""

    def make(columns):
        kinds = {name: column.kind for name, column in columns.items()}
        cells = {n: c.cells for n, c in columns.items()}
        cells["disease"] = [cell and cell.rstrip(" ") for cell in cells["disease"]]
        return sf.read(put("memory", request, kinds, cells.values()))

    with pytest.raises(AssertionError, match="texts of 'disease' differ"):
        check_table_engine(make)


@pytest.mark.parametrize("place", ["postgres", "spark"])
def test_doubles_have_the_texts_of_duckdb(place, request):
    """Random bits, random decimals and neighbours of powers of ten, all written the same."""
    source = random.Random(5)
    cells = [struct.unpack("<d", source.randbytes(8))[0] for _ in range(1500)]
    cells += [round(source.uniform(-1e6, 1e6), source.randrange(8)) for _ in range(1000)]
    cells += [
        float(f"{source.randrange(1, 10**6)}e{source.randrange(-30, 30)}") for _ in range(500)
    ]
    cells = [cell for cell in cells if not math.isnan(cell)]
    kinds = {"x": "DOUBLE"}
    found = sf.read(put(place, request, kinds, [cells])).count(["x"]).values
    wanted = sf.read(put("memory", request, kinds, [cells])).count(["x"]).values
    assert set(found[0]) == set(wanted[0])


def test_postgres_cells_that_duckdb_has_not(postgres_url):
    """Collations, padded texts, enumerations, numbers without a scale, years before Christ."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE COLLATION IF NOT EXISTS careless (provider = icu, deterministic = false, "
            "locale = 'und-u-ks-level2')"
        )
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
        connection.execute(
            "CREATE TABLE odd (t text COLLATE careless, c char(6), m mood, n numeric, d date, "
            "a text[], i timestamp)"
        )
        connection.execute(
            "INSERT INTO odd VALUES ('a', 'x', 'glad', 1.50, '0044-03-15 BC', '{u,\"v w\"}', "
            "'0044-03-15 10:00:00 BC'), ('A', 'x  ', 'sad', 1.5, 'infinity', NULL, NULL), "
            "('b', NULL, NULL, 'NaN', NULL, '{}', 'infinity')"
        )
    table = sf.read(f"{postgres_url}?table=odd")
    texts = {name: table.count([name]).values[0] for name in table.columns}
    assert texts["t"] == ("A", "a", "b")
    assert texts["c"] == ("", "x")
    assert texts["m"] == ("", "glad", "sad")
    assert texts["n"] == ("", "1.5")
    assert texts["d"] == ("", "0044-03-15 (BC)", "infinity")
    assert texts["a"] == ("", '["u","v w"]', "[]")
    assert texts["i"] == ("", "0044-03-15 (BC) 10:00:00", "infinity")


def test_a_table_whose_name_begins_like_anothers_is_not_read_for_it(postgres_url):
    """A release is verified on the connection of its source: the tenth name begins as the first."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE of_people (a text)")
        connection.execute("CREATE TABLE of_release (a text)")
        connection.execute("INSERT INTO of_people VALUES ('secret')")
        connection.execute("INSERT INTO of_release VALUES ('shown')")
    engine = Postgres(postgres_url)
    try:
        scans = {engine.open("of_release")[0] for _ in range(20) if engine.open("of_people")}
        for scan in scans:
            assert engine.run(f"SELECT a FROM {scan}") == [("shown",)]
    finally:
        engine.close()


def test_an_error_of_the_embedded_engine_quotes_no_cell(postgres_url):
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE endless (a text, t timestamp)")
        connection.execute("INSERT INTO endless VALUES ('x', '294276-12-31')")
    with pytest.raises(DataError, match="cannot be read") as raised:
        brought(sf.read(f"{postgres_url}?table=endless"))
    assert "294276" not in str(raised.value)
    assert raised.value.__context__ is None


def test_spark_outside_ansi_mode_and_utc(spark):
    """Settings of the session change no text."""
    query = (
        "SELECT CAST('0.00000001' AS DECIMAL(20, 10)) AS d, CAST('0' AS DECIMAL(38, 18)) AS z, "
        "TIMESTAMP '2020-10-25 00:30:00Z' AS i, CAST('x ' AS STRING) AS t"
    )
    before = {
        n: spark.conf.get(n) for n in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone")
    }
    try:
        spark.conf.set("spark.sql.ansi.enabled", "false")
        spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
        table = sf.read(spark.sql(query))
        texts = [table.count([name]).values[0][0] for name in table.columns]
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    assert texts == ["0.0000000100", "0.000000000000000000", "2020-10-25 00:30:00+00", "x "]
