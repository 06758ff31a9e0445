"""Whole numbers of 64 bits in SQL: comparisons without rounding, and casts that cannot fail.

Contract: a BIGINT is compared with any number as the two numbers compare, whether or not a BIGINT
or a double holds the other; NULL stays NULL. Nothing here can raise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from sqlglot import exp

from sfumato.ask.language.exactness import COMPUTED, fits
from sfumato.ask.plan.dialects import Floor
from sfumato.ask.plan.forms import (
    BIGINT,
    SQL,
    all_of,
    big,
    binary,
    case,
    cast,
    double,
    is_null,
    negated,
)

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

COMPARISONS = {
    "=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE,
}  # fmt: skip
TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""What a comparison becomes when its sides change places."""


def compared_with(operator: str, value: SQL, number: Fraction) -> SQL:
    """Compare a BIGINT with a number, by the whole number next to it where it is none."""
    if number.denominator != 1 and operator in {"=", "<>"}:
        return _if_present(value, truth=operator == "<>")
    end = math.ceil(number) if operator in {"<", ">="} else math.floor(number)
    if fits(end):
        return binary(COMPARISONS[operator], value, big(end))
    below = operator in {"<", "<="} if end > 0 else operator in {">", ">="}
    return _if_present(value, truth=below or operator == "<>")


def among(value: exp.Column, numbers: Iterable[Fraction]) -> SQL:
    """Tell whether a BIGINT is one of some numbers."""
    known = [
        big(int(number)) for number in numbers if number.denominator == 1 and fits(int(number))
    ]
    return exp.In(this=value, expressions=known) if known else _if_present(value, truth=False)


def whole_or_null(value: exp.Column) -> SQL:
    """Give a double as a BIGINT where it is a whole number that fits; NULL elsewhere."""
    fitting = [
        binary(exp.EQ, value.copy(), Floor(this=value.copy())),
        binary(exp.GTE, value.copy(), double(COMPUTED[0])),
        binary(exp.LTE, value.copy(), double(COMPUTED[1])),
    ]
    return cast(case([(all_of(fitting), value.copy())]), BIGINT)


def _if_present(value: SQL, *, truth: bool) -> SQL:
    """Give a truth value, or NULL where there is no value."""
    return case([(negated(is_null(value)), exp.Boolean(this=truth))])
