"""Prove from two conditions that no row satisfies both.

Contract: :func:`disjoint` is True only if, for every row, at most one of the conditions is true.
The proof: the conjunction of both is written as alternatives, each a list of elementary conditions;
an alternative is impossible when some term is left without a value, by intervals, value sets and
"is missing" about that term alone. Anything that is not understood is taken to be satisfiable.

A comparison that is true has no NULL in it, and neither has one that is false; literals are
compared as the whole numbers, doubles, texts and dates that engines compare. Declared bounds prove
nothing, as a row may lie outside. Parts with a proof compose in
parallel (McSherry, "Privacy Integrated Queries", SIGMOD 2009).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.ask.language.analysis import LARGEST_PLAIN, double, kind_of, range_of
from sfumato.ask.language.evaluation import evaluate
from sfumato.ask.language.exactness import exact
from sfumato.ask.language.language import (
    Compare,
    Constant,
    Expression,
    IsNull,
    Logic,
    Not,
    OneOf,
)
from sfumato.ask.language.normal_form import normal_text
from sfumato.ask.language.walk import columns_of
from sfumato.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Iterator

Literal: TypeAlias = tuple[Expression, bool]  # an elementary condition, and whether it holds
_MOST_ALTERNATIVES = 256
_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_PLAIN = {"<>": "=", ">=": "<", ">": "<="}  # what is false when these are true
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def disjoint(first: Expression | None, second: Expression | None) -> bool:
    """Tell whether it is certain that no row satisfies both conditions; None is no condition."""
    terms = [term for term in (first, second) if term is not None]
    if not terms:
        return False
    try:
        alternatives = list(_alternatives(Logic("and", tuple(terms)), holds=True))
    except OverflowError:
        return False
    return all(_impossible(alternative) for alternative in alternatives)


def _alternatives(condition: Expression, *, holds: bool) -> Iterator[tuple[Literal, ...]]:
    """Write a condition, or its being false, as alternatives of elementary conditions."""
    match condition:
        case Not(term):
            yield from _alternatives(term, holds=not holds)
        case Logic(word, terms) if (word == "and") is holds:
            found: list[tuple[Literal, ...]] = [()]
            for term in terms:
                inner = list(_alternatives(term, holds=holds))
                if len(found) * len(inner) > _MOST_ALTERNATIVES:
                    raise OverflowError
                found = [(*a, *b) for a in found for b in inner]
            yield from found
        case Logic(_, terms):
            for term in terms:
                yield from _alternatives(term, holds=holds)
        case _:
            yield ((condition, holds),)


@dataclass
class _AllowedValues:
    """What a term may be: missing, or a value in an interval, a set, and not among some."""

    missing: bool = True
    present: bool = True
    whole: bool = False
    low: Any = None
    high: Any = None
    low_open: bool = False
    high_open: bool = False
    among: set[Any] | None = None
    without: set[Any] = field(default_factory=set)

    def at_least(self, value: Any, *, strict: bool) -> None:
        """Raise the lower end."""
        self.missing = False
        if self.low is None or value > self.low or (value == self.low and strict):
            self.low, self.low_open = value, strict

    def at_most(self, value: Any, *, strict: bool) -> None:
        """Lower the upper end."""
        self.missing = False
        if self.high is None or value < self.high or (value == self.high and strict):
            self.high, self.high_open = value, strict

    def one_of(self, values: set[Any]) -> None:
        """Keep some values."""
        self.missing = False
        self.among = values if self.among is None else self.among & values

    def _contains(self, value: Any) -> bool:
        if value in self.without:
            return False
        above = self.low is None or value > self.low or (value == self.low and not self.low_open)
        below = (
            self.high is None or value < self.high or (value == self.high and not self.high_open)
        )
        return above and below

    def empty(self) -> bool:
        """Tell whether nothing is left."""
        if self.missing:
            return False
        if not self.present:
            return True
        if self.among is not None:
            return not any(self._contains(value) for value in self.among)
        if self.low is None or self.high is None:
            return False
        if self.whole:
            return self._no_whole_number()
        return self.low > self.high or (self.low == self.high and not self._contains(self.low))

    def _no_whole_number(self) -> bool:
        first = math.floor(self.low) + 1 if self.low_open else math.ceil(self.low)
        last = math.ceil(self.high) - 1 if self.high_open else math.floor(self.high)
        if last - first > len(self.without):
            return False
        return all(value in self.without for value in range(first, last + 1))


def _impossible(alternative: tuple[Literal, ...]) -> bool:
    """Tell whether some term of the alternative has no value left."""
    allowed: dict[str, _AllowedValues] = {}
    for condition, holds in alternative:
        if not columns_of(condition):
            if evaluate(condition, {}) is not holds:
                return True  # FALSE, or NULL, which is neither
            continue
        for term, narrow in _understood(condition, holds=holds):
            name = normal_text(term, {})
            if name not in allowed:
                allowed[name] = _about(term)
            narrow(allowed[name])
    return any(values.empty() for values in allowed.values())


def _about(term: Expression) -> _AllowedValues:
    """Begin with what is known of a term: its range, the truth values."""
    kind = kind_of(term)
    found = _AllowedValues(whole=kind == "integer")
    if kind in {"integer", "real"}:
        try:
            known = range_of(term)
        except Refused:
            return found
        if known is not None:
            found.low, found.high = (_end(end, term) for end in (known.low, known.high))
    return found


def _end(end: Any, term: Expression) -> Any:
    """Give an end of a range that is certain: those of whole numbers may have been rounded."""
    rounded = exact(term) and abs(end) >= LARGEST_PLAIN
    return None if rounded or isinstance(end, float) else end


def _understood(condition: Expression, *, holds: bool) -> Iterator[tuple[Expression, Any]]:
    """Give the terms an elementary condition is about, and how it narrows each."""
    match condition:
        case IsNull(term):
            yield term, (_only_missing if holds else _only_present)
        case OneOf(term, values):
            known = {_comparable(value.value, term) for value in values}
            if holds:
                yield term, lambda allowed: allowed.one_of(known)
            else:
                yield term, lambda allowed: _exclude(allowed, known)
        case Compare(sign, left, right):
            meant = sign if holds else _OPPOSITE[sign]
            if isinstance(right, Constant):
                yield left, _comparison(meant, right, left)
            elif isinstance(left, Constant):
                yield right, _comparison(_TURNED[meant], left, right)
            else:
                yield left, _only_present
                yield right, _only_present
                plain = _PLAIN.get(meant)
                truth = Compare(plain or meant, left, right)  # type: ignore[arg-type]
                yield truth, lambda allowed: allowed.one_of({plain is None})
        case _:  # a truth value, whatever it says
            yield condition, lambda allowed: allowed.one_of({holds})


def _comparison(sign: str, literal: Constant, term: Expression) -> Any:
    if literal.value is None:
        return _nothing  # a comparison with NULL is neither true nor false
    value = _comparable(literal.value, term)
    return {
        "=": lambda allowed: allowed.one_of({value}),
        "<>": lambda allowed: _exclude(allowed, {value}),
        "<": lambda allowed: allowed.at_most(value, strict=True),
        "<=": lambda allowed: allowed.at_most(value, strict=False),
        ">": lambda allowed: allowed.at_least(value, strict=True),
        ">=": lambda allowed: allowed.at_least(value, strict=False),
    }[sign]


def _only_missing(allowed: _AllowedValues) -> None:
    allowed.present = False


def _only_present(allowed: _AllowedValues) -> None:
    allowed.missing = False


def _nothing(allowed: _AllowedValues) -> None:
    allowed.missing = allowed.present = False


def _exclude(allowed: _AllowedValues, values: set[Any]) -> None:
    allowed.missing = False
    allowed.without |= values


def _comparable(value: Any, term: Expression) -> Any:
    """Give a literal as engines compare a term with it: exactly, or a number as its double."""
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        return value
    number = Fraction(value)
    return number if exact(term) or abs(number) >= 10**300 else double(number)
