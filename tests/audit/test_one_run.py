"""One run of training refutes what leaks, and accuses nobody beyond its stated error."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import sfumato as sf
from sfumato.audit.one_run import chance, judge_guesses
from sfumato.errors import ParameterError

RNG = np.random.default_rng(11)
SIGMA = 3.73
"""Gaussian noise on a canary of size 1 that is (1, 1e-5)-private."""


def test_the_chance_of_right_guesses_is_that_of_coins():
    for right, guesses in ((0, 10), (7, 10), (10, 10), (130, 200)):
        for epsilon in (0.0, 0.5, 2.0):
            share = 1 / (1 + math.exp(-epsilon))
            exact = binom.sf(right - 1, guesses, share)
            assert chance(right, guesses, 200, epsilon, 0) == pytest.approx(exact, rel=1e-6)
            assert chance(right, guesses, 200, epsilon, 1e-5) >= exact


@pytest.mark.parametrize("runs", [200, pytest.param(1_000, marks=pytest.mark.soak)])
def test_right_training_is_accused_as_rarely_as_stated(runs):
    """The worst case: every canary answers by randomised response, which uses all of ε."""
    accused = 0
    for _ in range(runs):
        coins = RNG.random(400) < 0.5
        truthful = RNG.random(400) < math.e / (1 + math.e)
        values = np.where(truthful, coins, ~coins) + RNG.random(400) * 0.1
        accused += judge_guesses(values, coins, sf.PureDP(1), 1.0, 0.0).refuted
    assert accused <= 0.05 * runs + 3 * math.sqrt(runs * 0.05 * 0.95)  # 5 % are allowed


def test_noise_four_times_too_small_is_found():
    found = 0
    for _ in range(40):
        coins = RNG.random(2_000) < 0.5
        values = coins + RNG.normal(0, SIGMA / 4, 2_000)
        found += judge_guesses(values, coins, sf.ApproxDP(1, 1e-5), 1.0, 1e-5).refuted
    assert found >= 38
    coins = RNG.random(2_000) < 0.5
    right = judge_guesses(
        coins + RNG.normal(0, SIGMA, 2_000), coins, sf.ApproxDP(1, 1e-5), 1.0, 1e-5
    )
    assert not right.refuted
    assert right.epsilon < 1


def test_a_training_function_is_audited_by_training_once():
    calls = []

    def leaky(rows):
        calls.append(len(rows))
        return rows.sum(axis=0)

    rows, canaries = np.zeros((5, 300)), np.eye(300)
    verdict = sf.audit.training(
        leaky, rows, sf.PureDP(1), canaries=canaries, score=lambda total, each: each @ total
    )
    assert verdict.refuted
    assert verdict.epsilon > 2
    assert len(calls) == 1
    assert 5 + 90 < calls[0] < 5 + 210
    assert "refuted" in repr(verdict)


def test_features_with_labels_and_lists_are_joined():
    seen = {}

    def train(data):
        seen["shapes"] = [part.shape for part in data]

    rows, canaries = (np.zeros((4, 2)), np.zeros(4)), (np.ones((50, 2)), np.ones(50))
    verdict = sf.audit.training(
        train, rows, sf.ApproxDP(1, 1e-5), canaries=canaries, score=lambda _, each: np.zeros(50)
    )
    assert seen["shapes"][0][0] == seen["shapes"][1][0] > 4
    assert not verdict.refuted


def test_bad_input_is_refused():
    with pytest.raises(ParameterError, match="20 canaries"):
        sf.audit.training(len, [], sf.PureDP(1), canaries=[1, 2], score=lambda *_: [0, 0])
    with pytest.raises(ParameterError, match="PureDP or ApproxDP"):
        sf.audit.training(len, [], sf.ZCDP(1), canaries=[0] * 20, score=lambda *_: [0] * 20)
    with pytest.raises(ParameterError, match="every canary"):
        sf.audit.training(len, [], sf.PureDP(1), canaries=[0] * 20, score=lambda *_: [0])
