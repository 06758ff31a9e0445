"""Views as people's rows: taken where each row is one row of one table, refused elsewhere."""

from __future__ import annotations

import uuid

import duckdb
import pytest

import sfumato as sf
from sfumato.errors import GovernanceError, ParameterError

TABLE = "CREATE TABLE a AS SELECT i AS pid, i % 7 AS v, 't' || i AS t FROM {} AS s(i)"
ROWS = {"duckdb": TABLE.format("range(60)"), "postgres": TABLE.format("generate_series(0, 59)")}

BY_ROWS = [
    "SELECT * FROM a",
    "SELECT pid AS who, v FROM a",
    "SELECT pid, t FROM a AS b WHERE b.v > 3 AND NOT b.t = 'x' OR b.v IS NULL",
    "SELECT pid, v FROM a WHERE v = pid",
    "SELECT pid FROM seen",
]
POSTGRES_ONLY = [
    "SELECT pid, upper(coalesce(t, '-')) AS u FROM a WHERE v IN (1, 2) AND v BETWEEN 0 AND 3",
    "SELECT pid, CASE WHEN v > 3 THEN 'many' ELSE 'few' END AS how, v::text AS w FROM a",
]
NOT_BY_ROWS = {
    "window": "SELECT pid, sum(v) OVER () AS tot FROM a",
    "limit": "SELECT pid, v FROM a LIMIT 20",
    "distinct": "SELECT DISTINCT v FROM a",
    "join": "SELECT x.pid, y.v FROM a x JOIN a y ON x.pid = y.pid + 1",
    "two tables": "SELECT x.pid, y.v FROM a x, a y",
    "random": "SELECT pid, random() AS r FROM a",
    "subquery": "SELECT pid, (SELECT max(v) FROM a) AS m FROM a",
    "exists": "SELECT pid FROM a WHERE v IN (SELECT v FROM a b WHERE b.pid = 1)",
    "aggregate": "SELECT v AS pid, count(*) AS n FROM a GROUP BY v",
    "union": "SELECT pid FROM a UNION ALL SELECT pid FROM a",
    "with": "WITH x AS (SELECT pid FROM a) SELECT pid FROM x",
    "nested": "SELECT pid FROM (SELECT pid FROM a LIMIT 9) AS b",
    "one row, several": "SELECT pid, unnest(ARRAY[1, 2]) AS u FROM a",
    "no table": "SELECT 1 AS pid",
    "of numbers": "SELECT * FROM generate_series(1, 9) AS g(pid)",
    "arithmetic": "SELECT pid, v * 2000000000 AS w FROM a",
    "cast": "SELECT pid, CAST(t AS integer) AS w FROM a",
    "on a view": "SELECT pid FROM bad",
    "own function": "SELECT pid, f(v) AS w FROM a",
}
OWN = {
    "duckdb": "CREATE MACRO f(x) AS x + (SELECT max(v) FROM a)",
    "postgres": "CREATE FUNCTION f(integer) RETURNS integer LANGUAGE sql AS 'SELECT max(v) FROM a'",
}


@pytest.fixture(params=["duckdb", "postgres"])
def place(request, tmp_path):
    """Give a function that makes a view and gives its address, stated or not."""
    kind = request.param
    before = [ROWS[kind], "CREATE VIEW seen AS SELECT pid, v FROM a WHERE v > 2",
              "CREATE VIEW bad AS SELECT pid, v FROM a LIMIT 9", OWN[kind]]  # fmt: skip
    if kind == "duckdb":
        file = tmp_path / "clinic.duckdb"
        connection = duckdb.connect(str(file))
        where = f"{file}::it", "?view=rows"
    else:
        psycopg = pytest.importorskip("psycopg")
        url = request.getfixturevalue("fresh_postgres_url")
        connection = psycopg.connect(url, autocommit=True)
        where = f"{url}?table=it", "&view=rows"

    def make(definition, form="VIEW"):
        for statement in (*before, f"CREATE {form} it AS {definition}"):
            connection.execute(statement)
        connection.close()
        return where[0], "".join(where)

    make.kind = kind
    yield make
    connection.close()


def asked(address):
    options = {"name": f"d{uuid.uuid4().hex}", "unit": "row", "budget": sf.PureDP(50)}
    with sf.Session(address, ledger=sf.Ledger(None), **options) as session:
        return session.sql(f"SELECT COUNT(*) AS n FROM {options['name']}", epsilon=40).rows[0][0]


@pytest.mark.parametrize("definition", BY_ROWS)
def test_a_view_row_by_row_is_taken(place, definition):
    assert asked(place(definition)[0]) > 0


@pytest.mark.parametrize("definition", POSTGRES_ONLY)
def test_casts_that_are_written_down_and_texts_are_taken(place, definition):
    address, stated = place(definition)
    if place.kind == "postgres":
        assert asked(address) > 0
    else:  # what is cast in silence could fail for one cell
        with pytest.raises(GovernanceError, match="is a view"):
            asked(address)
        assert asked(stated) > 0


@pytest.mark.parametrize("what", NOT_BY_ROWS)
def test_a_view_in_which_one_row_may_change_others_is_refused(place, what):
    address, stated = place(NOT_BY_ROWS[what])
    with pytest.raises(GovernanceError, match="is a view") as caught:
        asked(address)
    assert "view=rows" in str(caught.value)
    if what not in {"random", "cast", "arithmetic", "own function"}:  # may fail
        assert asked(stated) > 0


def test_a_materialized_view_is_a_view(place):
    if place.kind == "postgres":
        with pytest.raises(GovernanceError, match="is a view"):
            asked(place("SELECT pid, sum(v) OVER () AS tot FROM a", "MATERIALIZED VIEW")[0])


def test_a_private_table_beside_is_no_view_either(place):
    address, _ = place("SELECT pid, sum(v) OVER () AS tot FROM a")
    if place.kind == "postgres":
        with pytest.raises(GovernanceError, match="is a view"):
            sf.Session(
                address.replace("table=it", "table=a"), unit=sf.dp.Unit("pid", rows=2),
                budget=sf.PureDP(1), private={"it": "it"}, ledger=sf.Ledger(None),
            )  # fmt: skip


def test_a_text_compared_with_a_number_could_fail_for_one_cell(place):
    if place.kind == "duckdb":
        with pytest.raises(GovernanceError, match="is a view"):
            asked(place("SELECT pid FROM a WHERE t <> 3")[0])


def test_what_is_stated_is_one_of_two_words(place):
    _, stated = place("SELECT pid FROM a")
    with pytest.raises(ParameterError, match="view"):
        asked(stated.replace("view=rows", "view=all"))
