"""Several groupings in one question: one price, one charge, intervals as for each by itself."""

from __future__ import annotations

from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.ask.answers.answer import Answer
from sfumato.errors import BudgetExceeded, ParameterError, Refused

WARDS, N = ["east", "west"], 900
ROLLUP = "SELECT ward, smoker, COUNT(*) AS n, AVG(age) AS m, SUM(age) / COUNT(*) AS r FROM p "


@pytest.fixture
def session():
    rows = {
        "ward": [WARDS[i % 3 == 0] for i in range(N)],
        "smoker": [i % 2 == 0 for i in range(N)],
        "age": [i % 90 for i in range(N)],
    }
    with sf.Session(
        rows, name="p", unit="row", budget=sf.PureDP(6),
        bounds={"age": (0, 90)}, keys={"ward": WARDS, "smoker": [False, True]},
    ) as session:  # fmt: skip
        yield session


def test_every_grouping_is_answered_at_a_share_and_charged_once(session):
    answer = session.sql(ROLLUP + "GROUP BY ROLLUP (ward, smoker)", epsilon=3)
    assert [row[:2] for row in answer.rows] == [
        ("east", False), ("east", True), ("west", False), ("west", True),
        ("east", None), ("west", None), (None, None),
    ]  # fmt: skip
    assert answer.keys == ("ward", "smoker")
    assert answer.cost.epsilon == 3
    assert answer.guarantee == sf.PureDP(3)
    assert session.spent == sf.PureDP(3)
    charges = [entry for entry in session.ledger.entries() if entry.kind == "charged"]
    assert len(charges) == 1


def test_numbers_are_near_and_intervals_are_those_of_each_grouping(session):
    answer = session.sql(ROLLUP + "GROUP BY ROLLUP (ward, smoker)", epsilon=3)
    alone = session.sql(ROLLUP.replace("ward, smoker, ", ""), epsilon=1)
    together, single = answer.intervals(), alone.intervals()
    assert answer.rows[-1][2:] == alone.rows[0]  # the same question at the same share, for nothing
    assert alone.stored
    for name in ("n", "m", "r"):
        assert together[name][-1] == single[name][0]
    assert answer.total("n", ward=[None], smoker=[None])[0] == pytest.approx(N, abs=40)


def test_it_is_given_again_for_nothing(session):
    first = session.sql(ROLLUP + "GROUP BY CUBE (ward, smoker)", epsilon=2)
    again = session.sql(ROLLUP + "GROUP BY CUBE (ward, smoker)", epsilon=2)
    assert again.stored
    assert again.rows == first.rows
    assert session.spent == sf.PureDP(2)


def test_rows_are_ordered_and_cut_over_all_groupings(session):
    answer = session.sql(
        "SELECT COALESCE(ward, 'all') AS w, GROUPING(ward) AS g, COUNT(*) AS n FROM p "
        "GROUP BY ROLLUP (ward) ORDER BY n DESC LIMIT 2",
        epsilon=6,
    )
    assert answer.columns == ("w", "g", "n")
    assert [row[:2] for row in answer.rows] == [("all", 1), ("east", 0)]
    assert answer.intervals()["n"][0][0] <= answer.rows[0][2] <= answer.intervals()["n"][0][1]


def test_an_estimate_tells_the_whole_cost_and_each_error(session):
    found = session.estimate(ROLLUP + "GROUP BY ROLLUP (ward, smoker)", epsilon=3)
    assert found.cost.epsilon == 3
    assert {"n by ward, smoker", "n by ward", "n by nothing"} <= set(found.errors)
    assert session.spent == sf.PureDP(0)


def test_shares_are_exact(session):
    answer = session.sql("SELECT COUNT(*) FROM p GROUP BY ROLLUP (ward, smoker)", epsilon="0.1")
    assert answer.cost.epsilon == Fraction(1, 10)


def test_what_does_not_fit_is_refused_whole(session):
    with pytest.raises(BudgetExceeded):
        session.sql(ROLLUP + "GROUP BY ROLLUP (ward, smoker)", epsilon=6.5)
    assert session.spent == sf.PureDP(0)


def test_rows_of_several_groupings_do_not_add_up(session):
    answer = session.sql("SELECT ward, COUNT(*) AS n FROM p GROUP BY ROLLUP (ward)", epsilon=2)
    with pytest.raises(ParameterError, match="show the same people"):
        answer.total("n")
    assert answer.total("n", ward=WARDS)[0] == answer.rows[0][1] + answer.rows[1][1]


def test_a_saved_answer_keeps_its_intervals(session, tmp_path):
    answer = session.sql(ROLLUP + "GROUP BY CUBE (ward, smoker)", epsilon=2)
    read = Answer.load(answer.save(tmp_path / "answer.json"))
    assert read.rows == answer.rows
    assert read.intervals(0.9) == answer.intervals(0.9)
    assert "<svg" in answer.picture()


def test_an_accuracy_is_for_one_grouping(session):
    with pytest.raises(ParameterError, match="one grouping at a time"):
        session.sql("SELECT ward, COUNT(*) FROM p GROUP BY ROLLUP (ward)", accuracy=5)


def test_a_refused_part_costs_nothing(session):
    with pytest.raises(Refused):
        session.sql("SELECT ward, MODE(age) FROM p GROUP BY ROLLUP (ward)", epsilon=1)
    assert session.spent == sf.PureDP(0)
