"""Worked examples on sessions: what one item, transaction, customer, edge or student can do.

The sizes are those of the lecture notes; noise is geometric with scale Δ/ε, so the scale of an
answer's noise is the sensitivity that was charged for, and a neighbour shows that it is needed.
"""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Refused

SURE = 10_000
ITEMS = "(SELECT customer, purchase, COUNT(*) AS n FROM baskets GROUP BY customer, purchase) AS p"


def asked(rows, text, unit, **facts):
    """Give the scale of the noise at ε = 1, and the number itself at an ε that shows it."""
    given = {
        "unit": unit,
        "budget": sf.PureDP(10**6),
        "name": "baskets",
        "public_types": True,
        **facts,
    }
    with sf.Session(pl.DataFrame(rows), **given) as one:
        (column,) = one.sql(text, epsilon=1).measures.values()
        (noise,) = column.noises
        assert noise.kind == "geometric"
        ((number,),) = one.sql(text, epsilon=SURE).rows
    return noise.size, number


def baskets(customer, *sizes, item="aspirin"):
    """Give the rows of a customer who bought so many items in each transaction."""
    return [
        {"customer": customer, "purchase": f"{customer}-{place}", "item": item}
        for place, size in enumerate(sizes)
        for _ in range(size)
    ]


# -- at most 5 transactions per user, 10 items per transaction ------------------------------------

FIVE = sf.Unit("customer", rows=5)
TEN = f"SELECT SUM(LEAST(n, 10)) FROM {ITEMS}"
USUAL = [*baskets("ann", 1, 2, 3), *baskets("bob", 12), *baskets("cid", 4, 4, 4, 4, 4)]


def test_five_transactions_of_ten_items_are_fifty():
    scale, number = asked(USUAL, TEN, FIVE)
    assert scale == 50
    assert number == 1 + 2 + 3 + 10 + 20


def test_a_customer_who_buys_everything_adds_fifty_and_no_more():
    whale = baskets("dot", *[30] * 40)
    _, number = asked([*USUAL, *whale], TEN, FIVE)
    assert number - (1 + 2 + 3 + 10 + 20) == 50


def test_of_many_small_transactions_five_are_kept():
    _, number = asked(baskets("eve", *[1] * 40), TEN, FIVE)
    assert number == 5


def test_items_without_a_bound_per_transaction_need_bounds_found_or_given():
    text = f"SELECT SUM(n) FROM {ITEMS}"
    with sf.Session(pl.DataFrame(USUAL), unit=FIVE, budget=sf.PureDP(9), name="baskets",
                    public_types=True) as one:  # fmt: skip
        answer = one.sql(text, epsilon=1, bounds={"n": (0, 10)})
        (noise,) = next(iter(answer.measures.values())).noises
        assert noise.size == 50
        found = one.sql(text, epsilon=5)
        said = ("found privately", "bounds for it were not declared")
        assert any(word in note for note in found.notes for word in said)


def test_m_keywords_of_a_user_move_m_groups():
    rows = [{"customer": p, "item": w} for p in range(20) for w in "abcdefgh"[: 2 + p % 7]]
    words = {"item": list("abcdefgh")}
    text = "SELECT item, COUNT(DISTINCT customer) AS n FROM baskets GROUP BY item"
    unit = sf.Unit("customer", groups=3, rows_per_group=1)
    budget = sf.PureDP(10**6)
    with sf.Session(
        pl.DataFrame(rows), unit=unit, budget=budget, name="baskets", keys=words
    ) as one:
        (noise,) = one.sql(text, epsilon=1).measures["n"].noises
        assert noise.size == 3
        kept = sum(one.sql(text, epsilon=SURE).column("n"))
        assert kept == sum(min(3, 2 + p % 7) for p in range(20))


# -- aspirins, by what is protected ---------------------------------------------------------------

