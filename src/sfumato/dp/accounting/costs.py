"""What one answer adds to an account, and what an account has added up.

Contract: a :class:`Cost` is exact. An answer with the cost (ε, μ², δ, ρ) is made by a mechanism
that, for neighbours and whatever was answered before, is a post-processing of independent things:
pure ones (Laplace and geometric noise, the exponential mechanism) whose εᵢ add up to ε and their
squares to ``epsilon_squared``, a Gaussian one with μ = sensitivity / σ, an event of probability δ
that may give everything away, and one of which no more is known than that it is ρ-zero-concentrated
(discrete normal noise): ``concentrated``. Concentrated and Gaussian accounts go by Σεᵢ², which for
several pure parts is less than (Σεᵢ)².

Every guarantee is such a cost, or implies one (:meth:`Cost.of`):

* ``PureDP(ε)``, ``GDP(μ)`` and ``ZCDP(ρ)`` are costs as they stand. (GDP(μ): what is at least as
  hard to tell apart as N(0, 1) and N(μ, 1) is a post-processing of them, by Blackwell's theorem.)
* ``ApproxDP(ε, δ)`` costs (ε, δ): every (ε, δ)-private pair of distributions is a post-processing
  of one that with probability δ reveals which data set it was, and else is randomised response with
  ε (Kairouz, Oh and Viswanath, ICML 2015, Theorem 3.1). That is an event of probability δ and,
  independent of it, a pure mechanism.
* Rényi curves, privacy-loss distributions and mechanisms on a sample are known by an (ε(δ), δ) that
  they imply at any δ one chooses (:func:`sfumato.dp.accounting.account`,
  :func:`~sfumato.dp.accounting.amplify`). They cost that (ε, δ). It is an upper bound: at its one
  δ it is tight, and together with others looser than composing the curves would be, which no
  proved filter does for parameters chosen along the way.

:class:`Spent` holds the totals from which :mod:`sfumato.dp.accounting.filters` decides whether a
budget still holds. All sums are exact; only a total with a denominator beyond 10⁶⁰, which
no decimal parameter makes, is rounded, and then upwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.guarantees import GDP, RDP, ZCDP, ApproxDP, Guarantee, PureDP
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, PrivacyUnit
from sfumato.dp.normal import gaussian_epsilon_up
from sfumato.dp.rounding import Stated, sqrt_up, stated, stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

ZERO = Fraction(0)
"""Nothing; a ρ that is not there is nearly always this very value, which is quickly told."""
_GRID = 10**60


@dataclass(frozen=True)
class Cost:
    """What one answer adds: pure ε, Gaussian μ² and the probability δ of a failure."""

    epsilon: Fraction = ZERO
    mu_squared: Fraction = ZERO
    delta: Fraction = ZERO
    epsilon_squared: Fraction = ZERO
    concentrated: Fraction = ZERO

    def __init__(
        self,
        epsilon: Stated = 0,
        mu_squared: Stated = 0,
        delta: Stated = 0,
        *,
        epsilon_squared: Stated | None = None,
        concentrated: Stated = 0,
    ) -> None:
        for name, value in (("epsilon", epsilon), ("mu_squared", mu_squared), ("delta", delta)):
            object.__setattr__(self, name, _at_least_zero(value, name))
        rho = _at_least_zero(concentrated, "ρ") if concentrated else ZERO
        object.__setattr__(self, "concentrated", rho)
        whole = self.epsilon**2  # as of one mechanism, unless the squares of several are told
        squares = whole if epsilon_squared is None else stated(epsilon_squared)
        object.__setattr__(self, "epsilon_squared", squares)
        if self.delta > 1:
            raise ParameterError("The δ of a cost is a probability, at most 1.")
        if squares > whole or squares < 0 or (not squares and whole):
            raise ParameterError(
                "The squares of several ε add up to at most the square of their sum."
            )

    @classmethod
    def of_equal(cls, epsilon: Fraction, count: int) -> Cost:
        """Give the cost of so many pure mechanisms of ε each."""
        return cls(epsilon * count, epsilon_squared=epsilon**2 * count)

    @classmethod
    def of(cls, guarantee: Guarantee, *, delta: Stated | None = None) -> Cost:
        """Give what a mechanism with this guarantee costs, about the same neighbours.

        ``delta`` states it as an (ε, δ): what Rényi curves are for, and what a ``ZCDP`` or ``GDP``
        needs in a budget that has no place for it.
        """
        if delta is not None or isinstance(guarantee, RDP):
            if delta is None:
                raise ParameterError(
                    "A Rényi guarantee is charged as an (ε, δ) that it implies; give delta=, a "
                    "small part of the budget's δ."
                )
            guarantee = guarantee.to(ApproxDP, delta=delta)
        if isinstance(guarantee, PureDP):
            return cls(guarantee.exact_epsilon)
        if isinstance(guarantee, ApproxDP):
            return cls(guarantee.exact_epsilon, delta=guarantee.exact_delta)
        if isinstance(guarantee, GDP):
            return cls(mu_squared=guarantee.exact_mu**2)
        if isinstance(guarantee, ZCDP):
            return cls(concentrated=guarantee.exact_rho)
        raise ParameterError(
            f"{guarantee.kind} is no promise of somebody who holds the data, and no budget is "
            "charged for it."
        )

    @property
    def rho(self) -> Fraction:
        """The ρ of zero-concentrated privacy of the answer, its δ aside."""
        rho = (self.mu_squared + self.epsilon_squared) / 2
        return rho + self.concentrated if there(self.concentrated) else rho

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is paid, as only an answer that reads no data may."""
        return not (self.epsilon or self.mu_squared or self.delta or self.concentrated)

    @property
    def mu(self) -> Fraction:
        """The μ of the Gaussian part: exact where it is rational, else rounded up."""
        return root_up(self.mu_squared)

    def __add__(self, other: Cost) -> Cost:
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(
            self.epsilon + other.epsilon,
            self.mu_squared + other.mu_squared,
            min(Fraction(1), self.delta + other.delta),
            epsilon_squared=self.epsilon_squared + other.epsilon_squared,
            concentrated=_sum(self.concentrated, other.concentrated),
        )

    def guarantee(
        self,
        neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED,
        delta: Stated | None = None,
    ) -> Guarantee:
        """State the guarantee of the answer alone, rounded up; ``delta`` asks for an (ε, δ)."""
        of = Neighbours.of(neighbours)
        if delta is not None:
            return self._approximately(stated(delta), of)
        if not (self.mu_squared or self.concentrated):
            if self.delta:
                return ApproxDP(stated_up(self.epsilon), stated_up(self.delta), neighbours=of)
            return PureDP(stated_up(self.epsilon), neighbours=of)
        if self.delta:
            raise ParameterError(
                "A cost with Gaussian noise and a δ of its own is stated at a larger δ; give "
                "delta=."
            )
        if self.epsilon or self.concentrated:
            return ZCDP(stated_up(self.rho), neighbours=of)
        return GDP(stated_up(self.mu), neighbours=of)

    def _approximately(self, delta: Fraction, neighbours: Neighbours) -> ApproxDP:
        unsure = self.mu_squared or self.concentrated  # no ε bounds the loss for certain
        if delta < self.delta or (unsure and delta == self.delta):
            raise ParameterError(
                f"The cost has δ = {float(self.delta):.3g} of its own and is stated at a larger "
                f"one; {float(delta):.3g} was given."
            )
        epsilon = self.epsilon
        if self.concentrated:
            whole = ZCDP(stated_up(self.rho))
            epsilon = whole.to(ApproxDP, delta=delta - self.delta).exact_epsilon
        elif self.mu_squared:
            epsilon += Fraction(gaussian_epsilon_up(self.mu, delta - self.delta))
        return ApproxDP(stated_up(epsilon), stated_up(delta), neighbours=neighbours)

    def to_json(self) -> dict[str, str]:
        """Give the cost as rationals in text; what is rarely there is left out."""
        entry = {part.name: str(getattr(self, part.name)) for part in fields(self)}
        if not there(self.concentrated):
            del entry["concentrated"]
        return entry

    @classmethod
    def from_json(cls, entry: Mapping[str, str]) -> Cost:
        """Read what :meth:`to_json` gave."""
        return cls(**{name: Fraction(value) for name, value in _checked(entry).items()})

    def __str__(self) -> str:
        parts = [
            f"{sign} = {float(value):.6g}"
            for sign, value in (
                ("ε", self.epsilon),
                ("μ", self.mu),
                ("ρ", self.concentrated),
                ("δ", self.delta),
            )
            if value
        ]
        return ", ".join(parts) or "nothing"


