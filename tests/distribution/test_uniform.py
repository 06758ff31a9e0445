"""Uniform integers, coins and permutations, by χ² tests with false-alarm rate 10⁻⁶."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from sfumato.dp import noise
from sfumato.errors import ParameterError
from sfumato.testing.mechanisms import FALSE_ALARM, chi_square


def counts(values):
    found, number = np.unique(values, return_counts=True)
    return dict(zip(found.tolist(), number.tolist(), strict=True))


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 100, 1000])
def test_integers_below_a_bound_are_uniform(bound):
    size = 100_000
    with noise.insecure_seeded(1):
        drawn = noise.below(bound, size)
        few = np.concatenate([noise.below(bound, 20) for _ in range(1000)])
    wanted = dict.fromkeys(range(bound), 1 / bound)
    assert chi_square(wanted, counts(drawn), size) > FALSE_ALARM
    assert chi_square(wanted, counts(few), few.size) > FALSE_ALARM


def test_a_bound_that_halves_the_words_has_no_modulo_bias():
    bound = 2**62 + 2**61  # a quarter of all words must be refused
    with noise.insecure_seeded(2):
        drawn = noise.below(bound, 60_000)
    thirds = counts(drawn // 2**61)
    assert chi_square(dict.fromkeys(range(3), 1 / 3), thirds, drawn.size) > FALSE_ALARM


def test_each_bound_gets_its_own_draw():
    bounds = np.arange(1, 3001)
    with noise.insecure_seeded(3):
        drawn = noise.below(bounds)
    assert (drawn < bounds).all()
    assert (drawn >= 0).all()
    assert abs((drawn / bounds).mean() - 0.5) < 0.05


def test_long_bounds_are_uniform():
    bound = 3 * 2**100
    with noise.insecure_seeded(4):
        drawn = [noise.integer_below(bound) * 3 // bound for _ in range(6000)]
    assert chi_square(dict.fromkeys(range(3), 1 / 3), counts(drawn), 6000) > FALSE_ALARM


def test_bounds_below_one_are_refused():
    for bad in (0, -5):
        with pytest.raises(ParameterError):
            noise.below(bad, 10)
        with pytest.raises(ParameterError):
            noise.integer_below(bad)


CHANCES = [
    (Fraction(0), 0.0),
    (Fraction(1), 1.0),
    (Fraction(1, 2), 0.5),
    (Fraction(1, 3), 1 / 3),
    (Fraction(999, 1000), 0.999),
    (noise.exponential(Fraction(1, 4)), math.exp(-0.25)),
    (noise.preference(Fraction(1)), 1 / (1 + math.exp(-1))),
    (noise.preference(Fraction(2), 9), 1 / (1 + 9 * math.exp(-2))),
]


@pytest.mark.parametrize(("chance", "p"), CHANCES, ids=str)
def test_coins_come_up_as_often_as_stated(chance, p):
    size = 200_000
    with noise.insecure_seeded(5):
        plain = noise.bernoulli(chance, size)
        packed = noise.bernoulli_bits(chance, size)
    assert plain.dtype == np.bool_
    bits = np.unpackbits(packed.view(np.uint8), bitorder="little")
    assert not bits[size:].any()
    for heads in (int(plain.sum()), int(bits.sum())):
        assert abs(heads - size * p) <= 5 * math.sqrt(size * p * (1 - p))


def test_packed_coins_are_independent_between_lanes():
    with noise.insecure_seeded(6):
        bits = np.unpackbits(noise.bernoulli_bits(Fraction(1, 4), 640_000).view(np.uint8))
    neighbours = bits[:-1] & bits[1:]
    assert abs(neighbours.mean() - 1 / 16) < 5 * math.sqrt(1 / 16 / neighbours.size)


def test_lanes_that_agree_with_all_64_bits_are_settled():
    class Constant:
        secure = False

        def __init__(self):
            self.inner = noise.stream()

        def uint64(self, count):
            # Words that repeat the bits of 1/3 in every lane: 0.0101…
            pattern = np.array([0, ~np.uint64(0)] * 32, dtype=np.uint64)
            return np.tile(pattern, -(-count // 64))[:count]

        def bits(self, count):
            return self.inner.bits(count)

    third = noise.rational(Fraction(1, 3))
    packed = noise.bernoulli_bits(third, 64 * 40, source=Constant())
    heads = int(np.unpackbits(packed.view(np.uint8)).sum())
    # All 2560 lanes were undecided, and each is true with probability 1/3 from there on.
    assert abs(heads - 2560 / 3) < 6 * math.sqrt(2560 * 2 / 9)


def test_permutations_are_uniform():
    trials = 6000
    with noise.insecure_seeded(7):
        drawn = [tuple(noise.permutation(4).tolist()) for _ in range(trials)]
        large = noise.permutation(100_000)
    seen = {order: drawn.count(order) for order in permutations(range(4))}
    assert chi_square(dict.fromkeys(seen, 1 / 24), seen, trials) > FALSE_ALARM
    assert np.array_equal(np.sort(large), np.arange(100_000))
    assert noise.permutation(0).size == 0
