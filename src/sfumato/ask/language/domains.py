"""The public values of a key, where they follow from public facts and the question.

Contract: :func:`public_values` gives values such that no row has another, or such that the
question or declared bounds leave the others out: a row beyond them is in no group. None when
nothing of the kind is known and keys must be found privately. NULL is one of the values unless the
question says otherwise.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.analysis import LARGEST_PLAIN, interval_of, kind_of
from sfumato.ask.language.build import conjuncts, readable
from sfumato.ask.language.date_ranges import days_between, telling_days
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.exactness import fits, is_number
from sfumato.ask.language.language import Apply, Arithmetic, Case, Column, Compare, Constant, OneOf
from sfumato.ask.language.walk import columns_of, walk
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sfumato.ask.language.language import Expression, Key, Kind, Value

MOST_VALUES = 10_000


def public_values(
    expression: Expression,
    domains: Mapping[str, Sequence[Value]],
    where: Expression | None,
) -> tuple[Value, ...] | None:
    """Derive the values of a key from declared domains, bounds, its form and the WHERE."""
    derived = _finite(expression, _KnownDomains(domains, conjuncts(where)))
    asked = _asked(expression, where)
    if asked is None:
        return None if derived is None else ordered(derived)
    return ordered(asked if derived is None else asked & derived or asked)


def ordered(values: Iterable[Value]) -> tuple[Value, ...]:
    """Sort values of one kind, NULL last."""
    found = set(values)
    some: list[Any] = [value for value in found if value is not None]
    return (*sorted(some), *([None] if None in found else []))


def _asked(expression: Expression, where: Expression | None) -> set[Value] | None:
    """Find the literals that WHERE lets the key have: ``key IN (…)`` or ``key = literal``."""
    found: set[Value] | None = None
    for term in conjuncts(where):
        values = _literals(expression, term)
        if values is not None:
            found = values if found is None else found & values or found
    return found


def _literals(expression: Expression, term: Expression) -> set[Value] | None:
    match term:
        case OneOf(about, constants) if about == expression:
            found = [constant.value for constant in constants]
        case Compare("=", about, Constant(value, _)) if about == expression:
            found = [value]
        case Compare("=", Constant(value, _), about) if about == expression:
            found = [value]
        case _:
            return None
    return _typed(found, kind_of(expression)) or None


def _typed(values: Iterable[Value], kind: Kind) -> set[Value]:
    """Leave out what the key cannot be: NULL, and for a whole number fractions and the huge."""
    if kind != "integer":
        return {value for value in values if value is not None}
    numbers = [Fraction(value) for value in values if isinstance(value, (int, Fraction))]
    return {int(number) for number in numbers if number.denominator == 1 and fits(int(number))}


@dataclass(frozen=True)
class _KnownDomains:
    """Declared domains, and what WHERE demands of every row."""

    domains: Mapping[str, Sequence[Value]]
    demands: tuple[Expression, ...]

    def of(self, column: Column) -> list[Value] | None:
        """List the values a column may have in a row that WHERE keeps, and NULL."""
        declared = self.domains.get(column.name)
        values: Iterable[Value] | None = declared
        if declared is None and column.kind == "boolean":
            values = (True, False)
        elif values is None and column.kind == "integer":
            values = self._whole(column)
        if values is None:
            return None
        found = list(dict.fromkeys([*values, None]))
        return None if len(found) > MOST_VALUES + 1 else self.kept(column, found)

    def of_days(self, column: Column, expression: Expression) -> set[Value] | None:
        """Compute an expression for the days between bounds, be they declared or demanded."""
        ends = days_between(column, self.demands)
        days = None if ends is None else telling_days(expression, *ends, MOST_VALUES)
        if ends is None or days is None:
            return None
        kept = self.kept(column, days) if len(days) == (ends[1] - ends[0]).days + 1 else days
        values = [*kept, *self.kept(column, [None])]
        return {evaluate(expression, {column.name: value}) for value in values} or None

    def kept(self, column: Column, values: Iterable[Value]) -> list[Value]:
        """Leave out the values of a column for which WHERE keeps no row."""
        about = [term for term in self.demands if columns_of(term) == {column}]
        return [v for v in values if all(evaluate(t, {column.name: v}) is True for t in about)]

    def beyond(self, column: Column, expression: Expression) -> list[Value]:
        """Give values outside the bounds, one on each side of all that the expression tests."""
        bounds = interval_of(column)
        if bounds is None or column.name in self.domains:
            return []
        tested = [term.value for term in walk(expression) if is_number(term)]  # type: ignore[attr-defined]
        tested += [
            c.value for term in walk(expression) if isinstance(term, OneOf) for c in term.values
        ]
        ends = [*bounds, *(end for end in tested if isinstance(end, (int, Fraction)))]
        near = {math.floor(end) + step for end in ends for step in (-1, 0, 1, 2)}
        return self.kept(column, [n for n in sorted(near) if not bounds[0] <= n <= bounds[1]])

    def _whole(self, column: Column) -> range | None:
        """List the whole numbers between bounds, be they declared or demanded."""
        low, high = interval_of(column) or (-LARGEST_PLAIN, LARGEST_PLAIN)
        for term in self.demands:
            match term:
                case Compare("<" | "<=", Column() as it, Constant(end, _)) if it == column:
                    high = min(high, Fraction(end)) if isinstance(end, (int, Fraction)) else high
                case Compare(">" | ">=", Column() as it, Constant(end, _)) if it == column:
                    low = max(low, Fraction(end)) if isinstance(end, (int, Fraction)) else low
        if high - low >= MOST_VALUES:
            return None
        return range(math.floor(low), math.ceil(high) + 1)


def _finite(expression: Expression, known: _KnownDomains) -> set[Value] | None:
    enumerated = _by_enumeration(expression, known)
    if enumerated is not None:
        return enumerated
    if kind_of(expression) == "boolean":
        return {True, False, None}
    return _by_form(expression, known)


def _by_enumeration(expression: Expression, known: _KnownDomains) -> set[Value] | None:
    """Compute the expression for every value of the one column it reads."""
    columns = columns_of(expression)
    if len(columns) != 1:
        return None
    (column,) = columns
    if column.kind == "date" and column.name not in known.domains:
        return None if _labels(expression) else known.of_days(column, expression)
    values = known.of(column)
    if not values:
        return None
    if expression == column and column.kind != "integer":
        found = {*values}
    else:
        found = {evaluate(expression, {column.name: value}) for value in values}
    if _labels(expression):
        outside = known.beyond(column, expression)
        found |= {evaluate(expression, {column.name: value}) for value in outside}
    complete = known.domains.get(column.name)
    if complete is not None and None not in complete:
        found.discard(None)  # a declared list is complete: NULL is a group only if it is listed
    return found or None


def _labels(expression: Expression) -> bool:
    """Tell whether values are labels that a number chooses, and not computed from it."""
    if not isinstance(expression, Case):
        return kind_of(expression) in {"boolean", "text"}
    results = (*(result for _, result in expression.branches), expression.default)
    return all(isinstance(result, Constant) for result in results)


def bounded_key(key: Key) -> bool:
    """Tell whether rows beyond declared bounds may be in no group of a key."""
    columns = columns_of(key.expression)
    declared = any(column.bounds is not None for column in columns)
    return key.values is not None and declared and not _labels(key.expression)


def _by_form(expression: Expression, known: _KnownDomains) -> set[Value] | None:
    match expression:
        case Constant(value, _):
            return {value}
        case Case(branches, default):
            return _union([*(result for _, result in branches), default], known)
        case Apply("coalesce", arguments):
            return _union(arguments, known)
        case Apply("floor" | "ceil" | "round" | "quarter" | "month" | "day" | "weekday", _):
            whole = _whole(expression)
            return None if whole is None else {*whole, None}
        case Arithmetic("+" | "-" | "*", left, Constant()) as term:
            return _mapped(left, term, known)
        case Arithmetic("+" | "*", Constant(), right) as term:
            return _mapped(right, term, known)
    return None


def _union(terms: Iterable[Expression], known: _KnownDomains) -> set[Value] | None:
    found: set[Value] = {None}
    for term in terms:
        values = _finite(term, known)
        if values is None or len(found) > MOST_VALUES:
            return None
        found |= values
    return found


def _mapped(inner: Expression, term: Arithmetic, known: _KnownDomains) -> set[Value] | None:
    """Compute inner ∘ constant for every value of the inner term."""
    values = _finite(inner, known) if kind_of(inner) == "integer" else None
    if values is None:
        return None
    hole = Column("", "integer")
    left = term.left if isinstance(term.left, Constant) else hole
    right = term.right if isinstance(term.right, Constant) else hole
    outer = Arithmetic(term.operator, left, right)
    return {evaluate(outer, {"": value}) for value in values}


def _whole(expression: Expression) -> range | None:
    bounds = interval_of(expression)
    if bounds is None or bounds[1] - bounds[0] >= MOST_VALUES:
        return None
    return range(int(bounds[0]), int(bounds[1]) + 1)


def given_values(name: str, kind: Kind, values: Iterable[object]) -> tuple[Value, ...]:
    """Check values that the question gives for a key; their order is kept."""
    if isinstance(values, (str, bytes)):
        raise ParameterError(f"The values of the key {name!r} are a list, and a text was given.")
    read = tuple(dict.fromkeys(_given(name, kind, value) for value in values))
    if not read:
        raise ParameterError(f"The key {name!r} needs at least one value, and none was given.")
    return read


def _given(name: str, kind: Kind, value: object) -> Value:
    if value is None:
        return None
    if kind == "date" and isinstance(value, str):
        try:
            return dt.date.fromisoformat(value)
        except ValueError:
            raise ParameterError(
                f"The values of the key {name!r} are dates, as YYYY-MM-DD."
            ) from None
    fits = {"boolean": bool, "text": str, "date": dt.date, "integer": (int, float), "real": ()}
    wrong = (kind != "boolean" and isinstance(value, bool)) or isinstance(value, dt.datetime)
    wrong = wrong or (isinstance(value, str) and not readable(value))
    if wrong or not isinstance(value, fits[kind]):  # type: ignore[arg-type]
        raise ParameterError(
            f"The values of the key {name!r} are of kind {kind}, and one of type "
            f"{type(value).__name__} was given that is not."
        )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not abs(value) < 2**63 or value != int(value):
            raise ParameterError(f"The values of the key {name!r} are whole numbers of 64 bits.")
        return int(value)
    return value  # type: ignore[return-value]
