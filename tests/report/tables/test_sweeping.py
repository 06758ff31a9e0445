"""The trade-off curve: each point is the release that k would give."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.anonymize.run import anonymize
from sfumato.anonymize.tables.sweep import SweepPoint, sweep, sweep_release, with_k
from sfumato.errors import ParameterError
from sfumato.report.tables.trade_off import trade_off

KS = (2, 5, 12)


@pytest.mark.parametrize("algorithm", ["optimal", "local"])
def test_each_point_is_what_that_k_alone_gives(algorithm, patients):
    promise = sf.KAnonymity(3) & sf.DistinctLDiversity(2, "diagnosis")
    options = {"schema": patients.schema, "algorithm": algorithm, "suppression": 0.02}
    points = sweep(patients.columns, promise, KS, **options)
    for point, k in zip(points, KS, strict=True):
        alone = anonymize(
            patients.columns,
            sf.KAnonymity(k) & sf.DistinctLDiversity(2, "diagnosis"),
            **options,
        )
        assert point == (k, pytest.approx(alone.loss["LM"]), alone.suppressed)


def test_a_release_is_swept_with_its_own_settings(patients):
    options = {"schema": patients.schema, "suppression": 0.03, "objective": "NUE"}
    release = anonymize(patients.columns, sf.KAnonymity(5), **options)
    points = sweep_release(release, [10, 5, 2])
    assert points == sweep(patients.columns, sf.KAnonymity(5), [2, 5, 10], **options)
    assert points[1].loss == pytest.approx(release.loss["NUE"])
    losses = [point.loss for point in points]
    assert losses == sorted(losses)


def test_options_of_the_algorithm_are_kept(patients):
    release = anonymize(
        patients.columns, sf.KAnonymity(5), schema=patients.schema, algorithm="mondrian",
        strict=False,
    )  # fmt: skip
    (point,) = sweep_release(release, [5])
    assert point.loss == pytest.approx(release.loss["LM"])


def test_a_k_that_nobody_can_keep_is_told(patients):
    points = sweep(patients.columns, sf.KAnonymity(2), [2, 100_000], schema=patients.schema)
    assert points[1] == SweepPoint(100_000, None, None)
    release = anonymize(patients.columns, sf.KAnonymity(2), schema=patients.schema)
    drawn = trade_off(points, release)
    assert drawn.impossible == (100_000,)
    assert [row.loss for row in drawn.rows][1] == "no release possible"
    assert drawn.picture.count("<circle") == 1


def test_only_the_k_of_the_whole_promise_changes():
    combined = sf.KAnonymity(9, on=("age",)) & sf.KAnonymity(3) & sf.KMap(4)
    assert with_k(combined, 7).parts == (
        sf.KAnonymity(9, on=("age",)), sf.KAnonymity(7), sf.KMap(4)
    )  # fmt: skip
    assert with_k(sf.KMap(4), 7).parts == (sf.KAnonymity(7), sf.KMap(4))
    assert with_k(sf.KAnonymity(3), 7) == sf.KAnonymity(7)


def test_the_k_of_the_release_is_marked(by_levels):
    drawn = trade_off([(10, 0.5, 3), (5, 0.4, 2)], by_levels)
    assert [(row.k, row.chosen) for row in drawn.rows] == [("5", True), ("10", False)]
    assert drawn.picture.count('class="chosen"') == 1


@pytest.mark.parametrize(
    ("ks", "words"), [([], "at least one k"), ([0], "whole number"), (["5"], "whole number")]
)
def test_a_sweep_over_nothing_or_nonsense_is_refused(ks, words, patients):
    with pytest.raises(ParameterError, match=words):
        sweep(patients.columns, sf.KAnonymity(2), ks, schema=patients.schema)


def test_a_promise_that_is_none_is_refused(patients):
    with pytest.raises(ParameterError, match="must be a definition"):
        sweep(patients.columns, 5, [2], schema=patients.schema)


def test_an_empty_sweep_is_no_curve(by_levels):
    with pytest.raises(ParameterError, match="no points"):
        trade_off([], by_levels)
