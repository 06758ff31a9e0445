"""Joins multiply the rows of nobody beyond what every machine can hold."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

import sfumato as sf
from sfumato.ask.engines.duckdb import DuckDBEngine
from sfumato.ask.language.language import (
    Column,
    JoinPerson,
    JoinPublic,
    PerPerson,
    Scan,
    TableFacts,
)
from sfumato.ask.language.multiplication import (
    MOST_JOINED,
    MOST_REPEATED,
    multiplied,
    repetition,
    single,
)
from sfumato.ask.language.request import Grid, Request, RowsBound, Total
from sfumato.dp.neighbours import Unit
from sfumato.errors import Refused


def tags(rows):
    """Make a public table in which that many rows agree on the ward."""
    return pl.DataFrame({"ward": ["a"] * rows, "tag": [str(i) for i in range(rows)]})


def session(rows, public=None):
    visits = pl.DataFrame(
        {"id": [1] * rows + [2], "ward": ["a"] * (rows + 1), "n": [*range(rows), 0]}
    )
    return sf.Session(
        visits,
        public_types=True,
        unit=Unit("id", rows=1),
        budget=sf.PureDP(10),
        name="t",
        public=public or {},
    )


def test_a_person_with_many_rows_does_not_stop_a_question_of_many_joins():
    others = " ".join(f"JOIN t x{i} ON a.id = x{i}.id" for i in range(8))
    with session(50) as one:  # 50⁹ rows, were it not for the cut
        assert one.sql(f"SELECT COUNT(*) FROM t a {others}", epsilon=1).epsilon == 1


def test_a_public_table_on_which_too_many_rows_agree_is_refused_before_anything_is_charged():
    question = "SELECT COUNT(*) FROM t JOIN tags USING (ward)"
    with session(3, {"tags": tags(MOST_REPEATED + 1)}) as one:
        with pytest.raises(Refused) as caught:
            one.sql(question, epsilon=1)
        assert caught.value.code == "join_many"
        assert one.spent.epsilon == 0
        both = f"{question.replace('USING (ward)', 'ON t.ward = tags.ward AND t.ward = tags.tag')}"
        assert one.sql(both, epsilon=1).epsilon == 1  # tags name one row each
    with session(3, {"tags": tags(MOST_REPEATED)}) as one:
        assert one.sql(question, epsilon=1).epsilon == 1


def test_the_refusal_does_not_depend_on_private_rows():
    told = []
    for rows in (0, 500):
        with (
            session(rows, {"tags": tags(MOST_REPEATED + 1)}) as one,
            pytest.raises(Refused) as caught,
        ):
            one.sql("SELECT COUNT(*) FROM t JOIN tags USING (ward)", epsilon=1)
        told.append(str(caught.value))
    assert told[0] == told[1]


@pytest.mark.parametrize("rows", [MOST_JOINED - 1, MOST_JOINED, MOST_JOINED + 1])
def test_a_thousand_rows_of_each_side_are_joined(rows):
    frame = pl.DataFrame({"id": [7] * rows, "n": list(range(rows, 0, -1))})
    engine = DuckDBEngine.open(frame, person="id", name="t")
    n = Column("n", "integer")
    pairs = JoinPerson(Scan("t", (n,)), Scan("t", (n,)), ((n, n),), (("m", n),))
    request = Request(pairs, (), (Total("rows"),), RowsBound(10**7), b"salt")
    for found in (engine.aggregate(request), engine.aggregate_by_plan(request)):
        assert found.totals[0].tolist() == [min(rows, MOST_JOINED)]


def test_the_rows_that_are_joined_are_drawn_by_the_keyed_hash():
    """Not the smallest: of 0 … 9999 a thousand are kept whose mean is about 5000, σ = 91."""
    frame = pl.DataFrame({"id": [7] * 10_000, "n": list(range(10_000))})
    engine = DuckDBEngine.open(frame, person="id", name="t")
    n = Column("n", "integer", (Fraction(0), Fraction(9999)))
    pairs = JoinPerson(Scan("t", (n,)), Scan("t", (n,)), ((n, n),), (("m", n),))
    total = Total("sum", n, Grid((Fraction(0), Fraction(9999)), Fraction(1), Fraction(0)))
    sums = set()
    for salt in (b"a", b"b", b"c"):
        request = Request(pairs, (), (Total("rows"), total), RowsBound(10**7), salt)
        count, summed = (int(one[0]) for one in engine.aggregate_by_plan(request).totals)
        assert count == MOST_JOINED
        assert abs(summed / count - 5000) < 6 * 91
        sums.add(summed)
    assert len(sums) == 3


def test_what_multiplies_is_told_from_what_does_not():
    ward, n = Column("ward", "text"), Column("n", "integer")
    facts = {
        "wards": TableFacts(
            "wards", (ward, n), private=False, unique=(("ward",),), repeated=((("n",), 3),)
        )
    }
    t = Scan("t", (ward, n))
    each, keyed = PerPerson(t, (), ()), PerPerson(t, (("n", n),), ())
    assert repetition(facts["wards"], ["n", "ward"]) == 1
    assert repetition(facts["wards"], ["n"]) == 3
    assert repetition(facts["wards"], []) is None
    once = JoinPublic(t, "wards", ((ward, ward),), ())
    thrice = JoinPublic(t, "wards", ((n, n),), (), unique=True)  # what it says does not count
    assert [multiplied(one, facts) for one in (t, once, thrice)] == [False, False, True]
    assert [single(one) for one in (t, each, keyed)] == [False, True, False]
    assert not multiplied(JoinPerson(t, each, (), ()), facts)
    assert multiplied(JoinPerson(t, keyed, (), ()), facts)
    assert single(JoinPerson(each, each, (), ()))
