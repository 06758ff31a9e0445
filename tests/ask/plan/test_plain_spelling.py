"""The short way to print a plan gives the very text of sqlglot's own generator."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from sqlglot import exp

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

from clinic import FACTS
from golden_blocks import blocks
from test_plans import FACTS as FEW_FACTS
from test_plans import REQUESTS

from sfumato.ask.language.request import GroupsBound, Request, RowBound, Total
from sfumato.ask.plan import dialects
from sfumato.ask.plan.forms import all_of, big, binary, case, column, derived, double, select, text
from sfumato.ask.plan.nodes import nodes_of
from sfumato.ask.plan.plan import plan
from sfumato.ask.sql.parse import parse
from sfumato.errors import SfumatoError

NASTY = (
    "it's",
    '"',
    "''",
    "\\",
    "\\'",
    "\\n",
    "a\nb\t",
    "--",
    "/*",
    ";",
    "é\u2028",
    "",
    "%_",
    "'; x",
)


def by_sqlglot(tree):
    """Print a plan with nothing but sqlglot's generator and the spellings of our own nodes."""
    generator = dialects._generator("duckdb")(dialect="duckdb", comments=False)
    generator.tables = {}
    return generator.generate(tree, copy=False)


def requests():
    """Give a request for every golden question whose relation can be planned."""
    for param in blocks():
        sql, expected = param.values
        if expected[0].startswith("!"):
            continue
        question = parse(sql, FACTS)
        totals = [Total("rows")]
        totals += [Total("present", m.term) for m in question.measures if m.term is not None]
        totals += [Total("rows", where=m.where) for m in question.measures if m.where is not None]
        for bound in (RowBound(), GroupsBound(3, 2)):
            yield Request(question.relation, question.keys, tuple(totals), bound, b"salt")


def test_golden_questions_are_printed_alike():
    compared = 0
    for request in requests():
        try:
            tree = plan(request, FACTS)
        except SfumatoError:  # people are bounded where tables name them, rows elsewhere
            continue
        compared += 1
        assert dialects.printed(tree, "duckdb") == by_sqlglot(plan(request, FACTS))
    assert compared > 100


@pytest.mark.parametrize("name", REQUESTS)
def test_plans_of_all_kinds_are_printed_alike(name):
    short = dialects.printed(plan(REQUESTS[name], FEW_FACTS), "duckdb")
    assert short == by_sqlglot(plan(REQUESTS[name], FEW_FACTS))


@pytest.mark.parametrize("written", NASTY)
def test_texts_and_names_are_quoted_alike(written):
    source = exp.Table(this=exp.Identifier(this="t", quoted=True))
    equal = binary(exp.EQ, column(written or "x", "t"), text(written))
    chosen = case([(equal, big(-1))], double(2))
    tree = derived(select([chosen], source, all_of([equal.copy(), equal.copy()])), written or "y")
    tree = select([exp.Star(), column(written or "x")], tree)
    assert dialects.printed(tree, "duckdb") == by_sqlglot(tree.copy())
    name = written or "x"
    assert dialects.quoted(name, "duckdb") == exp.Identifier(this=name, quoted=True).sql("duckdb")


def test_what_the_short_way_does_not_know_is_left_to_sqlglot():
    import sqlglot

    for sql in (
        "SELECT DISTINCT a FROM t LIMIT 3",
        "SELECT CAST(a AS DECIMAL(3, 1)), TRY_CAST(b AS INT) FROM t AS u(a, b)",
        "SELECT a, COUNT(*) FROM t GROUP BY ROLLUP (a), CUBE (b) ORDER BY a DESC",
        "SELECT CASE a WHEN 1 THEN 2 END, * EXCLUDE (b), a IS NOT NULL FROM c.s.t WHERE a = b",
        "WITH x AS (SELECT 1) SELECT x.* FROM x JOIN y ON x.a = y.a HAVING a > 1 QUALIFY b < 2",
    ):
        tree = sqlglot.parse_one(sql, read="duckdb")
        assert dialects.printed(tree.copy(), "duckdb") == by_sqlglot(tree.copy())


def test_every_node_is_found():
    for name in REQUESTS:
        tree = plan(REQUESTS[name], FEW_FACTS)
        found = nodes_of(tree)
        assert sorted(map(id, found)) == sorted(map(id, tree.walk()))
        assert found[0] is tree
