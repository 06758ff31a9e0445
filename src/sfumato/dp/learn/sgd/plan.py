"""What training will cost and how much noise it takes, before an example is read.

Contract: a :class:`TrainingPlan` is a function of public parameters (and of a noisy number of
rows, where none is declared). The noise multiplier it names was checked by the accountant to keep
(ε, δ) over all steps, those on empty lots included.

Why a number of rows is needed. Each example joins a lot with probability q = lot / rows, and q
must be the same for neighbouring data sets, so it must not be computed from the true number
of rows. Where ``rows`` is not declared, 1 % of ε buys a geometric count, and the rest trains:
ε/100 + 99·ε/100 = ε (basic composition).

Account. A step is the Poisson-sampled Gaussian mechanism (Abadi et al., CCS 2016). Its privacy
loss distribution is composed numerically and pessimistically by dp-accounting (extra
``accounting``), whose result is an upper bound whatever the discretisation; an interval of
ε·√(0.001/steps), or with μ where ε is smaller still, keeps what that costs near a thousandth of ε,
and the whole search below a second.
Where every example is in every lot the Gaussian mechanism itself is accounted, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sfumato.dp.guarantees import ApproxDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.neighbours import UNBOUNDED
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.normal import gaussian_sigma_up
from sfumato.dp.rounding import Stated, mul_up, sqrt_up, stated_up
from sfumato.errors import MissingExtra, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT_SHARE = Fraction(1, 100)
SEATS_SHARE = Fraction(1, 1000)  # of δ, for lots that are larger than the seats (see lots.py)
_FEW_SHARE = Fraction(1, 1000)  # of δ, for a bought number of rows that is much too small
_COARSEST = 0.05
_COST = 0.001  # the part of ε that a grid of losses may cost, about
_CLOSE = 0.002  # the part of ε that may be left unused
_TRIES = 40
_LEAST = 0.2  # of the clip: with less noise than that, sampling alone would hide an example


@dataclass(frozen=True)
class TrainingPlan:
    """Public facts of a training: what is promised and how."""

    epsilon: float
    delta: float
    lot: int
    steps: int
    clip: float
    rate: float
    multiplier: float
    rows: int
    declared: bool  # whether ``rows`` was declared, and not bought

    @property
    def mean(self) -> int:
        """Bound how many examples a lot has on average.

        Of a declared number of rows that is the lot. A bought one has geometric noise of scale
        100/ε, and is too small by more than 100·ln(1000/δ)/ε with probability δ/1000 at most.
        """
        if self.declared:
            return self.lot
        missed = math.log(1 / (float(_FEW_SHARE) * self.delta)) / (
            float(COUNT_SHARE) * self.epsilon * (1 - 1e-9)
        )
        return max(self.lot, math.ceil(self.rate * (self.rows + missed) * (1 + 1e-9)))

    @property
    def guarantee(self) -> ApproxDP:
        """What all of training promises, for one example added or removed."""
        return ApproxDP(self.epsilon, self.delta, neighbours=UNBOUNDED)

    def __str__(self) -> str:
        return (
            f"{self.steps} steps on lots of about {self.lot} of {self.rows} rows (rate "
            f"{self.rate:.4g}), gradients clipped to {self.clip:g}, noise {self.multiplier:.4g} × "
            f"clip; {self.guarantee}"
        )


def plan_training(
    *,
    epsilon: Stated,
    delta: Stated,
    lot: int,
    steps: int,
    clip: float,
    rows: int | None,
    count: int,
) -> TrainingPlan:
    """Choose rate and noise; ``count`` is the true number of rows, used only with noise."""
    budget, failure = parameters.budget(epsilon), parameters.failure(delta)
    size, times = parameters.count(lot, "lot"), parameters.count(steps, "steps")
    if size is None or times is None:
        raise ParameterError("lot= and steps= are whole numbers of at least 1.")
    bound = float(parameters.positive(clip, "clip"))
    known = parameters.count(rows, "rows")
    if known is None:
        scale = 1 / (budget * COUNT_SHARE)
        known = max(size, int((count + discrete_laplace(scale, 1))[0]))
    rate = _rate(size, known)
    left = _left(budget, failure, declared=rows is not None)
    multiplier = least_multiplier(*left, rate, times)
    return TrainingPlan(
        stated_up(budget), stated_up(failure), size, times, bound, float(rate), multiplier, known,
        rows is not None,
    )  # fmt: skip


def _rate(lot: int, rows: int) -> Fraction:
    return min(Fraction(1), Fraction(lot, rows))


def _left(budget: Fraction, failure: Fraction, *, declared: bool) -> tuple[Fraction, Fraction]:
    """Give the ε and δ that are left for the steps."""
    if declared:
        return budget, failure * (1 - SEATS_SHARE)
    return budget * (1 - COUNT_SHARE), failure * (1 - SEATS_SHARE - _FEW_SHARE)


def check_plan(plan: TrainingPlan, *, epsilon: Stated, delta: Stated, rows: int | None) -> None:
    """Refuse a plan that was read from a file and does not keep (ε, δ), by a new account of it."""
    known = parameters.count(rows, "rows")
    if plan.declared != (known is not None) or (plan.declared and plan.rows != known):
        begun = f"rows={plan.rows}" if plan.declared else "no rows="
        raise ParameterError(
            f"The checkpoint was begun with {begun}, and {rows!r} was given; go on with the same, "
            "or choose another file for a new training."
        )
    budget, failure = parameters.budget(epsilon), parameters.failure(delta)
    left, usable = _left(budget, failure, declared=plan.declared)
    rate = _rate(plan.lot, parameters.count(plan.rows, "rows") or 1)
    if plan.rate != float(rate) or not _keeps(plan.multiplier, left, usable, rate, plan.steps):
        raise ParameterError(
            "The checkpoint states a rate or a noise that does not keep this ε and δ; it was "
            "changed since it was written. Choose another file for a new training."
        )


def _keeps(sigma: float, epsilon: Fraction, delta: Fraction, rate: Fraction, steps: int) -> bool:
    """Whether so much noise keeps (ε, δ) over all steps."""
    if not (math.isfinite(sigma) and sigma > 0):
        return False
    if rate == 1:
        return sigma >= least_multiplier(epsilon, delta, rate, steps)
    interval = _interval(epsilon, delta, steps)
    return sampled_epsilon(sigma, delta, rate, steps, interval=interval) <= float(epsilon)


def _interval(epsilon: Fraction, delta: Fraction, steps: int, coarser: float = 1.0) -> float:
    """Choose how finely losses are told apart; where δ decides alone, they are as large as μ."""
    size = max(float(epsilon), 1 / gaussian_sigma_up(epsilon, delta))
    return min(coarser * size * math.sqrt(_COST / steps), _COARSEST)


@lru_cache(maxsize=256)
def least_multiplier(epsilon: Fraction, delta: Fraction, rate: Fraction, steps: int) -> float:
    """Find the least noise, relative to the sensitivity, that keeps (ε, δ) over all steps.

    Searched roughly first and then finely; the last account decides, and it is an upper bound.
    """
    if rate == 1:
        return mul_up(sqrt_up(steps), gaussian_sigma_up(epsilon, delta))
    wanted = float(epsilon)
    sigma = max(_guess(wanted, float(delta), float(rate), steps), _LEAST)
    for coarser, close in ((4.0, 4 * _CLOSE), (1.0, _CLOSE)):
        interval = _interval(epsilon, delta, steps, coarser)

        def cost(tried: float, interval: float = interval) -> float:
            return sampled_epsilon(tried, delta, rate, steps, interval=interval)

        sigma = _search(cost, wanted, sigma, close)
    return sigma


def _search(cost: Callable[[float], float], wanted: float, sigma: float, close: float) -> float:
    """Find noise whose cost is at most what is wanted, and at least (1 − close) of it."""
    low, high = 0.0, math.inf  # too little noise, enough noise
    slope, before = -1.2, None  # about how the logarithm of ε falls with that of σ
    for _ in range(_TRIES):
        found = max(cost(sigma), 1e-300)
        low, high = (low, sigma) if found <= wanted else (sigma, high)
        if found <= wanted and (sigma <= _LEAST or found >= wanted * (1 - close)):
            return sigma
        if high <= low * (1 + 1e-6):
            break
        if before is not None and before[0] != sigma and math.isfinite(before[1] * found):
            moved = math.log(found / before[1]) / math.log(sigma / before[0])
            slope = min(max(moved, -20.0), -0.2)
        before = (sigma, found)
        step = math.exp(math.log(wanted * (1 - close / 2) / found) / slope)
        sigma = max(_between(sigma * min(max(step, 0.5), 2.0), low, high), _LEAST)
    if math.isinf(high):
        raise ParameterError("No noise keeps this guarantee; give a larger ε or δ, or fewer steps.")
    return high


def _between(sigma: float, low: float, high: float) -> float:
    """Keep a guess inside what is known."""
    if low < sigma < high:
        return sigma
    return 2 * low if math.isinf(high) else math.sqrt(max(low, high / 4) * high)


def _guess(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """Begin with the central limit: μ = q·√(T·(e^(1/σ²) − 1)) (Bu, Dong, Long and Su 2020)."""
    mu = 1 / gaussian_sigma_up(Fraction(epsilon), Fraction(delta))
    inside = math.log1p((mu / rate) ** 2 / steps)
    return 1 / math.sqrt(inside)


def sampled_epsilon(
    sigma: float, delta: Fraction, rate: Fraction, steps: int, *, interval: float
) -> float:
    """Bound the ε at δ of Poisson-sampled Gaussian steps, with losses on a grid of ``interval``."""
    library = _library()
    usable = delta * (1 - Fraction(1, 10**6)) - Fraction(1, 10**13)
    if usable <= 0:
        raise ParameterError("The account is in floating point, which carries no δ below 10⁻¹³.")
    # Less noise and a larger rate than there are, by one part in 10¹², so that both floats err up.
    loss = library.from_gaussian_mechanism(
        sigma * (1 - 1e-12),
        value_discretization_interval=interval,
        sampling_prob=min(1.0, float(rate) * (1 + 1e-12)),
    )
    return float(loss.self_compose(steps).get_epsilon_for_delta(float(usable)))


def _library() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtra("dp-accounting", "accounting", "The account of training") from None
    return privacy_loss_distribution