@dataclass(frozen=True)
class SpentTotals:
    """Totals of costs, and the two things about their order that the filters need.

    ``opening`` is the totals right after the first charge with Gaussian noise, while nobody had
    seen any; ``began_pure`` tells that the first charge of all had an ε or a ρ, no Gaussian noise
    and no δ. ``charges`` is how many there were, by which a policy deals out.
    """

    epsilon: Fraction = ZERO
    epsilon_squared: Fraction = ZERO
    mu_squared: Fraction = ZERO
    delta: Fraction = ZERO
    opening: SpentTotals | None = None
    began_pure: bool = False
    charges: int = 0
    concentrated: Fraction = ZERO

    @property
    def is_nothing(self) -> bool:
        """Whether nothing was charged."""
        return not (self.epsilon or self.mu_squared or self.delta or self.concentrated)

    def plus(self, cost: Cost) -> SpentTotals:
        """Add one charge."""
        totals = (
            _sum(self.epsilon, cost.epsilon),
            _sum(self.epsilon_squared, cost.epsilon_squared),
            _sum(self.mu_squared, cost.mu_squared),
            _sum(self.delta, cost.delta),
        )
        rest = self.concentrated
        if there(cost.concentrated):
            rest = _sum(rest, cost.concentrated)
        opens = self.opening is None and cost.mu_squared
        pure = bool(cost.epsilon or cost.concentrated) and not (cost.mu_squared or cost.delta)
        return SpentTotals(
            *totals,
            opening=SpentTotals(*totals, concentrated=rest) if opens else self.opening,
            began_pure=pure if self.is_nothing else self.began_pure,
            charges=self.charges + 1,
            concentrated=rest,
        )

    def to_json(self) -> dict[str, Any]:
        """Give the totals as rationals in text."""
        entry: dict[str, Any] = _totals(self)
        if self.opening is not None:
            entry["opening"] = _totals(self.opening)
        if self.began_pure:
            entry["began_pure"] = True
        entry["charges"] = self.charges
        return entry

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> SpentTotals:
        """Read what :meth:`to_json` gave."""
        opening = entry.get("opening")
        return cls(
            **{name: Fraction(entry[name]) for name in _TOTALS},
            opening=None if opening is None else cls.from_json(opening),
            began_pure=bool(entry.get("began_pure", False)),
            charges=int(entry.get("charges", 0)),
            concentrated=Fraction(entry["concentrated"]) if "concentrated" in entry else ZERO,
        )


