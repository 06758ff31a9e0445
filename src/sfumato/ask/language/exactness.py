"""Which expressions are whole numbers to the last digit: those that are chosen and not computed.

Contract: columns of whole numbers hold 64 bits, of which a double keeps 53. So arithmetic rounds;
but a column, a literal, and CASE, COALESCE, LEAST and GREATEST of such, are values that are there
already, and are compared, grouped by and joined on as they are. Every engine and the reference ask
:func:`exact` and :func:`exactly`, so they agree on where doubles begin.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.ask.language.language import Apply, Case, Column, Constant, Expression
from sfumato.ask.language.walk import is_null

LARGEST_WHOLE = 2**63 - 1
"""The largest whole number of a column."""

COMPUTED = Fraction(-(2**63)), Fraction(2**63 - 1024)
"""What a computed whole number is clamped to as a key or column: the doubles of 64 bits."""


def fits(number: int) -> bool:
    """Tell whether a whole number is one of 64 bits."""
    return -LARGEST_WHOLE - 1 <= number <= LARGEST_WHOLE


def exact(expression: Expression) -> bool:
    """Tell whether an expression is a whole number that is chosen and not computed."""
    match expression:
        case Column(_, kind, _):
            return kind == "integer"
        case Constant(value, kind):
            return kind == "integer" and type(value) is int and fits(value)
        case Case(branches, default):
            return _all_exact(*(result for _, result in branches), default)
        case Apply("coalesce" | "least" | "greatest", arguments):
            return _all_exact(*arguments)
    return False


def _all_exact(*terms: Expression) -> bool:
    chosen = [term for term in terms if not is_null(term)]
    return bool(chosen) and all(exact(term) for term in chosen)


def exactly(left: Expression, right: Expression) -> bool:
    """Tell whether two numbers are compared as whole numbers: both are, or one and a literal."""
    sides = (left, right)
    return any(exact(side) for side in sides) and all(
        exact(side) or is_number(side) for side in sides
    )


def is_number(expression: Expression) -> bool:
    """Tell whether an expression is a literal number."""
    if not isinstance(expression, Constant) or isinstance(expression.value, bool):
        return False
    return isinstance(expression.value, (int, Fraction))
