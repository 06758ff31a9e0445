"""Derived sensitivities of table queries against all small pairs of neighbours.

Every data set with few units and few values is listed, every neighbour of it is tried, and the
answers are computed here, independently of the package. The derived sensitivity must never be
below the largest difference found; where the small world contains a worst case, it must equal it.
"""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations_with_replacement, product

import pytest

from sfumato.dp import (
    Count,
    Counts,
    DistinctCount,
    GroupedSum,
    Histogram,
    Max,
    Mean,
    Median,
    Min,
    Neighbours,
    Quantile,
    Sum,
    Unit,
    Variance,
    VectorMean,
    VectorSum,
    sensitivity,
)


def worlds(records, units, most):
    """List all data sets: per unit None (absent) or a multiset of 1 to ``most`` records."""
    states = [None]
    for size in range(1, most + 1):
        states += list(combinations_with_replacement(records, size))
    return states, list(product(states, repeat=units))


def rows(world):
    return [record for unit in world if unit is not None for record in unit]


def neighbours_of(world, states, relation):
    for place, state in enumerate(world):
        for new in states:
            if new == state:
                continue
            unbounded = (state is None) != (new is None)
            bounded = state is not None and new is not None
            if (relation == "unbounded" and unbounded) or (relation == "bounded" and bounded):
                yield (*world[:place], new, *world[place + 1 :])


def largest(answer, records, *, units, most, relation, size=None):
    """Give the largest L1 and squared L2 distance of answers over all neighbouring pairs."""
    states, everything = worlds(records, units, most)
    memo = {}

    def cached(world):
        if world not in memo:
            value = answer(rows(world))
            memo[world] = value if isinstance(value, (list, tuple)) else (value,)
        return memo[world]

    l1 = l2 = F(0)
    for world in everything:
        if size is not None and len(rows(world)) != size:
            continue
        for other in neighbours_of(world, states, relation):
            if size is not None and len(rows(other)) != size:
                continue
            gaps = [F(a) - F(b) for a, b in zip(cached(world), cached(other), strict=True)]
            l1 = max(l1, sum(map(abs, gaps)))
            l2 = max(l2, sum(gap * gap for gap in gaps))
    return l1, l2


def check(query, answer, records, *, relation, most=1, units=3, size=None, tight=True):
    unit = "row" if most == 1 else Unit("user", rows=most)
    derived = sensitivity(query, Neighbours(relation, unit))
    l1, l2 = largest(answer, records, units=units, most=most, relation=relation, size=size)
    assert F(derived.l1) >= l1
    assert F(derived.l2) ** 2 >= l2
    if tight:
        assert derived.l1 == pytest.approx(float(l1), rel=1e-12)
        assert derived.l2 == pytest.approx(math.sqrt(l2), rel=1e-12)


BOTH = pytest.mark.parametrize("relation", ["unbounded", "bounded"])
MOST = pytest.mark.parametrize("most", [1, 2])


@BOTH
@MOST
def test_count(relation, most):
    check(Count(), sum, [0, 1], relation=relation, most=most)


@BOTH
@MOST
def test_distinct_count(relation, most):
    check(
        DistinctCount(), lambda d: len(set(d)), [1, 2, 3, 4], relation=relation, most=most, units=2
    )


@BOTH
def test_distinct_count_of_a_small_domain(relation):
    derived = sensitivity(DistinctCount(domain=2), Neighbours(relation, Unit("u", rows=5)))
    l1, _ = largest(lambda d: len(set(d)), [1, 2], units=2, most=3, relation=relation)
    assert F(derived.l1) >= l1
    assert derived.l1 == 2


@BOTH
@MOST
@pytest.mark.parametrize("bounds", [(0, 5), (-2, 3), (-4, -1), (1, 4)])
def test_sum(relation, most, bounds):
    low, high = bounds
    loose = relation == "bounded" and most > 1 and not low <= 0 <= high  # a unit has a record
    check(Sum(bounds), sum, [low, high], relation=relation, most=most, tight=not loose)


@BOTH
@MOST
@pytest.mark.parametrize("query", [Sum((3, 5), where="x"), Sum((3, 5), missing="skip")])
def test_sum_that_may_leave_rows_out(relation, most, query):
    check(
        query,
        lambda d: sum(x for x in d if x),
        [None, 3, 5],
        relation=relation,
        most=most,
        units=2,
    )


def mean(d, empty=0):
    return F(sum(d), len(d)) if d else F(empty)


@BOTH
@MOST
def test_mean_with_n_unknown(relation, most):
    check(Mean((0, 6)), mean, [0, 3, 6], relation=relation, most=most, units=2)


@MOST
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_mean_with_public_n(most, n):
    check(Mean((0, 6), n=n), mean, [0, 2, 6], relation="bounded", most=most, units=n, size=n)


def test_mean_of_filtered_rows_has_no_public_n():
    def answer(d):
        return mean([x for x in d if x is not None])

    check(Mean((0, 6), n=3, where="x"), answer, [None, 0, 6], relation="bounded", size=3)


