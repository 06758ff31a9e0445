"""What one row moves, exactly: over all neighbours of small data sets, at every noisy sum of a fit.

Sums after the first depend on what was released before, so the neighbour is given the same releases
again: the sums must then differ by no more than was declared, whatever those releases were.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sfumato.dp import (
    PCA,
    AdditiveClassifier,
    AdditiveRegressor,
    LinearRegression,
    LogisticRegression,
    NaiveBayes,
    Unit,
)
from sfumato.dp.learn.budget import Budget

RNG = np.random.default_rng(5)
BOUNDS, DOMAIN = {"x": (-1, 1)}, {"c": ["a", "b"]}
EXTREME = [-1.0, 1.0, 0.3, np.nan, 7.0]


def rows_of(size):
    return {
        "x": RNG.choice(EXTREME, size),
        "c": RNG.choice(np.array(["a", "b", "other"]), size),
    }


def labels_of(size):
    return RNG.integers(0, 3, size)  # 2 is not declared for two classes


CASES = {
    "additive": (AdditiveClassifier(rounds=4, bounds=BOUNDS, domain=DOMAIN), labels_of),
    "additive, three classes": (
        AdditiveClassifier(rounds=3, bounds=BOUNDS, domain=DOMAIN, classes=[0, 1, 2]),
        labels_of,
    ),
    "additive regression": (
        AdditiveRegressor(rounds=4, bounds=BOUNDS, domain=DOMAIN, target=(0, 2)),
        labels_of,
    ),
    "logistic": (LogisticRegression(rounds=4, bounds=BOUNDS, domain=DOMAIN), labels_of),
    "logistic, three classes": (
        LogisticRegression(rounds=3, bounds=BOUNDS, domain=DOMAIN, classes=[0, 1, 2]),
        labels_of,
    ),
    "linear": (LinearRegression(bounds=BOUNDS, domain=DOMAIN, target=(0, 2)), labels_of),
    "naive Bayes": (NaiveBayes(bounds=BOUNDS, domain=DOMAIN), labels_of),
    "naive Bayes, Gaussian": (NaiveBayes(delta=1e-5, bounds=BOUNDS, domain=DOMAIN), labels_of),
}


class Recorder:
    """Stands for the noise: keeps exact sums, and releases what it is told, or made-up noise."""

    def __init__(self, monkeypatch, releases=None):
        self.sums, self.moved, self.shares, self.kinds = [], [], [], []
        self.releases, self.told = releases, []
        for kind in ("gaussian", "laplace"):
            monkeypatch.setattr(Budget, kind, self.stand_in(kind))

    def stand_in(self, kind):
        def noisy(budget, totals, moved, share=1):
            self.sums.append(np.array(totals))
            self.moved.append(int(moved))
            self.shares.append(Fraction(share))
            self.kinds.append(kind)
            place = len(self.told)
            scale = np.abs(totals).max() + 1
            fresh = totals + RNG.integers(-scale, scale + 1, totals.shape)
            self.told.append(fresh if self.releases is None else self.releases[place])
            return self.told[-1]

        return noisy


def without(rows, k):
    return {name: np.delete(column, k) for name, column in rows.items()}


@pytest.mark.parametrize("name", CASES)
def test_no_neighbour_moves_a_sum_by_more_than_is_declared(name, monkeypatch):
    estimator, labels = CASES[name]
    reached = 0.0
    for _ in range(6):
        rows, y = rows_of(5), labels(5)
        base = Recorder(monkeypatch)
        estimator.fit(rows, y)
        assert sum(base.shares) == 1
        for k in range(5):
            other = Recorder(monkeypatch, base.told)
            estimator.fit(without(rows, k), np.delete(y, k))
            for mine, theirs, moved, kind in zip(
                base.sums, other.sums, base.moved, base.kinds, strict=True
            ):
                change = (mine - theirs).astype(object)
                size = int((change**2).sum()) if kind == "gaussian" else int(abs(change).sum())
                assert size <= moved
                reached = max(reached, size / moved)
    assert reached > 0.5  # the bound is not idle: some row comes near it


def test_the_order_of_rows_changes_nothing(monkeypatch):
    for estimator, labels in CASES.values():
        rows, y = rows_of(40), labels(40)
        base = Recorder(monkeypatch)
        estimator.fit(rows, y)
        order = RNG.permutation(40)
        other = Recorder(monkeypatch, base.told)
        estimator.fit({name: column[order] for name, column in rows.items()}, y[order])
        assert all(map(np.array_equal, base.sums, other.sums))


def test_no_neighbour_moves_the_second_moments_of_pca_by_more_than_is_declared(monkeypatch):
    for _ in range(6):
        rows = RNG.choice([-1.0, 1.0, 0.3, 7.0, -40.0], (5, 3))
        base = Recorder(monkeypatch)
        PCA(bounds=(-1, 1)).fit(rows)
        assert sum(base.shares) == 1
        for k in range(5):
            other = Recorder(monkeypatch, base.told)
            PCA(bounds=(-1, 1)).fit(np.delete(rows, k, axis=0))
            for mine, theirs, moved in zip(base.sums, other.sums, base.moved, strict=True):
                assert int(((mine - theirs).astype(object) ** 2).sum()) <= moved


def test_second_moments_of_pca_keep_to_their_bound(monkeypatch):
    corners = np.array([[a, b] for a in (-1, 1) for b in (-1, 1)], dtype=float)
    base = Recorder(monkeypatch)
    PCA(bounds=(-1, 1)).fit(corners)
    for k in range(4):
        other = Recorder(monkeypatch, base.told)
        PCA(bounds=(-1, 1)).fit(np.delete(corners, k, axis=0))
        change = (base.sums[0] - other.sums[0]).astype(object)
        assert int((change**2).sum()) == base.moved[0]  # a corner reaches it exactly


def test_noise_grows_with_the_rows_a_person_may_have():
    plain = Budget.of(1, 1e-5)
    for neighbours, factor in (("bounded", 2), (Unit("who", rows=3), 3)):
        assert float(Budget.of(1, 1e-5, neighbours).variance(7)) == pytest.approx(
            factor**2 * float(plain.variance(7)), rel=1e-12
        )


def test_the_noise_of_all_parts_keeps_the_promise():
    """Recomposed by the accountant of Gaussian steps, which shares nothing with the budget."""
    from sfumato.dp import GDP, ApproxDP

    for epsilon in (0.1, 1, 10):
        budget = Budget.of(epsilon, 1e-5)
        shares = [Fraction(1, 10)] + [Fraction(9, 600)] * 60
        parts = [
            GDP(float((Fraction(5) / budget.variance(5, s)) ** Fraction(1, 2))) for s in shares
        ]
        assert parts[0].compose(*parts[1:]).to(ApproxDP, delta=1e-5).epsilon <= epsilon * (1 + 1e-6)
