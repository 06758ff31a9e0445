"""Time tells nothing about the noise: no correlation between a batch's time and its size.

Rivals that sample one value at a time show correlations up to 0.47. Here the work per batch is
the same for every value, so the rank correlation of time and mean |noise| over batches is that of
chance: it stays within 4.5 standard errors 1/√batches, a false-alarm rate of 10⁻⁵, also on a
shared machine. Single draws, made without the compiler, are timed more often.
"""

import math
import time
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

from sfumato.dp import noise

ERRORS = 4.5


@pytest.mark.parametrize(
    "draw",
    [
        partial(noise.discrete_laplace, Fraction(10)),
        partial(noise.discrete_laplace, Fraction(10**6)),
        partial(noise.discrete_gaussian, Fraction(10**2)),
        partial(noise.discrete_gaussian, Fraction(10**12)),
        partial(noise.rounded_gaussian, Fraction(10**12)),
    ],
)
@pytest.mark.parametrize(("batch", "batches"), [(1, 2000), (64, 300), (2000, 300)])
def test_time_per_batch_is_not_correlated_with_the_noise(draw, batch, batches):
    draw(batch)
    times, sizes = [], []
    for _ in range(batches):
        start = time.perf_counter_ns()
        drawn = draw(batch)
        times.append(time.perf_counter_ns() - start)
        sizes.append(np.abs(drawn).mean())
    correlation = stats.spearmanr(times, sizes).statistic
    assert abs(correlation) < ERRORS / math.sqrt(batches)


def test_the_measure_would_see_a_value_dependent_sampler():
    """A sampler that flips one coin per unit of |noise| is found by the same measure."""

    def slow_geometric(count):
        out = np.zeros(count, dtype=np.int64)
        for i in range(count):
            while noise.stream().bytes(1)[0] < 230:
                out[i] += 1
        return out

    times, sizes = [], []
    for _ in range(300):
        start = time.perf_counter_ns()
        drawn = slow_geometric(20)
        times.append(time.perf_counter_ns() - start)
        sizes.append(np.abs(drawn).mean())
    assert stats.spearmanr(times, sizes).statistic > ERRORS / math.sqrt(300)
