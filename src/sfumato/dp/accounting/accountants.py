"""One account of many releases by every method that applies, side by side.

Contract: ``account(steps, delta=…)`` gives the total ε at δ by each accountant, and which is best.

* ``basic``, ``advanced``, ``zcdp`` and ``gdp`` are theorems evaluated here with rounding upwards;
  ``gdp`` is exact for unsampled continuous Gaussian noise, which composes to Gaussian noise.
* ``rdp`` and ``pld`` are the numerical accountants of Google's dp-accounting (extra
  ``accounting``): floating-point code that discretises pessimistically. Its results are widened
  by a guard against rounding (one part in 10⁹ of ε; 10⁻¹³ plus one part in 10⁶ of δ for ``pld``),
  which is prudence, not proof; ``Account.proved`` therefore looks at the first four only.

Sampled steps are Poisson sampled under unbounded neighbours whose unit has one record; unsampled
steps hold for whichever neighbours their multipliers were computed for.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.accounting.advanced import compose_advanced
from sfumato.dp.accounting.composition import compose
from sfumato.dp.accounting.steps import Step
from sfumato.dp.accounting.subsampling import check_sampled_unit
from sfumato.dp.guarantees import ApproxDP, Guarantee
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, PrivacyUnit
from sfumato.dp.rounding import Stated, stated, stated_up
from sfumato.errors import MissingExtra, ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PROVED = ("basic", "advanced", "gdp", "zcdp")
NUMERICAL = ("pld", "rdp")
_COARSE = 1e-4  # the grid of losses; ten times finer where a few runs lose less than 0.1
_MOST_RUNS = 20_000
_RDP_GUARD = Fraction(1, 10**9)


@dataclass(frozen=True)
class Account(Shown):
    """The total ε of some steps at one δ, by accountant, and why some could not be used."""

    delta: float
    epsilons: Mapping[str, float]
    unavailable: Mapping[str, str]
    neighbours: Neighbours

    def __post_init__(self) -> None:
        if not self.epsilons:
            reasons = " ".join(f"{name}: {why}" for name, why in sorted(self.unavailable.items()))
            raise ParameterError(f"No accountant applies to these steps. {reasons}".strip())

    @property
    def best(self) -> str:
        """The accountant with the smallest ε."""
        return min(self.epsilons, key=lambda name: self.epsilons[name])

    @property
    def epsilon(self) -> float:
        """The smallest ε."""
        return self.epsilons[self.best]

    @property
    def guarantee(self) -> ApproxDP:
        """The best guarantee, by whichever accountant."""
        return ApproxDP(self.epsilon, self.delta, neighbours=self.neighbours)

    @property
    def proved(self) -> ApproxDP:
        """The best guarantee that rests on theorems and directed rounding alone."""
        proved = [self.epsilons[name] for name in PROVED if name in self.epsilons]
        if not proved:
            raise ParameterError(
                f"This account has numerical accountants only ({', '.join(self.epsilons)}); "
                f"account with one of {', '.join(PROVED)} too, or use .guarantee."
            )
        return ApproxDP(min(proved), self.delta, neighbours=self.neighbours)

    def __str__(self) -> str:
        lines = [f"total ε at δ = {self.delta:.3g}, for {self.neighbours}"]
        for name, epsilon in sorted(self.epsilons.items(), key=lambda pair: pair[1]):
            mark = "" if name in PROVED else "  (numerical)"
            lines.append(f"  {name:<9}{epsilon:.4g}{mark}")
        lines += [f"  {name:<9}– {reason}" for name, reason in sorted(self.unavailable.items())]
        return "\n".join(lines)


def account(
    steps: Step | Sequence[Step],
    *,
    delta: Stated,
    neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED,
    accountants: Sequence[str] | None = None,
) -> Account:
    """Account for steps by several methods; by all that apply when none are named."""
    listed = [steps] if isinstance(steps, Step) else steps
    if not isinstance(listed, (list, tuple)) or not all(isinstance(step, Step) for step in listed):
        raise ParameterError(
            "An account is about steps such as Step.gaussian(1) or Step.private(PureDP(1)), one "
            "or a list of them."
        )
    listed, target, relation = list(listed), stated(delta), Neighbours.of(neighbours)
    _check(listed, target, relation, accountants)
    methods: dict[str, Callable[[list[Step], Fraction], Fraction]] = {
        "basic": _basic,
        "advanced": _advanced,
        "gdp": _gdp,
        "zcdp": _zcdp,
        "rdp": _rdp,
        "pld": _pld,
    }
    epsilons: dict[str, float] = {}
    unavailable: dict[str, str] = {}
    for name in accountants or methods:
        try:
            epsilons[name] = stated_up(methods[name](listed, target))
        except (ParameterError, MissingExtra) as reason:
            if accountants is not None:
                raise
            unavailable[name] = str(reason)
    return Account(stated_up(target), epsilons, unavailable, relation)


def _basic(steps: list[Step], delta: Fraction) -> Fraction:
    return sum((guarantee.exact_epsilon * n for guarantee, n in _shares(steps, delta)), Fraction(0))


def _advanced(steps: list[Step], delta: Fraction) -> Fraction:
    if sum(step.times for step in steps) > _MOST_RUNS:
        raise ParameterError(f"Advanced composition is computed for up to {_MOST_RUNS} runs.")
    runs: list[Guarantee] = []
    for guarantee, times in _shares(steps, delta):
        runs += [guarantee] * times
    return compose_advanced(runs, delta=delta).exact_epsilon


def _shares(steps: list[Step], delta: Fraction) -> list[tuple[ApproxDP, int]]:
    """Give each run its (ε, δ): Gaussian runs share half of what δ the others leave."""
    fixed = sum(
        (stated(s.rate) * stated(s.delta) * s.times for s in steps if not s.is_gaussian),
        Fraction(0),
    )
    runs = sum(step.times for step in steps if step.is_gaussian)
    left = delta - fixed
    if left < 0 or (runs and left == 0):
        raise ParameterError(
            f"The steps spend δ = {float(fixed):.3g} themselves, which leaves nothing of "
            f"{float(delta):.3g}."
        )
    each = left / (2 * runs) if runs else Fraction(0)
    return [(step.approximately(each), step.times) for step in steps]


def _zcdp(steps: list[Step], delta: Fraction) -> Fraction:
    _unsampled(steps, "zcdp")
    rho = sum((step.zcdp().exact_rho * step.times for step in steps), Fraction(0))
    total = steps[0].zcdp()
    return type(total)(stated_up(rho)).to(ApproxDP, delta=delta).exact_epsilon


def _gdp(steps: list[Step], delta: Fraction) -> Fraction:
    _unsampled(steps, "gdp")
    if any(step.noise != "gaussian" for step in steps):
        raise ParameterError("gdp accounts for continuous Gaussian noise only.")
    total = compose(*(step.gdp() for step in steps for _ in range(min(step.times, _MOST_RUNS))))
    if any(step.times > _MOST_RUNS for step in steps):
        raise ParameterError(f"gdp is computed for up to {_MOST_RUNS} runs of a step.")
    return total.to(ApproxDP, delta=delta).exact_epsilon


def _rdp(steps: list[Step], delta: Fraction) -> Fraction:
    dp_accounting = _library()
    from dp_accounting import rdp  # noqa: PLC0415 - an extra, loaded when asked for

    whole = any(step.noise == "discrete gaussian" and step.rate < 1 for step in steps)
    orders = [*range(2, 64), 80, 96, 128, 192, 256, 512, 1024]
    if not whole:
        orders = [1 + k / 10 for k in range(1, 10)] + orders
    accountant = rdp.RdpAccountant(orders)
    for step in steps:
        accountant.compose(_event(dp_accounting, step), step.times)
    epsilon = Fraction(float(accountant.get_epsilon(float(delta))))
    return epsilon * (1 + _RDP_GUARD)


def _event(dp_accounting: Any, step: Step) -> Any:
    if step.noise == "approximate":
        raise ParameterError("rdp cannot account for a mechanism of which only (ε, δ) is known.")
    if not step.is_gaussian:
        epsilon = step.approximately(Fraction(0)).exact_epsilon
        return dp_accounting.ZCDpEvent(float(epsilon**2 / 2))
    event = dp_accounting.GaussianDpEvent(step.multiplier)
    return event if step.rate == 1 else dp_accounting.PoissonSampledDpEvent(step.rate, event)


def _pld(steps: list[Step], delta: Fraction) -> Fraction:
    _library()
    from dp_accounting.pld import privacy_loss_distribution as pld  # noqa: PLC0415 - an extra

    usable = delta * (1 - Fraction(1, 10**6)) - Fraction(1, 10**13)
    if usable <= 0:
        raise ParameterError("pld computes in floating point, which carries no δ below 10⁻¹³.")
    epsilon = _discretized(pld, steps, usable, _COARSE)
    if epsilon < 1000 * _COARSE and sum(step.times for step in steps) < 100:
        epsilon = min(epsilon, _discretized(pld, steps, usable, _COARSE / 10))
    return epsilon


def _discretized(pld: Any, steps: list[Step], usable: Fraction, interval: float) -> Fraction:
    """Bound ε on a grid of losses; every grid bounds it from above, and a finer one is slower."""
    total = None
    for step in steps:
        loss = _loss(pld, step, interval)
        loss = loss.self_compose(step.times) if step.times > 1 else loss
        total = loss if total is None else total.compose(loss)
    assert total is not None
    return Fraction(float(total.get_epsilon_for_delta(float(usable))))


def _loss(pld: Any, step: Step, interval: float) -> Any:
    if step.noise == "gaussian":
        return pld.from_gaussian_mechanism(
            step.multiplier, value_discretization_interval=interval, sampling_prob=step.rate
        )
    if step.noise == "discrete gaussian":
        return pld.from_discrete_gaussian_mechanism(
            step.multiplier * step.sensitivity,
            sensitivity=step.sensitivity,
            value_discretization_interval=interval,
            sampling_prob=step.rate,
        )
    if step.noise == "geometric":
        return pld.from_discrete_laplace_mechanism(
            1 / (step.multiplier * step.sensitivity),
            sensitivity=step.sensitivity,
            value_discretization_interval=interval,
            sampling_prob=step.rate,
        )
    from dp_accounting.pld import common  # noqa: PLC0415 - an extra

    run = step.approximately(Fraction(0))
    return pld.from_privacy_parameters(
        common.DifferentialPrivacyParameters(run.epsilon, run.delta),
        value_discretization_interval=interval,
    )


def _library() -> Any:
    try:
        import dp_accounting  # noqa: PLC0415 - an extra, loaded when asked for
    except ImportError:
        raise MissingExtra("dp-accounting", "accounting", "Numerical accounting") from None
    return dp_accounting


def _unsampled(steps: list[Step], name: str) -> None:
    if any(step.rate < 1 for step in steps):
        raise ParameterError(f"{name} does not account for sampled mechanisms.")
    if any(step.noise == "approximate" for step in steps):
        raise ParameterError(f"{name} cannot use a mechanism of which only (ε, δ) is known.")


def _check(
    steps: list[Step], delta: Fraction, neighbours: Neighbours, names: Sequence[str] | None
) -> None:
    if not steps:
        raise ParameterError("An account needs at least one step.")
    if not 0 < delta < 1:
        raise ParameterError(f"delta is between 0 and 1, and {float(delta):g} was given.")
    if neighbours.bounded and any(step.rate < 1 for step in steps):
        raise ParameterError(
            "Poisson sampling is accounted for unbounded neighbours; restate the result with "
            ".under('bounded')."
        )
    if any(step.rate < 1 for step in steps):
        check_sampled_unit(neighbours.unit)
    unknown = set(names or ()) - {*PROVED, *NUMERICAL}
    if unknown:
        raise ParameterError(
            f"Unknown accountant {min(unknown)!r}; choose from {', '.join((*PROVED, *NUMERICAL))}."
        )
