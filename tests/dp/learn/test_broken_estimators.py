"""Every estimator beside broken copies of itself: the audit refutes those, and only those.

What is audited is all that leaves the noise in a fit, on rows of one number, as the one number that
tells best whether a row more is in it; all that a fit publishes is computed from the same sums.
Broken are: half the noise (a quarter where no row of one number reaches the bound); residuals or
cells that are not clamped; sums divided by the true number of rows. Some of all that is for
`make soak`: an audit takes seconds.
"""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.learn import linear_sums, residuals
from sfumato.dp.learn.budget import Budget
from sfumato.dp.learn.features import Number

CLAIM = sf.ApproxDP(1, 1e-2)
OPTIONS = {"epsilon": 1, "delta": 1e-2, "bounds": (-1, 1)}
FEW, MANY, FAR = [1.0] * 3, [1.0] * 4, [1.0] * 3 + [40.0]
SHORT = {"rounds": 1, "clip": 0.02}

ESTIMATORS = {
    "additive": lambda: sf.dp.AdditiveClassifier(**SHORT, **OPTIONS),
    "additive regression": lambda: sf.dp.AdditiveRegressor(target=(-1, 1), **SHORT, **OPTIONS),
    "logistic": lambda: sf.dp.LogisticRegression(**SHORT, **OPTIONS),
    "linear": lambda: sf.dp.LinearRegression(target=(-1, 1), **OPTIONS),
    "naive Bayes": lambda: sf.dp.NaiveBayes(bins=1, **OPTIONS),
    "principal components": lambda: sf.dp.PCA(**OPTIONS),
}


class Released:
    """A fit as a function of its rows: its noisy sums, weighed by what one more row moves."""

    def __init__(self, name, monkeypatch, *, divided=False):
        self.make, self.divided = ESTIMATORS[name], divided
        self.exact, self.noisy, self.noise, self.ways = [], [], [], []
        true = Budget.gaussian

        def seen(budget, totals, *given):
            found = true(budget, totals, *given) if self.ways else totals
            self.exact.append(totals.astype(float).ravel())
            self.noisy.append(found.astype(float).ravel())
            self.noise.append(float(budget.variance(*given)))
            return found

        monkeypatch.setattr(Budget, "gaussian", seen)
        self.fit(FEW)
        before = self.exact
        self.fit(MANY)
        moved = zip(before, self.exact, self.noise, strict=True)
        self.ways = [(b - a) / noise for a, b, noise in moved]

    def fit(self, values):
        self.exact, self.noisy, self.noise = [], [], []
        rows = np.array(values, dtype=float).reshape(-1, 1)
        self.make().fit(rows, np.ones(len(rows), dtype=int))

    def __call__(self, values):
        self.fit(values)
        told = sum(way @ sums for way, sums in zip(self.ways, self.noisy, strict=True))
        return float(told) / (len(values) if self.divided else 1)


def refuted(function, pair, samples):
    return sf.audit.check(
        function, CLAIM, pairs=[pair], samples=samples, seconds=300, seed=1, processes=1
    ).refuted


def some(*names):
    """All estimators, those that are not named for the soak tests only."""
    soak = pytest.mark.soak
    return [name if name in names else pytest.param(name, marks=soak) for name in ESTIMATORS]


@pytest.mark.parametrize("name", some("additive", "naive Bayes"))
def test_the_estimator_itself_is_not_refuted(name, monkeypatch):
    assert not refuted(Released(name, monkeypatch), (FEW, MANY), 1000)


@pytest.mark.parametrize("name", some("additive"))
def test_half_the_noise_is_refuted(name, monkeypatch):
    true = Budget.variance
    released = Released(name, monkeypatch)
    part = 16 if name in {"logistic", "linear"} else 4
    monkeypatch.setattr(Budget, "variance", lambda *given: true(*given) / part)
    assert refuted(released, (FEW, MANY), 2000)


@pytest.mark.parametrize("name", some("naive Bayes"))
def test_division_by_the_number_of_rows_is_refuted(name, monkeypatch):
    assert refuted(Released(name, monkeypatch, divided=True), ([1.0], [1.0, 1.0]), 3000)


@pytest.mark.parametrize(
    ("name", "room", "kernel"),
    [
        pytest.param("additive", residuals, "sum_binary", marks=pytest.mark.soak),
        pytest.param("additive regression", residuals, "sum_numeric", marks=pytest.mark.soak),
        ("logistic", linear_sums, "sum_binary"),
    ],
)
def test_residuals_that_are_not_clamped_are_refuted(name, room, kernel, monkeypatch):
    true = getattr(room, kernel)
    monkeypatch.setattr(room, kernel, lambda *given: true(*given[:-2], 1 << 40, given[-1]))
    assert refuted(Released(name, monkeypatch), (FEW, MANY), 1000)


@pytest.mark.parametrize(
    "name",
    [
        "linear",
        pytest.param("principal components", marks=pytest.mark.soak),
    ],
)
def test_cells_that_are_not_clamped_are_refuted(name, monkeypatch):
    def unclamped(column, cells, bits):
        return np.rint(np.asarray(cells, dtype=float) * 2.0**bits).astype(np.int64)

    monkeypatch.setattr(Number, "steps", unclamped)
    assert refuted(Released(name, monkeypatch), (FEW, FAR), 1000)
