"""The risk of weighted records against sums of the model's own probabilities, in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import ParameterError


def by_definition(f, p):
    """Sum P(F = j) / j until what is left is below 1e-13."""
    term = p**f  # P(F = f), in fractions; then P(F = j + 1) = P(F = j)·q·j / (j − f + 1)
    j, total, seen = f, Fraction(0), Fraction(0)
    probability = Fraction(term)
    while 1 - seen > Fraction(1, 10**13):
        total += probability / j
        seen += probability
        probability = (probability * (1 - p) * j / (j - f + 1)).limit_denominator(10**120)
        j += 1
    return float(total)


@pytest.mark.parametrize("f", [1, 2, 3, 7, 20, 50, 51, 60])
@pytest.mark.parametrize("p", [Fraction(1, 5), Fraction(2, 5), Fraction(1, 2), Fraction(9, 10)])
def test_equals_the_definition(f, p):
    found = sf.audit.individual_risk([f], [float(f / p)]).risks[0]
    assert found == pytest.approx(by_definition(f, p), rel=1e-9)


def test_closed_forms_and_the_approximation():
    p = 0.1
    one, two, large = sf.audit.individual_risk([1, 2, 400], [10, 20, 4000]).risks
    assert one == pytest.approx(p / 0.9 * math.log(10))
    assert two == pytest.approx(p / 0.9 - (p / 0.9) ** 2 * math.log(10))
    assert large == pytest.approx(p / (400 - 0.9), rel=1e-3)


def test_everybody_sampled_and_the_sums():
    found = sf.audit.individual_risk(np.array([1, 4]), np.array([1, 4]))
    assert found.risks.tolist() == [1.0, 0.25]
    assert (found.highest, found.expected, found.mean) == (1.0, 2.0, 0.4)


def test_more_people_mean_less_risk():
    risks = sf.audit.individual_risk([3] * 40, np.linspace(3, 3000, 40)).risks
    assert (np.diff(risks) < 0).all()


@pytest.mark.parametrize(
    ("sizes", "weights"), [([], []), ([1, 2], [3]), ([0], [1]), ([3], [2]), ([1], [math.nan])]
)
def test_slips_are_told(sizes, weights):
    with pytest.raises(ParameterError, match="class"):
        sf.audit.individual_risk(sizes, weights)
