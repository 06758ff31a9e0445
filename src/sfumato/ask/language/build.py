"""Build expressions whose kinds fit: one place for SQL and the fluent API.

Contract: what these functions return is well-formed: operands of arithmetic are numbers, both
sides of a comparison have one kind, conditions are boolean. NULL fits everywhere, and a text that
stands where a date is wanted is read as one. What does not fit is refused.
"""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from sfumato.ask.language.analysis import LARGEST, SMALLEST, kind_of
from sfumato.ask.language.days import PARTS, STARTS
from sfumato.ask.language.language import (
    Apply,
    Arithmetic,
    Case,
    Compare,
    Constant,
    Expression,
    IsNull,
    Like,
    Logic,
    Not,
    OneOf,
)
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import is_null

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sfumato.ask.language.language import Kind

NUMBERS = frozenset({"integer", "real"})
TRUE = Constant(True, "boolean")
_SHOWN = {"integer": "a number", "real": "a number", "text": "a text", "boolean": "a condition",
          "date": "a date"}  # fmt: skip
_UNARY = {"abs": NUMBERS, "floor": NUMBERS, "ceil": NUMBERS, "round": NUMBERS,
          "lower": {"text"}, "upper": {"text"}, "length": {"text"},
          **{name: {"date"} for name in (*PARTS, *STARTS.values())}}  # fmt: skip


def literal(value: object) -> Constant:
    """Make a constant of a Python value."""
    if value is None:
        return Constant(None, "text")
    if isinstance(value, bool):
        return Constant(value, "boolean")
    if isinstance(value, int):
        return numeral(Fraction(value), "integer")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise refuse("bad_number", what=value)
        return numeral(Fraction(repr(value)), "real")
    if isinstance(value, Fraction):
        return numeral(value, "real")
    if isinstance(value, str):
        if not readable(value):
            raise refuse("unsupported", what="A text that is not Unicode, or holds a NUL character")
        return Constant(value, "text")
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return Constant(value, "date")
    raise refuse("literal", what=f"A value of type {type(value).__name__}; a question")


def numeral(value: Fraction, kind: Kind) -> Constant:
    """Make a number that every engine can hold as a double, and not as 0 or infinity."""
    if abs(value) > LARGEST or 0 < abs(value) < SMALLEST:
        raise refuse("bad_number", what="A literal")
    return Constant(int(value) if kind == "integer" else value, kind)


