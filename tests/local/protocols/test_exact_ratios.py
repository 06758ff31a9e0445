"""No report is more than e^ε times likelier under one value than under another.

Distributions are exact fractions, so the ratios are computed over all pairs of inputs and all
reports, not sampled. The logarithm is taken with 50 decimals.
"""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.dp.rounding import stated
from sfumato.local.protocols import coins, hashing

EPSILONS = ["0.01", "0.5", "1", "3.3", "12"]
SEEDS = [
    (0, 0),
    (1, 0),
    (0, 1),
    (hashing.PRIME - 1, hashing.PRIME - 1),
    (77, hashing.PRIME // 2),
    (5, 123_456_789),
    (hashing.PRIME - 1, 3),
]


def cell_of(olh, seed, value):
    return (seed[0] + seed[1] * value) % hashing.PRIME * olh.g // hashing.PRIME


def logarithm(ratio: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def worst(tables):
    """Compute the largest ratio over all pairs of inputs and all reports."""
    assert all(sum(table.values()) == 1 for table in tables)
    ratios = []
    for report in tables[0]:
        chances = [table[report] for table in tables]
        low, high = min(chances), max(chances)
        assert low > 0 or high == 0, "a report tells for sure that a value is not the true one"
        if high:
            ratios.append(high / low)
    return max(ratios)


def check(protocol, tables, asked):
    ratio = worst(tables)
    claim = stated(protocol.guarantee.epsilon)
    exact = logarithm(ratio)
    assert Decimal(claim.numerator) / Decimal(claim.denominator) >= exact
    assert claim <= Fraction(asked)
    # The claim is tight: it is the ratio's own logarithm, and close to what was asked.
    assert float(claim) == pytest.approx(float(exact), rel=1e-12)
    assert float(claim) > 0.99 * float(Fraction(asked))
    return ratio


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("d", [2, 3, 5, 8])
def test_frequency_protocols(kind, d, epsilon):
    if kind is sf.local.OLH and epsilon == "12":
        epsilon = "6"  # at 12 there are 162,756 cells to list
    protocol = kind(range(d), epsilon=epsilon)
    if kind is sf.local.OLH:
        seed = next(s for s in SEEDS if len({cell_of(protocol, s, v) for v in range(d)}) > 1)
        tables = [protocol.distribution(v, seed=seed) for v in range(d)]
    else:
        tables = [protocol.distribution(v) for v in range(d)]
    assert check(protocol, tables, epsilon) == protocol.ratio


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "3.3", "6"])
def test_hashing_keeps_its_promise_under_every_seed_and_value(epsilon):
    olh = sf.local.OLH(range(6), epsilon=epsilon)
    for seed in SEEDS:
        tables = [olh.distribution(v, seed=seed) for v in range(6)]
        assert worst(tables) in {1, olh.ratio}
        for value, table in enumerate(tables):
            assert max(table, key=table.get) == cell_of(olh, seed, value)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_warner(epsilon):
    warner = sf.local.Warner(epsilon=epsilon)
    check(warner, [warner.distribution(v) for v in (False, True)], epsilon)


def test_warner_rounds_towards_less_loss():
    warner = sf.local.Warner(coin=0.7)
    assert Fraction(7, 10) - Fraction(1, 2**32) < warner.probabilities.p <= Fraction(7, 10)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("kind", [sf.local.Duchi, sf.local.Piecewise, sf.local.Hybrid])
def test_means(kind, epsilon):
    grid = {} if kind is sf.local.Duchi else {"grid": 40}
    protocol = kind((-1, 1), epsilon=epsilon, **grid)
    values = [-1, -0.987, -1 / 3, 0, 1e-9, 0.5, 0.99999, 1]
    assert check(protocol, [protocol.distribution(v) for v in values], epsilon) <= protocol.ratio


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_square_wave(epsilon):
    wave = sf.local.SquareWave((0, 1), epsilon=epsilon, bins=9)
    tables = [wave.distribution((v + 0.5) / 9) for v in range(9)]
    assert check(wave, tables, epsilon) == wave.ratio


