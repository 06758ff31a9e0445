"""Plans and calibrations against a search over all splits and the forward calculation."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hangs import usually

import sfumato as sf
from sfumato.dp import (
    Ask,
    Count,
    Histogram,
    Median,
    Several,
    Step,
    Sum,
    Unit,
    account,
    calibrate,
    plan,
    sensitivity,
)
from sfumato.dp.normal import gaussian_delta_up
from sfumato.errors import ParameterError, Unsatisfiable

BOUNDED_PURE = sf.PureDP(1, neighbours="bounded")
ASKS = [Ask(Count(), "people"), Ask(Sum((0, 100)), "income", weight=0.05), Ask(Histogram(5), "age")]


def test_the_pure_split_is_the_best_of_a_grid():
    found = plan(sf.PureDP(1), ASKS).best
    assert found.method == "pure"
    assert found.guarantee.epsilon <= 1
    sizes, weights = (1, 100, 1), (1, 0.05, 1)
    grid = [k / 60 for k in range(1, 60)]
    best = min(
        sum(w * s / e for w, s, e in zip(weights, sizes, (a, b, 1 - a - b), strict=True))
        for a, b in product(grid, grid)
        if a + b < 0.999
    )
    assert found.cost <= best + 1e-9
    assert found.cost == pytest.approx((1 + math.sqrt(5) + 1) ** 2, rel=1e-9)
    for share, size in zip(found.shares, sizes, strict=True):
        assert share.scale == pytest.approx(size / share.guarantee.epsilon)


def test_the_gaussian_split_is_the_best_of_a_grid():
    found = plan(sf.ZCDP(0.5), ASKS).best
    assert found.method == "zcdp"
    assert found.guarantee >= sf.ZCDP(0.5)
    grid = [k / 60 for k in range(1, 60)]
    best = min(
        math.sqrt(2 / math.pi)
        * sum(
            w * s / math.sqrt(2 * 0.5 * e)
            for w, s, e in zip((1, 0.05, 1), (1, 100, 1), (a, b, 1 - a - b), strict=True)
        )
        for a, b in product(grid, grid)
        if a + b < 0.999
    )
    assert found.cost <= best + 1e-9
    assert found.cost == pytest.approx(best, rel=1e-3)


def test_accountants_are_compared_and_each_keeps_the_total():
    total = sf.ApproxDP(1, 1e-6)
    found = plan(total, [Ask(Count(), "count", times=100)])
    assert [one.method for one in found.strategies] == ["gdp", "zcdp", "advanced", "pure"]
    for one in found.strategies:
        assert one.guarantee >= total
    gdp = found.best.shares[0]
    assert gaussian_delta_up(math.sqrt(100) / gdp.scale, 1) <= 1e-6
    assert gaussian_delta_up(math.sqrt(100) / (gdp.scale * 0.999), 1) > 1e-6
    assert found.strategies[-1].shares[0].scale == pytest.approx(100)
    few = plan(total, [Ask(Count(), "count")])
    assert few.best.method in {"pure", "advanced"}
    assert few.best.shares[0].scale == pytest.approx(1, rel=1e-4)
    for word in ("count", "laplace", "gaussian", "100 times"):
        assert word in str(found)


def test_wanted_errors_come_first():
    found = plan(sf.PureDP(1), [Ask(Count(), "exact", error=4), Ask(Count(), "rest")]).best
    assert found.shares[0].error == pytest.approx(4)
    assert found.shares[1].guarantee.epsilon == pytest.approx(0.75)
    alone = plan(sf.PureDP(1), [Ask(Count(), "cheap", error=10)]).best
    assert alone.guarantee.epsilon == 0.1  # the rest of the total stays unspent
    gaussian = plan(sf.ZCDP(1), [Ask(Count(), "exact", error=2), Ask(Count(), "rest")]).best
    assert gaussian.shares[0].error == pytest.approx(2, rel=1e-9)
    with pytest.raises(Unsatisfiable, match="wanted errors need"):
        plan(sf.PureDP(1), [Ask(Count(), error=0.5)])
    with pytest.raises(Unsatisfiable):
        plan(sf.PureDP(1), [Ask(Count(), error=1), Ask(Count())])


def test_plans_for_other_units_use_their_sensitivity():
    total = sf.PureDP(1, neighbours=Unit("user", rows=5))
    assert plan(total, [Count()]).best.shares[0].scale == pytest.approx(5)
    size = sensitivity(Count(), Unit("user", rows=5))
    assert plan(total, [Ask(size)]).best.shares[0].scale == pytest.approx(5)
    assert plan(sf.GDP(1), [Count(), Count()]).best.guarantee >= sf.GDP(1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: plan(sf.PureDP(1), []),
        lambda: plan(sf.RDP({2: 1.0}), [Count()]),
        lambda: plan(sf.PureDP(1), [Sum()]),
        lambda: plan(sf.PureDP(1), [Median((0, 100))]),
        lambda: plan(sf.PureDP(1, neighbours="bounded"), [Ask(sensitivity(Count()))]),
        lambda: Ask(Count(), weight=0),
        lambda: Ask(Count(), error=-1),
        lambda: Ask(Count(), times=0),
        lambda: calibrate(Count()),
        lambda: calibrate(Count(), guarantee=sf.PureDP(1), error=1),
        lambda: calibrate(Count(), error=0),
        lambda: calibrate(Sum(), error=1),
        lambda: calibrate(Step.gaussian(1), guarantee=sf.PureDP(1)),
        lambda: calibrate(Step.gaussian(1), guarantee=sf.ApproxDP(0, 1e-6)),
        lambda: calibrate(Count(), guarantee=sf.RDP({2: 1.0})),
        lambda: calibrate(sensitivity(Count()), guarantee=sf.PureDP(1, neighbours="bounded")),
    ],
)
def test_wrong_plans_are_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_noise_for_a_promise():
    assert calibrate(Sum((0, 10)), guarantee=sf.PureDP(0.5)).scale == 20
    gaussian = calibrate(Count(), guarantee=sf.ApproxDP(1, 1e-6))
    assert gaussian.scale == pytest.approx(4.2246788893, rel=1e-9)
    assert gaussian_delta_up(1 / gaussian.scale, 1) <= 1.0000000001e-6
    assert calibrate(Count(), guarantee=sf.ZCDP(0.5)).scale == pytest.approx(1)
    assert calibrate(Count(), guarantee=sf.GDP(0.25)).scale == 4
    wide = calibrate(Histogram(4), guarantee=sf.ZCDP(0.5, neighbours="bounded"))
    assert wide.scale == pytest.approx(math.sqrt(2))
    assert "laplace noise of scale 20" in str(calibrate(Sum((0, 10)), guarantee=sf.PureDP(0.5)))


def test_promise_for_an_error():
    assert calibrate(Count(), error=10).guarantee == sf.PureDP(0.1)
    found = calibrate(Count(), error=10, delta=1e-6)
    assert found.error == 10
    sigma = 10 / math.sqrt(2 / math.pi)
    assert gaussian_delta_up(1 / sigma, found.guarantee.epsilon * (1 + 1e-12)) <= 1e-6
    assert gaussian_delta_up(1 / sigma, found.guarantee.epsilon * (1 - 1e-9)) > 1e-6
    assert calibrate(Count(), error=10, neighbours="bounded").guarantee.neighbours.bounded


def test_steps_are_scaled_until_the_account_fits():
    total = sf.ApproxDP(1, 1e-6)
    found = calibrate(Step.gaussian(1, times=10), guarantee=total)
    assert found.proved
    assert found.accountant == "gdp"

    def total_of(method, scale, **how):
        return account(Step.gaussian(scale, **how), delta=1e-6, accountants=[method]).epsilon

    assert (
        total_of("gdp", found.scale, times=10) <= 1 < total_of("gdp", found.scale * 0.998, times=10)
    )
    sampled = calibrate(Step.gaussian(4, rate=0.02, times=50), guarantee=total, accountant="rdp")
    assert not sampled.proved
    assert sampled.guarantee >= total
    assert total_of("rdp", sampled.scale * 0.998, rate=0.02, times=50) > 1
    assert "numerical" in str(sampled)


def test_sampled_steps_without_the_library_use_a_theorem(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    found = calibrate(Step.laplace(1, rate=0.1, times=5), guarantee=sf.ApproxDP(1, 1e-6))
    assert found.proved
    assert found.accountant == "advanced"
    numerical = 5 * math.log1p(0.1 * math.expm1(1 / found.scale))
    assert numerical == pytest.approx(1, rel=0.05)


def test_delta_0_is_never_promised_of_gaussian_noise():
    """Laplace noise of scale Δ/ε keeps (ε, 0); Gaussian noise keeps it for no σ."""
    found = calibrate(Sum((0, 3)), guarantee=sf.ApproxDP(0.5, 0))
    assert (found.mechanism, found.scale) == ("laplace", 6)
    with pytest.raises(ParameterError, match="Laplace"):
        calibrate(Count(), error=1, delta=0)
    with pytest.raises(ParameterError, match="promise nothing"):
        calibrate(Count(), guarantee=sf.ApproxDP(1, 1))


@pytest.mark.parametrize(
    "guarantee",
    [sf.PureDP(0), sf.ApproxDP(0, 0), sf.ZCDP(0), sf.GDP(0), sf.PureDP(1e-320), sf.RDP({2: 1})],
    ids=str,
)
def test_promises_no_noise_can_keep(guarantee):
    with pytest.raises(ParameterError):
        calibrate(Count(), guarantee=guarantee)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: calibrate("count", error=1), "Count"),
        (lambda: calibrate(5, error=1), "query"),
        (lambda: calibrate(Count(), guarantee=1.0), "PureDP"),
        (lambda: calibrate(Count(), error="many"), "above 0"),
        (lambda: calibrate(Count(), error=10**400), "float"),
        (lambda: calibrate(Count(), error="1e-400"), "float"),
        (lambda: calibrate(Count(), error=1e-310), "float"),
        (lambda: calibrate(Sum((-1.7e308, 1.7e308)), guarantee=BOUNDED_PURE), "calibrated"),
        (
            lambda: calibrate(Step.private(sf.ApproxDP(1, 1e-3)), guarantee=sf.ApproxDP(1, 1e-6)),
            "δ",
        ),
    ],
)
def test_calibrations_refused_with_advice(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


def test_a_huge_epsilon_is_calibrated():
    """σ ≈ 1/√(2ε) where ε dwarfs everything else."""
    found = calibrate(Count(), guarantee=sf.ApproxDP(1e300, 1e-6))
    assert found.scale == pytest.approx(2**-0.5 * 1e-150)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: plan(1.0, [Count()]), "PureDP"),
        (lambda: plan(sf.PureDP(1), Count()), "list"),
        (lambda: plan(sf.PureDP(1), ["count"]), "Count"),
        (lambda: Ask(Count(), weight=10**400), "float"),
        (lambda: Ask(Count(), error="1e-400"), "float"),
        (lambda: Ask(Count(), error="little"), "above 0"),
        (lambda: plan(BOUNDED_PURE, [Sum((-1.7e308, 1.7e308))]), "planned"),
        (lambda: plan(sf.PureDP(1), [Several((Count(), Median((0, 1))))]), "quantile"),
    ],
)
def test_plans_refused_with_advice(call, words):
    with pytest.raises(ParameterError, match=words):
        call()


@pytest.mark.parametrize(
    ("total", "asks"),
    [
        (sf.PureDP(1e-320), [Count()]),
        (sf.ZCDP(0), [Count()]),
        (sf.GDP(0), [Count()]),
        (sf.PureDP(0), [Count()]),
        (sf.PureDP(1), [Ask(Sum((0, 1e-300)), error=1e300)]),
        (sf.ZCDP(1), [Ask(Sum((0, 1e200)), error=1e-200)]),
    ],
)
def test_totals_that_serve_nothing(total, asks):
    with pytest.raises(Unsatisfiable, match="No split"):
        plan(total, asks)


def test_ratios_are_read_exactly_and_huge_totals_are_planned():
    """A weight or an error may be stated as text; ε = 10³⁰⁰ is no promise, yet no failure."""
    found = plan(sf.PureDP(1), [Ask(Count(), weight="1/3"), Ask(Count(), error="5/2")])
    assert found.best.shares[1].error == pytest.approx(2.5)
    huge = plan(sf.ApproxDP(1e300, 1e-6), [Count()])
    assert huge.best.guarantee.implies(huge.total)


@pytest.mark.soak
def test_one_sampled_gaussian_is_calibrated_by_loss_distributions_soon():
    pytest.importorskip("dp_accounting")
    limit = sf.ApproxDP(1, 1e-5)
    with usually(8):
        found = calibrate(Step.gaussian(1, rate=0.01), guarantee=limit, accountant="pld")
    assert 0.998 < found.guarantee.epsilon <= 1
    assert found.guarantee.implies(limit)

    def delta(epsilon):  # of the worse direction, in closed form: 0.99·P + 0.01·Q against P
        above = math.log1p((math.exp(epsilon) - 1) / 0.01)
        return 0.01 * gaussian_delta_up(1 / found.scale, above)

    assert delta(found.guarantee.epsilon) <= 1e-5
    assert delta(found.guarantee.epsilon - 1e-3) > 1e-5  # and hardly more noise than is needed


def test_laplace_steps_are_calibrated_to_a_pure_guarantee():
    steps = [Step.laplace(1, times=3), Step.laplace(2)]
    found = calibrate(steps, guarantee=sf.PureDP(1))
    assert isinstance(found.guarantee, sf.PureDP)
    assert 3.5 <= found.scale <= 3.5 * 1.001  # ε adds up to 3.5/scale
    assert 0.998 < found.guarantee.epsilon <= 1
    assert found.proved
    with pytest.raises(ParameterError, match="No Gaussian noise"):
        calibrate([Step.laplace(1), Step.gaussian(1)], guarantee=sf.PureDP(1))
