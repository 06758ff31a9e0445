"""Covariance and correlation: what numpy gives, within the bounds of the truth, paid as sums."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.ask.language.language import Apply, Column, Filter, Question, Scan
from sfumato.ask.language.language import Measure as M
from sfumato.ask.language.well_formed import check_well_formed
from sfumato.errors import Refused

ROWS = 3000
RNG = np.random.default_rng(5)
X = RNG.normal(5, 2, ROWS).clip(0, 10)
Y = (0.7 * X + RNG.normal(0, 1, ROWS)).clip(-2, 12)
K = np.arange(ROWS) % 2
Z = [None if n % 5 == 0 else n % 7 for n in range(ROWS)]
TABLE = pl.DataFrame({"x": X, "y": Y, "k": K, "z": Z, "w": X})
BOUNDS = {"x": (0, 10), "y": (-2, 12), "z": (0, 6)}


@pytest.fixture(scope="module")
def session():
    with sf.Session(
        TABLE,
        public_types=True,
        name="t",
        unit="row",
        budget=sf.PureDP(10**7),
        bounds=BOUNDS,
        keys={"k": [0, 1]},
    ) as opened:
        yield opened


def test_they_are_what_they_are_without_noise(session):
    answer = session.sql(
        "SELECT COVAR_POP(x, y) AS p, COVAR_SAMP(x, y) AS s, CORR(x, y) AS r, "
        "CORR(x, z) AS gaps, COVAR_POP(y, z) FILTER (WHERE k = 1) AS odd, CORR(x, -x) AS less "
        "FROM t",
        epsilon=10**6,
    )
    both = [n for n in range(ROWS) if Z[n] is not None]
    z = np.array([Z[n] for n in both])
    odd = K[both] == 1
    true = [
        np.cov(X, Y, bias=True)[0, 1],
        np.cov(X, Y)[0, 1],
        np.corrcoef(X, Y)[0, 1],
        np.corrcoef(X[both], z)[0, 1],
        np.cov(Y[both][odd], z[odd], bias=True)[0, 1],
        -1.0,
    ]
    assert answer.rows[0] == pytest.approx(true, abs=1e-4)
    for (low, high), value in zip(
        [pair[0] for pair in answer.intervals().values()], true, strict=True
    ):
        assert low <= value <= high


def test_per_group_sorted_and_kept_by_it(session):
    answer = session.sql(
        "SELECT k, CORR(x, y) AS r FROM t GROUP BY k HAVING CORR(x, y) > 0 ORDER BY r DESC",
        epsilon=10**5,
    )
    true = {k: np.corrcoef(X[k == K], Y[k == K])[0, 1] for k in (0, 1)}
    assert dict(answer.rows) == pytest.approx(true, abs=1e-3)
    assert answer.rows[0][1] >= answer.rows[1][1]


def test_noise_leaves_them_within_what_they_can_be(session):
    for _ in range(40):
        p, r = session.sql(
            "SELECT COVAR_POP(x, y) AS p, CORR(x, y) AS r FROM t WHERE x > 9.9", epsilon=0.01
        ).rows[0]
        assert p is None or abs(p) <= 10 * 14 / 4
        assert r is None or abs(r) <= 1


@pytest.mark.parametrize("runs", [12, pytest.param(400, marks=pytest.mark.soak)])
def test_intervals_hold_as_often_as_they_say(session, runs):
    true = np.corrcoef(X, Y)[0, 1]
    found = [
        session.sql("SELECT CORR(x, y) AS r FROM t", epsilon=n + 5).intervals()["r"][0]
        for n in range(runs)
    ]
    held = sum(pair is None or pair[0] <= true <= pair[1] for pair in found)
    assert held >= runs * 0.85
    assert any(pair is not None and pair[1] - pair[0] < 0.5 for pair in found)


def test_numbers_are_shared_and_paid_once(session):
    price = {"epsilon": 2}
    alone = session.estimate("SELECT CORR(x, y) AS r FROM t", **price)
    beside = session.estimate("SELECT CORR(x, y) AS r, COVAR_SAMP(x, y) AS s FROM t", **price)
    assert str(alone).count("±") == str(beside).count("±") == 6
    before = session.spent
    session.sql("SELECT COVAR_POP(x, y) FROM t", epsilon=3)
    assert float(session.spent.epsilon) == pytest.approx(float(before.epsilon) + 3)


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("SELECT CORR(x, w) FROM t", "pair_bounds"),
        ("SELECT CORR(x, 3) FROM t", "pair_bounds"),
        ("SELECT CORR(x, SUM(y)) FROM t", "nested_aggregate"),
        ("SELECT COVAR_POP(x, k = 1) FROM t", "kind"),
    ],
)
def test_refusals_come_before_anything_is_charged(session, question, code):
    before = session.spent
    with pytest.raises(Refused) as found:
        session.sql(question, epsilon=1)
    assert found.value.code == code
    assert session.spent == before


def test_bounds_come_with_the_question(session):
    answer = session.sql("SELECT CORR(x, w) AS r FROM t", epsilon=10**5, bounds={"w": (0, 10)})
    assert answer.rows[0][0] == pytest.approx(1, abs=1e-3)


def test_roots_are_of_noisy_numbers_only():
    column = Column("x", "real")
    root = Apply("sqrt", (column,))
    for term, scan in ((root, Scan("t", (column,))), (column, Filter(Scan("t", (column,)), root))):
        with pytest.raises(Refused):
            check_well_formed(Question(scan, (M("m", "sum", term),)))
