"""The optimal mechanism: near the optimum without a spanner, and exactly what it promises."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.places.optimal import TOTAL, _solve, spanner

pytest.importorskip("scipy")


def grid(n, step=100.0):
    return np.stack(np.meshgrid(np.arange(n), np.arange(n)), -1).reshape(-1, 2) * step


@pytest.mark.parametrize("skewed", [False, True])
def test_it_is_within_two_and_a_half_per_cent_of_the_optimum(skewed):
    places = grid(5)
    prior = np.random.default_rng(1).dirichlet(np.ones(25)) if skewed else np.full(25, 1 / 25)
    made = sf.places.OptimalMechanism.solve(places, epsilon="0.01", prior=prior)
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    every = np.array([(u, v) for u in range(25) for v in range(u + 1, 25)])
    best = _solve(apart, prior, 0.01, every, 1.0)
    optimum = float((prior[:, None] * best * apart).sum())
    assert optimum - 1e-3 <= made.loss <= 1.025 * optimum


def test_what_is_sampled_keeps_the_promise_exactly():
    made = sf.places.OptimalMechanism.solve(grid(4), epsilon="0.02")
    assert (made.weights.sum(axis=1) == TOTAL).all()
    assert made.weights.min() > 0
    assert made.shown_epsilon <= 0.02
    # by brute force over every pair and report, in whole numbers and logarithms
    for x in range(16):
        for y in range(16):
            away = np.hypot(*(made.places[x] - made.places[y]))
            ratio = made.weights[x].astype(float) / made.weights[y].astype(float)
            assert ratio.max() <= np.exp(0.02 * away) * (1 + 1e-12)


def test_draws_follow_the_table():
    made = sf.places.OptimalMechanism.solve(grid(3), epsilon="0.01")
    drawn = np.bincount(made.draw(np.full(200_000, 4)), minlength=9) / 200_000
    np.testing.assert_allclose(drawn, made.table[4], atol=0.006)
    reports = made.release([[0.0, 1.0], [210.0, 190.0]])
    assert {tuple(row) for row in reports.tolist()} <= {tuple(row) for row in grid(3).tolist()}


def test_it_loses_less_than_noise_with_best_guesses():
    places = grid(5)
    made = sf.places.OptimalMechanism.solve(places, epsilon="0.01")
    mechanism = sf.places.PlanarLaplace(epsilon="0.01")
    truth = places[np.random.default_rng(0).integers(25, size=20_000)]
    guess = sf.places.remap(mechanism, places)(mechanism.release(truth))
    assert made.loss < np.hypot(*(guess - truth).T).mean()


def test_a_spanner_stretches_no_way_too_far():
    rng = np.random.default_rng(2)
    places = rng.uniform(0, 1, (30, 2))
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    edges = spanner(apart, 1.2)
    way = np.full((30, 30), np.inf)
    np.fill_diagonal(way, 0)
    way[edges[:, 0], edges[:, 1]] = way[edges[:, 1], edges[:, 0]] = apart[edges[:, 0], edges[:, 1]]
    for middle in range(30):
        way = np.minimum(way, way[:, [middle]] + way[[middle]])
    assert (way <= 1.2 * apart + 1e-9).all()
    assert len(edges) < 200


def test_bad_input_gets_a_sentence():
    solve = sf.places.OptimalMechanism.solve
    assert solve([[0, 0]], epsilon=1).loss == 0
    for places, options, message in (
        ([[0, 0], [0, 0]], {"epsilon": 1}, "the same"),
        ([[0, np.nan]], {"epsilon": 1}, "finite"),
        (grid(20), {"epsilon": 1}, "too many"),
        (grid(2), {"epsilon": 0}, "above 0"),
        (grid(2), {"epsilon": 1, "prior": [1, 2]}, "prior"),
    ):
        with pytest.raises(sf.errors.InputError, match=message):
            solve(places, **options)
