"""No pair of conditions that some row satisfies is called disjoint."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from clinic import FACTS
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.language import Column, Compare, Constant, IsNull, Like, Logic, Not, OneOf
from sfumato.ask.price.disjoint import disjoint
from sfumato.ask.sql.parse import parse

N = Column("n", "integer", (Fraction(0), Fraction(3)))
X = Column("x", "real")
T = Column("t", "text")
B = Column("b", "boolean")
GRID = [
    dict(zip("nxtb", values, strict=True))
    for values in itertools.product(
        [None, -1, 1, 2, 3],
        [None, 0.5, 1.0, 2.0],
        [None, "", "a", "c"],
        [None, True, False],
    )
]
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
NUMBERS = st.sampled_from([Constant(n, "integer") for n in range(-1, 5)])
HALVES = st.sampled_from([Constant(Fraction(n, 2), "real") for n in range(5)])
TEXTS = st.sampled_from([Constant(t, "text") for t in ("", "a", "b")])

elementary = st.one_of(
    st.builds(Compare, SIGNS, st.just(N), NUMBERS),
    st.builds(Compare, SIGNS, NUMBERS, st.just(N)),
    st.builds(Compare, SIGNS, st.just(X), HALVES),
    st.builds(Compare, SIGNS, st.just(T), TEXTS),
    st.builds(Compare, SIGNS, st.just(N), st.just(X)),
    st.builds(OneOf, st.just(N), st.lists(NUMBERS, min_size=1, max_size=3).map(tuple)),
    st.builds(OneOf, st.just(T), st.lists(TEXTS, min_size=1, max_size=2).map(tuple)),
    st.builds(IsNull, st.sampled_from([N, X, T, B])),
    st.just(B),
    st.just(Like(T, "a%")),
    st.sampled_from([Constant(True, "boolean"), Constant(False, "boolean")]),
    st.just(Compare("=", N, Constant(None, "integer"))),
)
conditions = st.recursive(
    elementary,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(
            Logic,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
    ),
    max_leaves=5,
)


@settings(max_examples=250, deadline=None)
@given(conditions, conditions)
def test_what_is_called_disjoint_shares_no_row(one, other):
    if disjoint(one, other):
        shared = [
            row for row in GRID if evaluate(one, row) is True and evaluate(other, row) is True
        ]
        assert not shared


@settings(max_examples=100, deadline=None)
@given(conditions)
def test_a_condition_and_its_opposite_are_disjoint(one):
    assert disjoint(one, Not(one))


def where(text):
    return parse(f"SELECT COUNT(*) FROM visits WHERE {text}", FACTS).relation.condition


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("age < 18", "age >= 18", True),
        ("age <= 18", "age >= 18", False),
        ("age > 17", "age < 18", True),  # whole numbers
        ("weight > 17", "weight < 18", False),
        ("ward = 'east'", "ward = 'west'", True),
        ("ward IN ('east', 'north')", "ward IN ('west')", True),
        ("ward IN ('east', 'north')", "ward = 'north'", False),
        ("ward IS NULL", "ward <> 'east'", True),
        ("ward IS NULL", "ward IS NOT NULL", True),
        ("age BETWEEN 0 AND 9", "age BETWEEN 10 AND 19", True),
        ("smoker", "NOT smoker", True),
        ("smoker AND age < 10", "NOT smoker OR age > 20", True),
        ("age < 18", "weight > 3", False),
        ("age > 120", "smoker", False),  # a row may lie outside the declared bounds
        ("age > 120", "age < 0", True),
        ("age < 9007199254740993", "age >= 9007199254740992", False),  # whole numbers are exact
        ("age < 9007199254740993", "age >= 9007199254740993", True),
        ("age = 100000000000000001", "age = 100000000000000000", True),
        ("age = 100000000000000001", "age > 100000000000000000.5", False),
        ("100000000000000001 = 100000000000000001", "smoker", False),
        ("100000000000000001.0 <> 100000000000000000", "smoker", False),
        ("100000000000000001 = 100000000000000000", "smoker", True),
        ("LEAST(age, 100000000000000001) = 100000000000000001", "smoker", False),
        ("LEAST(age, 5) = 6", "smoker", True),
        ("name LIKE 'a%'", "name NOT LIKE 'a%'", True),
        ("name < 'b'", "name >= 'b'", True),
        ("day < '2020-01-01'", "day >= '2020-01-01'", True),
        ("weight < 9007199254740993", "weight >= 9007199254740992", True),  # one double
        ("weight <= 9007199254740993", "weight >= 9007199254740992", False),
    ],
)
def test_known_pairs(one, other, apart):
    assert disjoint(where(one), where(other)) is apart
    assert disjoint(where(other), where(one)) is apart


def test_no_condition_is_disjoint_from_nothing_but_the_impossible():
    assert not disjoint(None, None)
    assert not disjoint(None, where("age > 3"))
    assert disjoint(None, Constant(False, "boolean"))


def test_too_many_alternatives_are_not_decided():
    wide = Logic(
        "and", tuple(Logic("or", (Compare("=", N, Constant(i, "integer")), B)) for i in range(12))
    )
    assert not disjoint(wide, where("age > 3"))
