"""Random expressions and rows of the language, for property tests."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction

from hypothesis import strategies as st

from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Case,
    Column,
    Compare,
    Constant,
    IsNull,
    Like,
    Logic,
    Not,
    OneOf,
)

COLUMNS = (
    Column("i", "integer"),
    Column("ib", "integer", (Fraction(-3), Fraction(7))),
    Column("r", "real"),
    Column("rb", "real", (Fraction(1, 10), Fraction(25, 2))),
    Column("rn", "real", (Fraction(-1, 3), Fraction(1, 3))),
    Column("t", "text"),
    Column("b", "boolean"),
    Column("d", "date"),
)
NASTY = (
    None, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-31, 1e-30, 5e-324, -2.2e-308, 1e308, -1e308,
    math.inf, -math.inf, math.nan, 2.0**53, 1e-29, 3.0, 0.1, 12.5,
)  # fmt: skip
TEXTS = (None, "", "a", "ab", "A", "Å", "b%", "ß", "x_y")
DATES = (None, dt.date(1, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31))

integers = st.one_of(st.none(), st.integers(-5, 9), st.sampled_from([2**63, -(2**63), 2**53 + 1]))
reals = st.one_of(st.sampled_from(NASTY), st.floats())
rows = st.fixed_dictionaries(
    {
        "i": integers,
        "ib": integers,
        "r": reals,
        "rb": reals,
        "rn": reals,
        "t": st.sampled_from(TEXTS),
        "b": st.sampled_from([None, True, False]),
        "d": st.sampled_from(DATES),
    }
)

constants = st.one_of(
    st.integers(-4, 12).map(lambda n: Constant(n, "integer")),
    st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(5, 2), Fraction(10**20)]).map(
        lambda f: Constant(f, "real")
    ),
)
signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


def numbers(depth: int):
    leaf = st.one_of(st.sampled_from(COLUMNS[:5]), constants)
    if depth == 0:
        return leaf
    inner = numbers(depth - 1)
    return st.one_of(
        leaf,
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(
            lambda f, x: Apply(f, (x,)), st.sampled_from(["abs", "floor", "ceil", "round"]), inner
        ),
        st.builds(
            lambda f, x: Apply(f, tuple(x)),
            st.sampled_from(["least", "greatest", "coalesce"]),
            st.lists(inner, min_size=2, max_size=3),
        ),
        st.sampled_from(
            [
                Apply("length", (COLUMNS[5],)),
                Apply("year", (COLUMNS[7],)),
                Apply("weekday", (Apply("quarter_start", (COLUMNS[7],)),)),
                Apply("day", (COLUMNS[7],)),
            ]
        ),
        st.builds(
            lambda c, x, y: Case(((c, x),), y),
            conditions(depth - 1),
            inner,
            st.one_of(inner, st.just(Constant(None, "real"))),
        ),
    )


def conditions(depth: int):
    inner = numbers(max(depth - 1, 0))
    leaf = st.one_of(
        st.builds(Compare, signs, inner, inner),
        st.builds(IsNull, inner),
        st.just(COLUMNS[6]),
        st.builds(
            OneOf, inner, st.lists(constants, min_size=1, max_size=3, unique=True).map(tuple)
        ),
        st.builds(Like, st.just(COLUMNS[5]), st.sampled_from(["a%", "%", "_", "b\u00e5%", "x_y"])),
        st.builds(
            Compare,
            signs,
            st.just(COLUMNS[5]),
            st.sampled_from("abA").map(lambda s: Constant(s, "text")),
        ),
    )
    if depth == 0:
        return leaf
    more = conditions(depth - 1)
    return st.one_of(
        leaf,
        st.builds(Not, more),
        st.builds(
            Logic,
            st.sampled_from(["and", "or"]),
            st.lists(more, min_size=2, max_size=3).map(tuple),
        ),
    )