def readable(text: str) -> bool:
    """Tell whether every engine can hold a text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def date(text: str) -> Constant:
    """Read a date written as YYYY-MM-DD."""
    if len(text) != 10:
        raise refuse("bad_date", what=repr(text))
    try:
        return Constant(dt.date.fromisoformat(text), "date")
    except ValueError:
        raise refuse("bad_date", what=repr(text)) from None


def dated(term: Expression, what: str) -> Expression:
    """Take a date, or a literal text as one, or refuse."""
    if isinstance(term, Constant) and isinstance(term.value, str):
        return date(term.value)
    return _of(term, {"date"}, what)


def arithmetic(operator: str, left: Expression, right: Expression) -> Expression:
    """Combine two numbers by ``+``, ``-``, ``*`` or ``/``."""
    first, second = (number(term, f"The operator {operator}") for term in (left, right))
    return Arithmetic(cast("Any", operator), first, second)


def negative(term: Expression) -> Expression:
    """Change the sign; that of a literal at once."""
    if isinstance(term, Constant) and isinstance(term.value, (int, Fraction)):
        checked = number(term, "The operator -")
        assert isinstance(checked, Constant)
        return Constant(-cast("int", checked.value), checked.kind)
    return arithmetic("-", Constant(0, "integer"), term)


def apply(function: str, *arguments: Expression) -> Expression:
    """Apply one of the functions of the language."""
    wanted = _UNARY.get(function)
    if wanted is not None:
        if len(arguments) != 1:
            raise refuse("kind", what=function.upper(), wanted="one argument", given=len(arguments))
        term = arguments[0]
        if "date" in wanted:
            term = dated(term, function.upper())
        return Apply(cast("Any", function), (_of(term, wanted, function.upper()),))
    if function == "substring":
        return _substring(arguments)
    if not arguments:
        raise refuse("kind", what=function.upper(), wanted="arguments", given="none")
    if function in {"least", "greatest"}:
        numbers = tuple(number(term, function.upper()) for term in arguments)
        return Apply(cast("Any", function), numbers)
    if function != "coalesce":
        raise refuse("function", what=function.upper())
    return Apply("coalesce", alike(arguments, "COALESCE"))


def _substring(arguments: tuple[Expression, ...]) -> Expression:
    text, *rest = arguments
    wholes = [
        constant.value
        for constant in rest
        if isinstance(constant, Constant) and type(constant.value) is int
    ]
    if (
        len(rest) != 2
        or len(wholes) != 2
        or not 1 <= wholes[0] < 2**31
        or not 0 <= wholes[1] < 2**31
    ):
        raise refuse("literal", what="SUBSTRING(text, first, length): first ≥ 1 and length ≥ 0")
    return Apply("substring", (_of(text, {"text"}, "SUBSTRING"), *rest))


def clamp(term: Expression, low: Expression, high: Expression) -> Expression:
    """Clamp to an interval: LEAST(GREATEST(x, low), high)."""
    return apply("least", apply("greatest", term, low), high)


def compare(operator: str, left: Expression, right: Expression) -> Expression:
    """Compare two values of one kind."""
    left, right = alike((left, right), f"The operator {operator}")
    if operator not in {"=", "<>"} and kind_of(left) == "boolean" and not is_null(left):
        raise refuse("kind", what=f"The operator {operator}", wanted="ordered values",
                     given="a condition")  # fmt: skip
    return Compare(cast("Any", operator), left, right)


def one_of(term: Expression, values: Iterable[Expression]) -> Expression:
    """Tell whether a value is among literals; NULL among them is left out, as it equals nothing."""
    found = list(values)
    if not all(isinstance(value, Constant) for value in found):
        raise refuse("literal", what="IN")
    first, *rest = alike((term, *found), "IN")
    known = tuple(dict.fromkeys(v for v in rest if isinstance(v, Constant) and v.value is not None))
    if len(known) < len({*rest}):
        raise refuse("literal", what="IN: NULL equals nothing, write IS NULL; a list of values")
    return OneOf(first, known)


def like(term: Expression, pattern: Expression) -> Expression:
    """Match a text with a literal pattern."""
    if not isinstance(pattern, Constant) or not isinstance(pattern.value, str):
        raise refuse("literal", what="LIKE")
    if "\\" in pattern.value:
        raise refuse("bad_pattern")
    return Like(_of(term, {"text"}, "LIKE"), pattern.value)


def logic(word: str, terms: Iterable[Expression]) -> Expression:
    """Join conditions by AND or OR, without nesting the same word."""
    flat: list[Expression] = []
    for term in terms:
        checked = condition(term, word.upper())
        same = isinstance(checked, Logic) and checked.operator == word
        flat.extend(checked.terms if same and isinstance(checked, Logic) else (checked,))
    return flat[0] if len(flat) == 1 else Logic(cast("Any", word), tuple(flat))


def negation(term: Expression) -> Expression:
    """Turn a condition round."""
    return Not(condition(term, "NOT"))


def missing(term: Expression) -> Expression:
    """Tell whether there is no value."""
    return IsNull(term)


def case(branches: Sequence[tuple[Expression, Expression]], default: Expression) -> Expression:
    """Choose the first result whose condition is true."""
    tests = [condition(test, "CASE WHEN") for test, _ in branches]
    *results, otherwise = alike((*(result for _, result in branches), default), "CASE")
    return Case(tuple(zip(tests, results, strict=True)), otherwise)


def conjuncts(expression: Expression | None) -> tuple[Expression, ...]:
    """List the conditions that must all be true."""
    if expression is None:
        return ()
    if isinstance(expression, Logic) and expression.operator == "and":
        return tuple(condition for term in expression.terms for condition in conjuncts(term))
    return (expression,)


def number(term: Expression, what: str) -> Expression:
    """Take a number, or refuse."""
    return _of(term, NUMBERS, what)


def condition(term: Expression, what: str) -> Expression:
    """Take a condition, or refuse."""
    return _of(term, {"boolean"}, what)


def _of(term: Expression, kinds: Iterable[str], what: str) -> Expression:
    wanted = sorted(kinds)
    if is_null(term):
        return Constant(None, cast("Kind", wanted[-1]))
    given = kind_of(term)
    if given not in wanted:
        raise refuse("kind", what=what, wanted=_SHOWN[wanted[0]], given=_SHOWN[given])
    return term


def _truth(term: Expression) -> Expression:
    """Take 1 and 0 beside conditions for true and false."""
    if isinstance(term, Constant) and term.kind == "integer" and term.value in {0, 1}:
        return Constant(term.value == 1, "boolean")
    return term


def alike(terms: Sequence[Expression], what: str) -> tuple[Expression, ...]:
    """Bring terms to one kind: NULL fits, a text beside dates is a date, 1 is a truth."""
    kinds = {kind_of(term) for term in terms if not is_null(term)}
    if kinds == {"date", "text"}:
        terms = [
            date(term.value) if isinstance(term, Constant) and isinstance(term.value, str) else term
            for term in terms
        ]
        kinds = {kind_of(term) for term in terms if not is_null(term)}
    if kinds == {"boolean", "integer"}:
        terms = [_truth(term) for term in terms]
        kinds = {kind_of(term) for term in terms if not is_null(term)}
    if len(kinds) > 1 and not kinds <= NUMBERS:
        wanted, given = (_SHOWN[kind] for kind in sorted(kinds)[:2])
        raise refuse("kind", what=what, wanted=f"values of one kind, such as {wanted}", given=given)
    kind = "real" if "real" in kinds else next(iter(kinds), "text")
    return tuple(Constant(None, cast("Kind", kind)) if is_null(term) else term for term in terms)
