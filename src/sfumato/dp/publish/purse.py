"""One budget, divided exactly: nothing gets noise without an entry in its list.

Contract: a :class:`Price` says what is promised to the privacy unit and what one *step* may cost,
a step being one row (or basket) added or removed. A :class:`Purse` holds that amount, as an exact
fraction: ε for pure differential privacy, ρ for zero-concentrated. Every measurement names its
share and what it is for; its cost is entered before noise is drawn, never twice, never beyond
what is left, and whatever numbers the noise gives. ``close`` refuses a purse that is not empty, so
the list of entries adds up to the budget exactly.

Proof. Entries are differentially private given all earlier outputs: whole numbers that a step moves
by at most Δ in L1, with discrete Laplace noise of scale Δ/ε, are ε-DP; by at most Δ in L2, with a
rounded Gaussian of variance Δ²/(2ρ), are ρ-zCDP (:mod:`sfumato.dp.mechanisms`). ε-DP is also
ε²/2-zCDP. Shares may depend on earlier outputs; sequential composition of pure and of
zero-concentrated privacy then still adds up (fully adaptive: Whitehouse, Ramdas, Rogers and Wu,
ICML 2023), and the sum is bounded by the purse. A unit of s steps (a person with s rows; twice as
many where a unit is replaced) has s times the ε and s² times the ρ, so the purse holds ε/s or ρ/s².
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.guarantees import ZCDP, ApproxDP, PureDP
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.gaussian import DiscreteGaussian
from sfumato.dp.mechanisms.grid import add
from sfumato.dp.neighbours import Customer, Neighbours, PrivacyUnit
from sfumato.dp.noise.gaussian import rounded_gaussian
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.rounding import sqrt_down, stated_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.rounding import Stated

WHOLE = Fraction(1)


@dataclass(frozen=True)
class Price:
    """What is promised to a unit, and what one step may cost: ε if ``pure``, else ρ."""

    guarantee: Guarantee
    pure: bool
    amount: Fraction

    @property
    def epsilon(self) -> float:
        """The ε of one step, for planning: of ρ-zCDP the ε with the same noise per count."""
        return float(self.amount) if self.pure else math.sqrt(2 * float(self.amount))


def price_of(
    *,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    neighbours: Neighbours | PrivacyUnit | str = "unbounded",
    together: bool = False,
) -> Price:
    """Read a price: epsilon=, epsilon= with delta=, or rho=; for the neighbours that are named.

    ``together`` says that all baskets of a customer are put together to one.
    """
    relation = Neighbours.of(neighbours)
    steps = steps_of(relation, together=together)
    if rho is not None:
        parameters.exactly_one((epsilon, rho), "epsilon= (with delta= or without) and rho=")
        exact = parameters.positive(rho, "ρ (rho)")
        return Price(ZCDP(stated_up(exact), neighbours=relation), False, exact / steps**2)
    if epsilon is None:
        raise ParameterError("Give epsilon=, epsilon= with delta=, or rho=.")
    exact = parameters.budget(epsilon)
    if delta is None:
        return Price(PureDP(stated_up(exact), neighbours=relation), True, exact / steps)
    mechanism = DiscreteGaussian(sensitivity=1, epsilon=epsilon, delta=delta)
    promised = ApproxDP(stated_up(exact), stated_up(parameters.failure(delta)), neighbours=relation)
    return Price(promised, False, 1 / (2 * mechanism.variance) / steps**2)


def steps_of(relation: Neighbours, *, together: bool = False) -> int:
    """Count the rows or baskets that one unit adds or removes; replacing does both.

    A customer whose baskets are put ``together`` has one, however many there were.
    """
    whole_customer = together and isinstance(relation.unit, Customer)
    rows = 1 if whole_customer else parameters.rows_per_unit(relation)
    return 2 * rows if relation.bounded else rows


@dataclass(frozen=True)
class PurseEntry:
    """One measurement: what it was for, what it cost, how many numbers it gave."""

    what: str
    cost: Fraction
    numbers: int = 0


@dataclass(frozen=True, eq=False)
class NoisyNumbers:
    """Whole numbers with noise, and the standard deviation of that noise."""

    values: NDArray[Any]
    deviation: float


@dataclass(eq=False)
class Purse:
    """What may still be spent on one data set, and what it was spent on."""

    price: Price
    entries: list[PurseEntry] = field(default_factory=list)

    @property
    def left(self) -> Fraction:
        """What has not been entered yet."""
        return self.price.amount - sum((entry.cost for entry in self.entries), Fraction(0))

    @property
    def pure(self) -> bool:
        """Whether amounts are ε, and noise is Laplace."""
        return self.price.pure

    def enter(self, what: str, share: Fraction, numbers: int = 0) -> Fraction:
        """Write down a measurement that takes this share of the whole; returns its cost."""
        cost = self.price.amount * share
        if share <= 0 or cost > self.left:
            raise AssertionError(f"{what}: a share of {share} is not in the purse")
        self.entries.append(PurseEntry(what, cost, numbers))
        return cost

    def epsilon(self, cost: Fraction) -> Fraction:
        """Give the ε of a step that is ε-DP and costs so much; rounded down."""
        return cost if self.pure else Fraction(sqrt_down(2 * cost))

    def measure(
        self, what: str, share: Fraction, exact: NDArray[Any], *, l1: int = 1, l2_squared: int = 1
    ) -> NoisyNumbers:
        """Add noise to whole numbers that a step moves by at most ``l1`` and √``l2_squared``."""
        cost = self.enter(what, share, exact.size)
        if self.pure:
            scale = l1 / cost
            return NoisyNumbers(self.laplace(exact, scale), math.sqrt(2) * float(scale))
        variance = l2_squared / (2 * cost)
        noise = rounded_gaussian(variance, exact.size).reshape(exact.shape)
        return NoisyNumbers(add(exact, noise), math.sqrt(variance))

    def laplace(self, exact: NDArray[Any], scale: Fraction) -> NDArray[Any]:
        """Add discrete Laplace noise of a scale that an entry pays for."""
        return add(exact, discrete_laplace(scale, exact.size).reshape(exact.shape))

    def close(self) -> tuple[PurseEntry, ...]:
        """Give the entries of a purse that is empty."""
        if self.left:
            raise AssertionError(f"{self.left} of the budget was not spent")
        return tuple(self.entries)


def within_95(deviation: float) -> int:
    """Give a whole number that noise of this deviation exceeds in at most one case of twenty.

    The tail of one Laplace draw is ln(20)/√2 = 2.118 deviations there; sums of several and normal
    noise have thinner ones (1.96). Noise comes in whole numbers, so the bound is rounded up to one.
    """
    return math.ceil(2.12 * deviation)


def statement(entries: tuple[PurseEntry, ...], *, pure: bool) -> str:
    """List what a release was spent on, in one line."""
    total = sum((entry.cost for entry in entries), Fraction(0))
    parts = ", ".join(f"{entry.what} {100 * float(entry.cost / total):.3g} %" for entry in entries)
    return f"{'ε' if pure else 'ρ'} = {float(total):.6g} per row: {parts}"


def whole(values: Any) -> NDArray[np.int64]:
    """Read counts as whole numbers of 64 bits."""
    return np.asarray(values).astype(np.int64)
