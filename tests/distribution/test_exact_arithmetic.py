"""The integer arithmetic under the samplers, against 150 digits of `decimal`."""

from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from random import Random

import numpy as np
import pytest

from sfumato.dp.noise import (
    Chance,
    exponential,
    fixed_point,
    insecure_seeded,
    kernels,
    preference,
    rational,
)
from sfumato.dp.noise.bins import BinWeights, _settle
from sfumato.dp.noise.chances import decide, flip
from sfumato.dp.noise.intervals import exp_bounds

_ = getcontext


def exact_exp(gamma):
    with localcontext() as context:
        context.prec = 150
        return (-(Decimal(gamma.numerator) / Decimal(gamma.denominator))).exp()


def test_exponentials_are_enclosed_within_two_units():
    random = Random(1)
    for _ in range(1500):
        top = random.randint(1, 10 ** random.randint(1, 30))
        gamma = Fraction(top, random.randint(1, 10 ** random.randint(1, 30)))
        bits = random.choice([1, 8, 64, 128, 300])
        low, high = exp_bounds(gamma, bits)
        assert 0 <= high - low <= 2
        if gamma < 10**5:
            with localcontext() as context:
                context.prec = 150
                assert low < exact_exp(gamma) * 2**bits < high
        else:
            assert (low, high) == (0, 1)
    assert exp_bounds(Fraction(0), 10) == (1024, 1024)


def test_compiled_exponential_stays_within_its_error():
    random = Random(2)
    gammas = [random.randrange(0, 63 << 58) for _ in range(2000)]
    gammas += [random.randrange(0, 1 << 58) for _ in range(2000)] + [0, 1, (63 << 58) - 1]
    gammas += [(1 << 42) - 1, (1 << 50) - 1, (1 << 58) - 1]
    out = np.empty(len(gammas), dtype=np.uint64)
    kernels.exp_words(np.array(gammas, dtype=np.uint64), kernels.EXP_TABLE, out)
    for gamma, value in zip(gammas, out.tolist(), strict=True):
        low, high = exp_bounds(Fraction(gamma, 1 << 58), 64)
        assert low - fixed_point.EXP_ERROR <= value <= high + kernels.EXP_ERROR


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        (rational(Fraction(1, 3)), Decimal(1) / 3),
        (rational(0), Decimal(0)),
        (rational(1), Decimal(1)),
        (exponential(Fraction(7, 5)), (Decimal(-7) / 5).exp()),
        (preference(Fraction(1)), 1 / (1 + Decimal(-1).exp())),
        (preference(Fraction(1, 2), 7), 1 / (1 + 7 * Decimal("-0.5").exp())),
        (preference(0, 3), Decimal("0.25")),
    ],
    ids=str,
)
def test_words_of_chances_are_exact_floors(chance, expected):
    with localcontext() as context:
        context.prec = 60
        assert chance.word == int(Decimal(expected) * 2**64)


def test_chances_next_to_0_and_1_have_words():
    assert preference(Fraction(2) ** 60).word == 2**64 - 1
    assert exponential(Fraction(2) ** 60).word == 0


def test_decisions_draw_more_bits_until_certain():
    third = rational(Fraction(1, 3))
    with insecure_seeded(3) as source:
        # The first 64 bits equal those of 1/3 = 0.0101…: then U < 1/3 with probability 1/3 again.
        yes = sum(decide(third, third.word, 64, source) for _ in range(6000))
    assert abs(yes - 2000) < 6 * (6000 * 2 / 9) ** 0.5
    with insecure_seeded(4) as source:
        assert flip(third, third.word - 1, source)
        assert not flip(third, third.word + 1, source)
        assert not any(decide(rational(Fraction(1, 2)), 1 << 63, 64, source) for _ in range(50))


