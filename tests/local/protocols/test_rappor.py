"""Full RAPPOR: exact loss over time, coins both ways, memory, and strings found again."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from sfumato.dp.noise import insecure_seeded
from sfumato.errors import DataError, ParameterError
from sfumato.local.collect.memo import derived
from sfumato.local.protocols.rappor import RAPPOR, places_of

UNLIKELY = 1e-6


def bit_histories(rappor, reports):
    """The exact law of one bit's reports, for a filter bit of 1 and of 0, by enumeration."""
    laws = []
    for true in (1, 0):
        law = {}
        for history in product((0, 1), repeat=reports):
            total = Fraction(0)
            for permanent in (0, 1):
                chance = rappor.keep if permanent == true else 1 - rappor.keep
                for said in history:
                    chance *= rappor.say if said == permanent else 1 - rappor.say
                total += chance
            law[history] = total
        assert sum(law.values()) == 1
        laws.append(law)
    return laws


@pytest.mark.parametrize("hashes", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "single"), [(1, 0.5), (4, 1), (2, "1.9")])
def test_the_loss_over_time_is_exactly_that_of_all_histories(epsilon, single, hashes):
    rappor = RAPPOR(epsilon=epsilon, report_epsilon=single, hashes=hashes)
    previous = 0.0
    for reports in (1, 2, 3, 5):
        one, zero = bit_histories(rappor, reports)
        largest = max(max(one[h] / zero[h], zero[h] / one[h]) for h in one)
        exact = 2 * hashes * math.log(largest)
        stated = rappor.over(reports).epsilon
        assert stated == pytest.approx(exact, abs=1e-9)
        assert stated >= exact - 1e-12
        assert previous < stated <= rappor.guarantee.epsilon <= epsilon
        previous = stated
    assert rappor.over(1).epsilon <= float(single)
    assert rappor.over(1).epsilon == pytest.approx(float(single), abs=1e-6)
    assert rappor.over(1_000).epsilon == pytest.approx(rappor.guarantee.epsilon, abs=1e-9)
    assert rappor.over(10**9) == rappor.guarantee
    assert rappor.guarantee.epsilon == pytest.approx(epsilon, abs=1e-6)


def test_filters_of_two_strings_differ_in_at_most_two_bits_per_hash():
    for hashes in (1, 2, 4):
        sets = [set(places_of(f"s{i}", 3, 64, hashes)) for i in range(60)]
        assert max(len(a ^ b) for a in sets for b in sets) <= 2 * hashes
        assert max(max(places) for places in sets) < 64


def right_bits(rappor, reports, text):
    """How often bits that the filter has as 1, and as 0, come out as the filter has them."""
    cohorts = reports.payload["cohort"].astype(np.int64)
    own = np.unpackbits(rappor.filters([text] * len(cohorts), cohorts), axis=1, bitorder="little")
    said = np.unpackbits(reports.payload["bits"], axis=1, bitorder="little")
    return [(int((said == own)[own == bit].sum()), int((own == bit).sum())) for bit in (1, 0)]


def likely(successes, trials, chance):
    return binom.cdf(successes, trials, chance) > UNLIKELY < binom.sf(successes - 1, trials, chance)


def test_ones_become_zeros_as_often_as_zeros_become_ones():
    rappor = RAPPOR(epsilon=2, report_epsilon=1, bits=16, cohorts=4)
    reports = rappor.perturb(["secret"] * 30_000)
    for right, trials in right_bits(rappor, reports, "secret"):
        assert likely(right, trials, float(rappor.right))
        assert right < trials
    devices = [rappor.device("q").report("secret") for _ in range(1_500)]
    joined = sum(devices[1:], devices[0])
    for right, trials in right_bits(rappor, joined, "secret"):
        assert likely(right, trials, float(rappor.right))


