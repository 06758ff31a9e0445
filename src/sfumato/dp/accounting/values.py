"""When two values are told apart by every engine, in every type of column.

Contract: ``never_equal(a, b)`` is true only if no engine and no type that we serve can take the two
for equal, so that no record satisfies both ``x = a`` and ``x = b``. It may be false for values that
are different: then nothing is proved, and a caller charges for both.

Why the rules are safe. The comparison of a stored cell with a value is made in some type, to which
both are converted.

* Numbers are compared in a type at least as fine as 32-bit floating point (REAL, DOUBLE, DECIMAL,
  integers), and conversion to it does not turn the order round. Numbers that are 32-bit floats stay
  what they are; others move by less than one step of such floats, twice if they are rounded twice.
  So numbers are apart if both are such floats, or if three steps lie between them: 0.1 and
  float32(0.1), 2⁵³ + 1 and 2.0⁵³ are not. Texts of numbers may be rounded to whole ones first.
* Texts may be compared without regard to case, accents, width, punctuation or blanks at the end
  (collations, CHAR(n)), and are numbers, dates or truth values where the column is one ('10' and
  '10.0'). They are apart if what is left without all of that differs, and if they are not two ways
  to write one number, day or truth value.
* Dates with a time may be cut to the day, and shifted by a time zone.
* Values of two kinds ('10' and 10, 1 and true) are never told apart: engines convert.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import unicodedata
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np

_TRUE = frozenset({"t", "true", "y", "yes", "on", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "off", "0"})
_MONTH = re.compile("jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec")
_ENDLESS = re.compile("inf(inity)?|nan")
_TWO_DAYS = dt.timedelta(days=2)


def never_equal(first: object, second: object) -> bool:
    """Tell whether no engine can take two values for equal."""
    if isinstance(first, bool) and isinstance(second, bool):
        return first is not second
    if _is_number(first) and _is_number(second):
        return _below(first, second) or _below(second, first)
    if isinstance(first, str) and isinstance(second, str):
        return _texts_apart(first, second)
    if isinstance(first, dt.datetime) or isinstance(second, dt.datetime):
        return _times_apart(first, second)
    if isinstance(first, dt.date) and isinstance(second, dt.date):
        return first != second
    return False


def comes_before(high: float, low: float) -> bool:
    """Tell whether no number is below ``high`` and at least ``low``, in any type of column.

    The same end, written the same, is one number to an engine; else the ends must stay apart.
    """
    if type(high) is type(low) and high == low:
        return True
    return _below(high, low)


def outside(value: object, low: float, high: float) -> bool:
    """Tell whether a value is in the interval [low, high) for no engine."""
    if not _is_number(value):
        return False
    number: Any = value
    return _below(number, low) or comes_before(high, number)


def _is_number(value: object) -> bool:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Number):
        return False
    return not isinstance(value, (complex, np.complexfloating))


def _below(small: Any, large: Any) -> bool:
    """Tell whether a number is below another in every type of column."""
    (near, is_near), (far, is_far) = _nearest(small), _nearest(large)
    if is_near and is_far:
        return bool(near < far)
    for _ in range(3):
        near = np.nextafter(near, np.float32(math.inf))
    return bool(near <= far and not np.isinf(near))


def _nearest(value: Any) -> tuple[np.float32, bool]:
    """Give the 32-bit float next to a number, and whether it is that number."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and math.isinf(plain):
        return np.float32(plain), True
    exact = Fraction(plain)
    try:
        near = float(exact)
    except OverflowError:
        near = math.inf if exact > 0 else -math.inf
    with np.errstate(over="ignore"):
        rounded = np.float32(near)
    return rounded, not np.isinf(rounded) and Fraction(float(rounded)) == exact


def _texts_apart(text: str, other_text: str) -> bool:
    left, right = _bare(text), _bare(other_text)
    if left == right:
        return False
    if {left, right} <= _TRUE or {left, right} <= _FALSE:
        return False
    if not (_has_digit(left) and _has_digit(right)):
        return not (_ENDLESS.fullmatch(left) and _ENDLESS.fullmatch(right))
    if _MONTH.search(left) or _MONTH.search(right):
        return False  # one may be the other as a date in words
    first, second = _number(text), _number(other_text)
    if first is not None and second is not None:
        whole = first.denominator == second.denominator == 1
        return never_equal(first, second) and (whole or abs(first - second) > 1)
    days = _day(text), _day(other_text)
    return days[0] != days[1] if None not in days else True


def _bare(text: str) -> str:
    """Leave out what some collation or some type does not look at."""
    folded = unicodedata.normalize("NFKD", text.casefold()).replace("\u0131", "i")
    return "".join(sign for sign in folded.casefold() if sign.isalnum())


def _has_digit(text: str) -> bool:
    return any(sign.isdigit() for sign in text)


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text.strip().replace(",", ""))
    except (ValueError, ZeroDivisionError):
        return None


def _day(text: str) -> dt.date | None:
    try:
        return dt.datetime.fromisoformat(text.strip()).date()
    except ValueError:
        return None


def _times_apart(first: object, second: object) -> bool:
    if not isinstance(first, dt.datetime) or not isinstance(second, dt.datetime):
        return False
    if (first.tzinfo is None) != (second.tzinfo is None):
        return False
    return abs(first - second) > _TWO_DAYS
