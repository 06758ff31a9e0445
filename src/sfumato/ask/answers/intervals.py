"""Intervals of columns that an answer computes from its noisy numbers.

Contract: a :class:`DerivedColumn` encloses what an expression such as ``SUM(x) / COUNT(*)`` gives
for the kept and clamped rows, with at least the confidence asked for. The intervals of all noisy
numbers in the expression are made to hold at once: of j of them each is asked for confidence
1 − (1 − γ)/j (Bonferroni). What follows is interval arithmetic (Moore, "Interval Analysis", 1966),
rounded outwards, which is post-processing and costs nothing.

There is no interval where nothing is known: where a divisor may be 0, and for texts and truth
values. An expression without a value for the kept rows, such as a mean of none, is in no interval.

A :data:`Formula` is the expression in plain lists, so that it can be stored with the answer:
``["/", ["name", "s"], ["number", 2.0]]``. CASE lists what it may give, since which of these it
gives for the exact numbers is not known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.ask.language.language import Apply, Arithmetic, Case, Column, Constant
from sfumato.ask.language.walk import is_null

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sfumato.ask.answers.noisy_column import NoisyColumn
    from sfumato.ask.language.language import Expression
    from sfumato.ask.price.measures import Interval

Formula: TypeAlias = "list[Any]"

_MOST_WHOLE = 2**53  # below which doubles compute with whole numbers exactly
_ROUNDED = frozenset({"+", "-", "*", "/", "round", "sqrt"})
_FUNCTIONS = frozenset({"abs", "floor", "ceil", "round", "least", "greatest", "coalesce", "sqrt"})


@dataclass(frozen=True)
class DerivedColumn:
    """A column computed from noisy numbers, quantiles within their ranges, and keys.

    ``keys`` has the numbers of each key that the formula names, one per row.
    """

    formula: Formula
    numbers: Mapping[str, NoisyColumn]
    ranges: Mapping[str, Interval]
    keys: Mapping[str, Sequence[Any]]

    def interval(self, row: int, confidence: float) -> Interval | None:
        """Enclose the cell, all the noisy numbers it uses being within their intervals at once."""
        count = sum(len(column.noises) for column in self.numbers.values())
        leaves: dict[str, Interval | None] = dict(self.ranges)
        for name, column in self.numbers.items():
            each = 1 - (1 - confidence) * len(column.noises) / count
            leaves[name] = column.interval(row, each)
        for name, values in self.keys.items():
            leaves[name] = _point(values[row])
        return enclosed(self.formula, leaves)


def formula_of(expression: Expression) -> Formula | None:
    """Write an expression over numbers in plain lists; None where it is no such thing."""
    match expression:
        case Column(name, kind, _) if kind in {"integer", "real"}:
            return ["name", name]
        case Constant(value, kind) if kind in {"integer", "real"} and value is not None:
            return ["number", float(value)]  # type: ignore[arg-type]
        case Arithmetic(operator, left, right):
            return _with(operator, [left, right])
        case Apply(function, arguments) if function in _FUNCTIONS:
            return _with(function, arguments)
        case Case(branches, default):
            results = [result for _, result in branches] + [default]
            return _with("case", [result for result in results if not is_null(result)])
    return None


def _with(word: str, parts: Sequence[Expression]) -> Formula | None:
    formulas = [formula_of(part) for part in parts]
    if not formulas or any(formula is None for formula in formulas):
        return None
    return [word, *formulas]


def names_in(formula: Formula) -> set[str]:
    """List the names that a formula uses."""
    if formula[0] == "name":
        return {formula[1]}
    return {name for part in formula[1:] if isinstance(part, list) for name in names_in(part)}


def enclosed(formula: Formula, leaves: Mapping[str, Interval | None]) -> Interval | None:
    """Enclose a formula whose names lie within the leaves; None where nothing is known."""
    word, *parts = formula
    if word == "name":
        return leaves.get(parts[0])
    if word == "number":
        return _point(parts[0])
    inner = [enclosed(part, leaves) for part in parts]
    known = [interval for interval in inner if interval is not None]
    if len(known) < len(inner):
        return None
    found = _RULES[word](known)
    if found is None or not all(math.isfinite(end) for end in found):
        return None
    exact = word not in {"/", "sqrt"} and all(
        _whole(end) for pair in (*known, found) for end in pair
    )
    return found if exact or word not in _ROUNDED else _outwards(found)


def _whole(end: float) -> bool:
    return float(end).is_integer() and abs(end) < _MOST_WHOLE


def _outwards(found: Interval) -> Interval:
    return math.nextafter(found[0], -math.inf), math.nextafter(found[1], math.inf)


def _point(value: Any) -> Interval | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value), float(value)


def _ends(work: Callable[[float, float], float], known: list[Interval]) -> Interval:
    found = [work(left, right) for left in known[0] for right in known[1]]
    return min(found), max(found)


def _quotient(known: list[Interval]) -> Interval | None:
    if known[1][0] <= 0 <= known[1][1]:
        return None
    return _ends(lambda left, right: left / right, known)


def _absolute(known: list[Interval]) -> Interval:
    low, high = known[0]
    near = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return near, max(abs(low), abs(high))


def _root(known: list[Interval]) -> Interval | None:
    low, high = known[0]
    return None if high < 0 else (math.sqrt(max(low, 0.0)), math.sqrt(high))


def _monotone(work: Callable[[float], float]) -> Callable[[list[Interval]], Interval]:
    return lambda known: (float(work(known[0][0])), float(work(known[0][1])))


def _chosen(work: Callable[..., float]) -> Callable[[list[Interval]], Interval]:
    return lambda known: (work(low for low, _ in known), work(high for _, high in known))


def _hull(known: list[Interval]) -> Interval:
    return min(low for low, _ in known), max(high for _, high in known)


_RULES: Mapping[str, Callable[[list[Interval]], Interval | None]] = {
    "+": lambda known: _ends(lambda left, right: left + right, known),
    "-": lambda known: _ends(lambda left, right: left - right, known),
    "*": lambda known: _ends(lambda left, right: left * right, known),
    "/": _quotient,
    "abs": _absolute,
    "sqrt": _root,
    "floor": _monotone(math.floor),
    "ceil": _monotone(math.ceil),
    "round": _monotone(lambda value: math.floor(value + 0.5)),
    "least": _chosen(min),
    "greatest": _chosen(max),
    "coalesce": _hull,
    "case": _hull,
}
