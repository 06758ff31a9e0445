"""Estimates are unbiased, err as stated, merge exactly, and say so when they are repaired."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

import sfumato as sf
from sfumato import local
from sfumato.binomial import tail_limit
from sfumato.errors import ParameterError
from sfumato.local import consistency
from sfumato.local.protocols import hadamard, hashing
from sfumato.local.reports import Aggregate

Z = 5.0


def skewed(n, d):
    """Give values of which the first is frequent and the last is absent."""
    shares = 1 / (np.arange(d) + 2.0)
    shares[-1] = 0
    counts = np.floor(n * shares / shares.sum()).astype(int)
    counts[0] += n - counts.sum()
    return np.repeat(np.arange(d), counts), counts / n


@pytest.mark.parametrize(
    ("d", "epsilon"),
    [
        pytest.param(d, epsilon, marks=() if i % 3 == j else pytest.mark.soak)
        for i, d in enumerate((2, 5, 33, 300))
        for j, epsilon in enumerate((0.5, 1, 3))
    ],
)
def test_estimates_are_unbiased_and_err_as_stated(kind, d, epsilon, seeded):
    n, rounds = 2_000, 60
    protocol = kind(d, epsilon=epsilon)
    values, truth = skewed(n, d)
    found = np.array(
        [protocol.estimate(protocol.perturb(values)).frequencies for _ in range(rounds)]
    )
    stated = np.sqrt(protocol.variances(protocol.aggregate(protocol.perturb(values)), truth))
    z = (found.mean(axis=0) - truth) / (stated / math.sqrt(rounds))
    assert np.abs(z).max() < Z
    # The mean squared error over all values and rounds is that of the formula.
    error = ((found - truth) ** 2).mean()
    assert error == pytest.approx((stated**2).mean(), rel=6 / math.sqrt(rounds * min(d, 60) / 2))


@pytest.mark.parametrize("epsilon", [1])
def test_mean_squared_error_is_within_five_per_cent_of_theory(kind, epsilon, seeded):
    d, n = 1024, 4_000
    protocol = kind(d, epsilon=epsilon)
    values, truth = skewed(n, d)
    errors = [
        ((protocol.estimate(protocol.perturb(values)).frequencies - truth) ** 2).mean()
        for _ in range(12)
    ]
    assert np.mean(errors) == pytest.approx(protocol.variance(n, 1 / d), rel=0.05)


def test_variance_formulas_in_closed_form():
    n, grown = 1000, math.e
    assert sf.local.OUE(50, epsilon=1).variance(n) == pytest.approx(
        4 * grown / (n * (grown - 1) ** 2), rel=1e-6
    )
    half = math.exp(0.5)
    assert sf.local.SUE(50, epsilon=1).variance(n) == pytest.approx(
        half / (n * (half - 1) ** 2), rel=1e-6
    )
    assert sf.local.GRR(50, epsilon=1).variance(n) == pytest.approx(
        (48 + grown) / (n * (grown - 1) ** 2), rel=1e-6
    )
    assert sf.local.Hadamard(50, epsilon=0.2).variance(n, 0.25) == pytest.approx(
        (((math.exp(0.2) + 1) / (math.exp(0.2) - 1)) ** 2 - 0.25) / n, rel=1e-6
    )


def test_merging_sums_is_the_same_as_putting_reports_together(kind):
    protocol = kind(77, epsilon=1)
    values = np.arange(3_000) % 70
    whole = protocol.perturb(values)
    parts = [protocol.aggregate(batch) for batch in whole.batches(333)]
    merged = sum(parts)
    assert merged == protocol.aggregate(whole)
    assert merged.n == 3_000
    again = whole[:1000] + whole[1000:]
    assert protocol.aggregate(again) == merged
    assert (protocol.estimate(merged).frequencies == protocol.estimate(whole).frequencies).all()
    assert protocol.aggregate(sf.local.Reports.empty(protocol)).n == 0


@pytest.mark.parametrize("protocol", [
    sf.local.Hybrid((0, 5), epsilon=2), sf.local.Duchi(epsilon=1),
    sf.local.SquareWave((0, 5), epsilon=1, bins=20),
], ids=repr)  # fmt: skip
def test_numeric_sums_merge_too(protocol):
    whole = protocol.perturb(np.linspace(0, 5, 2_000))
    merged = sum(protocol.aggregate(batch) for batch in whole.batches(300))
    assert merged == protocol.aggregate(whole)


def test_counting_bits_and_hashes_agrees_with_plain_counting(seeded):
    olh = sf.local.OLH(150, epsilon=1)
    reports = olh.perturb(np.arange(1_500) % 150)
    seeds = reports.payload["seed"].tolist()
    cells = reports.payload["value"].tolist()
    plain = [
        sum((b + a * v) % hashing.PRIME * olh.g // hashing.PRIME == y
            for (b, a), y in zip(seeds, cells, strict=True))
        for v in range(150)
    ]  # fmt: skip
    assert olh.sums(reports).tolist() == plain
    chosen = [3, 149, 0]
    assert olh.support_of(reports, chosen).tolist() == [plain[v] for v in chosen]
    few = [reports[first : first + 100] for first in range(0, 1_500, 100)]
    assert sum(olh.sums(part) for part in few).tolist() == plain


def test_a_domain_of_2_to_the_48_is_decoded_by_candidates(seeded):
    olh = sf.local.OLH(range(2**48), epsilon=2)
    heavy, light = 281_474_976_710_655, 123_456_789_012
    values = np.array([heavy] * 6_000 + [light] * 2_000 + list(range(2_000)))
    reports = olh.perturb(values)
    estimate = olh.estimate(reports, candidates=[light, heavy, 5 * 10**13])
    z = (estimate.frequencies - [0.2, 0.6, 0]) / estimate.standard_error
    assert np.abs(z).max() < Z
    seeds, cells = reports.payload["seed"].tolist(), reports.payload["value"].tolist()
    low, high = heavy % 2**30, heavy >> 30
    hits = sum(
        (b + a * low + c * high) % hashing.PRIME * olh.g // hashing.PRIME == y
        for (b, a, c), y in zip(seeds, cells, strict=True)
    )
    assert olh.support_of(reports, [heavy]).tolist() == [hits]
    with pytest.raises(sf.errors.ParameterError, match="candidates"):
        olh.estimate(reports)
    with pytest.raises(sf.errors.DataError, match="sums"):
        olh.estimate(Aggregate(olh, 1, np.zeros(1)), candidates=[1])


def test_the_fast_transform_is_the_matrix(seeded):
    counts = np.arange(64).reshape(2, 32) ** 2
    signs = np.array([[(-1) ** (r & j).bit_count() for j in range(32)] for r in range(32)])
    assert (hadamard.walsh_hadamard(counts) == counts @ signs.T).all()


def test_support_of_projective_points_is_the_inner_product(seeded):
    protocol = sf.local.ProjectiveGeometry(100, epsilon=1.4)
    found = protocol.aggregate(protocol.perturb(np.arange(5_000) % 100))
    vectors = protocol._vectors(np.arange(protocol.outputs))
    flat = vectors[:100] @ vectors.T % protocol.space.prime == 0
    assert (protocol.support(found) == flat @ found.sums).all()


def test_intervals_hold_as_often_as_they_say(seeded):
    d, n, rounds = 8, 3_000, 400
    oue = sf.local.OUE(d, epsilon=1)
    values, truth = skewed(n, d)
    inside = together = 0
    for _ in range(rounds):
        estimate = oue.estimate(oue.perturb(values))
        low, high = estimate.interval(0.9).T
        inside += ((low <= truth) & (truth <= high)).sum()
        low, high = estimate.interval(0.9, together=True).T
        together += bool(((low <= truth) & (truth <= high)).all())
    assert inside / (rounds * d) == pytest.approx(0.9, abs=0.03)
    assert together / rounds >= 0.86
    half = 0.5 / n / float(oue.probabilities[0] - oue.probabilities[1])
    for side, ends in zip((-1, 1), estimate.interval(0.9, population=True).T, strict=True):
        for heard, f in zip(estimate.unbiased + side * half, ends, strict=True):
            if 0 < f < 1:
                z = abs(heard - f) / math.sqrt(oue.variance(n, f) + f * (1 - f) / n)
                assert z == pytest.approx(1.6448536, rel=1e-5)


SKEWED = [0.6, 0.2, 0.1, 0.05, 0.03, 0.02, 0, 0]


def misses(name, epsilon, n, rounds, draw):
    """Count the intervals of shares, or of a mean, that do not hold what was asked about."""
    missed = asked = 0
    for _ in range(rounds):
        if name in {"Duchi", "Piecewise", "Hybrid"}:
            values = draw.beta(0.5, 5, n)
            means = getattr(local, name)((0, 1), epsilon=epsilon)
            low, high = means.estimate(means.perturb(values)).interval()
            missed, asked = missed + (not low <= values.mean() <= high), asked + 1
            continue
        protocol = getattr(local, name)(8, epsilon=epsilon)
        values = draw.choice(8, size=n, p=SKEWED)
        low, high = protocol.estimate(protocol.perturb(values)).interval().T
        truth = np.bincount(values, minlength=8) / n
        missed, asked = missed + int(((truth < low) | (truth > high)).sum()), asked + 8
    return missed, asked


@pytest.mark.parametrize("value", [0.0, 0.05, 0.5])
@pytest.mark.parametrize(("name", "epsilon", "n"), [("Hybrid", 2, 1), ("Duchi", 1, 2)])
def test_few_reports_are_not_taken_for_normal(seeded, name, epsilon, n, value):
    """By the normal approximation, 10 in 100 of these intervals did not hold."""
    means = getattr(local, name)((0, 1), epsilon=epsilon)
    held = [means.estimate(means.perturb(np.full(n, value))).interval() for _ in range(300)]
    assert sum(not low <= value <= high for low, high in held) <= 5


NAMES = ("GRR", "OLH", "OUE", "SUE", "SubsetSelection", "Hadamard", "Duchi", "Piecewise")
FEW = [
    pytest.param(name, epsilon, n, marks=() if (i + j + k) % 2 else pytest.mark.soak)
    for i, name in enumerate(NAMES)
    for j, epsilon in enumerate((1, 6))
    for k, n in enumerate((1, 5, 20))
]


@pytest.mark.parametrize(("name", "epsilon", "n"), FEW)
def test_intervals_hold_for_few_reports(seeded, name, epsilon, n):
    """Seeded; 8 shares of a round depend on each other, so the band is that of fewer."""
    missed, asked = misses(name, epsilon, n, 60, np.random.default_rng(n))
    assert missed <= 0.05 * asked + 4 * math.sqrt(0.05 * asked)


@pytest.mark.soak
@pytest.mark.parametrize("n", [1, 2, 5, 20, 100, 1_000])
@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4, 6])
@pytest.mark.parametrize(
    "name",
    ["GRR", "OLH", "OUE", "SUE", "SubsetSelection", "Hadamard", "Duchi", "Piecewise", "Hybrid"],
)
def test_local_intervals_hold_as_stated(name, epsilon, n):
    """Rounds are independent, the shares of one are taken to be the same: a band of 5.6 deviations.

    A miss in 20 that is true is outside with probability below 10⁻⁷.
    """
    missed, asked = misses(name, epsilon, n, 2_000, np.random.default_rng(n))
    assert missed <= 0.05 * asked + 5.6 * math.sqrt(0.05 * 0.95 * asked * (asked / 2_000))


def test_clipping_and_renormalising_is_biased_and_ours_is_not(seeded):
    """Of 1,000 values one has half of the people: clipping shrinks it, the default does not."""
    d, n, rounds = 1_000, 5_000, 12
    oue = sf.local.OUE(d, epsilon=1)
    values = np.concatenate([np.zeros(n // 2, int), np.arange(n // 2) % (d - 1) + 1])
    ours, clipped = [], []
    for _ in range(rounds):
        estimate = oue.estimate(oue.perturb(values))
        assert not estimate.biased
        ours.append(estimate.frequency(0))
        positive = np.maximum(estimate.frequencies, 0)
        clipped.append(positive[0] / positive.sum())
    error = oue.error(n, 0.5) / math.sqrt(rounds)
    assert np.mean(ours) == pytest.approx(0.5, abs=Z * error)
    assert np.mean(clipped) < 0.25


def test_repairs_give_what_they_promise(seeded):
    rng = np.random.default_rng(3)
    for scale in (0.02, 0.3):
        raw = rng.normal(1 / 12, scale, 12)
        sub, near = consistency.norm_sub(raw), consistency.simplex(raw)
        for out in (sub, near):
            assert out.min() >= 0
            assert out.sum() == pytest.approx(1, abs=1e-12)
        assert sub[raw <= 0] == pytest.approx(0, abs=1e-15)
        kept = sub > 0
        assert np.ptp((sub - raw)[kept]) < 1e-12  # one common shift
        found = minimize(
            lambda x, raw=raw: ((x - raw) ** 2).sum(), np.full(12, 1 / 12), bounds=[(0, 1)] * 12,
            constraints={"type": "eq", "fun": lambda x: x.sum() - 1}, options={"ftol": 1e-14},
        )  # fmt: skip
        assert near == pytest.approx(found.x, abs=1e-4)
        assert ((near - raw) ** 2).sum() <= ((sub - raw) ** 2).sum() + 1e-12
    assert consistency.norm_sub(np.array([-0.1, -0.2])) == pytest.approx([0.5, 0.5])
    cut = consistency.base_cut(np.array([0.0212, 0.0214, 0.0]), np.full(3, 0.0213))
    assert cut.tolist() == [0.0, 0.0214, 0.0]


@pytest.mark.parametrize("how", ["norm-sub", "simplex", "base-cut"])
def test_repairs_are_labelled_and_keep_the_unbiased_estimate(how):
    grr = sf.local.GRR(6, epsilon=1)
    reports = grr.perturb([0] * 50 + [1] * 20)
    plain = grr.estimate(reports)
    repaired = grr.estimate(reports, consistency=how)
    assert plain.bias.startswith("unbiased")
    assert repaired.biased
    assert repaired.bias.startswith("biased")
    assert (repaired.unbiased == plain.frequencies).all()
    assert (repaired.interval() == plain.interval()).all()
    assert repaired.frequencies.min() >= 0
    assert (repaired.consistent("none").frequencies == plain.frequencies).all()
    with pytest.raises(sf.errors.ParameterError, match="norm-sub"):
        grr.estimate(reports, consistency="clip")


def test_estimates_read_well():
    grr = sf.local.GRR(["yes", "no", "maybe"], epsilon=3)
    estimate = grr.estimate(grr.perturb(["yes"] * 900 + ["no"] * 100))
    assert estimate.top(1)[0][0] == "yes"
    assert estimate.count("yes") == pytest.approx(1000 * estimate.frequency("yes"))
    text = str(estimate)
    assert "1,000 reports" in text
    assert "unbiased" in text
    assert len(estimate) == 3
    with pytest.raises(sf.errors.ParameterError, match="level"):
        estimate.interval(1.2)
    with pytest.raises(sf.errors.DataError, match="at least one report"):
        grr.estimate(sf.local.Reports.empty(grr))


@pytest.mark.parametrize(("d", "epsilon"), [(2, 20), (2, 1e-6), (3, 1e-4), (1000, 18), (9000, 2)])
def test_extreme_parameters_work_and_keep_the_promise(kind, d, epsilon):
    protocol = kind(d, epsilon=epsilon)
    reports = protocol.perturb(np.arange(300) % d)
    estimate = protocol.estimate(reports)
    assert np.isfinite(estimate.frequencies).all()
    assert np.isfinite(estimate.standard_error).all()
    assert 0.99 * epsilon < protocol.guarantee.epsilon <= epsilon
    assert len(protocol.perturb([])) == 0


@pytest.mark.parametrize("n", [1, 7, 150, 100_000, 10**8])
@pytest.mark.parametrize("p", [1e-6, 0.0025, 0.27, 0.5, 0.9])
@pytest.mark.parametrize("level", [0.6, 0.05, 1e-5, 1e-9])
def test_the_binomial_limit_is_the_least_number_that_chance_rarely_reaches(n, p, level):
    limit = tail_limit(n, p, level)
    assert binom.sf(limit - 1, n, p) <= level * (1 + 1e-5)
    assert binom.sf(limit - 2, n, p) > level * (1 - 1e-5)


@pytest.mark.parametrize("kind", [sf.local.OUE, sf.local.OLH, sf.local.SubsetSelection])
def test_base_cut_keeps_its_level_where_support_is_rare(kind, seeded):
    """Everybody has value 0; with large ε few reports support any other one."""
    protocol = kind(256, epsilon=6)
    reports = [protocol.perturb([0] * 500) for _ in range(40)]
    cut = [protocol.estimate(part, consistency="base-cut").frequencies for part in reports]
    assert all(found[0] > 0 for found in cut)
    assert sum((found[1:] > 0).any() for found in cut) <= binom.isf(1e-4, 40, 0.05)


def test_the_limit_of_absent_values_is_that_of_their_support():
    oue = sf.local.OUE(4, epsilon=2)
    found = oue.estimate(oue.perturb([0] * 50))
    p, q = map(float, oue.probabilities)
    first = int(binom.isf(0.05 / 4, 50, q)) + 1  # Pr[first or more] ≤ 0.05/4
    values = (np.array([first - 1, first]) / 50 - q) / (p - q)
    assert (values > found.absent_limit(0.05)[0]).tolist() == [False, True]
    with pytest.raises(ParameterError, match="alpha"):
        found.absent_limit(1.0)
