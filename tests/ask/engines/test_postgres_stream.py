"""Where rows may pass through this process, the kernel gives what the server gives by itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from test_postgres import add_rows, by, maker

from sfumato.ask.engines import postgres_stream
from sfumato.ask.engines.bounded import ACCOUNT
from sfumato.ask.engines.postgres import PostgresEngine
from sfumato.errors import DataError, ParameterError
from sfumato.govern import places
from sfumato.testing.engines import Bench, all_checks

psycopg = pytest.importorskip("psycopg")

BENCH = Bench(lambda tables: pytest.fail("no server"), 25, add_rows=add_rows)
CHECKS = all_checks(BENCH)
TABLE = """
CREATE TABLE streamed (who text, place text, day date, flag boolean, n bigint);
INSERT INTO streamed SELECT 'p' || i % 40, CASE WHEN i % 7 = 0 THEN NULL ELSE 'é' || i % 7 END,
    CASE WHEN i % 5 > 0 THEN DATE '1969-12-30' + i % 5 END, CASE WHEN i % 3 > 0 THEN i % 3 = 1 END,
    i % 11 - 5 FROM generate_series(1, 2000) AS i;
INSERT INTO streamed VALUES (NULL, 'a', NULL, NULL, 1), ('', '', NULL, true, NULL);
"""


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(ACCOUNT, "worth", lambda _: True)


@pytest.fixture(scope="module")
def bench(postgres_url):
    BENCH.make = maker(postgres_url, streamed=True)
    return BENCH


@pytest.fixture(scope="module")
def address(postgres_url):
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS streamed")
        connection.execute(TABLE)
    return f"{postgres_url}{'&' if '?' in postgres_url else '?'}table=streamed"


@pytest.mark.parametrize("name", CHECKS, ids=lambda name: name.replace(" ", "_"))
def test_conformance(bench, compiled, name):
    CHECKS[name]()


def no_plan(engine, monkeypatch):
    monkeypatch.setattr(engine, "aggregate_by_plan", lambda _: pytest.fail("the plan has served"))


@pytest.mark.parametrize("column", ["place", "day", "flag", "n"])
def test_rows_pass_through_only_where_the_owner_says_so(address, compiled, monkeypatch, column):
    kept = PostgresEngine.open(address, person="who")
    monkeypatch.setattr(kept, "_packed", lambda _: pytest.fail("rows have left the server"))
    streamed = PostgresEngine.open(f"{address}&stream=on", person="who")
    no_plan(streamed, monkeypatch)
    assert by(streamed, column) == by(kept, column)
    assert len(by(kept, column)) > 1


def test_too_many_rows_are_left_to_the_server(address, compiled, monkeypatch):
    engine = PostgresEngine.open(f"{address}&stream=on", person="who")
    found = by(engine, "place")
    monkeypatch.setattr(postgres_stream, "MOST_ROWS", 2000)
    with monkeypatch.context() as patch:
        no_plan(engine, patch)
        with pytest.raises(pytest.fail.Exception, match="has served"):
            by(engine, "place")
    assert by(engine, "place") == found


def test_what_the_server_cannot_pack_it_adds_up(address, compiled, monkeypatch):
    """A date without end has no number of days; the plan never asks for one."""
    engine = PostgresEngine.open(f"{address}&stream=on", person="who")
    assert engine._packed("SELECT CAST(DATE 'infinity' - DATE '1970-01-01' AS BIGINT)") is None
    with pytest.raises(DataError, match="could not compute") as caught:
        engine._packed("SELECT CAST('secret' AS BIGINT)")
    assert "secret" not in str(caught.value)


def test_the_option_is_on_or_off(address):
    with pytest.raises(ParameterError, match="off or on"):
        PostgresEngine.open(f"{address}&stream=yes", person="who")
    PostgresEngine.open(f"{address}&stream=off", person="who").close()


def test_the_option_is_no_other_budget(address, monkeypatch, tmp_path):
    monkeypatch.delenv(places.VARIABLE, raising=False)
    monkeypatch.setattr("sfumato.govern.ledger.ledger.Ledger.__init__", lambda *_, **__: None)
    monkeypatch.setattr("sfumato.govern.ledger.ledger.Ledger.close", lambda _: None)
    assert places.default_place(f"{address}&stream=on") == places.default_place(address)
