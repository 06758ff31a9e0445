"""From a scope, keys and aggregates to a question: the checks both ways of asking share.

Contract: the measures and keys made here are well-formed, every expression in them can be computed
on every engine, and bounds and public values are filled in where public facts or the question give
them. Bounds that the question gives narrow a column within the aggregate, not in WHERE.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.analysis import declared_range, interval_of, kind_of
from sfumato.ask.language.build import case, condition, literal, number
from sfumato.ask.language.days import Day
from sfumato.ask.language.domains import given_values, public_values
from sfumato.ask.language.exactness import exact
from sfumato.ask.language.language import Column, Constant, Expression, Filter, Key, Measure
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import columns_of, transformed
from sfumato.ask.scope.scopes import checked
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.language.language import Aggregate, Bounds, Value
    from sfumato.ask.scope.scopes import Scope

MOST_GROUPS = 1_000_000
LARGEST_KEY = 2**62  # a 64-bit integer on every engine
NUMERIC = frozenset({"sum", "avg", "variance", "stddev", "quantile"})


@dataclass
class GivenFacts:
    """Bounds and key values that come with the question, and which of them were used."""

    bounds: Mapping[str, Bounds]
    keys: Mapping[str, Sequence[object] | None]
    used: set[str]

    @classmethod
    def read(cls, bounds: Mapping[str, Any], keys: Mapping[str, Any]) -> GivenFacts:
        """Check what was given."""
        lowered = {name.lower(): read_bounds(name, pair) for name, pair in bounds.items()}
        return cls(lowered, {name.lower(): values for name, values in keys.items()}, set())

    def bounds_for(self, *names: str) -> Bounds | None:
        """Find the bounds given under one of the names."""
        for name in names:
            if name.lower() in self.bounds:
                self.used.add(name.lower())
                return self.bounds[name.lower()]
        return None

    def unused(self) -> list[str]:
        """List the names that nothing in the question has."""
        return sorted({*self.bounds, *self.keys} - self.used)


@dataclass(frozen=True)
class AskedAggregate:
    """An aggregate as asked for."""

    aggregate: Aggregate
    term: Expression | None = None
    where: Expression | None = None
    order: Fraction | None = None
    spelling: str = ""
    bounds: Bounds | None = None

    def filtered(self) -> Expression | None:
        """Give the term with the filter inside: NULL, so not counted, where it is not true."""
        if self.where is None:
            return self.term
        counted = literal(1) if self.term is None else self.term
        return case([(self.where, counted)], Constant(None, "text"))


def read_bounds(name: str, pair: Any) -> Bounds:
    """Check bounds that come with a question: two numbers, or two dates as numbers of days."""
    days = [Day.read(end) for end in pair] if isinstance(pair, (tuple, list)) else []
    if len(days) == 2 and days[0] is not None and days[1] is not None:
        if days[0] >= days[1]:
            raise ParameterError(f"The bounds of {name!r} are dates with the earlier one first.")
        return days[0], days[1]
    try:
        low, high = (Fraction(repr(end) if isinstance(end, float) else end) for end in pair)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"The bounds of {name!r} are a pair of numbers (low, high), or of dates."
        ) from None
    if not -(10**300) <= low < high <= 10**300:
        raise ParameterError(
            f"The bounds of {name!r} are numbers with low < high, and ({low}, {high}) was given."
        )
    return low, high


def measure(
    name: str,
    aggregate: Aggregate,
    term: Expression | None,
    given: GivenFacts,
    *,
    where: Expression | None = None,
    order: Fraction | None = None,
    spelling: str = "",
    bounds: Bounds | None = None,
    scope: Scope | None = None,
) -> Measure:
    """Make a measure, with the bounds that are known for its term."""
    if where is not None:
        checked(condition(where, "FILTER"))
    if term is None or aggregate not in NUMERIC:
        if term is not None:
            checked(term)
        return Measure(name, aggregate, term, where, None, order, spelling)
    if aggregate == "quantile" and kind_of(term) == "date":
        known = _date_bounds(name, checked(term), given, bounds, scope)
        if known is None:
            raise refuse("date_bounds", what=spelling)
        return Measure(name, aggregate, term, where, known, order, spelling)
    tight = narrowed(number(term, spelling or aggregate.upper()), given, scope)
    known = interval_of(checked(tight))
    asked = _alike(name, bounds or given.bounds_for(name), dates=False)
    if asked is not None:
        known = asked if known is None else _within(name, asked, known)
        if isinstance(tight, Column):
            tight = replace(tight, bounds=known)
            known = interval_of(tight)
    return Measure(name, aggregate, tight, where, known, order, spelling)


def narrowed(term: Expression, given: GivenFacts, scope: Scope | None = None) -> Expression:
    """Put the bounds that the question gives for a column on it, within its own.

    They are given under a name that the column has in the scope, with its table or without.
    """

    def narrow(column: Column) -> Column:
        names = [] if scope is None else scope.names_of(column)
        asked = given.bounds_for(*names, column.name)
        if asked is None or kind_of(column) not in {"integer", "real"}:
            return column
        _alike(column.name, asked, dates=False)
        own = column.bounds
        return replace(column, bounds=asked if own is None else _within(column.name, asked, own))

    return transformed(term, narrow)


def _date_bounds(
    name: str, term: Expression, given: GivenFacts, bounds: Bounds | None, scope: Scope | None
) -> Bounds | None:
    """Find the days between which a quantile of dates lies: given, or declared for its column."""
    names, own = [name], None
    if isinstance(term, Column):
        names += [*(scope.names_of(term) if scope is not None else ()), term.name]
        domain = dict(scope.domains).get(term.name, ()) if scope is not None else ()
        days = [day for day in map(Day.read, domain) if day is not None]
        own = term.bounds or ((min(days), max(days)) if days else None)
    asked = _alike(name, bounds or given.bounds_for(*names), dates=True)
    return own if asked is None else asked if own is None else _within(name, asked, own)


def _alike(name: str, asked: Bounds | None, *, dates: bool) -> Bounds | None:
    """Refuse dates as bounds of numbers, and numbers as bounds of dates."""
    if asked is not None and isinstance(asked[0], Day) != dates:
        wanted = "dates such as '2024-12-31'" if dates else "numbers"
        raise ParameterError(f"The bounds of {name!r} are {wanted}.")
    return asked


def _within(name: str, asked: Bounds, own: Bounds) -> Bounds:
    low, high = max(asked[0], own[0]), min(asked[1], own[1])
    if low > high:
        raise ParameterError(
            f"The bounds given for {name!r} do not meet its declared bounds ({own[0]}, {own[1]})."
        )
    return low, high


def key(name: str, expression: Expression, scope: Scope, given: GivenFacts) -> Key:
    """Make a key, with its public values where they are known."""
    kind = kind_of(checked(expression))
    if kind == "real":
        raise refuse("real_key", what=name)
    found = None if exact(expression) else declared_range(expression)
    if found is not None and found.most > LARGEST_KEY:
        raise refuse("large_key", what=name)
    if not columns_of(expression):
        raise refuse("constant_key", what=name)
    own = expression.name if isinstance(expression, Column) else name
    for label in (name.lower(), own.lower()):
        if label in given.keys:
            given.used.add(label)
            asked = given.keys[label]
            values = None if asked is None else given_values(name, kind, asked)
            _check_domain(own, values, dict(scope.domains).get(own))
            return Key(name, expression, values)
    where = scope.relation.condition if isinstance(scope.relation, Filter) else None
    return Key(name, expression, public_values(expression, dict(scope.domains), where))


def _check_domain(
    name: str, values: Sequence[Value] | None, domain: Sequence[Value] | None
) -> None:
    """Hold a question to the values the owner declared."""
    if domain is not None and (values is None or not {*values} <= {*domain, None}):
        raise ParameterError(
            f"The values of {name!r} are declared by the owner; a question can choose among them "
            "and cannot add others."
        )


def check_groups(keys: Sequence[Key]) -> None:
    """Refuse more groups than fit an answer."""
    count = math.prod(len(key.values) for key in keys if key.values is not None)
    if count > MOST_GROUPS:
        raise refuse("too_many_groups", what=f"{count:,}", most=f"{MOST_GROUPS:,}")


def check_given(given: GivenFacts) -> None:
    """Refuse bounds and keys that nothing in the question has."""
    unused = given.unused()
    if unused:
        raise ParameterError(
            f"Bounds or keys were given for {unused[0]!r}, which is neither a key, a column of an "
            "aggregate nor the name of one."
        )
