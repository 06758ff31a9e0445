"""The meaning of expressions, in plain Python: what every engine must compute.

Contract: :func:`evaluate` is total. It gives the value of an expression for a row, a mapping of
column names to values, with numbers as doubles and NULL as None; leaves are made tame first, and
whole numbers that are chosen and not computed stay whole numbers, as
:mod:`sfumato.ask.language.analysis` states. Noisy numbers are evaluated with ``noisy=True``: there
a column is taken as it is, and a result that is no finite number is None.

``lower`` and ``upper`` change ASCII letters only, as engines disagree on the others. Dates are
those of the years 1 to 9999; another is NULL.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sfumato.ask.language.analysis import LONGEST_TEXT, SMALLEST_LEAF, kind_of, reach_of
from sfumato.ask.language.days import PARTS, STARTS, part_of, start_of
from sfumato.ask.language.exactness import COMPUTED, LARGEST_WHOLE, exact, exactly, is_number
from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Case,
    Column,
    Compare,
    Constant,
    Expression,
    IsNull,
    Like,
    Logic,
    Not,
    OneOf,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_COMPARED = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TINY = float(SMALLEST_LEAF)
_UPPER = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def evaluate(expression: Expression, row: Mapping[str, Any], *, noisy: bool = False) -> Any:
    """Give the value of an expression for a row: None, bool, int, float, str or date."""
    value = _value(expression, row, noisy)
    if isinstance(value, float) and kind_of(expression) == "integer" and value.is_integer():
        return int(value)
    return value


def _value(expression: Expression, row: Mapping[str, Any], noisy: bool) -> Any:
    match expression:
        case Column():
            value = row.get(expression.name)
            return _as_it_is(value) if noisy else _tame(value, expression)
        case Constant(value, _):
            return value if exact(expression) else _literal(value)
        case Arithmetic(sign, left, right):
            return _arithmetic(sign, _value(left, row, noisy), _value(right, row, noisy))
        case Apply(function, arguments):
            values = [_value(argument, row, noisy) for argument in arguments]
            return _applied(function, values if exact(expression) else [*map(_literal, values)])
        case Case(branches, default):
            results = (r for when, r in branches if _value(when, row, noisy) is True)
            chosen = _value(next(results, default), row, noisy)
            return chosen if exact(expression) else _literal(chosen)
    return _condition(expression, row, noisy)


def _condition(expression: Expression, row: Mapping[str, Any], noisy: bool) -> bool | None:
    match expression:
        case Compare(sign, left, right):
            whole = exactly(left, right)
            first, second = (_operand(side, row, noisy, whole=whole) for side in (left, right))
            return None if first is None or second is None else _compared(sign, first, second)
        case Logic(word, terms):
            return _logic(word, [_value(term, row, noisy) for term in terms])
        case Not(term):
            value = _value(term, row, noisy)
            return None if value is None else not value
        case IsNull(term):
            return _value(term, row, noisy) is None
        case OneOf(term, values):
            whole = exact(term)
            value = _operand(term, row, noisy, whole=whole)
            known = [constant.value if whole else _literal(constant.value) for constant in values]
            return (
                None
                if value is None
                else any(_compared("=", value, constant) for constant in known)
            )
        case Like(term, pattern):
            value = _value(term, row, noisy)
            return None if value is None else _matcher(pattern).fullmatch(str(value)) is not None
    raise TypeError(f"{type(expression).__name__} is not an expression of the language.")


def _operand(side: Expression, row: Mapping[str, Any], noisy: bool, *, whole: bool) -> Any:
    """Give a side of a comparison: exactly, or with numbers as doubles."""
    if whole and is_number(side):
        assert isinstance(side, Constant)
        return side.value
    value = _value(side, row, noisy)
    return value if whole else _literal(value)


def _tame(value: Any, column: Column) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    if value is None:
        return None
    if column.kind == "integer":
        return _whole(value)
    if column.kind == "real":
        reach = _reach(column)
        clamped = min(max(value, -reach), reach)  # exact, whatever kind of number it is
        return 0.0 if abs(clamped) < _TINY else float(clamped)
    if isinstance(value, dt.datetime):
        return value.date()
    return value


def _whole(value: Any) -> int:
    """Give a cell as a 64-bit integer; what was computed may have been larger."""
    if -LARGEST_WHOLE - 1 <= value <= LARGEST_WHOLE:  # compared exactly, also a float
        return int(value)
    return int(COMPUTED[value > 0])


@lru_cache(maxsize=256)
def _reach(column: Column) -> float:
    return float(reach_of(column))


def _as_it_is(value: Any) -> Any:
    if isinstance(value, Fraction):
        value = _double(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _literal(value: Any) -> Any:
    number = isinstance(value, (int, Fraction)) and not isinstance(value, bool)
    return _double(value) if number else value


def _double(value: int | Fraction) -> float:
    """Give the nearest double; questions hold no literal that has none."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _compared(sign: str, left: Any, right: Any) -> bool | None:
    try:
        return bool(_COMPARED[sign](left, right))
    except TypeError:  # values that the engine's table did not announce
        return None


def _logic(word: str, values: list[bool | None]) -> bool | None:
    decisive = word == "or"
    if any(value is decisive for value in values):
        return decisive
    return None if any(value is None for value in values) else not decisive


def _arithmetic(sign: str, left: float | None, right: float | None) -> float | None:
    if left is None or right is None or (sign == "/" and right == 0):
        return None
    try:
        left, right = float(left), float(right)
        match sign:
            case "+":
                result = left + right
            case "-":
                result = left - right
            case "*":
                result = left * right
            case _:
                result = left / right
    except OverflowError:
        return None
    return result if math.isfinite(result) else None


def _applied(function: str, values: list[Any]) -> Any:
    if function == "coalesce":
        return next((value for value in values if value is not None), None)
    if any(value is None for value in values):
        return None
    first = values[0]
    match function:
        case "least":
            return min(values)
        case "greatest":
            return max(values)
        case "abs":
            return abs(first)
        case "sqrt":
            return math.sqrt(first) if first >= 0 else None
        case "floor" | "ceil" | "round":
            return _rounded(function, first)
    if function in PARTS:
        return float(part_of(function, first))
    if function in STARTS.values():
        return start_of(function, first)
    return _applied_to_text(function, str(first), values[1:])


def _rounded(function: str, value: float) -> float:
    if function == "ceil":
        return float(math.ceil(value))
    return float(math.floor(value + 0.5 if function == "round" else value))


def _applied_to_text(function: str, text: str, rest: list[Any]) -> Any:
    match function:
        case "lower":
            return text.translate(_LOWER)
        case "upper":
            return text.translate(_UPPER)
        case "length":
            return float(min(len(text), int(LONGEST_TEXT)))
    start, length = int(rest[0]), int(rest[1])
    return text[start - 1 : start - 1 + length]


@lru_cache(maxsize=256)
def _matcher(pattern: str) -> re.Pattern[str]:
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(c) or re.escape(c) for c in pattern), re.DOTALL)
