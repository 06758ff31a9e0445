"""Aggregates of the fluent API: ``count()``, ``sum_("cost", bounds=(0, 1000))`` and their kin.

Contract: an :class:`Aggregation` is a term, so that arithmetic on aggregates is written as on
columns; what it is of is read against the rows, where it stands is read against the groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.fluent.terms import Term, named
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.ask.fluent.terms import Names
    from sfumato.ask.language.language import Aggregate, Expression


@dataclass(frozen=True, eq=False)
class Aggregation(Term):
    """A number about a group, or within ``per_person`` about a person."""

    kind: Aggregate
    of: Term | None = None
    condition: Term | None = None
    bounds: tuple[Any, Any] | None = None
    order: Fraction | None = None
    spelling: str = ""

    def read(self, names: Names) -> Expression:
        """Register the aggregate and read the column that shows it."""
        return names.aggregate(self)

    def where(self, condition: Term) -> Aggregation:
        """Count only some rows, without changing which groups there are."""
        both = condition if self.condition is None else self.condition & condition
        return Aggregation(self.kind, self.of, both, self.bounds, self.order, self.spelling)


def count(of: object = None) -> Aggregation:
    """Count rows, or the values of a term."""
    return Aggregation("count", None if of is None else named(of), spelling="COUNT")


def people() -> Aggregation:
    """Count different people."""
    return Aggregation("people", spelling="COUNT")


def sum_(of: object, *, bounds: tuple[Any, Any] | None = None) -> Aggregation:
    """Add up; the name ends in an underscore, as Python has a ``sum``."""
    return Aggregation("sum", named(of), bounds=bounds, spelling="SUM")


def avg(of: object, *, bounds: tuple[Any, Any] | None = None) -> Aggregation:
    """Take the mean."""
    return Aggregation("avg", named(of), bounds=bounds, spelling="AVG")


def variance(
    of: object, *, bounds: tuple[Any, Any] | None = None, population: bool = False
) -> Aggregation:
    """Take the variance of the sample, or of the population."""
    spelling = "VAR_POP" if population else "VARIANCE"
    return Aggregation("variance", named(of), bounds=bounds, spelling=spelling)


def stddev(
    of: object, *, bounds: tuple[Any, Any] | None = None, population: bool = False
) -> Aggregation:
    """Take the standard deviation of the sample, or of the population."""
    spelling = "STDDEV_POP" if population else "STDDEV"
    return Aggregation("stddev", named(of), bounds=bounds, spelling=spelling)


def quantile(
    of: object, order: float | Fraction, *, bounds: tuple[Any, Any] | None = None
) -> Aggregation:
    """Take a quantile."""
    return _quantile(of, order, bounds, "QUANTILE")


def median(of: object, *, bounds: tuple[Any, Any] | None = None) -> Aggregation:
    """Take the median."""
    return _quantile(of, Fraction(1, 2), bounds, "MEDIAN")


def min_(of: object, *, bounds: tuple[Any, Any] | None = None) -> Aggregation:
    """Take the quantile of order 0."""
    return _quantile(of, 0, bounds, "MIN")


def max_(of: object, *, bounds: tuple[Any, Any] | None = None) -> Aggregation:
    """Take the quantile of order 1."""
    return _quantile(of, 1, bounds, "MAX")


def _quantile(
    of: object, order: float | Fraction, bounds: tuple[Any, Any] | None, spelling: str
) -> Aggregation:
    share = Fraction(repr(order)) if isinstance(order, float) else order
    if isinstance(order, bool) or not isinstance(share, (int, Fraction)) or not 0 <= share <= 1:
        raise ParameterError(f"The order of a quantile is from 0 to 1, and {order!r} was given.")
    return Aggregation("quantile", named(of), None, bounds, Fraction(share), spelling)