BOUGHT = [
    *baskets("ann", 2, 1), *baskets("bob", 3), *baskets("bob", 2, item="milk"),
    *baskets("cid", 1, 1, 1),
]  # fmt: skip
ASPIRINS = "SELECT COUNT(*) FROM baskets WHERE item = 'aspirin'"


@pytest.mark.parametrize(
    ("unit", "most"),
    [("row", 1), (sf.Unit("purchase", rows=3), 3), (sf.Unit("customer", rows=3 * 4), 12)],
    ids=["item", "transaction", "customer"],
)
def test_aspirins_bought(unit, most):
    """Item 1; transaction: the most in one; customer: that times the most transactions."""
    scale, number = asked(BOUGHT, ASPIRINS, unit)
    assert (scale, number) == (most, 9)


def test_bars_of_hospital_visits_move_by_all_visits_of_a_person():
    rows = [{"customer": p, "visits": 100 if p == 0 else 3} for p in range(10)]
    text = "SELECT SUM(visits) FROM baskets"
    bounds = {"visits": (0, 100)}
    scale, number = asked(rows, text, sf.Unit("customer", rows=1), bounds=bounds)
    assert (scale, number) == (100, 127)


# -- trees and graphs as tables -------------------------------------------------------------------

STUDENTS = [
    {"customer": s, "born": 1990 + s % 10, "course": course}
    for s in range(30)
    for course in ["logic"] * (1 + s % 3) + ["sets"]
]


def test_students_born_in_a_year_are_one_per_tree():
    text = "SELECT COUNT(DISTINCT customer) FROM baskets WHERE born = 1996"
    scale, number = asked(STUDENTS, text, sf.Unit("customer"))
    assert (scale, number) == (1, 3)


@pytest.mark.parametrize(
    ("unit", "most"), [("row", 1), (sf.Unit("customer", rows=3), 3)], ids=["vertex", "tree"]
)
def test_enrolments_in_a_course(unit, most):
    """A vertex is one enrolment; a tree, a student, has as many as the course may be taken."""
    text = "SELECT COUNT(*) FROM baskets WHERE course = 'logic'"
    scale, number = asked(STUDENTS, text, unit)
    assert (scale, number) == (most, sum(1 + s % 3 for s in range(30)))


EDGES = [
    {"edge": i, "a": a, "b": b} for i, (a, b) in enumerate([("A", "B"), ("A", "C"), ("D", "E")])
]


def test_edges_under_edge_and_incidence():
    scale, number = asked(EDGES, "SELECT COUNT(*) FROM baskets", "row")
    assert (scale, number) == (1, 3)
    ends = [{"edge": one["edge"], "vertex": one[end]} for one in EDGES for end in "ab"]
    degree = "SELECT COUNT(*) FROM baskets WHERE vertex = 'A'"
    scale, number = asked(ends, degree, sf.Unit("edge", rows=2))
    assert (scale, number) == (2, 2)  # an edge has two ends; this one may be a loop


def test_vertices_of_a_degree_would_put_edges_of_several_units_together():
    """Under edge privacy a degree is made of many units, which no question may put together."""
    ends = [{"edge": one["edge"], "vertex": one[end]} for one in EDGES for end in "ab"]
    degrees = "SELECT vertex, COUNT(*) AS d FROM baskets GROUP BY vertex"
    text = f"SELECT COUNT(*) FROM ({degrees}) AS v WHERE d >= 2"
    unit = sf.Unit("edge", rows=2)
    with sf.Session(pl.DataFrame(ends), unit=unit, budget=sf.PureDP(9), name="baskets",
                    public_types=True) as one:  # fmt: skip
        with pytest.raises(Refused):
            one.sql(text, epsilon=1)
        assert one.spent.epsilon == 0
    vertices = sf.Unit("vertex", rows=1)
    scale, number = asked(ends, text.replace("SELECT vertex,", "SELECT vertex AS v,"), vertices)
    assert (scale, number) == (Fraction(1), 1)  # a vertex and its own list of edges: itself alone