_TOTALS = ("epsilon", "epsilon_squared", "mu_squared", "delta")


def _totals(spent: SpentTotals) -> dict[str, str]:
    """Give the totals alone; a ledger from before ρ was counted has none of it."""
    names = (*_TOTALS, "concentrated") if there(spent.concentrated) else _TOTALS
    return {name: str(getattr(spent, name)) for name in names}


def _checked(entry: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse an entry that is no cost: with a number too few, or one that nobody knows."""
    known = {part.name for part in fields(Cost)}
    if not known - {"concentrated"} <= set(entry) <= known:
        raise ValueError("no cost")
    return entry


def there(rho: Fraction) -> bool:
    """Tell whether a ρ is more than nothing, without arithmetic where it is not."""
    return rho is not ZERO and bool(rho)


def root_up(square: Fraction) -> Fraction:
    """Take a square root: exact where it is rational, else rounded up to a float."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    return Fraction(sqrt_up(square))


def _sum(before: Fraction, more: Fraction) -> Fraction:
    if not more:
        return before
    total = before + more
    if total.denominator <= _GRID:
        return total
    return Fraction(math.ceil(total * _GRID), _GRID)


def _at_least_zero(value: Stated, name: str) -> Fraction:
    exact = stated(value)
    if exact < 0:
        raise ParameterError(f"The {name} of a cost is at least 0.")
    return exact