def variance(ddof):
    def answer(d):
        if len(d) <= ddof or not d:
            return F(0)
        middle = F(sum(d), len(d))
        return sum((x - middle) ** 2 for x in d) / (len(d) - ddof)

    return answer


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@MOST
def test_variance_with_public_n(ddof, n, most):
    units = n if most == 1 else max(1, -(-n // 2) + 1)
    check(
        Variance((0, 4), n=n, ddof=ddof),
        variance(ddof),
        [0, 2, 4],
        relation="bounded",
        most=most,
        units=min(units, 4 if most == 1 else 3),
        size=n,
        tight=n < 5,
    )


@BOTH
@MOST
@pytest.mark.parametrize("ddof", [0, 1])
def test_variance_with_n_unknown(relation, most, ddof):
    check(Variance((0, 4), ddof=ddof), variance(ddof), [0, 4], relation=relation, most=most)


def rank(share):
    def answer(d):
        return sorted(d)[max(1, math.ceil(share * len(d))) - 1] if d else 0

    return answer


@BOTH
@MOST
@pytest.mark.parametrize(
    ("query", "share"),
    [
        (Min((0, 7)), F(0)),
        (Max((0, 7)), F(1)),
        (Median((0, 7)), F(1, 2)),
        (Quantile(0.9, (0, 7)), F(9, 10)),
    ],
)
def test_order_statistics(relation, most, query, share):
    check(query, rank(share), [0, 3, 7], relation=relation, most=most, units=2)


def bins(count):
    return lambda d: [sum(1 for x in d if x == b) for b in range(count)]


@BOTH
@MOST
def test_histogram(relation, most):
    check(Histogram(3), bins(3), [0, 1, 2, None], relation=relation, most=most, units=2)


@BOTH
def test_histogram_of_one_bin(relation):
    check(Histogram(1), bins(1), [0, None], relation=relation)


@BOTH
def test_histogram_with_limits_per_group(relation):
    """At most 5 rows, at most 2 per group, at most 3 groups: ⌊5/2⌋·2² + 1² = 9."""
    unit = Unit("u", rows=5, groups=3, rows_per_group=2)
    derived = sensitivity(Histogram(6), Neighbours(relation, unit))
    vectors = [v for v in product(range(3), repeat=4) if sum(v) <= 5 and sum(map(bool, v)) <= 3]
    vectors = [v + (0,) * 4 for v in vectors]  # room for a replacement elsewhere
    others = [(0,) * 8] if relation == "unbounded" else [v[4:] + v[:4] for v in vectors] + vectors
    l1 = max(sum(abs(a - b) for a, b in zip(v, w, strict=True)) for v in vectors for w in others)
    l2 = max(sum((a - b) ** 2 for a, b in zip(v, w, strict=True)) for v in vectors for w in others)
    assert derived.l1 == l1
    assert derived.l2 == pytest.approx(math.sqrt(l2), rel=1e-15)
    assert F(derived.l2) ** 2 >= l2


@BOTH
@MOST
@pytest.mark.parametrize("bounds", [(0, 3), (-2, 3), (-3, -1), (-3, 3)])
def test_bars_of_sums(relation, most, bounds):
    records = [(b, v) for b in range(2) for v in bounds] + [(9, 0)]

    def answer(d):
        return [sum(v for b, v in d if b == k) for k in range(2)]

    check(GroupedSum(2, bounds), answer, records, relation=relation, most=most, units=2)


@BOTH
def test_bars_of_sums_with_limits_per_group(relation):
    """One value per bar, two bars: the worst replacement flips both bars."""
    unit = Unit("u", groups=2, rows_per_group=1)
    derived = sensitivity(GroupedSum(3, (-2, 2)), Neighbours(relation, unit))
    values = (-2, 0, 2)
    vectors = [v for v in product(values, repeat=4) if sum(map(bool, v)) <= 2]
    others = [(0,) * 4] if relation == "unbounded" else vectors
    l1 = max(sum(abs(a - b) for a, b in zip(v, w, strict=True)) for v in vectors for w in others)
    l2 = max(sum((a - b) ** 2 for a, b in zip(v, w, strict=True)) for v in vectors for w in others)
    assert derived.l1 == l1
    assert F(derived.l2) ** 2 >= l2
    assert derived.l2 == pytest.approx(math.sqrt(l2), rel=1e-15)


@BOTH
@MOST
@pytest.mark.parametrize("q", [1, 2, 3])
def test_several_counts(relation, most, q):
    records = list(product([0, 1], repeat=q))

    def answer(d):
        return [sum(x[k] for x in d) for k in range(q)]

    check(Counts(q), answer, records, relation=relation, most=most, units=2 if q < 3 else 1)


CORNERS = [(0, 0), (3, 4), (-3, -4), (5, 0), (-5, 0), (4, -3)]


@BOTH
@MOST
def test_vector_sum_in_l2(relation, most):
    def answer(d):
        return [sum(x[0] for x in d), sum(x[1] for x in d)]

    derived = sensitivity(
        VectorSum(norm=5, dimension=2), Neighbours(relation, Unit("u", rows=most))
    )
    l1, l2 = largest(answer, CORNERS, units=1, most=most, relation=relation)
    assert derived.l2 == pytest.approx(math.sqrt(l2))
    assert F(derived.l2) ** 2 >= l2
    assert F(derived.l1) >= l1


@pytest.mark.parametrize("n", [1, 2, 3])
def test_vector_mean(n):
    def answer(d):
        return [F(sum(x[0] for x in d), n), F(sum(x[1] for x in d), n)]

    derived = sensitivity(VectorMean(norm=5, dimension=2, n=n), "bounded")
    l1, l2 = largest(answer, CORNERS, units=n, most=1, relation="bounded", size=n)
    assert derived.l2 == pytest.approx(math.sqrt(l2))
    assert F(derived.l2) ** 2 >= l2
    assert F(derived.l1) >= l1


@BOTH
@MOST
def test_vector_mean_with_n_unknown(relation, most):
    def answer(d):
        return [F(sum(x[k] for x in d), max(1, len(d))) for k in range(2)]

    derived = sensitivity(
        VectorMean(norm=5, dimension=2), Neighbours(relation, Unit("u", rows=most))
    )
    l1, l2 = largest(answer, CORNERS, units=2, most=most, relation=relation)
    assert F(derived.l2) ** 2 >= l2
    assert F(derived.l1) >= l1
