"""Functions to be checked: right ones, and ones with every weakness the checker must see.

All are vectorised: ``f(data, n)`` gives n outputs. Noise that must not betray itself by its low
bits is rounded to a grid that is the same on all data sets, which is post-processing.
"""

from __future__ import annotations

import numpy as np

STEP = 2.0**-10


def on_grid(values):
    return np.rint(values / STEP) * STEP


class Specimens:
    """A family of functions that share one generator."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    # -- counts and sums ---------------------------------------------------------------

    def laplace_count(self, epsilon):
        return lambda data, n: on_grid(len(data) + self.rng.laplace(0, 1 / epsilon, n))

    def float_laplace_count(self, epsilon):
        return lambda data, n: len(data) + self.rng.laplace(0, 1 / epsilon, n)

    def laplace_sum(self, epsilon, sensitivity):
        return lambda data, n: on_grid(sum(data) + self.rng.laplace(0, sensitivity / epsilon, n))

    def geometric_count(self, epsilon):
        p = 1 - np.exp(-epsilon)
        return lambda data, n: len(data) + self.rng.geometric(p, n) - self.rng.geometric(p, n)

    def histogram(self, epsilon, sensitivity):
        def run(data, n):
            bins = np.bincount(np.asarray(data, dtype=np.int64), minlength=3)
            return on_grid(bins + self.rng.laplace(0, sensitivity / epsilon, (n, 3)))

        return run

    def noise_from_the_data(self, epsilon):
        """Scales the noise by the largest value present: the local sensitivity."""

        def run(data, n):
            return on_grid(sum(data) + max([*data, 0]) * self.rng.laplace(0, 1 / epsilon, n))

        return run

    def gaussian_count(self, sigma):
        return lambda data, n: on_grid(len(data) + self.rng.normal(0, sigma, n))

    def randomized_response(self, keep):
        def run(data, n):
            kept = self.rng.random(n) < keep
            return np.where(kept, data[0], 1 - data[0])

        return run

    # -- over answers of queries ---------------------------------------------------------

    def noisy_max(self, epsilon, *, value=False):
        def run(answers, n):
            noisy = np.asarray(answers) + self.rng.exponential(2 / epsilon, (n, len(answers)))
            return on_grid(noisy.max(axis=1)) if value else noisy.argmax(axis=1)

        return run

    def exponential_mechanism(self, epsilon):
        def run(answers, n):
            weights = np.exp(epsilon * np.asarray(answers) / 2)
            return self.rng.choice(len(answers), size=n, p=weights / weights.sum())

        return run

    def numeric_sparse(self, epsilon):
        """Which answer is first above 0.5, and that one with fresh noise: right, with gaps."""
        find = self.sparse_vector(1, epsilon / 2)

        def run(answers, n):
            told = find(answers, n)
            noisy = np.asarray(answers) + self.rng.laplace(0, 2 / epsilon, told.shape)
            return np.where(told == 1, on_grid(noisy), np.nan)

        return run

    def listed(self, epsilon):
        """The right sparse vector as lists of different lengths, one by one."""
        find = self.sparse_vector(1, epsilon)
        return lambda answers: [bool(x) for x in find(answers, 1)[0] if x >= 0]

    def sparse_vector(self, variant, epsilon, *, positives=1, threshold=0.5):
        """Algorithms 1 and 3 to 6 of Lyu, Su and Li (VLDB 2017); 1 is right, the others are not."""

        def run(answers, n):
            first = epsilon / 4 if variant == 4 else epsilon / 2
            rest = epsilon - first
            bar = threshold + self.rng.laplace(0, 1 / first, n)
            scale = {1: 2 * positives, 3: positives, 4: 1, 5: 0, 6: 1}[variant] / rest
            told = np.full((n, len(answers)), np.nan if variant == 3 else -1.0)
            left = np.full(n, positives if variant in {1, 3, 4} else len(answers) + 1)
            for i, answer in enumerate(answers):
                noisy = answer + (self.rng.laplace(0, scale, n) if scale else 0.0)
                above, open_ = noisy >= bar, left > 0
                if variant == 3:
                    told[:, i] = np.where(open_ & above, on_grid(noisy), np.nan)
                else:
                    told[:, i] = np.where(open_, above, -1.0)
                left = left - (above & open_)
            return told if variant == 3 else told.astype(np.int8)

        return run
