"""The nineteen mechanisms on which DP-Sniper (Bichsel, Steffen, Bogunovic and Vechev, S&P 2021) was tried.

Specimens under test, written from the papers they come from: numpy's noise, ε = 0.1 and the
parameters of that evaluation. ``MECHANISMS`` lists name, true ε, how the function is called, and
what DP-Sniper found in how many seconds where we were once weaker.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NEVER, ENDED = -1000.0, -2000.0
"""How sparse vectors that give numbers write "below" and "not asked any more"."""


class Mechanisms:
    """All of them, with one generator; each takes answers and the number n of outputs."""

    def __init__(self, seed, epsilon=0.1):
        self.rng = np.random.default_rng(seed)
        self.epsilon = epsilon

    def _laplace(self, scale, *shape):
        return self.rng.laplace(0, scale, shape)

    # -- numbers and histograms ------------------------------------------------------------

    def laplace(self, answers, n):
        return answers[0] + self._laplace(1 / self.epsilon, n)

    def truncated_geometric(self, answers, n, people=5):
        """GeoSample of Balcer and Vadhan: a count among so many people, by whole numbers."""
        k = math.ceil(math.log(2 / self.epsilon))
        base, count = 2**k, int(answers[0])
        total = (2 * base + 1) * (base + 1) ** (people - 1)
        up_to = [
            base ** (count - z) * (base + 1) ** (people - count + z)
            if z < count
            else total - base ** (z - count + 1) * (base + 1) ** (people - 1 - z + count)
            for z in range(people)
        ]
        drawn = self.rng.integers(1, total + 1, n)
        return np.searchsorted(np.array(up_to), drawn, side="left")

    def noisy_histogram(self, answers, n, scale=None):
        noise = self._laplace(scale or 1 / self.epsilon, n, len(answers))
        return np.asarray(answers) + noise

    def noisy_histogram_inverted(self, answers, n):
        return self.noisy_histogram(answers, n, self.epsilon)

    # -- noisy max: index with Laplace or exponential noise, then the value ------------------

    def _noisy(self, answers, n, *, exponential):
        draw = self.rng.exponential if exponential else lambda s, m: self.rng.laplace(0, s, m)
        return np.asarray(answers) + draw(2 / self.epsilon, (n, len(answers)))

    def noisy_max_1(self, answers, n):
        return self._noisy(answers, n, exponential=False).argmax(axis=1)

    def noisy_max_2(self, answers, n):
        return self._noisy(answers, n, exponential=True).argmax(axis=1)

    def noisy_max_3(self, answers, n):
        return self._noisy(answers, n, exponential=False).max(axis=1)

    def noisy_max_4(self, answers, n):
        return self._noisy(answers, n, exponential=True).max(axis=1)

    # -- sparse vectors, numbered as by Lyu, Su and Li (VLDB 2017) ---------------------------

    def _answered(self, noisy, bars, most):
        """Tell which answers are above the bar, and from where on nothing is asked any more."""
        above = noisy >= bars
        before = np.cumsum(above, axis=1) - above
        return above, before >= most

    def sparse_vector_1(self, answers, n, most=1, bar=0.5):
        bars = bar + self._laplace(2 / self.epsilon, n, 1)
        noisy = answers + self._laplace(4 * most / self.epsilon, n, len(answers))
        above, ended = self._answered(noisy, bars, most)
        return np.where(ended, -1, above)

    def sparse_vector_2(self, answers, n, most=1, bar=1.0):
        """A fresh bar after each positive answer."""
        told = np.empty((n, len(answers)), dtype=np.int64)
        bars, left = bar + self._laplace(2 * most / self.epsilon, n), np.full(n, most)
        for i, answer in enumerate(answers):
            above = answer + self._laplace(4 * most / self.epsilon, n) >= bars
            told[:, i] = np.where(left > 0, above, -1)
            left = left - above
            if most > 1:
                fresh = bar + self._laplace(2 * most / self.epsilon, n)
                bars = np.where(above, fresh, bars)
        return told

    def sparse_vector_3(self, answers, n, most=1, bar=1.0):
        bars = bar + self._laplace(2 / self.epsilon, n, 1)
        noisy = answers + self._laplace(2 * most / self.epsilon, n, len(answers))
        above, ended = self._answered(noisy, bars, most)
        return np.where(ended, ENDED, np.where(above, noisy, NEVER))

    def sparse_vector_4(self, answers, n, most=1, bar=1.0):
        bars = bar + self._laplace(4 / self.epsilon, n, 1)
        noisy = answers + self._laplace(4 / (3 * self.epsilon), n, len(answers))
        above, ended = self._answered(noisy, bars, most)
        return np.where(ended, -1, above)

    def sparse_vector_5(self, answers, n, bar=1.0):
        bars = bar + self._laplace(2 / self.epsilon, n, 1)
        return (np.asarray(answers) >= bars).astype(np.int64)

    def sparse_vector_6(self, answers, n, bar=1.0):
        bars = bar + self._laplace(2 / self.epsilon, n, 1)
        noisy = answers + self._laplace(2 / self.epsilon, n, len(answers))
        return (noisy >= bars).astype(np.int64)

    def numerical_sparse_vector(self, answers, n, most=2, bar=1.0):
        """Which answers are above the bar, with noise of their own (Wang et al., PLDI 2019)."""
        bars = bar + self._laplace(3 / self.epsilon, n, 1)
        noisy = answers + self._laplace(6 * most / self.epsilon, n, len(answers))
        above, ended = self._answered(noisy, bars, most)
        told = answers + self._laplace(3 * most / self.epsilon, n, len(answers))
        return np.where(ended, NEVER, np.where(above, told, 0.0))

    # -- several at once, sums, bits ----------------------------------------------------------

    def laplace_side_by_side(self, answers, n, times=20):
        return answers[0] + self._laplace(times / self.epsilon, n, times)

    def sparse_vectors_3_and_4(self, answers, n):
        parts = self.sparse_vector_3(answers, n, most=2), self.sparse_vector_4(answers, n, most=2)
        return np.concatenate(parts, axis=1)

    def sparse_vectors_and_laplace(self, answers, n, times=8):
        """Beside the two sparse vectors, eight Laplace answers that together spend ε."""
        both = self.sparse_vectors_3_and_4(answers, n)
        return np.concatenate([both, self.laplace_side_by_side(answers, n, times)], axis=1)

    def prefix_sum(self, answers, n):
        noisy = answers + self._laplace(1 / self.epsilon, n, len(answers))
        return np.cumsum(noisy, axis=1)

    def _bits(self, value, flip, size=20, hashes=4):
        """Chances of each bit of a filter, whose bits are the truth with 1 − flip, else a coin."""
        chances = np.full(size, flip / 2)
        chances[[(7 * (hashes * int(value) + i)) % size for i in range(hashes)]] += 1 - flip
        return chances

    def rappor(self, answers, n, flip=0.75, p=0.45, q=0.55):
        chances = p + (q - p) * self._bits(answers[0], flip)
        return (self.rng.random((n, chances.size)) < chances).astype(np.int8)

    def one_time_rappor(self, answers, n, flip=0.95):
        chances = self._bits(answers[0], flip)
        return (self.rng.random((n, chances.size)) < chances).astype(np.int8)


@dataclass(frozen=True)
class Case:
    """A mechanism with its true ε, and what DP-Sniper showed in how many seconds."""

    name: str
    epsilon: float
    size: int
    sniper: float | None = None
    seconds: float | None = None
    options: dict[str, Any] = field(default_factory=dict)


_ONE = {"pairs": [([1.0], [0.0]), ([1.0], [2.0])]}
_BINS = {"pairs": [([1] * 5, [0, 1, 1, 1, 1]), ([1] * 5, [2, 1, 1, 1, 1])]}

CASES = (
    Case("noisy_max_1", 0.1, 5, 0.085, 59),
    Case("noisy_max_2", 0.1, 5, 0.090, 56),
    Case("sparse_vector_1", 0.1, 10, 0.077, 118),
    Case("sparse_vector_2", 0.1, 10, 0.079, 148),
    Case("sparse_vector_3", math.inf, 10, 0.166, 150),
    Case("sparse_vector_4", 0.175, 10, 0.167, 123),
    Case("sparse_vectors_3_and_4", math.inf, 10, 0.260, 341),
    Case("sparse_vectors_and_laplace", math.inf, 10, 0.260, 341),
    Case("rappor", 0.4, 1, 0.292, 131, _ONE),
    Case("prefix_sum", 1.0, 10, 0.506, 92),
    Case("numerical_sparse_vector", 0.1, 10, 0.027, 142),
    Case("laplace_side_by_side", 0.1, 1, 0.029, 96),
    Case("laplace", 0.1, 1),
    Case("truncated_geometric", math.log(9 / 8), 1, options=_ONE),
    Case("noisy_histogram", 0.1, 5, options=_BINS),
    Case("noisy_histogram_inverted", 10.0, 5, options=_BINS),
    Case("noisy_max_3", math.inf, 5),
    Case("noisy_max_4", math.inf, 5),
    Case("sparse_vector_5", math.inf, 10),
    Case("sparse_vector_6", math.inf, 10),
    Case("one_time_rappor", 0.8, 1, options=_ONE),
)
