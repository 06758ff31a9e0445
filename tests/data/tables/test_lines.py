"""Rows held as distinct lines: every way to write them gives the same rows in the same order."""

from __future__ import annotations

import csv

import duckdb
import numpy as np
import pytest

from sfumato.anonymize.tables.apply import rows as ways
from sfumato.data.engines.duckdb import DuckDB, memory_limit
from sfumato.data.tables.rows import Lines


def lines(count, rows):
    """Give as many lines, the last cell a number that was missing in some."""
    order = np.random.default_rng(3).integers(0, count, rows).astype(np.int32)
    codes = (np.arange(count, dtype=np.int32) % 7, np.arange(count, dtype=np.int32))
    values = tuple(f"v {i}" for i in range(7)), ("", *(str(i) for i in range(1, count)))
    return Lines(("a b", "line"), codes, values, order, ("VARCHAR", "BIGINT"))


@pytest.mark.parametrize(("count", "rows"), [(5, 40_000), (30_000, 30_000), (200_000, 9)])
def test_parquet_and_frames_have_the_order_of_the_file(tmp_path, count, rows):
    """Few lines for many rows or the other way round: the engine looks lines up in order."""
    made = lines(count, rows)
    made.write_csv(tmp_path / "rows.csv")
    made.write_parquet(tmp_path / "rows.parquet")
    with (tmp_path / "rows.csv").open() as file:
        header, *wanted = csv.reader(file)
    stored = duckdb.sql(f"SELECT * FROM '{tmp_path / 'rows.parquet'}'")
    assert stored.columns == header == ["a b", "line"]
    assert stored.types == ["VARCHAR", "BIGINT"]
    found = [[a, "" if b is None else str(b)] for a, b in stored.fetchall()]
    assert found == wanted
    assert list(made.frame("columns")["a b"]) == [row[0] for row in wanted]


def test_no_rows_are_written_as_such(tmp_path):
    none = np.zeros(0, np.int32)
    made = Lines(("a",), (none,), ((),), none, ("VARCHAR",))
    made.write_parquet(tmp_path / "rows.parquet")
    stored = duckdb.sql(f"SELECT * FROM '{tmp_path / 'rows.parquet'}'")
    assert (stored.columns, stored.fetchall()) == (["a"], [])


def test_an_engine_takes_a_part_of_the_memory_and_spills_the_rest():
    """The machine serves others, too; what is sorted beyond the limit goes to a private folder."""
    engine = DuckDB()
    try:
        [(stated,)] = engine.run("SELECT current_setting('memory_limit')")
        [(alone,)] = duckdb.connect().execute("SELECT current_setting('memory_limit')").fetchall()
        assert _bytes(stated) == pytest.approx(int(memory_limit().split()[0]) * 1024, rel=0.05)
        assert _bytes(stated) <= max(_bytes(alone) / 4, 2**30) * 1.05
        engine.run("SET memory_limit = '60 MiB'")
        engine.run("SET threads = 1")
        [(longest,)] = engine.run(
            "SELECT max(length(t)) FROM (SELECT sha256(range::VARCHAR) AS t FROM range(1000000) "
            "ORDER BY t OFFSET 1)"
        )
        assert longest == 64
        folder = engine.folder
    finally:
        engine.close()
    assert not folder.exists()


def _bytes(text):
    amount, unit = text.split()
    return float(amount) * 1024 ** ["bytes", "KiB", "MiB", "GiB", "TiB"].index(unit)


@pytest.mark.parametrize(
    ("records", "distinct", "few"),
    [
        (500_000, 500_000, True),  # few records have few lines
        (10_000_000, 1_100_000, True),  # nine rows share a line
        (10_000_000, 2_000_000, False),  # five do: rows are copied instead
        (100_000_000, 6_000_000, False),  # so many lines take too much memory
        (100_000_000, 5_000_000, True),
    ],
)
def test_lines_are_counted_where_rows_share_them(monkeypatch, records, distinct, few):
    class Source:
        def about(self, _):
            return float(records)

    monkeypatch.setattr(ways, "expected_lines", lambda _: float(distinct))
    assert ways._are_few(Source(), ("c",) * 9) is few
