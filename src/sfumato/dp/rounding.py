"""Arithmetic that rounds in a direction the caller names.

Contract: ``f_up(...)`` returns a float that is not below the exact result and ``f_down(...)``
one that is not above it, for the exact values of the arguments (a float argument stands for
the binary number it is). Sums, differences, products, quotients and square roots are the
nearest such float; exponentials and logarithms are too, unless the exact result lies within
one part in 10³⁰ of a float. Code that decides ε, δ, a scale or a threshold uses these and
nothing else, so a guarantee never profits from a rounding error.

Why it holds. Rational results are computed as :class:`fractions.Fraction`, and compared exactly
with the float returned. ``exp`` and ``ln`` of :mod:`decimal` are correctly rounded by the
General Decimal Arithmetic specification, so moving one unit in their last place encloses the
true value; the argument is enclosed in the same way when it has no finite decimal expansion.

Parameters that a person states are decimals: whoever writes ``epsilon=0.1`` means one tenth,
not the binary number next to it. :func:`stated` reads a parameter so, and :func:`stated_up`
prints an exact number as a float that reads back at least as large. Guarantees keep their
parameters in this form, which is why ten times 0.1 is exactly 1.
"""

from __future__ import annotations

import decimal
import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import TypeAlias

from sfumato.errors import ParameterError

Real: TypeAlias = int | float | Fraction
"""A number whose exact value is meant; a float stands for the binary number it is."""

Stated: TypeAlias = int | float | Fraction | Decimal | str
"""A parameter as a person states it; a float stands for the decimal it prints as."""

_DIGITS = 50
_TOP = math.nextafter(math.inf, 0.0)
_EXACT_TOP = Fraction(_TOP)
_UNDERFLOW_AT = -746  # exp(-746) is below the smallest positive float
_OVERFLOW_AT = 710  # exp(710) is above the largest float


def stated(value: Stated) -> Fraction:
    """Read a stated parameter exactly: 0.1 is one tenth."""
    if type(value) is Fraction:  # no check that isinstance would make takes less than this one
        return value
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise ParameterError(
                f"{value!r} is not a number; write a decimal or a ratio such as '1/3'."
            ) from None
    if isinstance(value, int | Integral):  # NumPy's integers too, which no float may hold
        return Fraction(int(value))
    if isinstance(value, Decimal | Fraction) and _is_finite(value):
        return Fraction(value)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ParameterError(
            f"A number is needed here, and a {type(value).__name__} was given."
        ) from None
    if not math.isfinite(number):
        raise ParameterError(f"A finite number is needed here, and {number} was given.")
    return _as_printed(number)


@lru_cache(maxsize=4096)
def _as_printed(number: float) -> Fraction:
    """Read the decimal that a float prints as; the same few parameters are read all the time."""
    return Fraction(repr(number))


@lru_cache(maxsize=4096)
def stated_up(value: Fraction) -> float:
    """Give the smallest float that, read as :func:`stated` does, is at least ``value``."""
    if value > _EXACT_TOP:
        return math.inf
    near = float_down(value)
    while stated(near) < value:
        near = math.nextafter(near, math.inf)
    return near


def stated_down(value: Fraction) -> float:
    """Give the largest float that, read as :func:`stated` does, is at most ``value``."""
    return 0.0 - stated_up(-value)


def parameter_up(value: Fraction) -> float:
    """Give the smallest float that is at least ``value``, read in binary or as a decimal."""
    near = max(float_up(value), stated_up(value))
    return near if math.isinf(near) or stated(near) >= value else math.nextafter(near, math.inf)


def float_up(value: Real) -> float:
    """Give the smallest float that is at least ``value``."""
    if isinstance(value, float):
        return value
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -_TOP
    return near if math.isinf(near) or Fraction(near) >= value else math.nextafter(near, math.inf)


def float_down(value: Real) -> float:
    """Give the largest float that is at most ``value``."""
    return 0.0 - float_up(-value)


def decimal_up(value: Decimal) -> float:
    """Give the smallest float that is at least a finite decimal, however tiny or huge."""
    if value.copy_abs() < Decimal("1e-400"):
        return math.ulp(0.0) if value > 0 else 0.0
    if value.copy_abs() > Decimal("1e400"):
        return math.inf if value > 0 else -_TOP
    return float_up(Fraction(value))


def decimal_down(value: Decimal) -> float:
    """Give the largest float that is at most a finite decimal."""
    return 0.0 - decimal_up(value.copy_negate())


def add_up(*terms: Real) -> float:
    """Add, rounding up."""
    if _has_infinity(*terms):
        return _bounded(sum(float(term) for term in terms))
    return float_up(sum((Fraction(term) for term in terms), Fraction(0)))


def add_down(*terms: Real) -> float:
    """Add, rounding down."""
    return -add_up(*(-term for term in terms))


def sub_up(minuend: Real, subtrahend: Real) -> float:
    """Subtract, rounding up."""
    return add_up(minuend, -subtrahend)


def sub_down(minuend: Real, subtrahend: Real) -> float:
    """Subtract, rounding down."""
    return add_down(minuend, -subtrahend)


def mul_up(*factors: Real) -> float:
    """Multiply, rounding up."""
    if _has_infinity(*factors):
        return _bounded(math.prod(float(factor) for factor in factors))
    product = Fraction(1)
    for factor in factors:
        product *= Fraction(factor)
    return float_up(product)


def mul_down(*factors: Real) -> float:
    """Multiply, rounding down."""
    first, *rest = factors
    return -mul_up(-first, *rest)


