"""Numbers of arrays: exact noise, privacy by audit, bounds in one spelling."""

from __future__ import annotations

import math

import numpy as np
import pytest
from chance import audited
from scipy import stats

import sfumato as sf
from sfumato.dp.publish.arrays import _grid, _moments
from sfumato.dp.queries.bounds import read_interval
from sfumato.errors import ParameterError

VALUES = [1.0, 2.5, 4.0, 4.5]
DRAWS = 2000


def geometric_cdf(steps, scale):
    """P(noise <= steps) of the two-sided geometric distribution with ratio exp(-1/scale)."""
    ratio = math.exp(-1 / scale)
    below = ratio ** (-np.minimum(steps, 0)) / (1 + ratio)
    above = 1 - ratio ** (np.maximum(steps, 0) + 1) / (1 + ratio)
    return np.where(steps < 0, below, above)


@pytest.mark.parametrize(
    ("name", "neighbours", "exact", "scale"),
    [
        # the sum of values in [0, 5]: delta 5 for a row that comes or goes, and for one replaced
        ("sum", sf.dp.UNBOUNDED, 12.0, 5 / 0.5),
        ("sum", sf.dp.BOUNDED, 12.0, 5 / 0.5),
        ("sum", sf.Unit("user", rows=3), 12.0, 15 / 0.5),
        # a mean of four public rows: the noise of a centred sum of delta 5, divided by four
        ("mean", sf.dp.BOUNDED, 3.0, 5 / 0.5 / 4),
    ],
)
def test_the_noise_is_the_exact_distribution(name, neighbours, exact, scale):
    release = getattr(sf.dp, name)
    found = np.array(
        [release(VALUES, bounds=(0, 5), epsilon=0.5, neighbours=neighbours) for _ in range(DRAWS)]
    )
    step = float(_grid(*read_interval((0, 5))).step)
    noise = (found - exact) / step
    if name == "mean":  # clamped to the bounds: compare inside them
        inside = (found > 0) & (found < 5)
        low, high = ((end - exact) / scale for end in (0, 5))
        left, right = stats.laplace.cdf([low, high])
        share = stats.binomtest(int(inside.sum()), DRAWS, right - left)
        assert share.pvalue > 1e-6
        uniform = (stats.laplace.cdf((found[inside] - exact) / scale) - left) / (right - left)
    else:
        assert np.allclose(noise, np.rint(noise))
        uniform = geometric_cdf(np.rint(noise), scale / step)
    assert stats.kstest(uniform, "uniform").pvalue > 1e-6


def test_a_count_has_geometric_noise():
    found = np.array([sf.dp.count([True, False, True], epsilon=1) for _ in range(DRAWS)]) - 2
    ratio = math.exp(-1)
    for value in (-1, 0, 1):
        expected = (1 - ratio) / (1 + ratio) * ratio ** abs(value)
        assert stats.binomtest(int((found == value).sum()), DRAWS, expected).pvalue > 1e-6


# One row more, which moves what is released by as much as a row can.
WORST = {
    **dict.fromkeys(("sum", "mean", "var", "std"), ([5.0, 0.0, 0.0], [0.0, 0.0])),
    "min": ([1.0], []),
    "max": ([4.0], []),
    "median": ([2.5, 0.0], [2.5]),
}


@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize("times", [1, 10])
@audited
def test_an_audit_refutes_ten_times_the_claim_and_not_the_claim(name, times, refuted):
    def ask(data):
        return getattr(sf.dp, name)(data, bounds=(0, 5), epsilon=times)

    assert refuted(ask, sf.PureDP(1.0), [WORST[name]]) == (times > 1)


@audited
def test_the_same_audit_refutes_half_the_noise(refuted):
    """Where a person has two rows, and the unit was said to be the row, ε is twice the claim."""

    def ask(data):
        return sf.dp.sum(data, bounds=(0, 5), epsilon=1.5)

    assert refuted(ask, sf.PureDP(1.5), [([5.0, 5.0, 0.0], [0.0])])


