"""Spend a budget well: how much of it each intended release gets, and what noise that means.

Contract: ``plan(total, asks)`` splits a total guarantee among releases, by every method that
applies, and recommends the one with the least weighted error. Each strategy carries the guarantee
recomputed from its own parts, and is offered only if that provably implies the total.

The best split. With Laplace noise the expected error of release i is Δᵢ/εᵢ; Σ wᵢ·Δᵢ/εᵢ under
Σ εᵢ = ε is least at εᵢ ∝ √(wᵢ·Δᵢ) (Lagrange). With Gaussian noise it is √(2/π)·Δᵢ/μᵢ and the
budget is Σ μᵢ² (zCDP: ρᵢ = μᵢ²/2), so μᵢ² ∝ (wᵢ·Δᵢ)^(2/3). Releases with a wanted error get just
what it takes, the others share the rest. The shares are found in floating point and rounded
down; only the guarantee computed from them counts.

* ``pure``: Laplace noise, ε adds up. * ``advanced``: Laplace noise, optimal composition at δ.
* ``zcdp``: Gaussian noise, ρ adds up. * ``gdp``: Gaussian noise, μ² adds up, exact for
:class:`sfumato.dp.Gaussian`; for :class:`sfumato.dp.DiscreteGaussian` use ``zcdp``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sfumato.dp.accounting.advanced import compose_advanced
from sfumato.dp.accounting.composition import compose
from sfumato.dp.guarantees import GDP, ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.queries.base import Query, Sensitivity, sensitivity
from sfumato.dp.rounding import Stated, div_up, float_up, mul_up, sqrt_up, stated, stated_down
from sfumato.errors import ParameterError, Unsatisfiable
from sfumato.representation import Shown, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_MEAN = math.sqrt(2 / math.pi)  # E|N(0, 1)|
_PRECISION = 2.0**-40


@dataclass(frozen=True)
class Ask(Written):
    """An intended release: a query (or its sensitivity), and how much its error matters.

    ``weight`` multiplies the expected error in the sum to be made small; ``error`` fixes the
    expected error instead; ``times`` says how often the release is made.
    """

    query: Query | Sensitivity
    name: str = ""
    weight: Stated = 1
    error: Stated | None = None
    times: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.query, (Query, Sensitivity)):
            raise ParameterError(
                "An intended release is a query such as Count(), or its sensitivity(…), and a "
                f"{type(self.query).__name__} was given."
            )
        _number(self.weight, "A weight")
        if self.error is not None:
            _number(self.error, "A wanted error")
        if isinstance(self.times, bool) or not isinstance(self.times, int) or self.times < 1:
            raise ParameterError(f"times is a whole number, and {self.times!r} was given.")


@dataclass(frozen=True)
class Share:
    """What one release gets: its own guarantee, the noise, and the error to expect."""

    name: str
    mechanism: str
    guarantee: Guarantee
    scale: float
    error: float
    times: int


@dataclass(frozen=True)
class Strategy:
    """One way to spend the total: a share per release, and what they promise together."""

    method: str
    shares: tuple[Share, ...]
    guarantee: Guarantee
    cost: float


@dataclass(frozen=True)
class Plan(Shown):
    """The strategies that keep the total, best first, and why others do not."""

    total: Guarantee
    strategies: tuple[Strategy, ...]
    unavailable: tuple[tuple[str, str], ...]

    @property
    def best(self) -> Strategy:
        """The strategy with the least weighted error."""
        return self.strategies[0]

    @property
    def shares(self) -> tuple[Share, ...]:
        """The shares of the best strategy."""
        return self.best.shares

    def __str__(self) -> str:
        lines = [f"total: {self.total}"]
        for strategy in self.strategies:
            lines.append(f"{strategy.method}: weighted error {strategy.cost:.4g}")
            lines += [
                f"  {share.name}: {share.mechanism} noise of scale {share.scale:.4g}, expected "
                f"error {share.error:.4g}{f', {share.times} times' if share.times > 1 else ''}"
                for share in strategy.shares
            ]
        lines += [f"{method}: – {reason}" for method, reason in self.unavailable]
        return "\n".join(lines)


def plan(total: Guarantee, asks: Sequence[Ask | Query]) -> Plan:
    """Split a total guarantee among intended releases; the best strategy comes first."""
    if not isinstance(total, Guarantee):
        raise ParameterError(
            "The total of a plan is a promise such as PureDP(1) or ApproxDP(1, 1e-6), and a "
            f"{type(total).__name__} was given."
        )
    if not isinstance(asks, (list, tuple)):
        raise ParameterError(
            "The intended releases of a plan come as a list, as in plan(PureDP(1), [Count()]), and "
            f"a {type(asks).__name__} was given."
        )
    wanted = [_named(ask, k) for k, ask in enumerate(asks)]
    if not wanted:
        raise ParameterError("A plan needs at least one intended release.")
    sizes = [_size(ask, total) for ask in wanted]
    strategies: list[Strategy] = []
    unavailable: list[tuple[str, str]] = []
    for method, build in _methods(total):
        try:
            strategy = build(total, wanted, sizes)
        except (ParameterError, Unsatisfiable) as reason:
            unavailable.append((method, str(reason)))
            continue
        except (OverflowError, ZeroDivisionError):
            unavailable.append((method, "its numbers leave the range of floats."))
            continue
        if not strategy.guarantee.implies(total):
            unavailable.append((method, "its parts do not add up to the total"))
            continue
        strategies.append(strategy)
    if not strategies:
        reasons = " ".join(f"{method}: {reason}" for method, reason in unavailable)
        raise Unsatisfiable(f"No split of the total serves these releases. {reasons}")
    return Plan(total, tuple(sorted(strategies, key=lambda way: way.cost)), tuple(unavailable))


def _methods(total: Guarantee) -> Iterator[tuple[str, Callable[..., Strategy]]]:
    if isinstance(total, PureDP):
        yield "pure", _pure
    elif isinstance(total, ApproxDP):
        yield "pure", _pure
        if total.delta > 0:
            yield "advanced", _advanced
            yield "zcdp", _zcdp
            yield "gdp", _gdp
    elif isinstance(total, ZCDP):
        yield "zcdp", _zcdp
    elif isinstance(total, GDP):
        yield "gdp", _gdp
    else:
        raise ParameterError(
            f"A plan needs PureDP, ApproxDP, ZCDP or GDP as its total, and {total.kind} was given."
        )


def _pure(total: Guarantee, asks: list[Ask], sizes: list[Sensitivity]) -> Strategy:
    return _laplace("pure", asks, sizes, total.to(ApproxDP).exact_epsilon, _added)


def _added(guarantees: list[Guarantee]) -> Guarantee:
    return compose(*guarantees)


def _advanced(total: Guarantee, asks: list[Ask], sizes: list[Sensitivity]) -> Strategy:
    """Let Σ εᵢ grow beyond ε as long as optimal composition keeps it at δ."""
    assert isinstance(total, ApproxDP)
    delta = total.delta

    def joined(guarantees: list[Guarantee]) -> Guarantee:
        return compose_advanced(guarantees, delta=delta)

    def fits(factor: float) -> bool:
        budget = total.exact_epsilon * Fraction(factor)
        return _laplace("advanced", asks, sizes, budget, joined).guarantee.implies(total)

    factor = _largest(fits, 1.0, precision=1e-4)
    return _laplace("advanced", asks, sizes, total.exact_epsilon * Fraction(factor), joined)


def _laplace(
    method: str,
    asks: list[Ask],
    sizes: list[Sensitivity],
    budget: Fraction,
    join: Callable[[list[Guarantee]], Guarantee],
) -> Strategy:
    needed = [
        None if a.error is None else size.l1 / _number(a.error, "A wanted error")
        for a, size in zip(asks, sizes, strict=True)
    ]
    pulls = [
        math.sqrt(_number(a.weight, "A weight") * s.l1) for a, s in zip(asks, sizes, strict=True)
    ]
    shares = []
    for ask, size, epsilon in zip(
        asks, sizes, _split(asks, pulls, needed, budget, "ε"), strict=True
    ):
        guarantee = PureDP(epsilon, neighbours=size.neighbours)
        scale = div_up(size.l1, guarantee.exact_epsilon)
        shares.append(Share(ask.name, "laplace", guarantee, scale, scale, ask.times))
    return _strategy(method, asks, shares, join)


def _zcdp(total: Guarantee, asks: list[Ask], sizes: list[Sensitivity]) -> Strategy:
    if isinstance(total, ApproxDP):
        rho = _largest(lambda r: ZCDP(r, neighbours=total.neighbours).implies(total), 1.0)
        budget = stated(rho)
    else:
        assert isinstance(total, ZCDP)
        budget = total.exact_rho
    return _gaussian("zcdp", asks, sizes, 2 * budget)


def _gdp(total: Guarantee, asks: list[Ask], sizes: list[Sensitivity]) -> Strategy:
    if isinstance(total, ApproxDP):
        mu = _largest(lambda m: GDP(m, neighbours=total.neighbours).implies(total), 1.0)
        budget = stated(mu) ** 2
    else:
        assert isinstance(total, GDP)
        budget = total.exact_mu**2
    return _gaussian("gdp", asks, sizes, budget)


def _gaussian(method: str, asks: list[Ask], sizes: list[Sensitivity], budget: Fraction) -> Strategy:
    """Split Σ μᵢ², keeping one part in 10¹² for the rounding of each μᵢ."""
    needed = [
        None if a.error is None else (_MEAN * size.l2 / _number(a.error, "A wanted error")) ** 2
        for a, size in zip(asks, sizes, strict=True)
    ]
    pulls = [
        (_number(a.weight, "A weight") * s.l2) ** (2 / 3) for a, s in zip(asks, sizes, strict=True)
    ]
    room = budget * (1 - Fraction(1, 10**12))
    shares = []
    for ask, size, square in zip(asks, sizes, _split(asks, pulls, needed, room, "μ²"), strict=True):
        guarantee: Guarantee
        if method == "zcdp":
            guarantee = ZCDP(stated_down(stated(square) / 2), neighbours=size.neighbours)
            sigma = mul_up(size.l2, sqrt_up(1 / (2 * guarantee.exact_rho)))
        else:
            guarantee = GDP(math.sqrt(square), neighbours=size.neighbours)
            sigma = div_up(size.l2, guarantee.exact_mu)
        shares.append(Share(ask.name, "gaussian", guarantee, sigma, _MEAN * sigma, ask.times))
    return _strategy(method, asks, shares, _added)


def _split(
    asks: list[Ask],
    pulls: list[float],
    needed: list[float | None],
    budget: Fraction,
    symbol: str,
) -> list[float]:
    """Give fixed needs first, and share the rest in proportion to the pulls, rounded down."""
    fixed = sum(
        (Fraction(need) * ask.times for ask, need in zip(asks, needed, strict=True) if need),
        Fraction(0),
    )
    open_ = [k for k, need in enumerate(needed) if need is None]
    left = budget - fixed
    if left < 0 or (open_ and left <= 0):
        raise Unsatisfiable(
            f"The wanted errors need {symbol} = {float(fixed):.4g}, and {float(budget):.4g} is "
            "available; allow larger errors or a larger total."
        )
    whole = sum(Fraction(pulls[k]) * asks[k].times for k in open_)
    parts = []
    for k, need in enumerate(needed):
        if need is not None:
            if need <= 0:
                raise Unsatisfiable("A wanted error is so large that no budget is needed for it.")
            parts.append(need)
            continue
        parts.append(stated_down(left * Fraction(pulls[k]) / whole))
        if parts[-1] <= 0:
            raise Unsatisfiable("The total is too small to be divided among so many releases.")
    return parts


def _strategy(
    method: str,
    asks: list[Ask],
    shares: list[Share],
    join: Callable[[list[Guarantee]], Guarantee],
) -> Strategy:
    if not all(0 < share.scale < math.inf for share in shares):
        raise Unsatisfiable("The noise it takes is beyond what a float holds.")
    runs = [share.guarantee for share in shares for _ in range(share.times)]
    cost = sum(
        _number(a.weight, "A weight") * s.error * s.times for a, s in zip(asks, shares, strict=True)
    )
    return Strategy(method, tuple(shares), join(runs), cost)


def _size(ask: Ask, total: Guarantee) -> Sensitivity:
    size = ask.query
    if isinstance(size, Query):
        size = sensitivity(size, total.neighbours)
    elif size.neighbours != total.neighbours:
        raise ParameterError(
            f"The sensitivity of {ask.name!r} is for {size.neighbours}, and the total protects "
            f"{total.neighbours}."
        )
    if size.mechanism != "noise" or not (math.isfinite(size.l1) and math.isfinite(size.l2)):
        raise ParameterError(
            f"{ask.name!r} cannot be planned with noise: {size.why}. {size.advice}"
        )
    if size.l1 <= 0:
        raise ParameterError(f"{ask.name!r} never changes, so it needs no budget and no plan.")
    return size


def _number(value: Stated, name: str) -> float:
    """Read a number above 0 that a float can hold, for the search of shares."""
    exact = parameters.positive(value, name)
    number = float(exact) if float_up(exact) < math.inf else math.inf
    if not 0 < number < math.inf:
        raise ParameterError(f"{name} is a number that a float can hold; state it otherwise.")
    return number


def _named(ask: Ask | Query, place: int) -> Ask:
    named = ask if isinstance(ask, Ask) else Ask(ask)
    return named if named.name else replace(named, name=f"{type(named.query).__name__} {place + 1}")


def _largest(
    holds: Callable[[float], bool], start: float, *, precision: float = _PRECISION
) -> float:
    """Find the largest number for which a condition holds, up to a relative precision."""
    low = start
    for _ in range(2000):
        if holds(low):
            break
        low /= 2
    else:
        raise Unsatisfiable("No positive amount fits into the total.")
    high = low * 2
    while holds(high):
        low, high = high, high * 2
    while high - low > high * precision:
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
