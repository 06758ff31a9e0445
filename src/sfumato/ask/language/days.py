"""Dates as numbers of days, so that quantiles of them can be picked.

Contract: bounds of a date are a pair of :class:`Day`, a number of days since 1970-01-01 that knows
it is one, so that dates and numbers are not taken for each other. :func:`days_of` writes that
number of a date as an expression of the language, which every engine computes alike; the
calendar is the proleptic Gregorian one of the years 1 to 9999, as everywhere in questions.

Why the formula holds. Let years begin in March: y' = y − 1 and m' = m + 9 in January and February,
y' = y and m' = m − 3 else. Then a leap day is the last of its year, so that 365y' + ⌊y'/4⌋ −
⌊y'/100⌋ + ⌊y'/400⌋ days are before year y', and ⌊(153m' + 2)/5⌋ before the month, whose lengths
repeat 31, 30, 31, 30, 31. The divisions are of small whole numbers: doubles never round one
across a whole number.
"""

from __future__ import annotations

import datetime as dt
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from sfumato.ask.language.language import Apply, Arithmetic, Case, Compare, Constant

if TYPE_CHECKING:
    from typing import Literal

    from sfumato.ask.language.language import Expression

PARTS = {"year": (1, 9999), "quarter": (1, 4), "month": (1, 12), "day": (1, 31), "weekday": (0, 6)}
"""Functions that give a whole number of a date, and the numbers there are."""

STARTS = {name: f"{name}_start" for name in ("year", "quarter", "month", "week")}
"""Functions that give the first day of the period a date is in, by the name of the period."""

_EPOCH = dt.date(1970, 1, 1)
_LENGTH = len("YYYY-MM-DD")


class Day(Fraction):
    """A date, as its number of days since 1970-01-01."""

    @classmethod
    def read(cls, value: Any) -> Self | None:
        """Read a date, or a text written as YYYY-MM-DD; None where it is no such thing."""
        if isinstance(value, str) and len(value) == _LENGTH:
            try:
                value = dt.date.fromisoformat(value)
            except ValueError:
                return None
        if not isinstance(value, dt.date):
            return None
        day = value.date() if isinstance(value, dt.datetime) else value
        return cls((day - _EPOCH).days)


def date_of(number: float) -> dt.date:
    """Give the date of a number of days, the first or last there is for one beyond."""
    ordinal = round(number) + _EPOCH.toordinal()
    return dt.date.fromordinal(min(max(ordinal, 1), dt.date.max.toordinal()))


def part_of(function: str, day: dt.date) -> int:
    """Give a part of a date, as :data:`PARTS` names them."""
    match function:
        case "quarter":
            return (day.month + 2) // 3
        case "weekday":
            return day.isoweekday() % 7
    return int(getattr(day, function))


def start_of(function: str, day: dt.date) -> dt.date:
    """Give the first day of the period that a date is in, as :data:`STARTS` names them.

    The first day of the calendar is a Monday, so that no week begins before it.
    """
    match function:
        case "week_start":
            return day - dt.timedelta(days=day.weekday())
        case "month_start":
            return day.replace(day=1)
        case "quarter_start":
            return day.replace(month=3 * part_of("quarter", day) - 2, day=1)
    return day.replace(month=1, day=1)


def days_of(term: Expression) -> Expression:
    """Write the number of days since 1970-01-01 of a date."""
    year, month, day = (
        Apply("year", (term,)), Apply("month", (term,)), Apply("day", (term,)),
    )  # fmt: skip
    early = Compare("<=", month, _whole(2))
    years = _of("-", year, Case(((early, _whole(1)),), _whole(0)))
    months = _of("+", month, Case(((early, _whole(9)),), _whole(-3)))
    before = _of("+", _of("*", _whole(365), years), _over(years, 4))
    before = _of("+", _of("-", before, _over(years, 100)), _over(years, 400))
    within = _over(_of("+", _of("*", _whole(153), months), _whole(2)), 5)
    return _of("-", _of("+", _of("+", before, within), day), _whole(719469))


def _whole(number: int) -> Constant:
    return Constant(number, "integer")


def _of(operator: Literal["+", "-", "*", "/"], left: Expression, right: Expression) -> Expression:
    return Arithmetic(operator, left, right)


def _over(term: Expression, number: int) -> Expression:
    return Apply("floor", (_of("/", term, _whole(number)),))