def test_a_device_remembers_its_response_and_nothing_is_shared_between_questions():
    rappor = RAPPOR(epsilon=2, report_epsilon="1.999", bits=256, cohorts=8)
    secret = bytes(range(32))
    device = rappor.device("home page", secret=secret)
    again = rappor.device("home page", secret=secret)
    assert device.cohort == again.cohort
    assert "secret" not in repr(device)
    assert repr(secret) not in repr(device)

    def permanent(one, value, rounds=30):
        rows = [np.unpackbits(one.report(value).payload["bits"]) for _ in range(rounds)]
        return np.mean(rows, axis=0) > 0.5

    first = permanent(device, "a")
    assert np.array_equal(first, permanent(again, "a"))
    for other in (
        permanent(device, "b"),
        permanent(rappor.device("search", secret=secret), "a"),
        permanent(rappor.device("home page", secret=bytes(32)), "a"),
    ):
        assert 60 < (first != other).sum() < 196


def test_a_device_that_is_upgraded_keeps_its_response():
    """Whoever changes how it is drawn gives every device a second one, and people a second ε."""
    rappor = RAPPOR(epsilon=4, report_epsilon=2, bits=64, cohorts=8)
    device = rappor.device("golden", secret=bytes(range(32)))
    sent = [np.unpackbits(device.report("a").payload["bits"]) for _ in range(200)]
    assert device.cohort == 3
    assert np.packbits(np.mean(sent, axis=0) > 0.5).tobytes().hex() == "08518a46007909a2"


def guesses(rappor, texts, reports_of, people, reports):
    """Average each person's reports, and guess the string whose filter fits best."""
    filters = rappor.filters(texts, np.zeros(len(texts), dtype=np.int64))  # there is one cohort
    own = np.unpackbits(filters, axis=1, bitorder="little")
    hits = 0
    for person in range(people):
        truth = person % len(texts)
        sent = reports_of(texts[truth], reports)
        said = np.unpackbits([r.payload["bits"][0] for r in sent], axis=1, bitorder="little")
        scores = [(said == one).sum() for one in own]
        hits += int(np.argmax(scores) == truth)
    return hits


def test_fifty_reports_do_not_reveal_the_string():
    """Averaging is bounded by the permanent ε; without memory it would reveal nearly everybody."""
    rappor = RAPPOR(epsilon=1, report_epsilon="0.9", bits=64, hashes=2, cohorts=1)
    texts, people, reports = ["a", "b", "c", "d"], 160, 50

    def with_memory(text, count):
        device = rappor.device("q")
        return [device.report(text) for _ in range(count)]

    def without_memory(text, count):
        return [rappor.device("q").report(text) for _ in range(count)]

    at_most = math.exp(1) / (math.exp(1) + len(texts) - 1)
    assert binom.sf(guesses(rappor, texts, with_memory, people, reports) - 1, people, at_most) > (
        UNLIKELY
    )
    assert guesses(rappor, texts, without_memory, 60, reports) > 36  # the attack is a real one


def test_strings_are_found_with_their_frequencies():
    rappor = RAPPOR(epsilon=6, report_epsilon=4, bits=64, hashes=2, cohorts=16)
    n = 40_000
    shares = {"alpha": 0.3, "beta": 0.2, "gamma": 0.1, "delta": 0.05}
    texts = [text for text, share in shares.items() for _ in range(int(n * share))]
    texts += [f"unknown {i}" for i in range(n - len(texts))]
    candidates = [*shares, *(f"idle {i}" for i in range(150))]
    with insecure_seeded(11):
        reports = rappor.perturb(texts)
    found = rappor.decode(reports, candidates)
    assert found.values == tuple(shares)
    errors = (found.frequencies - np.array(list(shares.values()))) / found.standard_error
    assert np.abs(errors).max() < norm.isf(UNLIKELY)
    assert found.counts.sum() == pytest.approx(n * found.frequencies.sum())
    assert found.interval()[0, 0] < 0.3 < found.interval(0.999)[0, 1]
    assert "4 of 154 candidates" in str(found)
    parts = rappor.aggregate(reports[:15_000]) + rappor.aggregate(reports[15_000:])
    assert parts == rappor.aggregate(reports)
    assert rappor.decode(parts, candidates).values == found.values