def test_an_undecided_start_with_no_bits_gives_the_chance_itself():
    chance = exponential(Fraction(1, 2))
    with insecure_seeded(5) as source:
        yes = sum(decide(chance, 0, 0, source) for _ in range(6000))
    p = 0.6065306597126334
    assert abs(yes - 6000 * p) < 6 * (6000 * p * (1 - p)) ** 0.5


def test_a_wider_enclosure_changes_nothing():
    exact = exponential(Fraction(3, 7))
    loose = Chance("loose", lambda bits: (exact.bounds(bits)[0] - 5, exact.bounds(bits)[1] + 5))
    with insecure_seeded(6) as source:
        first = [decide(exact, word, 64, source) for word in (0, exact.word - 99, exact.word + 99)]
        second = [decide(loose, word, 64, source) for word in (0, exact.word - 99, exact.word + 99)]
    assert first == second == [True, True, False]


def test_plain_and_compiled_formulas_agree_bit_for_bit():
    random = Random(3)
    gammas = [random.randrange(0, 64 << 58) for _ in range(3000)] + [0, (64 << 58) - 1]
    out = np.empty(len(gammas), dtype=np.uint64)
    kernels.exp_words(np.array(gammas, dtype=np.uint64), kernels.EXP_TABLE, out)
    table = fixed_point.exp_table()
    assert [fixed_point.exp_word(gamma, table) for gamma in gammas] == out.tolist()
    weights = BinWeights(Fraction(12_345_678, 17), Fraction(8), 1)
    with insecure_seeded(8) as source:
        words, coins = source.uint64(3000), source.uint64(3000)
        bins = (source.uint64(3000) % 2100).astype(np.int64)
    many = _verdicts(weights, words, bins, coins, 3)
    few = [
        _verdicts(weights, words[i : i + 30], bins[i : i + 30], coins[i : i + 30], 3)
        for i in range(0, 3000, 30)
    ]
    assert np.array_equal(many, np.concatenate(few))
    assert set(many.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("offset", [0, 1])
def test_compiled_acceptance_agrees_with_exact_arithmetic(offset):
    power = 3
    weights = BinWeights(Fraction(12_345_678, 17), Fraction(2) ** power, offset)
    fine_bits = power if offset else 52
    with insecure_seeded(7) as source:
        words, bins = source.uint64(4000), (source.uint64(4000) % 1200).astype(np.int64)
        places = (words >> np.uint64(64 - fine_bits)).tolist()
        gammas = [
            weights.exponent(int(b), Fraction(place, 1 << fine_bits))
            for b, place in zip(bins, places, strict=True)
        ]
        bounds = [exp_bounds(gamma, 64)[0] for gamma in gammas]
        # Coins on both sides of the bound, as near as can be decided.
        near = np.array(
            [
                min(max(b + s * 20_000, 0), 2**64 - 1)
                for b, s in zip(bounds, [1, -1] * 2000, strict=True)
            ],
            dtype=np.uint64,
        )
        found = _verdicts(weights, words, bins, near, fine_bits)
        exact = [
            _settle(weights, int(b), place, fine_bits, int(coin), source)
            for b, place, coin in zip(bins, places, near, strict=True)
        ]
    decided = found != 2
    assert decided.mean() > 0.9
    assert np.array_equal(found[decided] == 1, np.array(exact)[decided])
    on_the_bound = _verdicts(
        weights,
        words,
        bins,
        np.array([min(b, 2**64 - 1) for b in bounds], dtype=np.uint64),
        fine_bits,
    )
    assert (on_the_bound == 2).all()


def _verdicts(weights, words, bins, coins, fine_bits):
    from sfumato.dp.noise.bins import Candidates, _decided

    return _decided(weights, Candidates(bins, words, fine_bits), words, coins)


def test_bins_beyond_the_compiled_range_are_left_to_exact_arithmetic():
    weights = BinWeights(Fraction(10**6), Fraction(16), 0)
    bins = np.full(100, 2048, dtype=np.int64)
    words = np.zeros(100, dtype=np.uint64)
    assert (_verdicts(weights, words, bins, words, 52) == 2).all()
