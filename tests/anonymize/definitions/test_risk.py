"""Promises about a release as a whole: the most that can be kept, by brute force."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sfumato as sf
from sfumato.audit.verification import measures


def average_holds(sizes, t):
    return len(sizes) <= Fraction(str(t)) * sum(sizes)


def unique_holds(sizes, u):
    return sum(s == 1 for s in sizes) <= Fraction(str(u)) * sum(sizes)


def most_kept(sizes, holds):
    choices = product((False, True), repeat=len(sizes))
    kept = ([s for s, k in zip(sizes, c, strict=True) if k] for c in choices)
    return max(sum(some) for some in kept if not some or holds(some))


@pytest.mark.parametrize("threshold", [0.05, 0.1, 0.2, 0.3, 1 / 3, 0.5, 0.75, 1.0])
@pytest.mark.parametrize(
    ("definition", "holds"), [(sf.AverageRisk, average_holds), (sf.UniqueShare, unique_holds)]
)
def test_what_is_kept_together_is_the_most_that_keeps_the_promise(definition, holds, threshold):
    rng = np.random.default_rng(7)
    part = definition(threshold)
    for _ in range(60):
        sizes = rng.choice([1, 1, 1, 2, 3, 4, 5, 9, 20], size=rng.integers(1, 9))
        kept = part.keep_together(sizes)
        chosen = sizes[kept]
        assert not len(chosen) or holds(chosen.tolist(), threshold)
        assert chosen.sum() == most_kept(sizes.tolist(), lambda some: holds(some, threshold))
        assert part.keep_together(chosen).all()
        large = sizes[part.judge(sf_classes(sizes))]
        assert not len(large) or holds(large.tolist(), threshold)


def sf_classes(sizes):
    from sfumato.anonymize.definitions.classes import Classes

    return Classes(sizes)


def test_uniting_classes_breaks_nothing():
    rng = np.random.default_rng(3)
    for _ in range(200):
        sizes = rng.integers(1, 6, size=8)
        groups = rng.integers(0, 4, size=8)
        united = np.bincount(groups, weights=sizes).astype(np.int64)
        united = united[united > 0]
        for part in (sf.AverageRisk(0.3), sf.UniqueShare(0.1)):
            fine, coarse = (s[part.keep_together(s)].sum() for s in (sizes, united))
            assert coarse >= fine


def test_thresholds_of_many_decimals_do_not_overflow():
    sizes = np.full(1000, 10, dtype=np.int64)
    assert sf.AverageRisk(0.1).keep_together(sizes).all()
    assert not sf.AverageRisk(0.09999999999999999).keep_together(sizes).any()
    assert sf.AverageRisk(0.10000000000000002).keep_together(sizes).all()


def test_measures_are_exact():
    sizes = np.array([1, 1, 2, 6])
    assert measures.mean_risk(sizes) == Fraction(4, 10)
    assert measures.share_alone(sizes) == Fraction(2, 10)


PEOPLE = {"age": ["20", "20", "20", "30", "30", "40", "41", "55"], "n": list("abcdefgh")}


@pytest.mark.parametrize(
    ("promise", "holds", "found"),
    [
        (sf.AverageRisk(0.625), True, 0.625),
        (sf.AverageRisk(0.62), False, 0.625),
        (sf.UniqueShare(0.375), True, 0.375),
        (sf.UniqueShare(0.37), False, 0.375),
    ],
)
def test_verify_tells_the_figure_of_the_whole_release(promise, holds, found):
    report = sf.verify(PEOPLE, sf.Schema(quasi=["age"], insensitive=["n"]), promise)
    assert report.promises[0].holds is holds
    assert report.promises[0].found == found


OF_RELEASES = (
    sf.AverageRisk(0.1),
    sf.UniqueShare(0.01),
    sf.AverageRisk(0.2) & sf.UniqueShare(0.02),
    sf.KAnonymity(2) & sf.AverageRisk(0.08) & sf.DistinctLDiversity(2, "diagnosis"),
    sf.AverageRisk(0.1) & sf.TCloseness(0.5, "diagnosis"),
    sf.AverageRisk(0.1) & sf.KAnonymity(5, on=("age",)),
)


@pytest.mark.parametrize(
    ("promise", "suppression"),
    [
        pytest.param(promise, suppression, marks=() if i % 3 == j else pytest.mark.soak)
        for i, promise in enumerate(OF_RELEASES)
        for j, suppression in enumerate((0.0, 0.05, 0.2))
    ],
    ids=str,
)
def test_releases_keep_it_and_allow_small_classes(promise, suppression):
    patients = sf.examples.patients(300, seed=2)
    release = sf.anonymize(
        patients.columns, promise, schema=patients.schema, suppression=suppression
    )
    assert sf.verify(release.table, patients.schema, promise).holds


def test_the_average_costs_less_than_everybody():
    patients = sf.examples.patients(300, seed=2)
    options = {"schema": patients.schema, "suppression": 0.05}
    average = sf.anonymize(patients.columns, sf.AverageRisk(0.1), **options)
    everybody = sf.anonymize(patients.columns, sf.KAnonymity(10), **options)
    assert average.loss["LM"] < everybody.loss["LM"]
