"""Every estimator beside broken copies of itself: the audit refutes those, and only those.

What is audited is all that leaves the noise in a fit, on rows of one cell, as the one number that
tells best whether a row more is in it; all that a fit publishes is computed from the same sums.
Rows are of one category where a row shall move the sums by the whole of its bound (a number that
is stretched by noisy moments comes near it only), and of one number where cells shall be clamped.

Broken are: half the noise; sums divided by the true number of rows; a clip that is missing: of
residuals (additive and logistic models), of numbers (all that add them up: linear and logistic
regression, principal components) and of the places of cells. Naive Bayes adds nothing up but ones,
so it has no clip; instead, cells outside of the bounds or the domain are left without a code.

Repeatable: the noise of a fit comes from the seed of the test. With other seeds, too, the many runs
of a soak miss a broken copy with a chance below 1e-6 (its excess over the claim is ten standard
deviations of the audit's estimate and more), and any runs accuse a right one with 1 in 100 at most.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
from chance import audited

import sfumato as sf
from sfumato.dp.learn import linear_sums, residuals
from sfumato.dp.learn.budget import Budget
from sfumato.dp.learn.estimator import PrivateEstimator
from sfumato.dp.learn.features import Category, Number

SHORT = {"rounds": 1, "clip": 0.02}
THREE = {"classes": [0, 1, 2]}
FEW, MANY = ["a"] * 3, ["a"] * 4
LOW, HIGH, FAR = [1.0] * 3, [1.0] * 4, [1.0] * 3 + [40.0]

ESTIMATORS = {
    "additive": (sf.dp.AdditiveClassifier, SHORT),
    "additive, three classes": (sf.dp.AdditiveClassifier, SHORT | THREE),
    "additive regression": (sf.dp.AdditiveRegressor, SHORT | {"target": (-1, 1)}),
    "logistic": (sf.dp.LogisticRegression, SHORT),
    "logistic, three classes": (sf.dp.LogisticRegression, SHORT | THREE),
    "linear": (sf.dp.LinearRegression, {"target": (-1, 1)}),
    "naive Bayes": (sf.dp.NaiveBayes, {"bins": 1}),
    "naive Bayes, pure": (sf.dp.NaiveBayes, {"bins": 1}),
    "principal components": (sf.dp.PCA, {}),
}


class Released:
    """A fit as a function of its rows: one number made of its noisy sums.

    Of Gaussian sums it is the likelihood ratio of the two data sets, that is the sums weighed by
    what a row moves; of sums with Laplace noise it is the same. Of divided sums it is how far they
    lie from what one row makes of them, as all that division tells is how much noise there is.
    """

    def __init__(self, name, monkeypatch, *, epsilon=1, delta=0.1, rows=(FEW, MANY), divided=False):
        kind, given = ESTIMATORS[name]
        self.delta = 0 if name.endswith("pure") else delta
        declared = {"domain": {"c": ["a"]}} if isinstance(rows[0][0], str) else {"bounds": (-1, 1)}
        if kind is sf.dp.PCA:
            declared, rows = {"bounds": (-1, 1)}, rows if "bounds" in declared else (LOW, HIGH)
        self.epsilon = epsilon
        self.make = lambda: kind(epsilon=epsilon, delta=self.delta, **given, **declared)
        self.pair, self.divided = rows, divided
        self.exact, self.noisy, self.noise, self.learnt = [], [], [], None
        for way, size in (("gaussian", "variance"), ("laplace", "scale")):
            monkeypatch.setattr(Budget, way, self.watch(getattr(Budget, way), size))
        self.fit(rows[0])
        before = self.exact
        self.fit(rows[0] + rows[0][-1:])
        self.learnt = list(zip(before, self.exact, self.noise, strict=True))

    def watch(self, true, size):
        def seen(budget, totals, *given):
            found = totals if self.learnt is None else true(budget, totals, *given)
            self.exact.append(totals.astype(float).ravel())
            self.noisy.append(found.astype(float).ravel())
            self.noise.append(float(getattr(budget, size)(*given)))
            return found

        return seen

    def fit(self, values):
        self.exact, self.noisy, self.noise = [], [], []
        rows = {"c": values} if isinstance(values[0], str) else np.array(values).reshape(-1, 1)
        self.make().fit(rows, np.ones(len(values), dtype=int))

    def __call__(self, values):
        self.fit(values)
        told = 0.0
        for sums, (few, many, noise) in zip(self.noisy, self.learnt, strict=True):
            if self.divided:
                told += (many - few) @ (sums / len(values) - (many - few)) / noise
            elif self.delta:
                told += (many - few) @ sums / noise
            else:
                told += float((np.abs(sums - few) - np.abs(sums - many)).sum()) / noise
        return abs(told) if self.divided else told

    def judged(self, refuted, pair=None, runs=300):
        exact = sf.PureDP(self.epsilon)
        claim = sf.ApproxDP(self.epsilon, self.delta) if self.delta else exact
        return refuted(self, claim, [pair or self.pair], runs=runs)


def some(*names, of=ESTIMATORS):
    """All estimators, those that are not named for the soak tests only."""
    soak = pytest.mark.soak
    return [name if name in names else pytest.param(name, marks=soak) for name in of]


def test_every_estimator_is_audited_and_has_its_proof():
    """Whatever learns and is exported is in the table above, and says why it is private."""
    public = [getattr(sf.dp, name) for name in dir(sf.dp) if name[0].isupper()]
    kinds = [kind for kind in public if isinstance(kind, type)]
    learners = {kind for kind in kinds if issubclass(kind, PrivateEstimator)}
    assert learners == {kind for kind, _ in ESTIMATORS.values()}
    assert all("Proof" in sys.modules[kind.__module__].__doc__ for kind in learners)


@pytest.mark.parametrize("name", some("additive", "naive Bayes"))
@audited
def test_the_estimator_itself_is_not_refuted(name, monkeypatch, refuted):
    assert not Released(name, monkeypatch).judged(refuted)


@pytest.mark.parametrize("name", some("logistic", "naive Bayes"))
@audited
def test_half_the_noise_is_refuted(name, monkeypatch, refuted):
    released = Released(name, monkeypatch)
    variance, scale = Budget.variance, Budget.scale
    monkeypatch.setattr(Budget, "variance", lambda *given: variance(*given) / 4)
    monkeypatch.setattr(Budget, "scale", lambda *given: scale(*given) / 2)
    assert released.judged(refuted, runs=700)


@pytest.mark.parametrize("name", some("naive Bayes"))
@audited
def test_division_by_the_number_of_rows_is_refuted(name, monkeypatch, refuted):
    released = Released(name, monkeypatch, epsilon=0.1, delta=0.01, divided=True)
    few = released.pair[0][:1]
    assert released.judged(refuted, (few, few * 2))


CLAMPED = {
    "additive": (residuals, "sum_binary"),
    "additive, three classes": (residuals, "sum_classes"),
    "additive regression": (residuals, "sum_numeric"),
    "logistic": (linear_sums, "sum_binary"),
    "logistic, three classes": (linear_sums, "sum_classes"),
}


@pytest.mark.parametrize("name", some("logistic", of=CLAMPED))
@audited
def test_residuals_that_are_not_clamped_are_refuted(name, monkeypatch, refuted):
    room, kernel = CLAMPED[name]
    true = getattr(room, kernel)
    monkeypatch.setattr(room, kernel, lambda *given: true(*given[:-2], 1 << 40, given[-1]))
    assert Released(name, monkeypatch).judged(refuted)


ADDED_UP = ["linear", "logistic", "logistic, three classes", "principal components"]


@pytest.mark.parametrize("name", some("linear", of=ADDED_UP))
@audited
def test_numbers_that_are_not_clamped_are_refuted(name, monkeypatch, refuted):
    def unclamped(column, cells, bits):
        return np.rint(np.asarray(cells, dtype=float) * 2.0**bits).astype(np.int64)

    monkeypatch.setattr(Number, "steps", unclamped)
    assert Released(name, monkeypatch, rows=(LOW, FAR)).judged(refuted)


BINNED = ["naive Bayes", "naive Bayes, pure", "additive", "additive regression"]


@pytest.mark.parametrize("name", some("naive Bayes", of=BINNED))
@audited
def test_cells_outside_of_the_bounds_without_a_code_are_refuted(name, monkeypatch, refuted):
    def unclamped(column, cells, bins):
        return np.floor((np.asarray(cells, dtype=float) + 1) / 2 * bins).astype(np.int64)

    assert not Released(name, monkeypatch, rows=(LOW, FAR)).judged(refuted)
    monkeypatch.setattr(Number, "codes", unclamped)
    assert Released(name, monkeypatch, rows=(LOW, FAR)).judged(refuted)


@pytest.mark.parametrize("name", some("naive Bayes", of=BINNED))
@audited
def test_cells_outside_of_the_domain_without_a_code_are_refuted(name, monkeypatch, refuted):
    def strict(column, cells, bins):
        return np.array([column.values.index(cell) for cell in cells.tolist()], dtype=np.int64)

    rows = (FEW, [*FEW, "b"])
    assert not Released(name, monkeypatch, rows=rows).judged(refuted)
    true = Category.codes
    monkeypatch.setattr(
        Category, "codes",
        lambda column, *given: (true if column.name == "classes" else strict)(column, *given),
    )  # fmt: skip
    assert Released(name, monkeypatch, rows=rows).judged(refuted)
