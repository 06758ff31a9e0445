"""Promises about a process: what differential privacy is kept, for whom.

Contract: a guarantee is a frozen value with its parameters, its neighbouring relation and
its privacy unit. Guarantees compose (``+``), compose in parallel over disjoint parts, restate
for groups and for other neighbours, convert and compare; every such step rounds so that the
result promises no more than the exact calculation. Parameters are read as the decimals they
print as (:func:`sfumato.dp.rounding.stated`), so ten times ``PureDP(0.1)`` is ``PureDP(1.0)``.

For all neighbours D, D′ and a mechanism M:

* ``PureDP(ε)``: Pr[M(D) ∈ S] ≤ e^ε · Pr[M(D′) ∈ S] for every set S of outputs
  (Dwork, McSherry, Nissim, Smith, TCC 2006);
* ``ApproxDP(ε, δ)``: the same, with "+ δ" on the right (Dwork et al., EUROCRYPT 2006);
* ``ZCDP(ρ)``: Rényi divergence of every order α > 1 is at most ρ·α (Bun and Steinke, TCC 2016);
* ``RDP({α: ε})``: Rényi divergence of order α is at most ε (Mironov, CSF 2017);
* ``GDP(μ)``: telling D from D′ is at least as hard as telling N(0, 1) from N(μ, 1)
  (Dong, Roth and Su, JRSS B 2022);
* ``LocalDP(ε)``: each person's own report is ε-private for her value, before anyone collects it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from sfumato.dp.neighbours import UNBOUNDED, Neighbours, Person, PrivacyUnit
from sfumato.dp.rounding import Stated, float_up, stated, stated_up
from sfumato.errors import ParameterError
from sfumato.lazy import find
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

G = TypeVar("G", bound="Guarantee")

_CALCULUS = {
    "compose": "sfumato.dp.accounting.composition:compose",
    "parallel": "sfumato.dp.accounting.composition:parallel",
    "remaining": "sfumato.dp.accounting.composition:remaining",
    "group": "sfumato.dp.accounting.restating:group",
    "restate": "sfumato.dp.accounting.restating:restate",
    "convert": "sfumato.dp.accounting.conversions:convert",
    "implies": "sfumato.dp.accounting.conversions:implies",
    "guarantee_to_json": "sfumato.dp.guarantee_json:guarantee_to_json",
}
"""What can be done with guarantees, and where its theorems are: they know every kind, so a kind
finds them when it is asked and imports none of them."""


@dataclass(frozen=True)
class Guarantee(Written):
    """What all guarantees share: neighbours, and the ways to combine and restate them."""

    neighbours: Neighbours = field(default=UNBOUNDED, kw_only=True)

    kind: ClassVar[str] = "guarantee"

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", Neighbours.of(self.neighbours))

    @property
    def unit(self) -> PrivacyUnit:
        """Whose data is protected."""
        return self.neighbours.unit

    @property
    def parts(self) -> tuple[Guarantee, ...]:
        """Itself: guarantees are composed by adding them up, not listed side by side."""
        return (self,)

    def to_json(self) -> dict[str, Any]:
        """Give it as plain JSON, exactly; `guarantee_json` reads it back."""
        found: dict[str, Any] = find(_CALCULUS["guarantee_to_json"])(self)
        return found

    def in_words(self, names: Sequence[str] = ()) -> str:  # noqa: ARG002 - as all promises are asked
        """Say in one sentence what is promised, and for whom."""
        told = str(self)
        return f"{told[:1].upper()}{told[1:]}."

    def compose(self, *others: Guarantee) -> Guarantee:
        """Give the guarantee of releasing all of them, each chosen after seeing the others."""
        found: Guarantee = find(_CALCULUS["compose"])(self, *others)
        return found

    def parallel(self, *others: Guarantee) -> Guarantee:
        """Give the guarantee of releases that each read another, disjoint part of the data."""
        found: Guarantee = find(_CALCULUS["parallel"])(self, *others)
        return found

    def group(self, size: int) -> Self:
        """Restate for ``size`` units whose data may change together, such as a family."""
        found: Self = find(_CALCULUS["group"])(self, size)
        return found

    def under(self, neighbours: Neighbours | PrivacyUnit | str) -> Self:
        """Restate for other neighbours, where the promise carries over."""
        found: Self = find(_CALCULUS["restate"])(self, Neighbours.of(neighbours))
        return found

    def to(self, kind: type[G], *, delta: Stated | None = None) -> G:
        """Convert to another kind of guarantee that this one implies."""
        found: G = find(_CALCULUS["convert"])(self, kind, delta=delta)
        return found

    def implies(self, other: Guarantee) -> bool:
        """Tell whether this promise is provably at least as strong as the other."""
        found: bool = find(_CALCULUS["implies"])(self, other)
        return found

    def minus(self, spent: Guarantee) -> Self:
        """Give what is left of this budget once ``spent`` is composed away, rounded down."""
        found: Self = find(_CALCULUS["remaining"])(self, spent)
        return found

    def __add__(self, other: Guarantee) -> Guarantee:
        return self.compose(other) if isinstance(other, Guarantee) else NotImplemented

    def __radd__(self, other: object) -> Guarantee:
        return self if other == 0 else NotImplemented  # lets sum() start from 0

    def __ge__(self, other: Guarantee) -> bool:
        """Tell whether this promise is at least as strong as the other."""
        return self.implies(other) if isinstance(other, Guarantee) else NotImplemented

    def __le__(self, other: Guarantee) -> bool:
        """Tell whether the other promise is at least as strong as this one."""
        return other.implies(self) if isinstance(other, Guarantee) else NotImplemented

    def _subject(self) -> str:
        return f"for {self.neighbours}"


@dataclass(frozen=True)
class PureDP(Guarantee):
    """ε-differential privacy.

    >>> import sfumato as sf
    >>> (sf.PureDP(0.1) + sf.PureDP(0.2)).epsilon
    0.3
    """

    epsilon: float

    kind: ClassVar[str] = "pure differential privacy"

    def __post_init__(self) -> None:
        super().__post_init__()
        _keep(self, "epsilon", _at_least_zero(self.epsilon, "ε (epsilon)"))

    @property
    def exact_epsilon(self) -> Fraction:
        """The parameter as a rational number, as it was stated."""
        return stated(self.epsilon)

    def __str__(self) -> str:
        return (
            f"{self.kind} with ε = {self.epsilon:.6g} {self._subject()}: no outcome becomes "
            f"more than {_factor(self.epsilon)} times more likely or less likely because of it"
        )


@dataclass(frozen=True)
class ApproxDP(Guarantee):
    """(ε, δ)-differential privacy; δ = 1 promises nothing and can only arise by calculation.

    >>> import sfumato as sf
    >>> sf.ApproxDP(1, 1e-6).delta
    1e-06
    """

    epsilon: float
    delta: float

    kind: ClassVar[str] = "approximate differential privacy"

    def __post_init__(self) -> None:
        super().__post_init__()
        _keep(self, "epsilon", _at_least_zero(self.epsilon, "ε (epsilon)"))
        delta = _at_least_zero(self.delta, "δ (delta)")
        if delta > 1:
            raise ParameterError(
                f"δ (delta) is a probability, at most 1 and usually far below 1/n, and "
                f"{self.delta} was given."
            )
        _keep(self, "delta", delta)

    @property
    def exact_epsilon(self) -> Fraction:
        """The parameter ε as a rational number, as it was stated."""
        return stated(self.epsilon)

    @property
    def exact_delta(self) -> Fraction:
        """The parameter δ as a rational number, as it was stated."""
        return stated(self.delta)

    def __str__(self) -> str:
        if self.delta >= 1:
            return f"{self.kind} with δ = 1 {self._subject()}: no promise at all"
        return (
            f"{self.kind} with ε = {self.epsilon:.6g}, δ = {self.delta:.6g} {self._subject()}: no "
            f"outcome becomes more than {_factor(self.epsilon)} times (plus {self.delta:.6g}) more "
            "likely because of it"
        )


@dataclass(frozen=True)
class ZCDP(Guarantee):
    """ρ-zero-concentrated differential privacy.

    >>> import sfumato as sf
    >>> sf.ZCDP(0.5).to(sf.ApproxDP, delta=1e-6).epsilon < 6
    True
    """

    rho: float

    kind: ClassVar[str] = "zero-concentrated differential privacy"

    def __post_init__(self) -> None:
        super().__post_init__()
        _keep(self, "rho", _at_least_zero(self.rho, "ρ (rho)"))

    @property
    def exact_rho(self) -> Fraction:
        """The parameter as a rational number, as it was stated."""
        return stated(self.rho)

    def __str__(self) -> str:
        return (
            f"{self.kind} with ρ = {self.rho:.6g} {self._subject()}: the privacy loss behaves at "
            f"worst like a normal variable with mean {self.rho:.6g} and variance "
            f"{2 * self.rho:.6g}"
        )


@dataclass(frozen=True)
class RDP(Guarantee):
    """Rényi differential privacy: a bound ε for each order α, from a mapping {α: ε}.

    >>> import sfumato as sf
    >>> sf.RDP({2: 0.5, 4: 1}).at(3)
    1.0
    """

    curve: tuple[tuple[float, float], ...]

    kind: ClassVar[str] = "Rényi differential privacy"

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs: Iterable[Any] = self.curve
        if isinstance(self.curve, Mapping):
            pairs = self.curve.items()
        points = sorted((_order(alpha), _at_least_zero(epsilon, "ε")) for alpha, epsilon in pairs)
        if not points:
            raise ParameterError("RDP needs at least one order, as in RDP({2: 0.5}).")
        if len({alpha for alpha, _ in points}) < len(points):
            raise ParameterError("RDP needs each order once; one order was given twice.")
        _keep(self, "curve", tuple(points))

    @property
    def orders(self) -> tuple[float, ...]:
        """The orders α for which a bound is known."""
        return tuple(alpha for alpha, _ in self.curve)

    def at(self, order: Stated) -> float:
        """Bound the Rényi divergence of an order: it grows with the order, so look upwards."""
        wanted = stated(order)
        for alpha, epsilon in self.curve:
            if stated(alpha) >= wanted:
                return epsilon
        raise ParameterError(
            f"Nothing is known for order {float(wanted):.6g}; the largest order of this guarantee "
            f"is {self.orders[-1]:.6g}."
        )

    def __str__(self) -> str:
        shown = ", ".join(f"({alpha:.6g}, {epsilon:.6g})" for alpha, epsilon in self.curve[:4])
        more = f" and {len(self.curve) - 4} more orders" if len(self.curve) > 4 else ""
        return f"{self.kind} (α, ε): {shown}{more} {self._subject()}"


@dataclass(frozen=True)
class GDP(Guarantee):
    """μ-Gaussian differential privacy.

    >>> import sfumato as sf
    >>> sf.GDP(1) >= sf.GDP(2)
    True
    """

    mu: float

    kind: ClassVar[str] = "Gaussian differential privacy"

    def __post_init__(self) -> None:
        super().__post_init__()
        _keep(self, "mu", _at_least_zero(self.mu, "μ (mu)"))

    @property
    def exact_mu(self) -> Fraction:
        """The parameter as a rational number, as it was stated."""
        return stated(self.mu)

    def __str__(self) -> str:
        return (
            f"{self.kind} with μ = {self.mu:.6g} {self._subject()}: telling whether it happened is "
            f"as hard as telling one draw of N(0, 1) from one of N({self.mu:.6g}, 1)"
        )


@dataclass(frozen=True)
class LocalDP(Guarantee):
    """ε-local differential privacy: the promise of one person's own, perturbed report.

    >>> import sfumato as sf
    >>> sf.LocalDP(1).epsilon
    1.0
    """

    epsilon: float
    neighbours: Neighbours = field(default=Neighbours("bounded", Person()), kw_only=True)

    kind: ClassVar[str] = "local differential privacy"

    def __post_init__(self) -> None:
        super().__post_init__()
        _keep(self, "epsilon", _at_least_zero(self.epsilon, "ε (epsilon)"))

    @property
    def exact_epsilon(self) -> Fraction:
        """The parameter as a rational number, as it was stated."""
        return stated(self.epsilon)

    def __str__(self) -> str:
        return (
            f"{self.kind} with ε = {self.epsilon:.6g} {self._subject()}: whatever a person's true "
            f"value is, her report is at most {_factor(self.epsilon)} times more or less likely; "
            "nobody, the collector included, sees the true value"
        )


def _keep(guarantee: Guarantee, name: str, value: object) -> None:
    object.__setattr__(guarantee, name, value)


def _at_least_zero(value: Stated, name: str) -> float:
    try:
        exact = stated(value)
    except ParameterError:
        raise ParameterError(
            f"{name} is a finite number of at least 0, and {value!r} was given."
        ) from None
    if exact < 0:
        raise ParameterError(f"{name} is at least 0, and {float_up(exact):g} was given.")
    number = stated_up(exact)
    if math.isinf(number):
        raise ParameterError(f"{name} is a number that a float can hold; give a smaller one.")
    return number


def _order(value: Stated) -> float:
    exact = stated(value)
    if exact <= 1:
        raise ParameterError(f"A Rényi order α is above 1, and {float_up(exact):g} was given.")
    order = float(exact) if float_up(exact) < math.inf else math.inf
    if math.isinf(order):
        raise ParameterError("A Rényi order α is a number that a float can hold.")
    if stated(order) != exact:
        raise ParameterError(
            f"A Rényi order α must be a number a float can hold exactly; {value!r} is not."
        )
    return order


def _factor(epsilon: float) -> str:
    if epsilon > 20:
        return f"e^{epsilon:.6g}"
    factor = math.exp(epsilon)
    unit = 10.0 ** (math.floor(math.log10(factor)) - 3)
    return f"{math.ceil(factor / unit * (1 - 1e-12)) * unit:.4g}"  # "at most" must stay true
