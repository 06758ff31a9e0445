"""The bounds that decide a claim, against exact enumeration and another library."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta

from sfumato.audit.claims import bounds


@pytest.mark.parametrize("alpha", [1e-2, 3e-4, 1e-7])
@pytest.mark.parametrize("n", [1, 2, 7, 30, 1000, 10**5, 10**7, 5 * 10**7])
def test_clopper_pearson_agrees_with_beta_quantiles_and_errs_outwards(n, alpha):
    for k in {0, 1, n // 1000, n // 10, n // 3, n // 2, n - 1, n}:
        low, high = bounds.lower(k, n, alpha), bounds.upper(k, n, alpha)
        right_low = beta.ppf(alpha, k, n - k + 1) if k else 0.0
        right_high = beta.ppf(1 - alpha, k + 1, n - k) if k < n else 1.0
        assert low == pytest.approx(right_low, rel=1e-8)
        assert high == pytest.approx(right_high, rel=1e-8)


def exact_tail(k, n, p):
    """Pr[Bin(n, p) ≥ k] in rational numbers."""
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))


@pytest.mark.parametrize("n", [1, 2, 5, 12, 40])
def test_the_lower_bound_is_on_the_safe_side_in_rational_arithmetic(n):
    for alpha in (0.006, 0.05, 1e-6):
        for k in range(1, n + 1):
            p = bounds.lower(k, n, alpha)
            assert exact_tail(k, n, Fraction(p)) <= Fraction(alpha)
            assert exact_tail(k, n, Fraction(p * (1 + 1e-9))) > Fraction(alpha) * Fraction(
                "0.999999"
            )
            q = bounds.upper(n - k, n, alpha)  # at most n − k successes
            assert exact_tail(k, n, 1 - Fraction(q)) <= Fraction(alpha) * Fraction("1.000001")


def test_the_tail_has_all_its_digits():
    for k, n, p in ((3, 10, 0.1), (60, 100, 0.5), (25, 30, 0.3), (30, 30, 0.9)):
        right = math.log(exact_tail(k, n, Fraction(p)))
        assert bounds.log_tail(k, n, p) == pytest.approx(right, rel=1e-13)
        right = math.log(1 - exact_tail(k, n, Fraction(0.95))) if k < n else 0.0
        if k / n < 0.95:
            assert bounds.log_lower_tail(k - 1, n, 0.95) == pytest.approx(right, rel=1e-11)


# What was seen has the same bound whatever the truth is.
ratio_bound, masses = cache(bounds.ratio_bound), cache(bounds.masses)


@pytest.mark.parametrize(
    ("p", "q"), [(0.5, 0.2), (0.9, 0.9), (0.3, 0.01), (0.05, 0.05), (0.7, 0.0), (1.0, 0.4)]
)
def test_the_ratio_bound_fails_no_more_often_than_allowed_by_enumeration(p, q):
    """Every outcome of 16 runs shared out by a coin, with its exact probability."""
    n, alpha, failing = 16, 0.1, 0.0
    truth = math.log(p / q) if q else math.inf
    for first in range(n + 1):
        share = math.comb(n, first) / 2**n
        for a in range(first + 1):
            for b in range(n - first + 1):
                if ratio_bound(a, b, alpha) > truth:
                    failing += share * binomial(a, first, p) * binomial(b, n - first, q)
    assert failing <= alpha


def binomial(k, n, p):
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def test_the_ratio_bound_needs_the_coin():
    """With the runs fixed in a lopsided way instead, the same bound would be wrong: it is proven
    for the coin alone."""
    n, p, q = 4000, 0.4, 0.4
    a, b = round(0.75 * n * p), round(0.25 * n * q)
    assert bounds.ratio_bound(a, b, 0.01) > math.log(p / q) + 0.5


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.2), (0.3, 0.0), (0.9, 0.6)])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_masses_hold_together_by_enumeration(p, q, delta):
    n, alpha, failing = 15, 0.1, 0.0
    for a in range(n + 1):
        for b in range(n + 1):
            found = masses(a, n, b, n, alpha)
            truth = math.log((p - delta) / q) if q else math.inf
            wrong_delta = found.delta(0.3) > max(0.0, p - math.exp(0.3) * q)
            if found.epsilon(delta) > truth or wrong_delta:
                failing += binomial(a, n, p) * binomial(b, n, q)
    assert failing <= alpha


def test_masses_speak_about_a_whole_region():
    found = bounds.Masses(low=0.5, high=0.1)
    assert found.epsilon(0.0) == pytest.approx(math.log(5))
    assert found.epsilon(0.2) == pytest.approx(math.log(3))
    assert found.epsilon(0.5) == 0.0
    assert found.delta(0.0) == pytest.approx(0.4)
    assert found.delta(math.log(5)) == pytest.approx(0.0, abs=1e-10)
    for epsilon in np.linspace(0, 1.5, 7):  # the two readings of one border agree
        assert found.epsilon(found.delta(epsilon)) == pytest.approx(epsilon, abs=1e-9)
    assert bounds.Masses(low=0.5, high=0.0).epsilon(0.1) == math.inf
    assert bounds.Masses(low=0.5, high=1e-9).delta(1e6) == 0.0


def test_nothing_seen_shows_nothing():
    assert bounds.ratio_bound(0, 0, 0.01) == 0.0
    assert bounds.ratio_bound(0, 50, 0.01) == 0.0
    assert bounds.ratio_bound(50, 50, 0.01) == 0.0
    share = 0.01 ** (1 / 1000)  # never on the other side: a finite bound all the same
    assert bounds.ratio_bound(1000, 0, 0.01) == pytest.approx(math.log(share / (1 - share)))
