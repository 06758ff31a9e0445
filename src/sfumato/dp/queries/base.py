"""Queries as values, and how far one privacy unit can move their answers.

Contract: ``sensitivity(query, neighbours)`` derives the global L1 and L2 sensitivity: the
largest ‖f(D) − f(D′)‖ over *all* neighbouring data sets that respect the declared bounds, or a
number above it; never below. It follows from the query and the declared limits alone, never from
the data. Where it is infinite, ``why`` says what moves without limit and ``advice`` which bounding
(truncated contributions, declared bounds) makes it finite.

A query is a frozen value with one method, ``derive``; a user's own subclass works wherever ours
do. Each derivation stands, with its proof, beside its query.

A group of k units (a family) costs at most what a chain of k neighbours costs, by the triangle
inequality: k times its unit, where every step keeps the declared limits. Two limits need care.
``Node(vertices=V)`` counts the vertices before one is added, so the i-th added node of a group
meets V + i − 1 of them, and the chain costs Δ(V) + Δ(V + 1) + … + Δ(V + k − 1); when i nodes
leave and k − i enter, let those leave first. And nodes re-wired one by one (bounded) may exceed
a declared ``degree`` on the way: a chain that first takes the edges of all k away and then puts the
new ones in keeps it, and has 2k steps. Queries with a direct proof for k say so (``adds_up``).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from numbers import Real as AnyReal
from typing import TYPE_CHECKING, Any, ClassVar

from sfumato.dp.neighbours import (
    UNBOUNDED,
    Customer,
    Edge,
    Group,
    Neighbours,
    Node,
    Person,
    PrivacyUnit,
    Row,
    Transaction,
    Tree,
    Unit,
)
from sfumato.dp.rounding import Real, float_up, parameter_up, sqrt_up
from sfumato.errors import ParameterError
from sfumato.representation import Shown, Written

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_STEPS = 1000


@dataclass(frozen=True)
class Sensitivity(Shown):
    """How far one unit moves an answer, and why."""

    l1: float
    l2: float
    why: str
    neighbours: Neighbours = UNBOUNDED
    advice: str = ""
    mechanism: str = "noise"

    @property
    def finite(self) -> bool:
        """Whether noise can hide one unit at all."""
        return math.isfinite(self.l1) or math.isfinite(self.l2)

    def __str__(self) -> str:
        size = f"L1 {self.l1:.6g}, L2 {self.l2:.6g}" if self.finite else "unbounded"
        advice = f" {self.advice}" if self.advice else ""
        return f"{size} for {self.neighbours}: {self.why}.{advice}"


@dataclass(frozen=True)
class Query(Written, ABC):
    """A question with a known sensitivity; subclasses say which."""

    adds_up: ClassVar[bool] = False  # k·Δ is proved for k re-wired nodes or edges of limited degree

    @abstractmethod
    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive the global sensitivity for one unit that is not a group."""

    def evaluate(self, data: Any) -> Any:
        """Compute the exact answer, for study; nothing about it is private."""
        del data
        raise ParameterError(
            f"{type(self).__name__} has a sensitivity but cannot be computed: it has no "
            "evaluate(data). Define it beside derive()."
        )


def sensitivity(
    query: Query, neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED
) -> Sensitivity:
    """Give the global L1 and L2 sensitivity of a query, from declared bounds alone."""
    if not callable(getattr(query, "derive", None)) or isinstance(query, type):
        raise ParameterError(
            "The sensitivity of a query is derived from its description, such as sf.dp.Sum(bounds="
            f"(0, 100)) or sf.dp.Count(), and a {type(query).__name__} was given: of what a "
            "function does nothing is known. A subclass of sf.dp.Query may state its own."
        )
    wanted = Neighbours.of(neighbours)
    if not isinstance(wanted.unit, Group):
        return replace(query.derive(wanted), neighbours=wanted)
    unit, size = wanted.unit.members
    if isinstance(unit, Node) and unit.vertices is not None and not wanted.bounded:
        found = _added_nodes(query, unit, unit.vertices, size)
    else:
        found = _along(query.derive(Neighbours(wanted.relation, unit)), _steps(query, wanted))
    return replace(found, why=f"{size} units, and for each: {found.why}", neighbours=wanted)


def _steps(query: Query, wanted: Neighbours) -> int:
    """Count the steps of a chain that keeps the declared limits all the way."""
    assert isinstance(wanted.unit, Group)
    unit, size = wanted.unit.members
    limited = isinstance(unit, (Node, Edge)) and unit.degree is not None
    if size == 1 or query.adds_up or not (limited and wanted.bounded):
        return size
    if isinstance(unit, Node):
        return 2 * size
    raise ParameterError(
        "Edges replaced one by one may exceed the declared degree on the way, so nothing follows "
        "for a group of them; leave the degree out, or ask for unbounded neighbours."
    )


def _added_nodes(query: Query, unit: Node, vertices: int, size: int) -> Sensitivity:
    """Add up Δ(V) + … + Δ(V + k − 1); for a large group k·Δ(V + k − 1), which is no smaller."""
    each = range(vertices, vertices + size)
    if size > _MOST_STEPS:
        each = range(each[-1], each[-1] + 1)
    steps = [query.derive(Neighbours("unbounded", replace(unit, vertices=n))) for n in each]
    last = steps[-1]
    if len(steps) == 1:
        return _along(last, size)
    l1 = _rising(step.l1 for step in steps)
    l2 = _rising(step.l2 for step in steps)
    return replace(last, l1=l1, l2=l2)