def div_up(dividend: Real, divisor: Real) -> float:
    """Divide, rounding up; dividing a positive number by zero gives infinity."""
    if divisor == 0:
        if dividend == 0:
            raise ZeroDivisionError("0 / 0 has no bound")
        return math.inf if dividend > 0 else -_TOP
    if _has_infinity(dividend, divisor):
        return _bounded(float(dividend) / float(divisor))
    return float_up(Fraction(dividend) / Fraction(divisor))


def div_down(dividend: Real, divisor: Real) -> float:
    """Divide, rounding down."""
    return -div_up(-dividend, divisor)


def sqrt_up(value: Real) -> float:
    """Take the square root, rounding up."""
    if _has_infinity(value):
        return math.sqrt(value)
    exact = Fraction(value)
    if exact < 0:
        raise ParameterError("A square root needs a number that is not negative.")
    if exact == 0:
        return 0.0
    shift = max(0, 64 + exact.denominator.bit_length() - exact.numerator.bit_length() // 2)
    above = Fraction(math.isqrt(math.floor(exact * 4**shift)) + 1, 2**shift)
    root = float_up(above)
    while root > 0 and Fraction(math.nextafter(root, 0.0)) ** 2 >= exact:
        root = math.nextafter(root, 0.0)  # above is nearly exact: one step at most
    return root


def sqrt_down(value: Real) -> float:
    """Take the square root, rounding down."""
    above = sqrt_up(value)
    if math.isinf(above):
        return above if _has_infinity(value) else _TOP
    return above if Fraction(above) ** 2 == Fraction(value) else math.nextafter(above, 0.0)


def exp_up(exponent: Real) -> float:
    """Give e to the power, rounding up; never below the smallest positive float."""
    if exponent > _OVERFLOW_AT:
        return math.inf
    if exponent < _UNDERFLOW_AT:
        return 0.0 if exponent == -math.inf else math.ulp(0.0)
    return decimal_up(exp_bounds(exponent)[1])


def exp_down(exponent: Real) -> float:
    """Give e to the power, rounding down."""
    if exponent > _OVERFLOW_AT:
        return math.inf if exponent == math.inf else _TOP
    if exponent < _UNDERFLOW_AT:
        return 0.0
    return decimal_down(exp_bounds(exponent)[0])


def expm1_up(exponent: Real) -> float:
    """Give e to the power, minus one, rounding up; accurate for tiny exponents."""
    if exponent > _OVERFLOW_AT:
        return math.inf
    if exponent < _UNDERFLOW_AT:
        return -1.0 if exponent == -math.inf else math.nextafter(-1.0, 0.0)
    return float_up(Fraction(exp_bounds(exponent, _digits_below_one(exponent))[1]) - 1)


def expm1_down(exponent: Real) -> float:
    """Give e to the power, minus one, rounding down."""
    if exponent > _OVERFLOW_AT:
        return math.inf if exponent == math.inf else _TOP
    if exponent < _UNDERFLOW_AT:
        return -1.0
    return float_down(Fraction(exp_bounds(exponent, _digits_below_one(exponent))[0]) - 1)


def log_up(value: Real) -> float:
    """Take the natural logarithm, rounding up; the logarithm of 0 is minus infinity."""
    if _has_infinity(value) or value == 0:
        return -math.inf if value == 0 else math.inf
    return decimal_up(log_bounds(value)[1])


def log_down(value: Real) -> float:
    """Take the natural logarithm, rounding down."""
    if _has_infinity(value) or value == 0:
        return -math.inf if value == 0 else math.inf
    return decimal_down(log_bounds(value)[0])


def exp_bounds(exponent: Real, digits: int = _DIGITS) -> tuple[Decimal, Decimal]:
    """Enclose e to the power of a finite number between two decimals."""
    low, high = decimal_bounds(exponent, digits)
    context = _context(digits)
    return (
        context.next_minus(context.exp(low)) if low else Decimal(1),
        context.next_plus(context.exp(high)) if high else Decimal(1),
    )


def log_bounds(value: Real, digits: int = _DIGITS) -> tuple[Decimal, Decimal]:
    """Enclose the natural logarithm of a positive finite number between two decimals."""
    if value <= 0:
        raise ParameterError("A logarithm needs a positive number.")
    exact = Fraction(value)
    if exact == 1:
        return Decimal(0), Decimal(0)
    low, high = decimal_bounds(exact, digits + _digits_below_one(exact - 1))
    context = _context(digits)
    return context.next_minus(context.ln(low)), context.next_plus(context.ln(high))


def decimal_bounds(value: Real, digits: int = _DIGITS) -> tuple[Decimal, Decimal]:
    """Enclose a rational between two decimals of the given length."""
    exact = Fraction(value)
    top, bottom = Decimal(exact.numerator), Decimal(exact.denominator)
    return (
        _context(digits, ROUND_FLOOR).divide(top, bottom),
        _context(digits, ROUND_CEILING).divide(top, bottom),
    )


def _context(digits: int, rounding: str = decimal.ROUND_HALF_EVEN) -> decimal.Context:
    return decimal.Context(
        prec=digits,
        rounding=rounding,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )


def _digits_below_one(value: Real) -> int:
    """Count the digits that 1 + value needs to show value to full length."""
    exact = abs(Fraction(value))
    if exact == 0 or exact >= 1:
        return _DIGITS
    return _DIGITS + len(str(exact.denominator // exact.numerator))


def _is_finite(value: Decimal | Fraction) -> bool:
    return not isinstance(value, Decimal) or value.is_finite()


def _has_infinity(*values: Real) -> bool:
    return any(isinstance(value, float) and not math.isfinite(value) for value in values)


def _bounded(value: float) -> float:
    if math.isnan(value):
        raise ParameterError("Infinities that cancel, or a NaN, have no bound.")
    return value
