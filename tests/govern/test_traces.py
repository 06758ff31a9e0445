"""Reports of a trace: no window spends more than its ε, and charges come before places."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf


def walk(n=200, pace=60.0, speed=1.0):
    rng = np.random.default_rng(0)
    return [
        (pace * i, *np.cumsum(rng.normal(0, speed * pace, (n, 2)), axis=0)[i]) for i in range(n)
    ]


@pytest.mark.parametrize("predictive", [False, True])
def test_no_window_spends_more_than_its_epsilon(predictive):
    reporter = sf.places.TraceReporter(
        epsilon="0.05", window=1800, reports=4, predictive=predictive, near=400.0
    )
    reports = [reporter.report(*step) for step in walk()]
    costs = [(report.time, report.cost) for report in reports]
    for end, _ in costs:
        inside = sum((cost for time, cost in costs if end - 1800 < time <= end), Fraction(0))
        assert inside <= Fraction("0.05")
    assert any(report.fresh for report in reports[10:])
    assert any(not report.fresh for report in reports)


def test_a_resting_person_pays_for_tests_alone():
    # A test errs with probability about e^(−500/30): 5 km are 500 cells, its noise has scale 30.
    options = {"epsilon": "0.2", "window": 3600, "reports": 6, "near": 5000.0}
    reporter = sf.places.TraceReporter(**options, predictive=True)
    reports = [reporter.report(60.0 * i, 5.0, 5.0) for i in range(12)]
    fresh = [report for report in reports if report.fresh]
    assert len(fresh) == 1
    assert all(report.cost <= reporter.test_cost for report in reports if not report.fresh)


def test_each_step_is_charged_before_the_place_is_looked_at(tmp_path):
    session = sf.Session(
        {"x": [1, 2, 3]}, name="ann", unit="row", budget=sf.PureDP(10), ledger=tmp_path / "l.sqlite"
    )
    reporter = sf.places.TraceReporter(
        epsilon="0.01", window=600, reports=1, spending=session.spending, radius=200
    )
    reporter.report(0, 10.0, 10.0)
    first = session.remaining.epsilon
    level = sf.places.GeoIndistinguishability("0.01", 10).level(200)
    assert first == pytest.approx(10 - level, abs=1e-6)
    assert not reporter.report(60, 10.0, 10.0).fresh  # the window is spent: nothing is charged
    assert session.remaining.epsilon == first
    for i in range(1, 4):
        reporter.report(700.0 * i, 10.0, 10.0)
    with pytest.raises(sf.BudgetExceeded):
        reporter.report(7000, 10.0, 10.0)
    assert session.ledger.verify().ok


def test_bad_input_gets_a_sentence():
    reporter = sf.places.TraceReporter(epsilon=1, window=60, reports=2)
    reporter.report(5, 1, 1)
    with pytest.raises(sf.errors.DataError, match="backwards"):
        reporter.report(4, 1, 1)
    with pytest.raises(sf.errors.DataError, match="finite"):
        reporter.report(6, float("nan"), 1)
    for wrong in ({"reports": 0}, {"window": 0}, {"predictive": True}, {"epsilon": 0}):
        with pytest.raises(sf.errors.ParameterError):
            sf.places.TraceReporter(**{"epsilon": 1, "window": 60, "reports": 2, **wrong})


def test_two_people_who_report_at_one_moment_are_not_given_each_other(tmp_path):
    session = sf.Session(
        {"x": [1]}, name="two", unit="row", budget=sf.PureDP(50), ledger=tmp_path / "l.sqlite"
    )
    first, second = (
        sf.places.TraceReporter(
            epsilon="0.05", window=600, reports=1, spending=session.spending, radius=100
        ).report(0, place, place)
        for place in (0.0, 50_000.0)
    )
    assert abs(first.x) < 5_000 < abs(second.x)
    told = str(list(session.ledger.entries()))
    assert "at most 100 m apart" in told