def _rising(bounds: Iterable[float]) -> float:
    """Add bounds up, each raised to the largest so far: Δ grows with the limit."""
    highest = whole = Fraction(0)
    for bound in bounds:
        if math.isinf(bound):
            return bound
        highest = max(highest, Fraction(bound))
        whole += highest
    return up(whole)


def _along(bound: Sensitivity, steps: int) -> Sensitivity:
    return replace(bound, l1=_times(steps, bound.l1), l2=_times(steps, bound.l2))


def scalar(size: Real, why: str, *, advice: str = "", mechanism: str = "noise") -> Sensitivity:
    """State the sensitivity of a single number, for which L1 and L2 agree."""
    bound = up(size)
    return Sensitivity(bound, bound, why, advice=advice, mechanism=mechanism)


def vector(l1: Real, l2_squared: Real, why: str, *, advice: str = "") -> Sensitivity:
    """State the sensitivity of several numbers from L1 and the square of L2."""
    l2 = math.inf if l2_squared == math.inf else up(Fraction(sqrt_up(l2_squared)))
    exact = up(l1)
    return Sensitivity(exact, min(l2, exact), why, advice=advice)


def unlimited(why: str, advice: str) -> Sensitivity:
    """State that one unit moves the answer without limit."""
    return Sensitivity(math.inf, math.inf, why, advice=advice, mechanism="none")


def up(value: Real) -> float:
    """Print an exact sensitivity as a float that is at least as large in every reading."""
    return math.inf if value == math.inf else parameter_up(Fraction(value))


@dataclass(frozen=True)
class Records:
    """What one unit may contribute to a table: how many records, and whether that number moves."""

    most: int | None
    fixed: bool  # neighbours have the same number of records

    @classmethod
    def of(cls, neighbours: Neighbours, query: Query) -> Records:
        """Read the contribution of a unit to a table of records."""
        unit = neighbours.unit
        if isinstance(unit, (Row, Person, Transaction, Tree, Unit, Customer)):
            return cls(unit.parts, neighbours.bounded and unit.parts == 1)
        raise refuse(query, unit, "a row, a person with several rows, or another whole record")


def truncation_needed(neighbours: Neighbours) -> Sensitivity:
    """State that a unit may own any number of records, and what to do about it."""
    limit = "Customer(transactions=5)" if isinstance(neighbours.unit, Customer) else None
    name = neighbours.unit.name if isinstance(neighbours.unit, Unit) else "user_id"
    return unlimited(
        "one unit may contribute any number of records",
        f"Truncate contributions: keep at most so many records per unit and declare it, as in "
        f"{limit or f'Unit({name!r}, rows=5)'}.",
    )


def bounds_needed(what: str) -> Sensitivity:
    """State that values have no declared bounds, and what to do about it."""
    return unlimited(
        f"{what} has no declared bounds, so one value may be of any size",
        "Declare bounds=(low, high) from knowledge of the domain, never from the data; values "
        "outside are clamped.",
    )


def read_bounds(bounds: tuple[Real, Real] | None) -> tuple[Fraction, Fraction] | None:
    """Check declared bounds and read them as the binary numbers data are clamped to."""
    if bounds is None:
        return None
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise ParameterError(
            "Bounds are two finite numbers (low, high) with low ≤ high, as in bounds=(0, 100); a "
            f"{type(bounds).__name__} was given."
        )
    low, high = (read_number(end, "A bound") for end in bounds)
    if low > high:
        raise ParameterError(
            f"Bounds are two finite numbers (low, high) with low ≤ high, and ({bounds[0]}, "
            f"{bounds[1]}) was given."
        )
    return low, high


def read_number(value: Any, name: str) -> Fraction:
    """Read a number that a float can hold as the binary number it is."""
    if isinstance(value, (Rational, Decimal)) and (
        not isinstance(value, Decimal) or value.is_finite()
    ):
        exact = Fraction(value)
        if math.isfinite(float_up(abs(exact))):
            return exact
        raise ParameterError(f"{name} is a number that a float can hold; give a smaller one.")
    if isinstance(value, AnyReal) and math.isfinite(float(value)):
        return Fraction(float(value))
    raise ParameterError(
        f"{name} is a finite number, such as 0 or 99.5, and {value!r} was given; convert texts "
        "with float(…)."
    )


def refuse(query: Query, unit: PrivacyUnit, wanted: str) -> ParameterError:
    """Say that a query is not about this kind of unit."""
    return ParameterError(
        f"{type(query).__name__} is about {wanted}; its neighbours cannot be {unit.noun!r}."
    )


def check_count(name: str, value: int, least: int = 1) -> None:
    """Check a whole-number parameter of a query."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ParameterError(
            f"{name} is a whole number of at least {least}, and {value!r} was given."
        )


def total(values: Iterable[Real]) -> Fraction:
    """Add numbers exactly, in whatever order they come."""
    return sum((Fraction(value) for value in values), Fraction(0))


def _times(size: int, bound: float) -> float:
    return bound if math.isinf(bound) else up(size * Fraction(bound))