def supported(protocol, report, value):
    """Say whether a report supports a value, by the definition of each protocol."""
    name = protocol.name
    if name == "GRR":
        return report == value
    if name in {"SUE", "OUE"}:
        return report[value] == 1
    if name == "SubsetSelection":
        return value in report
    if name == "Hadamard":
        block, row = value % protocol.blocks, value // protocol.blocks + 1
        here, column = divmod(report, protocol.width)
        return here == block and (row & column).bit_count() % 2 == 0
    raise AssertionError(name)


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
@pytest.mark.parametrize("name", ["GRR", "SUE", "OUE", "SubsetSelection", "Hadamard"])
def test_probabilities_of_support_follow_from_the_distribution(name, epsilon):
    protocol = getattr(sf.local, name)(range(7), epsilon=epsilon)
    for own in range(7):
        table = protocol.distribution(own)
        for value in range(7):
            hit = sum(p for report, p in table.items() if supported(protocol, report, value))
            if value == own:
                assert hit == protocol.probabilities.p
            elif name != "Hadamard" or value % protocol.blocks == own % protocol.blocks:
                assert hit == protocol.probabilities.q


def points(prime, length):
    """List the points of a projective space in the order of their numbers."""
    vectors = [v for v in itertools.product(range(prime), repeat=length) if any(v)]
    first = [v for v in vectors if next(x for x in v if x) == 1]
    return sorted(first)


@pytest.mark.parametrize(("d", "epsilon"), [(5, "0.4"), (13, "1"), (20, "2"), (31, "1.6")])
def test_projective_geometry_by_counting(d, epsilon):
    protocol = sf.local.ProjectiveGeometry(d, epsilon=epsilon)
    prime, length = protocol.space
    space = points(prime, length)
    assert len(space) == protocol.outputs
    flats = [
        {
            j
            for j, y in enumerate(space)
            if sum(a * b for a, b in zip(x, y, strict=True)) % prime == 0
        }
        for x in space[:d]
    ]
    for own in range(0, d, 3):
        table = protocol.distribution(own)
        for value in range(d):
            hit = sum(table[j] for j in flats[value])
            assert hit == (protocol.probabilities.p if value == own else protocol.probabilities.q)


def test_collisions_of_the_hash_family_are_exact_for_every_pair():
    """Count over the whole family, with a prime small enough to list."""
    prime = 31
    for g in (2, 3, 4, 7):
        small, larger = divmod(prime, g)
        wanted = Fraction(larger * (small + 1) ** 2 + (g - larger) * small**2, prime**2)
        for v, w in itertools.combinations(range(6), 2):
            same = sum(
                (b + a * v) % prime * g // prime == (b + a * w) % prime * g // prime
                for a in range(prime)
                for b in range(prime)
            )
            assert Fraction(same, prime**2) == wanted
    small, larger = divmod(hashing.PRIME, 4)
    assert hashing.collision(4) == Fraction(
        larger * (small + 1) ** 2 + (4 - larger) * small**2, hashing.PRIME**2
    )
    sizes = np.diff(hashing.edges(7))
    assert hashing.collision(7) == sum(Fraction(int(w), hashing.PRIME) ** 2 for w in sizes)


@pytest.mark.parametrize("value", ["0.3", "0.999", "1/3"])
def test_coins_round_as_they_say(value):
    exact = Fraction(value)
    down, up = coins.coin_down(exact), coins.coin_up(exact)
    assert exact - Fraction(1, 2**32) < down <= exact <= up < exact + Fraction(1, 2**32)
    assert (down * 2**32).denominator == 1
    assert (up * 2**32).denominator == 1
    assert coins.power_down(exact) < Fraction(float(np.exp(float(exact))) * (1 + 1e-14))
    # The logarithm is right to half a unit in its 50th digit.
    gap = Fraction(logarithm(coins.power_down(exact))) - exact
    assert -Fraction(1, 10**40) < gap < Fraction(1, 10**50)


def test_epsilon_beyond_the_coins_is_refused(kind):
    with pytest.raises(sf.errors.ParameterError, match="at most 20"):
        kind(4, epsilon=25)
    with pytest.raises(sf.errors.ParameterError, match="too small"):
        kind(range(5000), epsilon="1e-13")
    for bad in (0, -1, float("nan"), float("inf")):
        with pytest.raises(sf.errors.ParameterError):
            kind(4, epsilon=bad)
