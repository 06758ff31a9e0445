"""CAST, where it cannot fail on a row and means the same on every engine.

Contract: numbers to numbers (to a whole number by ⌊x + ½⌋), conditions to 0 and 1, a literal text
to a date, and every kind to itself. A text is never read as a number: that fails on some rows,
and the failure tells of them.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.build import NUMBERS, apply, case, date, negation
from sfumato.ask.language.language import Constant, Expression
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import is_null

Target: TypeAlias = Literal["integer", "real", "text", "boolean", "date"]


def converted(term: Expression, target: Target) -> Expression:
    """Convert to another kind."""
    given = kind_of(term)
    if is_null(term):
        return Constant(None, target)
    if target == "integer" and given == "real":
        return apply("round", term)
    if given == target or (target == "real" and given == "integer"):
        return term
    if target in NUMBERS and given == "boolean":
        unit, zero = Constant(1, "integer"), Constant(0, "integer")
        return case([(term, unit), (negation(term), zero)], Constant(None, "integer"))
    if target == "date" and isinstance(term, Constant) and isinstance(term.value, str):
        return date(term.value)
    raise refuse("cast", given=f"{given} values", wanted=target)
