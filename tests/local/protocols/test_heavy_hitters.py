"""Heavy hitters among 2⁴⁸ values: found, unbiased, and within the promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from chance import rounds
from scipy.stats import binom, chi2, norm

from sfumato.dp.noise import insecure_seeded
from sfumato.errors import DataError, ParameterError
from sfumato.local.protocols.heavy_hitters import HeavyHitters, number_text, text_number

UNLIKELY = 1e-6


def test_frequent_texts_are_found_and_nothing_else():
    shares = {"coffee": 0.2, "tea": 0.15, "mate": 0.1}
    n = 60_000
    hitters = HeavyHitters(epsilon=4, bits=48, width=16)
    rng = np.random.default_rng(4)
    numbers = rng.integers(0, 1 << 48, size=n)
    place = 0
    for text, share in shares.items():
        numbers[place : place + int(share * n)] = text_number(text, 48)
        place += int(share * n)
    with insecure_seeded(8):
        reports = hitters.perturb(numbers)
    found = hitters.find(reports, texts=True)
    assert found.values == tuple(shares)
    assert found.n == n
    errors = np.abs(found.frequencies - list(shares.values())) / found.standard_error
    assert errors.max() < norm.isf(UNLIKELY)
    assert hitters.find(reports).values == tuple(text_number(text, 48) for text in shares)


@rounds(80, 200)
def test_estimates_have_the_standard_error_they_state(rounds):
    """The whole path, repeated: unbiased, and spread as stated, sampling of groups included."""
    hitters = HeavyHitters(epsilon=5, bits=8, start=4, step=4, width=4)
    values = np.array([200] * 1_200 + [17] * 800)
    estimates, errors = [], []
    for _ in range(rounds):
        found = hitters.find(hitters.perturb(values))
        estimates.append([found.frequency(200), found.frequency(17)])
        errors.append([found.standard_error[found.values.index(v)] for v in (200, 17)])
    spread = np.std(estimates, axis=0, ddof=1)
    assert np.abs(np.mean(estimates, axis=0) - [0.6, 0.4]).max() < 5 * spread.max() / math.sqrt(
        rounds
    )
    ratio = spread / np.mean(errors, axis=0)
    assert ((ratio > 0.77) & (ratio < 1.25)).all()


def test_among_uniform_values_nothing_stands_out():
    hitters = HeavyHitters(epsilon=1, bits=24, start=8, step=8, width=8)
    with insecure_seeded(6):
        reports = hitters.perturb(np.random.default_rng(1).integers(0, 1 << 24, size=20_000))
    assert len(hitters.find(reports)) == 0


def test_the_promise_is_that_of_the_hash_and_the_group_tells_nothing():
    hitters = HeavyHitters(epsilon=1, bits=48)
    assert hitters.guarantee == hitters.hashing.guarantee
    assert hitters.guarantee.epsilon <= 1
    assert hitters.lengths == (12, 18, 24, 30, 36, 42, 48)
    for value in (0, (1 << 48) - 1):
        groups = hitters.perturb([value] * 14_000).payload["group"]
        counts = np.bincount(groups, minlength=7)
        assert chi2.sf(((counts - 2_000) ** 2 / 2_000).sum(), 6) > UNLIKELY


@pytest.mark.parametrize("value", [0, 1, 0b1011_0110_1101, (1 << 12) - 1])
def test_each_group_reports_its_own_prefix(value):
    """The true cell of the prefix comes out with exactly the probability of a kept hash."""
    hitters = HeavyHitters(epsilon=2, bits=12, start=4, step=4)
    reports = hitters.perturb([value] * 12_000)
    olh = hitters.hashing
    for group, length in enumerate((4, 8, 12)):
        mine = hitters._of_group(reports, group)
        kept = olh.support_of(mine, [value >> (12 - length)])[0]
        p = float(olh.probabilities.p)
        z = (kept - len(mine) * p) / math.sqrt(len(mine) * p * (1 - p))
        assert abs(z) < norm.isf(UNLIKELY)


def test_texts_and_numbers():
    for text in ("", "a", "coffee", "é€", "日本"):
        assert number_text(text_number(text, 48), 48) == text
    for bits in (8, 20, 60):
        assert number_text(text_number("a", bits), bits) == "a"
        assert text_number("a", bits) < 1 << bits
    for text in ("seven77", "a\0b", "日本語"):
        with pytest.raises(DataError):
            text_number(text, 48)


def test_what_makes_no_sense_is_refused():
    hitters = HeavyHitters(epsilon=1, bits=8)
    with pytest.raises(DataError, match="declared domain"):
        hitters.perturb([256])
    with pytest.raises(ParameterError, match="keep them"):
        hitters.aggregate(hitters.perturb([1, 2]))
    for given in ({"bits": 61}, {"bits": 1}, {"start": 0}, {"step": 13}, {"width": 0}):
        with pytest.raises(ParameterError):
            HeavyHitters(**{"epsilon": 1, **given})
    with pytest.raises(DataError, match="more people"):
        HeavyHitters(epsilon=1).find(HeavyHitters(epsilon=1).perturb([5]))


def test_alpha_holds_where_few_reports_support_a_value():
    """No value is held twice and a count is a few: the normal tail finds something in most runs."""
    hitters = HeavyHitters(epsilon=4, bits=48)
    rng = np.random.default_rng(1)
    false = 0
    with insecure_seeded(11):
        for _ in range(30):
            values = rng.integers(0, 1 << 48, size=1_000)
            false += len(hitters.find(hitters.perturb(values), alpha=0.05)) > 0
    assert false <= binom.isf(1e-4, 30, 0.05)


def test_what_is_found_says_that_it_was_selected():
    hitters = HeavyHitters(epsilon=5, bits=8, start=4, step=4, width=4)
    found = hitters.find(hitters.perturb([200] * 2_000))
    assert found.biased
    assert "tend to be too large" in str(found)
    assert "unbiased" not in str(found)


def test_half_a_surrogate_pair_is_refused_without_being_quoted():
    with pytest.raises(DataError, match="surrogate") as caught:
        HeavyHitters(epsilon=1).perturb(["ab\ud800"])
    assert caught.value.__context__ is None
