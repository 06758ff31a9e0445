"""Random numbers of the truth-breaking operations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.anonymize.tables.perturb.random_draws import (
    below,
    chosen,
    flat,
    laplace,
    normal,
    uniform,
)
from sfumato.data.tables.permutation import RandomWords


class Script:
    """Words written down beforehand."""

    def __init__(self, *words):
        self._words = list(words)

    def take(self, n):
        taken, self._words = self._words[:n], self._words[n:]
        return np.array(taken, dtype=np.uint64)


def test_integers_are_the_remainders_and_unfair_words_are_drawn_again():
    # 2^64 = 5 · 3689348814741910323 + 1, so below 5 the word 0 is the one too many.
    found = below(np.array([5, 5, 2**62]), Script(0, 12, 2**62 + 7, 0, 9))
    assert found.tolist() == [4, 2, 7]


def test_integers_are_uniform():
    bounds = np.tile(np.array([1, 2, 7, 10], dtype=np.int64), 20_000)
    found = below(bounds, RandomWords(3)).reshape(-1, 4)
    assert (found[:, 0] == 0).all()
    for c, bound in ((1, 2), (2, 7), (3, 10)):
        counts = np.bincount(found[:, c], minlength=bound)
        assert len(counts) == bound
        assert stats.chisquare(counts).pvalue > 1e-4


def test_a_subset_has_each_pair_equally_often():
    words = RandomWords(4)
    pairs = [frozenset(chosen(5, 2, words).tolist()) for _ in range(4_000)]
    counts = [pairs.count(frozenset({a, b})) for a in range(5) for b in range(a)]
    assert sum(counts) == 4_000
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (uniform, stats.uniform()),
        (normal, stats.norm()),
        (laplace, stats.laplace(scale=np.sqrt(0.5))),
        (flat, stats.uniform(loc=-np.sqrt(3), scale=2 * np.sqrt(3))),
    ],
)
def test_draws_follow_their_distribution(draw, distribution):
    values = draw(40_000, RandomWords(5))
    assert stats.kstest(values, distribution.cdf).pvalue > 1e-4


def test_the_stream_repeats_only_with_a_seed():
    assert (normal(8, RandomWords(1)) == normal(8, RandomWords(1))).all()
    assert not (normal(8, RandomWords()) == normal(8, RandomWords())).any()
