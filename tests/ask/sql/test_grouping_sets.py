"""ROLLUP, CUBE and GROUPING SETS are split as SQL says: checked against DuckDB itself."""

from __future__ import annotations

import duckdb
import pytest

from sfumato.ask.sql.grouping_sets import split_grouping_sets
from sfumato.errors import Refused

DATA = duckdb.sql(
    "SELECT range % 3 AS a, range % 2 AS b, CAST(range % 5 AS VARCHAR) AS c, range AS x "
    "FROM range(97)"
)


def stacked(sql):
    """Answer every set by DuckDB, put constants in place, and give all rows."""
    split = split_grouping_sets(sql)
    rows = []
    for part in split.sets:
        for row in duckdb.query_df(DATA.df(), "t", part.sql).fetchall():
            left = iter(row)
            count = len(row) + len(part.constants)
            rows.append(
                tuple(part.constants[i] if i in part.constants else next(left)
                      for i in range(count))
            )  # fmt: skip
    return rows


QUESTIONS = [
    "SELECT a, b, COUNT(*) FROM t GROUP BY ROLLUP (a, b)",
    "SELECT A, SUM(x) AS s, b FROM t GROUP BY CUBE (a, B)",
    "SELECT a, b, c, COUNT(*) FROM t GROUP BY ROLLUP (a, (b, c))",
    "SELECT a, b, c, COUNT(*) FROM t GROUP BY c, ROLLUP (a, b)",
    "SELECT a, b, COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b), (a), (), b)",
    "SELECT a, c, COUNT(*) FROM t GROUP BY GROUPING SETS (ROLLUP (a), (c))",
    "SELECT COALESCE(c, 'all') AS c2, COUNT(*) FROM t GROUP BY ROLLUP (c)",
    "SELECT GROUPING(a, b) AS g, a, b, COUNT(*) FROM t GROUP BY CUBE (a, b)",
    "SELECT x > 50 AS late, SUM(a) FROM t GROUP BY ROLLUP (late)",
    "SELECT a, COUNT(*) AS n FROM t WHERE x > 3 GROUP BY ROLLUP (1) HAVING COUNT(*) > 31",
]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_sets_make_what_duckdb_makes_of_the_whole(sql):
    whole = duckdb.query_df(DATA.df(), "t", sql).fetchall()
    assert sorted(stacked(sql), key=str) == sorted(whole, key=str)


def test_the_old_spelling_with_rollup_is_read():
    old = split_grouping_sets("SELECT a, COUNT(*) FROM t GROUP BY a WITH ROLLUP")
    new = split_grouping_sets("SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (a)")
    assert old == new


@pytest.mark.parametrize(
    "sql", ["SELECT a FROM t GROUP BY a", "SELECT 'rollup' FROM t", "SELECT COUNT(*) FROM cube"]
)
def test_a_plain_question_is_left_alone(sql):
    assert split_grouping_sets(sql) is None


def test_order_and_limit_are_of_all_rows():
    split = split_grouping_sets(
        "SELECT a, COUNT(*) AS n FROM t GROUP BY ROLLUP (a) ORDER BY n DESC, 1 LIMIT 2"
    )
    assert split.order == ((1, True), (0, False))
    assert split.limit == 2
    assert all("ORDER" not in part.sql and "LIMIT" not in part.sql for part in split.sets)


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT a + 1, COUNT(*) FROM t GROUP BY ROLLUP (a)", "grouping_item"),
        ("SELECT 1 + GROUPING(a), COUNT(*) FROM t GROUP BY ROLLUP (a)", "grouping_item"),
        ("SELECT GROUPING(b), COUNT(*) FROM t GROUP BY ROLLUP (a)", "grouping_item"),
        ("SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (a) HAVING a = 1", "grouping_item"),
        ("SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (a) ORDER BY b", "grouping_order"),
        ("SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (9)", "bad_position"),
        ("SELECT COUNT(*) FROM t GROUP BY CUBE (a, b, c, x, a + 1, b + 1)", "too_many_sets"),
        ("SELECT COUNT(*) FROM t GROUP BY CUBE (a, b, c), CUBE (a, b, x)", "too_many_sets"),
        ("SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (a) LIMIT 1.5", "bad_limit"),
    ],
)
def test_what_no_single_grouping_means_is_refused(sql, code):
    with pytest.raises(Refused) as refusal:
        split_grouping_sets(sql)
    assert refusal.value.code == code
