"""The alias table holds exactly the integers it claims, and the remainder fills the rest."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from sfumato.dp.noise import insecure_seeded
from sfumato.dp.noise.alias import build, cumulative
from sfumato.dp.noise.bins import BinWeights
from sfumato.dp.noise.laplace import _Powers, _SignedPowers
from sfumato.testing.mechanisms import FALSE_ALARM, chi_square


def signed(scale):
    return _SignedPowers(1 / Fraction(scale), 1 / Fraction(scale))


FAMILIES = [
    (_Powers(Fraction(1, 100), 256), 256),
    (_Powers(Fraction(1, 10**9), 1024), 1024),
    (signed(3), 1023),
    (signed(Fraction(1, 50)), 1023),
    (BinWeights(Fraction(9), Fraction(1), 1), 2047),
    (BinWeights(Fraction(1, 7), Fraction(1, 128), 0), 2047),
]


def gamma(weights, o):
    if isinstance(weights, _Powers):
        return weights.gamma * o
    if isinstance(weights, _SignedPowers):
        return weights.high * (o >> 1) + weights.low * (o & 1)
    start = (o >> 1) * weights.width + (o & 1) * weights.offset
    return start**2 / (2 * weights.variance)


def exact_probabilities(weights, count):
    with localcontext() as context:
        context.prec = 80
        size = weights.size or 60_000
        values, total = [], Decimal(0)
        for o in range(size):
            g = gamma(weights, o)
            value = (-(Decimal(g.numerator) / Decimal(g.denominator))).exp()
            total += value
            values.append(value)
            if value < Decimal(10) ** -60 and weights.size is None and o & 1:
                break
        return [value / total for value in values[:count]]


@pytest.mark.parametrize(("weights", "most"), FAMILIES, ids=lambda x: type(x).__name__)
def test_shares_are_lower_bounds_and_cells_add_up_to_them(weights, most):
    table = build(weights, most=most)
    room = 1 << (64 - table.level)
    words = [0] * len(table.cells.tolist())
    for cell, entry in enumerate(table.cells.tolist()):
        cut, alias = divmod(entry, 1 << table.level)
        words[cell] += cut
        words[alias] += room - cut
    shares = [*table.shares, *[0] * (len(words) - 1 - len(table.shares))]
    assert words[:-1] == shares
    assert sum(words) == 1 << 64
    exact = exact_probabilities(weights, len(table.shares))
    with localcontext() as context:
        context.prec = 80
        for share, p in zip(table.shares, exact, strict=False):
            assert 0 <= p * 2**64 - share < 2
    assert words[-1] <= 2 * len(table.shares)


@pytest.mark.parametrize(("weights", "most"), FAMILIES, ids=lambda x: type(x).__name__)
def test_weights_and_cumulative_bounds_enclose_the_truth(weights, most):
    exact = exact_probabilities(weights, 200)
    low, high = cumulative(weights, 128)
    with localcontext() as context:
        context.prec = 80
        running = Decimal(0)
        for o, p in enumerate(exact):
            running += p
            # The 80 digits of the oracle are themselves rounded.
            assert low[o] - 1 <= running * 2**128 <= high[o] + 1
            assert high[o] - low[o] < 2**24
        for o, (least, most_) in enumerate(islice(weights.bounds(100), len(exact))):
            g = gamma(weights, o)
            value = (-(Decimal(g.numerator) / Decimal(g.denominator))).exp() * 2**100
            assert least - 1 <= value <= most_ + 1


@pytest.mark.parametrize(
    "weights",
    [signed(2), _Powers(Fraction(1, 5), 16), BinWeights(Fraction(4), Fraction(1), 1)],
    ids=lambda x: type(x).__name__,
)
@pytest.mark.parametrize("part", [Fraction(0), Fraction(1, 2), Fraction(9, 10)])
def test_the_remainder_completes_any_shares(weights, part):
    """With smaller shares the remainder is drawn often, and the sum must still be exact."""
    table = build(weights, most=1023)
    shares = tuple(int(share * part) for share in table.shares)
    draws = 600
    with insecure_seeded(11) as source:
        cheated = replace(table, shares=shares)
        kept = [cheated.settle(source) for _ in range(draws)]
    exact = exact_probabilities(weights, len(shares))
    rest = 1 - sum(Fraction(share, 2**64) for share in shares)
    wanted = {
        o: float((p - Decimal(share) / 2**64) / (Decimal(rest.numerator) / rest.denominator))
        for o, (p, share) in enumerate(zip(exact, shares, strict=False))
    }
    values, counts = np.unique(kept, return_counts=True)
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert chi_square(wanted, seen, draws) > FALSE_ALARM


def test_few_and_many_draws_read_the_same_table():
    table = build(signed(10), most=1023)
    with insecure_seeded(12) as source:
        words = source.uint64(5000)
        many = table.pick(words, source)
        few = np.concatenate([table.pick(words[i : i + 25], source) for i in range(0, 5000, 25)])
    assert np.array_equal(many, few)


def test_a_word_of_the_remainder_is_settled():
    table = build(signed(1), most=1023)
    cells = table.cells.tolist()
    last, room = len(cells) - 1, 1 << (64 - table.level)
    others = [c for c, e in enumerate(cells) if e % (1 << table.level) == last and c != last]
    cell = others[0] if others else last
    cut = cells[cell] >> table.level if cell != last else 0
    word = np.uint64(cell * room + cut)
    with insecure_seeded(13) as source:
        many = table.pick(np.full(64, word, dtype=np.uint64), source)
        few = table.pick(np.full(8, word, dtype=np.uint64), source)
    for outcomes in (many, few):
        assert (outcomes != last).all()
        assert (outcomes >= 0).all()


def test_a_table_that_is_too_small_is_an_error():
    with pytest.raises(ArithmeticError, match="do not fit"):
        build(signed(1000), most=1023)