def test_with_much_budget_they_are_the_numbers_of_numpy():
    values = np.random.default_rng(0).uniform(0, 10, 5000)
    given = {"bounds": (0, 10), "epsilon": 10_000}
    for name in ("sum", "mean", "var", "std", "min", "max", "median"):
        expected = getattr(np, name)(values)
        found = getattr(sf.dp, name)(values, **given)
        assert found == pytest.approx(expected, rel=2e-3, abs=2e-2), name
    assert sf.dp.var(values, ddof=1, **given) == pytest.approx(np.var(values, ddof=1), rel=2e-3)
    assert sf.dp.count(values, epsilon=10_000) == 5000


def test_whatever_the_values_are_the_result_is_possible():
    wild = [math.inf, -math.inf, math.nan, 1e300, -1e300, None]
    for data in (wild, [], [3.0]):
        for _ in range(20):
            assert 0 <= sf.dp.mean(data, bounds=(0, 5), epsilon=0.1) <= 5
            assert 0 <= sf.dp.var(data, bounds=(0, 5), epsilon=0.1) <= 6.25
            assert 0 <= sf.dp.var(data, bounds=(0, 5), epsilon=0.1, ddof=1) <= 12.5


def test_bounds_have_one_spelling_and_older_ones_still_serve():
    pairs = {"bounds": (0, 10)}
    for given in (pairs, {"lower": 0, "upper": 10}):
        assert 0 <= sf.dp.median([1, 2, 3], epsilon=1, **given) <= 10
        assert len(sf.dp.quantiles([1, 2, 3], [0.2, 0.8], epsilon=1, **given)) == 2
    with pytest.raises(ParameterError, match="not both"):
        sf.dp.median([1], bounds=(0, 1), lower=0, epsilon=1)
    with pytest.raises(ParameterError, match=r"bounds=\(0, 100\)"):
        sf.dp.median([1], epsilon=1)
    for wrong in ((5, 0), (0, math.inf), "01", (1, 2, 3), 7, {"a": (0, 1)}):
        with pytest.raises(ParameterError):
            sf.dp.mean([1], bounds=wrong, epsilon=1)


def test_models_take_a_pair_per_column_too():
    X, y = np.random.default_rng(1).uniform(0, 1, (60, 2)), np.arange(60) % 2
    for bounds in ((0, 1), [(0, 1), (0, 2)], {0: (0, 1), 1: (0, 2)}):
        sf.dp.LogisticRegression(epsilon=1, bounds=bounds, classes=[0, 1]).fit(X, y)
    with pytest.raises(ParameterError, match="3 pairs, and there are 2 columns"):
        sf.dp.LogisticRegression(epsilon=1, bounds=[(0, 1)] * 3, classes=[0, 1]).fit(X, y)


def test_partitions_that_one_person_has_alone_stay_unnamed():
    keys = ["flu"] * 300 + ["rare"] * 300
    people = list(range(300)) + [7] * 300  # one person has every row of the second key
    found = sf.dp.select_partitions(keys, people=people, epsilon=1, delta=1e-6)
    assert found.items == ("flu",)
    assert isinstance(found.guarantee, sf.ApproxDP)
    assert "customer" in str(found.guarantee)


@pytest.mark.parametrize(
    ("neighbours", "public"),
    [
        ("bounded", True),
        (sf.dp.Neighbours("bounded", sf.dp.Unit("user", rows=1)), True),
        (sf.dp.Neighbours("bounded", sf.dp.Group("row", 3)), True),
        (sf.dp.Neighbours("bounded", sf.dp.Unit("user", rows=5)), False),
        (sf.dp.Neighbours("bounded", sf.dp.Group(sf.dp.Unit("user", rows=2), 2)), False),
        (sf.dp.Group("row", 3), False),
        ("unbounded", False),
    ],
)
def test_a_number_of_rows_that_neighbours_do_not_share_is_never_used_exactly(neighbours, public):
    bounds, values = read_interval((0, 1)), np.linspace(0, 1, 1000)
    rows = {
        _moments(values, bounds, 1, neighbours, squares=squares)[2]
        for squares in (False, True)
        for _ in range(20)
    }
    assert (rows == {1000}) == public
