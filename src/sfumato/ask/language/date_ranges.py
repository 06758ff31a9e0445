"""Which days a column of dates may have in a question, and which of them tell a key's values.

Contract: public facts and the question decide, no row does. :func:`days_between` gives the first
and the last day that declared bounds and conditions such as ``day >= '2024-01-01'`` leave.
:func:`telling_days` lists days among which an expression has every value that it has between the
two: all of them while they are few, and the first of every month where the expression reads of the
date only what does not change within one, such as its year.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from sfumato.ask.language.days import date_of
from sfumato.ask.language.language import Apply, Column, Compare, Constant
from sfumato.ask.language.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sfumato.ask.language.language import Expression, Value

_WITHIN_MONTHS = frozenset(
    {"year", "quarter", "month", "year_start", "quarter_start", "month_start"}
)


def days_between(column: Column, demands: Iterable[Expression]) -> tuple[dt.date, dt.date] | None:
    """Give the first and the last day that a column may have; None where an end is open."""
    low, high = (None, None) if column.bounds is None else map(date_of, map(float, column.bounds))
    for term in demands:
        match term:
            case Compare("<" | "<=" as sign, Column() as it, Constant(dt.date() as end)) if (
                it == column
            ):
                last = _moved(end, -(sign == "<"))
                high = last if high is None else min(high, last)
            case Compare(">" | ">=" as sign, Column() as it, Constant(dt.date() as end)) if (
                it == column
            ):
                first = _moved(end, +(sign == ">"))
                low = first if low is None else max(low, first)
    return None if low is None or high is None or low > high else (low, high)


def _moved(day: dt.date, by: int) -> dt.date:
    """Give a neighbouring day; the calendar ends where it ends."""
    ordinal = min(max(day.toordinal() + by, 1), dt.date.max.toordinal())
    return dt.date.fromordinal(ordinal)


def telling_days(
    expression: Expression, low: dt.date, high: dt.date, most: int
) -> list[Value] | None:
    """List days that show every value of an expression of one date; None where they are too many.

    At most ``most`` days are listed.
    """
    count = (high - low).days + 1
    if count <= most:
        return [low + dt.timedelta(days=step) for step in range(count)]
    months = 12 * (high.year - low.year) + high.month - low.month + 1
    if months > most or not _only_months(expression):
        return None
    first = 12 * low.year + low.month - 1
    starts = (divmod(first + step, 12) for step in range(1, months))
    return [low, *(dt.date(year, month + 1, 1) for year, month in starts)]


def _only_months(expression: Expression) -> bool:
    """Tell whether every use of a date is of what all days of a month share."""
    nodes = list(walk(expression))
    read = sum(isinstance(node, Column) for node in nodes)
    shared = sum(
        isinstance(node, Apply)
        and node.function in _WITHIN_MONTHS
        and isinstance(node.arguments[0], Column)
        for node in nodes
    )
    return read == shared
