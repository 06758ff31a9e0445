"""Queries as values, and how far one privacy unit can move their answers.

Contract: ``sensitivity(query, neighbours)`` derives the global L1 and L2 sensitivity: the
largest ‖f(D) − f(D′)‖ over *all* neighbouring data sets that respect the declared bounds, or a
number above it; never below. It follows from the query and the declared limits alone, never from
the data. Where it is infinite, ``why`` says what moves without limit and ``advice`` which bounding
(truncated contributions, declared bounds) makes it finite.

A query is a frozen value with one method, ``derive``; a user's own subclass works wherever ours
do. Each derivation stands, with its proof, beside its query. A group of k units (a family) costs
at most k times its unit, by the triangle inequality along a chain of k neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.dp.neighbours import (
    UNBOUNDED,
    Customer,
    Group,
    Neighbours,
    Person,
    PrivacyUnit,
    Row,
    Transaction,
    Tree,
    Unit,
)
from sfumato.dp.rounding import Real, parameter_up, sqrt_up
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Sensitivity:
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
class Query:
    """A question with a known sensitivity; subclasses say which."""

    def derive(self, neighbours: Neighbours) -> Sensitivity:
        """Derive the global sensitivity for one unit that is not a group."""
        raise NotImplementedError

    def evaluate(self, data: Any) -> Any:
        """Compute the exact answer, for study; nothing about it is private."""
        raise NotImplementedError


def sensitivity(
    query: Query, neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED
) -> Sensitivity:
    """Give the global L1 and L2 sensitivity of a query, from declared bounds alone."""
    wanted = Neighbours.of(neighbours)
    if not isinstance(wanted.unit, Group):
        return replace(query.derive(wanted), neighbours=wanted)
    size, unit = wanted.unit.size, wanted.unit.unit
    one = sensitivity(query, Neighbours(wanted.relation, unit))
    return replace(
        one,
        l1=_times(size, one.l1),
        l2=_times(size, one.l2),
        why=f"{size} units, and for each: {one.why}",
        neighbours=wanted,
    )


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
        if isinstance(unit, (Row, Person, Transaction, Tree)):
            return cls(1, neighbours.bounded)
        if isinstance(unit, Unit):
            return cls(unit.max_rows, neighbours.bounded and unit.max_rows == 1)
        if isinstance(unit, Customer):
            return cls(unit.transactions, neighbours.bounded and unit.transactions == 1)
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
    low, high = bounds
    if not all(math.isfinite(end) for end in (low, high)) or low > high:
        raise ParameterError(
            f"Bounds are two finite numbers (low, high) with low ≤ high, and ({low}, {high}) was "
            "given."
        )
    return Fraction(low), Fraction(high)


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
