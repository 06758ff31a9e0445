"""What is known about an expression without looking at a row: its kind, bounds and magnitude.

Contract: arithmetic is done in IEEE doubles on every engine, from leaves that are first made tame:
a whole number is the nearest double, a real number is clamped to ±10^30 (or to its bounds, should
they reach further), a NaN becomes NULL, and |x| < 10^-30 becomes 0. Whole numbers that are chosen
and not computed (:mod:`sfumato.ask.language.exactness`) are compared and grouped by as they are.

Declared bounds say what an aggregate clamps its term to, and change no comparison and no key. So
two things are known about an expression. :func:`range_of` gives what its values *are*, whatever the
data; every proof uses it:

* ``low`` and ``high``: bounds, ±∞ where none follow from the form;
* ``most``: the largest |x| there can be, and ``least``: the smallest |x| other than 0;
* ``grain``: a power of two of which every value is a whole multiple.

:func:`interval_of` gives what they are *taken to be* when columns keep their declared bounds: a
proposal for the bounds of an aggregate, which clamps to them, and nothing to rely on before.

Why it holds. Rounding to doubles is monotone, so the rounded result of an operation lies between
the rounded ends of the exact interval (Moore, "Interval Analysis", 1966), and every end is kept as
the exact value of a double. A sum of multiples of g is a multiple of g, before and after rounding,
as g is a power of two; so a non-zero sum is at least g. A product of multiples of g and h is a
multiple of gh. A double of at least t is a multiple of the unit in the last place of t.

Why nothing raises. Postgres raises on overflow, on underflow and on a division by 0; other engines
give ∞, 0 or NULL. Expressions with ``most`` > 10^300 or ``least`` < 10^-290 are refused before
anything runs, and a division by 0 is NULL by the language, so no engine can get there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from sfumato.ask.language.days import PARTS, STARTS
from sfumato.ask.language.language import Apply, Arithmetic, Case, Column, Constant, Expression
from sfumato.ask.language.refusals import refuse
from sfumato.ask.language.walk import is_null, parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from sfumato.ask.language.language import Bounds, Kind

End: TypeAlias = Any  # a Fraction, or the float ±∞: they compare and add as they should

LARGEST_PLAIN = Fraction(2**53)
"""Up to here doubles hold every whole number; a column without bounds is taken to stay within."""

LARGEST_LEAF = Fraction(1e30)
SMALLEST_LEAF = Fraction(1e-30)
LARGEST = Fraction(10**300)
SMALLEST = Fraction(1, 10**290)
LONGEST_TEXT = Fraction(2**32)
_ONE = Fraction(1)


@dataclass(frozen=True)
class Range:
    """What is known about the values of a numeric expression."""

    low: End
    high: End
    most: Fraction
    least: Fraction
    grain: Fraction


def kind_of(expression: Expression) -> Kind:
    """Give the kind of an expression; that its parts fit was checked when it was built."""
    match expression:
        case Column(_, kind, _) | Constant(_, kind):
            return kind
        case Arithmetic("/", _, _):
            return "real"
        case Arithmetic(_, left, right):
            return _number(left, right)
        case Case(branches, default):
            return _common(*(result for _, result in branches), default)
        case Apply(function, arguments):
            return _kind_of_function(function, arguments)
    return "boolean"


def _kind_of_function(function: str, arguments: tuple[Expression, ...]) -> Kind:
    if function in {"floor", "ceil", "round", "length", *PARTS}:
        return "integer"
    if function in STARTS.values():
        return "date"
    if function in {"lower", "upper", "substring"}:
        return "text"
    return "real" if function == "sqrt" else _common(*arguments)


def _number(*terms: Expression) -> Kind:
    return "integer" if all(kind_of(term) == "integer" for term in terms) else "real"


def _common(*terms: Expression) -> Kind:
    kinds = [kind_of(term) for term in terms if not is_null(term)]
    if not kinds:
        return kind_of(terms[0])
    return "real" if "real" in kinds else kinds[0]


def interval_of(expression: Expression) -> Bounds | None:
    """Give the bounds that follow from declared ones, or None where there are none.

    Values may lie outside, as columns may; an aggregate clamps its term to what it uses.
    """
    found = declared_range(expression)
    if found is None or isinstance(found.low, float) or isinstance(found.high, float):
        return None
    return found.low, found.high


def range_of(expression: Expression) -> Range | None:
    """Give the range of a numeric expression, None for others and for NULL.

    Refuses an expression that has, anywhere within it, arithmetic that an engine might not be
    able to do; so it is asked about every expression, numeric or not.
    """
    return _range(expression, leaf_range)


def declared_range(expression: Expression) -> Range | None:
    """Give the range that an expression would have if columns kept their declared bounds."""
    return _range(expression, _declared_leaf)


def _range(expression: Expression, leaf: Callable[[Column], Range | None]) -> Range | None:
    inner = tuple(_range(part, leaf) for part in parts(expression))
    match expression:
        case Column():
            return leaf(expression)
        case Constant():
            return _constant(expression)
        case Arithmetic(operator, _, _):
            return _arithmetic(operator, inner)
        case Apply(function, _):
            return _applied(function, inner)
        case Case():
            return _hull((*inner[1:-1:2], inner[-1]))
    return None


@lru_cache(maxsize=1024)
def leaf_range(column: Column) -> Range | None:
    """State what a numeric column is as a leaf of arithmetic."""
    if column.kind == "integer":
        return Range(-math.inf, math.inf, Fraction(2**63), _ONE, _ONE)
    if column.kind == "real":
        least = SMALLEST_LEAF
        return _checked(-math.inf, math.inf, reach_of(column), least, _unit_of(least))
    return None


def _declared_leaf(column: Column) -> Range | None:
    if column.kind not in {"integer", "real"}:
        return None
    whole = column.kind == "integer"
    low: End = Fraction(0) if column.counts else -math.inf
    high: End = math.inf
    most = LARGEST_PLAIN
    if column.bounds is not None:
        low, high = _declared(column, column.bounds)
        most = max(abs(low), abs(high))
    least = _ONE if whole else SMALLEST_LEAF
    return _checked(low, high, most, least, _ONE if whole else _unit_of(least))


def _declared(column: Column, bounds: Bounds) -> Bounds:
    """Give declared bounds as values that the column can have: doubles, whole for an integer."""
    low, high = bounds
    if max(abs(low), abs(high)) > LARGEST:
        raise refuse("too_large", what=column.name)
    if column.kind == "integer":
        inside = Fraction(math.ceil(low)), Fraction(math.floor(high))
        low, high = inside if inside[0] <= inside[1] else (inside[1], inside[1])
        low, high = max(low, -LARGEST_PLAIN), min(high, LARGEST_PLAIN)
        return (low, high) if low <= high else (high, high)
    low, high = double(low), double(high)  # and an end that is tiny is flushed to 0
    low = Fraction(0) if 0 < low < SMALLEST_LEAF else low
    high = Fraction(0) if -SMALLEST_LEAF < high < 0 else high
    return low, high


def reach_of(column: Column) -> Fraction:
    """Give the largest |x| of a numeric column as a leaf: real numbers are clamped to it."""
    if column.kind == "integer":
        return Fraction(2**63)
    reach = LARGEST_LEAF
    if column.bounds is not None:
        reach = max(reach, *(abs(end) for end in column.bounds))
    if reach > LARGEST:
        raise refuse("too_large", what=column.name)
    return double(reach)


def double(value: Fraction | int) -> Fraction:
    """Round to the nearest double; the caller knows that it is not too large."""
    return Fraction(float(value))


def _constant(constant: Constant) -> Range | None:
    value = constant.value
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        return None
    size = abs(Fraction(value))
    if size > LARGEST or 0 < size < SMALLEST:
        raise refuse("bad_number", what="A literal")
    exact = double(value)
    if not exact:
        return Range(exact, exact, exact, _ONE, _ONE)
    size = abs(exact)
    if size > LARGEST:  # which the literal was not: it was rounded up
        raise refuse("too_large", what="An expression of the question")
    if size < SMALLEST:
        raise refuse("too_small", what="An expression of the question")
    grain = Fraction(exact.numerator & -exact.numerator, exact.denominator)
    return Range(exact, exact, size, size, grain)


def _arithmetic(operator: str, inner: tuple[Range | None, ...]) -> Range | None:
    left, right = inner
    if left is None or right is None:
        return None  # an operand is always NULL
    if operator == "*":
        ends = [_times(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
        least = left.least * right.least
        grain = left.grain * right.grain
        return _checked(min(ends), max(ends), left.most * right.most, least, grain)
    if operator == "/":
        return _quotient(left, right)
    if operator == "-":
        right = Range(-right.high, -right.low, right.most, right.least, right.grain)
    grain = min(left.grain, right.grain)
    most = left.most + right.most
    return _checked(left.low + right.low, left.high + right.high, most, grain, grain)


def _quotient(left: Range, right: Range) -> Range:
    """Divide; a divisor that may come close to 0 leaves no public bounds."""
    most, least = left.most / right.least, left.least / max(right.most, right.least)
    divisors: list[End] = []
    if right.low > 0 or right.high < 0:
        divisors = [right.low, right.high]
    elif right.grain >= 1:  # whole numbers, so at least 1 when not 0
        divisors = [Fraction(-1)] * (right.low < 0) + [Fraction(1)] * (right.high > 0)
        divisors += [end for end in (right.low, right.high) if end]
    if not divisors:
        always_null = right.low == right.high == 0
        low, high = (Fraction(0), Fraction(0)) if always_null else (-math.inf, math.inf)
        return _checked(low, high, most, least, _unit_of(least))
    ends = [_over(a, b) for a in (left.low, left.high) for b in divisors]
    return _checked(min(ends), max(ends), most, least, _unit_of(least))


def _times(a: End, b: End) -> End:
    return Fraction(0) if not a or not b else a * b


def _over(a: End, b: End) -> End:
    if isinstance(b, float):
        return Fraction(0) if not isinstance(a, float) else math.copysign(math.inf, a * b)
    return a / b if not isinstance(a, float) else math.copysign(math.inf, a * b)


def _applied(function: str, inner: tuple[Range | None, ...]) -> Range | None:
    match function:
        case "length":
            return Range(Fraction(0), LONGEST_TEXT, LONGEST_TEXT, _ONE, _ONE)
        case "coalesce":
            return _hull(inner)
    if function in PARTS:
        low, top = map(Fraction, PARTS[function])
        return Range(low, top, top, _ONE, _ONE)
    if not inner or any(range_ is None for range_ in inner):
        return None  # a text, or always NULL
    known = [range_ for range_ in inner if range_ is not None]
    if function in {"least", "greatest"}:
        hull = _hull(inner)
        assert hull is not None
        choose = min if function == "least" else max
        low = choose(range_.low for range_ in known)
        high = choose(range_.high for range_ in known)
        return _checked(low, high, hull.most, hull.least, hull.grain)
    return _rounded(function, known[0])


def _rounded(function: str, range_: Range) -> Range:
    if function == "abs":
        low = (
            Fraction(0)
            if range_.low <= 0 <= range_.high
            else min(abs(range_.low), abs(range_.high))
        )
        return _checked(
            low, max(abs(range_.low), abs(range_.high)), range_.most, range_.least, range_.grain
        )
    half = Fraction(1, 2) if function == "round" else Fraction(0)
    towards = math.ceil if function == "ceil" else math.floor
    low, high = (
        end if isinstance(end, float) else Fraction(towards(double(end + half)))
        for end in (range_.low, range_.high)
    )
    most = double(range_.most + half) + 1
    return _checked(low, high, most, _ONE, _ONE)


def _hull(inner: tuple[Range | None, ...]) -> Range | None:
    known = [range_ for range_ in inner if range_ is not None]
    if not known:
        return None
    return Range(
        min(range_.low for range_ in known),
        max(range_.high for range_ in known),
        max(range_.most for range_ in known),
        min(range_.least for range_ in known),
        min(range_.grain for range_ in known),
    )


def _checked(low: End, high: End, most: Fraction, least: Fraction, grain: Fraction) -> Range:
    """Refuse what may overflow or underflow, and round the ends as doubles are rounded."""
    finite = not isinstance(low, float) and not isinstance(high, float)
    if finite:
        most = min(most, Fraction(max(abs(low), abs(high))))
        nearest = min(abs(low), abs(high)) if low * high > 0 else 0
        least = max(least, Fraction(nearest))
    if most > LARGEST:
        raise refuse("too_large", what="An expression of the question")
    if least < SMALLEST:
        raise refuse("too_small", what="An expression of the question")
    least = double(least)
    grain = max(grain, _unit_of(least))
    low, high = (end if isinstance(end, float) else double(end) for end in (low, high))
    return Range(low, high, double(most), least, grain)


def _unit_of(least: Fraction) -> Fraction:
    """Give the unit in the last place of a double: every larger double is a multiple of it."""
    return Fraction(math.ulp(float(least)))
