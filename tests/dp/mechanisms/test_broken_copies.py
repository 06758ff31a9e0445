"""Deliberately broken copies: the kit catches every one of them.

Each copy claims what its original claims. If one of these tests fails, the audit has gone blind.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.noise.choice import Choice
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.testing import check_mechanism, epsilon_lower_bound, lowest_bits

PURE = sf.dp.PureDP(1.0)


@dataclass(frozen=True, kw_only=True)
class HalfScaleLaplace(sf.dp.Laplace):
    def steps(self, size):
        return super().steps(size) / 2


@dataclass(frozen=True, kw_only=True)
class HalfScaleGeometric(sf.dp.Geometric):
    def steps(self, size):
        return super().steps(size) / 2


@dataclass(frozen=True, kw_only=True)
class ForgetsTheDimension(sf.dp.Laplace):
    """Gives every one of d values the whole budget: the sensitivity of one instead of all."""

    def steps(self, size):
        return super().steps(size) / size


@dataclass(frozen=True, kw_only=True)
class DoubleZero(sf.dp.Geometric):
    """Draws a magnitude and a sign and forgets that zero has two signs."""

    def noise(self, size, count):
        drawn = super().noise(size, 4 * count)
        magnitude = np.where(drawn >= 0, drawn, -1 - drawn)[: size * count]
        sign = np.where(sf.dp.noise.bernoulli(Fraction(1, 2), size * count), 1, -1)
        return magnitude * sign


@dataclass(frozen=True, kw_only=True)
class HalfScaleGaussian(sf.dp.Gaussian):
    @property
    def variance(self):
        return super().variance / 4


@dataclass(frozen=True, kw_only=True)
class HalfScaleDiscreteGaussian(sf.dp.DiscreteGaussian):
    @property
    def variance(self):
        return super().variance / 4


@pytest.mark.parametrize(
    ("broken", "pair"),
    [
        (HalfScaleLaplace(sensitivity=1, epsilon=1), (0, 1)),
        (HalfScaleGeometric(sensitivity=1, epsilon=1), (0, 1)),
        (sf.dp.Laplace(sensitivity=1, epsilon=1), (0, 2)),
        (sf.dp.Geometric(sensitivity=1, epsilon=1), (0, 2)),
        (ForgetsTheDimension(sensitivity=4, epsilon=1, size=4), (np.zeros(4), np.ones(4))),
        (DoubleZero(sensitivity=1, epsilon=1), (0, 1)),
        (HalfScaleGaussian(sensitivity=1, epsilon=1, delta=1e-3), (0, 1)),
        (sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-3), (0, 2)),
        (HalfScaleDiscreteGaussian(sensitivity=1, epsilon=1, delta=1e-3), (0, 1)),
    ],
    ids=lambda x: type(x).__name__,
)
def test_wrong_noise_is_refuted(broken, pair):
    with pytest.raises(AssertionError, match="is refuted"):
        check_mechanism(broken, pair=pair)


class FloatLaplace:
    """Textbook Laplace noise: a logarithm of a uniform float."""

    guarantee = PURE

    def __init__(self):
        self.random = np.random.default_rng(1)

    def simulate(self, value, count):
        return value + self.random.laplace(0, 1, count)

    def release(self, value):
        return self.simulate(value, 1)[0]


class FloatGaussian(FloatLaplace):
    guarantee = sf.dp.ApproxDP(1.0, 1e-3)

    def simulate(self, value, count):
        return value + self.random.normal(0, 3.5, count)


@pytest.mark.parametrize(
    "broken", [FloatLaplace(), FloatGaussian()], ids=lambda x: type(x).__name__
)
def test_float_noise_falls_to_the_precision_attack_alone(broken):
    with pytest.raises(AssertionError, match="precision attack"):
        check_mechanism(broken, pair=(0.0, 1.0))


def off_a_grid(outputs, power=-53):
    """The share of outputs that are not multiples of 2^power."""
    return np.mean(lowest_bits(outputs) < power)


def test_the_attack_of_the_literature_on_textbook_noise_and_on_ours():
    for broken in (FloatLaplace(), FloatGaussian()):
        at_zero = off_a_grid(broken.simulate(0.0, 50_000))
        at_one = off_a_grid(broken.simulate(1.0, 50_000))
        assert at_zero > 0.05
        assert at_one == 0  # an event that happens at 0 and never at 1: ε is infinite
    for ours in (
        sf.dp.Laplace(sensitivity=1, epsilon=1),
        sf.dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-5),
    ):
        assert off_a_grid(ours.simulate(0.0, 50_000)) == 0
        assert off_a_grid(ours.simulate(1.0, 50_000)) == 0


@pytest.mark.parametrize("exponent", [-300, -40, -9, 0, 9, 40, 300])
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_lowest_bits_of_our_noise_say_nothing_at_any_scale(kind, exponent):
    delta = 10.0**exponent
    if kind == "laplace":
        mechanism = sf.dp.Laplace(sensitivity=delta, epsilon=0.5)
    else:
        mechanism = sf.dp.Gaussian(sensitivity=delta, epsilon=0.5, delta=1e-5)
    grid = mechanism.grid_for(1)
    with sf.dp.noise.insecure_seeded(3):
        first, second = mechanism.simulate(0.0, 50_000), mechanism.simulate(delta, 50_000)
    for outputs in (first, second):
        assert lowest_bits(outputs).min() >= grid.power  # always multiples of the grid
    assert epsilon_lower_bound(lowest_bits(first), lowest_bits(second)) < 0.05
    assert epsilon_lower_bound(first, second, delta=1e-5) <= 0.5


@dataclass(frozen=True, kw_only=True)
class HalfScaleExponential(sf.dp.Exponential):
    def picks(self, scores, count):
        return Choice(scores, 2 * self.rate).draw(count)


@dataclass(frozen=True, kw_only=True)
class HalfScaleNoisyMax(sf.dp.ReportNoisyMax):
    @property
    def steps(self):
        return super().steps / 2


@dataclass(frozen=True, kw_only=True)
class HalfScalePermuteAndFlip(sf.dp.PermuteAndFlip):
    @property
    def rate(self):
        return 2 * super().rate


@pytest.mark.parametrize("kind", [HalfScaleExponential, HalfScaleNoisyMax, HalfScalePermuteAndFlip])
def test_wrong_selections_are_refuted(kind):
    # One against one: the exponential mechanism meets its ε only with a rare favourite.
    samples = 20_000 if kind is HalfScalePermuteAndFlip else 200_000
    others = 1 if kind is not HalfScaleExponential else 30
    pair = ([0.0] + [4.0] * others, [1.0] + [3.0] * others)
    with pytest.raises(AssertionError, match="is refuted"):
        check_mechanism(kind(sensitivity=1, epsilon=1), pair=pair, samples=samples)


@dataclass(frozen=True, kw_only=True)
class NoNoiseOnAnswers(sf.dp.AboveThreshold):
    """Broken variant of the literature: only the threshold gets noise."""

    @property
    def steps(self):
        return super().steps[0], Fraction(1, 10**6)


@dataclass(frozen=True, kw_only=True)
class ForgetsThePositives(sf.dp.AboveThreshold):
    """Noise for one positive, but c of them are allowed."""

    @property
    def steps(self):
        first, each = super().steps
        return first, each / self.positives


class NeverStops(NoNoiseOnAnswers):
    """Noise on the threshold only, and no limit of positives."""

    def simulate(self, value, count):
        bar = self._bar() + discrete_laplace(self.steps[0], count)
        codes = np.ones(count, dtype=np.int64)
        for answer in self.grid.multiples(np.asarray(value, dtype=np.float64)):
            codes = 2 * codes + (int(answer) >= bar)
        return codes


class OneMorePositive(sf.dp.AboveThreshold):
    """Off by one and nothing else: the right noise for c positives, and c + 1 of them."""

    def simulate(self, value, count):
        bar = self._bar() + discrete_laplace(self.steps[0], count)
        codes, found = np.ones(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        for answer in self.grid.multiples(np.asarray(value, dtype=np.float64)):
            above = int(answer) + discrete_laplace(self.steps[1], count) >= bar
            going = found <= self.positives  # where < would be right
            codes = np.where(going, 2 * codes + above, codes)
            found += above & going
        return codes


# Ten negatives that rise and two positives that fall: no … no, yes, yes has a ratio of e^4.3 where
# noise for one positive promises e^3, in about 8 of 1000 runs.
OFF_BY_ONE = ([0] * 10 + [1] * 2, [1] * 10 + [0] * 2)


@pytest.mark.parametrize(
    ("broken", "pair"),
    [
        (NoNoiseOnAnswers(threshold=0, sensitivity=1, epsilon=1, positives=1), ([0, 1], [1, 0])),
        (NeverStops(threshold=0, sensitivity=1, epsilon=1), ([0, 1], [1, 0])),
        (
            ForgetsThePositives(threshold=0, sensitivity=1, epsilon=2, positives=5),
            ([-1] * 5 + [1] * 5, [0] * 10),
        ),
        (OneMorePositive(threshold=0.5, sensitivity=1, epsilon=3, positives=1), OFF_BY_ONE),
    ],
    ids=lambda x: type(x).__name__,
)
def test_wrong_sparse_vectors_are_refuted(broken, pair):
    with pytest.raises(AssertionError, match="is refuted"):
        check_mechanism(broken, pair=pair, samples=400_000)


def test_the_off_by_one_copy_is_refuted_for_that_reason_alone():
    parameters = {"threshold": 0.5, "sensitivity": 1, "epsilon": 3, "positives": 1}
    assert OneMorePositive(**parameters).steps == sf.dp.AboveThreshold(**parameters).steps
    check_mechanism(sf.dp.AboveThreshold(**parameters), pair=OFF_BY_ONE, samples=400_000)


class TooTruthful(sf.dp.RandomizedResponse):
    @property
    def keep(self):
        return sf.dp.noise.rational(Fraction(9, 10))


@dataclass(frozen=True, kw_only=True)
class HalfRankSensitivity(sf.dp.ExponentialQuantile):
    @property
    def rank_sensitivity(self):
        return super().rank_sensitivity / 2


class CheapRevenue(sf.dp.Pricing):
    """Takes the revenue of a buyer for 1 instead of the highest price."""

    @property
    def mechanism(self):
        return sf.dp.Exponential(sensitivity=1, epsilon=self.epsilon, monotone=True)


def test_other_broken_mechanisms_are_refuted():
    with pytest.raises(AssertionError, match="is refuted"):
        check_mechanism(CheapRevenue(prices=[1, 8], epsilon=1), pair=([1, 1], [1, 1, 8]))
    with pytest.raises(AssertionError, match="is refuted"):
        check_mechanism(TooTruthful(truth=0.5), pair=(True, False))
    quantile = HalfRankSensitivity(lower=0, upper=100, step=1, epsilon=1, neighbours="bounded")
    pair = (np.array([0, 0, 1, 1]), np.array([100, 0, 1, 1]))
    with pytest.raises(AssertionError, match="is refuted"):
        check_mechanism(quantile, pair=pair, samples=60_000)


class WideForLongValues(sf.dp.Geometric):
    """Right noise, but the true value decides the dtype of the release."""

    def release(self, value):
        released = super().release(value)
        return released.astype(object) if np.max(value) >= 2**62 else released


class NumberOrArray(sf.dp.Geometric):
    """Right noise, and a different class for an even value."""

    def release(self, value):
        released = super().release(value)
        return released if value % 2 else np.int64(released)


@pytest.mark.parametrize(
    ("broken", "pair"),
    [
        (WideForLongValues(sensitivity=1, epsilon=1), (np.array([2**62 - 1]), np.array([2**62]))),
        (WideForLongValues(sensitivity=1, epsilon=3), (np.array([2**62 - 1]), np.array([2**62]))),
        (NumberOrArray(sensitivity=1, epsilon=0.1), (0, 1)),
    ],
)
def test_types_that_tell_neighbours_apart_are_found(broken, pair):
    with pytest.raises(AssertionError, match="types of the outputs"):
        check_mechanism(broken, pair=pair, samples=20_000)
    right = sf.dp.Geometric(sensitivity=1, epsilon=broken.epsilon)
    # the error is not compared: such long numbers are no floats
    check_mechanism(right, pair=pair, samples=20_000, loss=lambda outputs, _: 0 * outputs)


class Understated(sf.dp.Geometric):
    """Right noise, wrong words: the stated error is half the true one."""

    @property
    def error(self):
        from sfumato.dp.mechanisms.laplace import laplace_error

        return laplace_error(self.steps(1) / 2, 1.0, 0.0, 1)


class Credulous(sf.dp.Geometric):
    """Accepts any ε."""

    def __post_init__(self):
        pass


def test_wrong_statements_probabilities_and_missing_refusals_are_found():
    with pytest.raises(AssertionError, match="mean error"):
        check_mechanism(Understated(sensitivity=1, epsilon=1), pair=(0, 1))
    with pytest.raises(AssertionError, match="must be refused"):
        check_mechanism(Credulous(sensitivity=1, epsilon=1), pair=(0, 1))
    right = sf.dp.Geometric(sensitivity=1, epsilon=1)
    with pytest.raises(AssertionError, match="stated probabilities"):
        check_mechanism(right, pair=(0, 1), pmf=lambda x: 0.46 * math.exp(-1.03 * abs(x)))
    with pytest.raises(AssertionError, match="probability 0"):
        check_mechanism(right, pair=(0, 1), pmf={0: 0.5, 1: 0.5})
