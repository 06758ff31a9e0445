"""Exact selection: bounds on every weight, and the law also when most draws are refused."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from sfumato.dp.noise import insecure_seeded
from sfumato.dp.noise.choice import Choice, gamma_words
from sfumato.dp.noise.intervals import exp_bounds
from sfumato.errors import ParameterError
from sfumato.testing.mechanisms import FALSE_ALARM, chi_square


def counts(values):
    found, number = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), number.tolist(), strict=True))


def probabilities(scores, rate, multiples=None):
    multiples = multiples or [1] * len(scores)
    weights = [
        m * math.exp(float(rate) * float(s - max(scores)))
        for s, m in zip(scores, multiples, strict=True)
    ]
    return {i: w / sum(weights) for i, w in enumerate(weights)}


def random_scores(kind, random):
    if kind == "float":
        return np.array([random.uniform(-1, 1) * 10 ** random.randint(-300, 3) for _ in range(300)])
    if kind == "int":
        return np.array([random.randint(-(10**6), 10**6) for _ in range(300)])
    if kind == "extreme":
        return np.array([-(2**63), 2**63 - 1, 2**63 - 2, 2**63 - 40, 0])
    scores = np.empty(50, dtype=object)
    scores[:] = [2**90 - random.randint(0, 100) for _ in range(50)]
    return scores


@pytest.mark.parametrize("kind", ["float", "int", "extreme", "object"])
@pytest.mark.parametrize("rate", [Fraction(1, 10**5), Fraction(1, 3), Fraction(50)])
def test_words_enclose_every_exponent_and_tops_bound_every_weight(kind, rate):
    scores = random_scores(kind, Random(1))
    least, most = gamma_words(scores, rate)
    choice = Choice(scores, rate)
    best = max(Fraction(s) if isinstance(s, int) else Fraction(s.item()) for s in scores)
    for i, score in enumerate(scores):
        gamma = rate * (best - Fraction(score if isinstance(score, int) else score.item()))
        assert Fraction(int(least[i]), 1 << 58) <= gamma
        assert Fraction(int(most[i]), 1 << 58) >= min(gamma, 63)
        weight = 1 << choice._shift
        bits = 128
        assert weight * exp_bounds(gamma, bits)[1] <= int(choice._tops[i]) << bits


@pytest.mark.parametrize(
    ("scores", "rate", "multiples"),
    [
        ([27, 23, 9, 0], Fraction(1, 20), None),
        ([0.5, -1.25, 2.0, 1.75, 0.1], Fraction(3, 2), None),
        ([0, -1, -2, -3], Fraction(1, 2), [1, 10, 100, 1000]),
        ([5], Fraction(1), None),
        ([1e300, -1e300, 1e300], Fraction(1), None),
    ],
)
def test_draws_follow_the_weights(scores, rate, multiples):
    size = 60_000
    with insecure_seeded(1):
        sizes = None if multiples is None else np.array(multiples)
        drawn = Choice(np.array(scores), rate, sizes).draw(size)
    assert chi_square(probabilities(scores, rate, multiples), counts(drawn), size) > FALSE_ALARM


def test_refusals_do_not_change_the_law():
    """With tops far above the weights, most draws are refused and the rest must still be right."""
    scores = [3, 1, 0]
    choice = Choice(np.array(scores), Fraction(1, 2))
    choice._tops = choice._tops * np.array([2, 5, 9]) // 4 * 4
    choice._sums = np.cumsum(choice._tops)
    assert (choice._tops > 0).all()
    with insecure_seeded(2):
        drawn = choice.draw(20_000)
    assert chi_square(probabilities(scores, Fraction(1, 2)), counts(drawn), 20_000) > FALSE_ALARM


def test_too_many_points_and_absurd_rates_are_refused():
    with pytest.raises(ParameterError, match="coarser"):
        Choice(np.zeros(2), Fraction(1), np.array([2**60, 2**60]))
    with pytest.raises(ParameterError, match="scale the scores"):
        Choice(np.zeros(2), Fraction(2) ** 2000)