def test_standard_errors_are_those_that_repetition_shows():
    rappor = RAPPOR(epsilon=8, report_epsilon=6, bits=32, hashes=2, cohorts=4)
    texts = ["a"] * 2_000 + ["b"] * 1_000 + ["c"] * 1_000
    estimates, errors = [], []
    for _ in range(150):
        found = rappor.decode(rappor.perturb(texts), ["a", "b", "c"])
        assert set(found.values) == {"a", "b", "c"}
        estimates.append([found.frequencies[found.values.index(x)] for x in "abc"])
        errors.append([found.standard_error[found.values.index(x)] for x in "abc"])
    spread = np.std(estimates, axis=0, ddof=1)
    ratio = spread / np.mean(errors, axis=0)
    # 4.5 standard errors of a standard deviation; below also a tenth or so, because the larger of
    # two variances is stated, one of which is seen from the eight bits of a string alone.
    assert ((ratio > 0.62) & (ratio < 1.32)).all()
    means = np.mean(estimates, axis=0)
    assert np.abs((means - [0.5, 0.25, 0.25]) / (spread / math.sqrt(150))).max() < 5


def test_nothing_is_found_where_nobody_has_a_candidate():
    rappor = RAPPOR(epsilon=4, report_epsilon=2, bits=64, cohorts=8)
    with insecure_seeded(3):
        reports = rappor.perturb([f"unknown {i}" for i in range(5_000)])
    found = rappor.decode(reports, [f"idle {i}" for i in range(100)])
    assert len(found) == 0
    assert found.interval().shape == (0, 2)


def test_parameters_that_promise_nonsense_are_refused():
    for given in (
        {"report_epsilon": 4}, {"report_epsilon": 5}, {"bits": 100}, {"cohorts": 3},
        {"hashes": 0}, {"bits": 4}, {"epsilon": 0}, {"epsilon": 50},
    ):  # fmt: skip
        with pytest.raises(ParameterError):
            RAPPOR(**{"epsilon": 4, "report_epsilon": 2, **given})
    with pytest.raises(DataError, match="strings"):
        RAPPOR(epsilon=4, report_epsilon=2).perturb([1, 2])
    with pytest.raises(ParameterError, match="32 bytes"):
        derived(b"short", b"", b"")


def test_a_frequent_string_that_is_missing_does_not_raise_absent_ones():
    rappor = RAPPOR(epsilon=6, report_epsilon=4)
    people = ["missing.example"] * 50_000 + ["example.org"] * 30_000
    people += [f"tail{i}" for i in range(20_000)]
    with insecure_seeded(3):
        reports = rappor.perturb(people)
    found = rappor.decode(reports, ["example.org", *(f"absent{i}" for i in range(500))])
    assert found.values == ("example.org",)
    assert abs(found.frequencies[0] - 0.3) < 4 * found.standard_error[0]
    assert found.standard_error[0] < 0.02


def test_half_a_surrogate_pair_is_refused_without_being_quoted():
    rappor = RAPPOR(epsilon=6, report_epsilon=4)
    for attempt in (rappor.perturb, lambda values: rappor.device("q").report(values[0])):
        with pytest.raises(DataError, match="surrogate") as caught:
            attempt(["ab\ud800"])
        assert caught.value.__context__ is None


@pytest.mark.parametrize(("h", "f", "p", "q"), [(2, 0.5, 0.5, 0.75), (1, 0.25, 0.1, 0.6)])
def test_parameters_of_google_are_restated_as_the_page_says(h, f, p, q):
    """What f, p and q promise, from the law of single bits; `docs/reference/local-protocols.md`."""
    truth = {1: 1 - f / 2, 0: f / 2}  # that a bit of the permanent response is 1
    said = {bit: kept * q + (1 - kept) * p for bit, kept in truth.items()}
    for_ever = 2 * h * math.log(max(truth[1] / truth[0], (1 - truth[0]) / (1 - truth[1])))
    each = h * math.log(said[1] / said[0] * (1 - said[0]) / (1 - said[1]))
    high, low = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    assert for_ever == pytest.approx(2 * h * math.log((1 - f / 2) / (f / 2)))
    assert each == pytest.approx(h * math.log(high * (1 - low) / (low * (1 - high))))
    here = RAPPOR(epsilon=for_ever, report_epsilon=each, hashes=h)
    assert here.guarantee.epsilon <= for_ever
    assert here.over(1).epsilon <= each + 1e-12
