"""Parameters of mechanisms, read exactly and refused with advice.

Contract: every function returns the exact rational a person stated (0.1 is one tenth, see
:func:`sfumato.dp.rounding.stated`) or raises :class:`~sfumato.errors.ParameterError` with a
sentence that says what is allowed and what to use instead.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.dp.neighbours import Customer, Group, Neighbours, Row, Transaction, Unit
from sfumato.dp.rounding import Stated, stated
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence


def read(value: Stated, name: str, allowed: str) -> Fraction:
    """Read a finite number."""
    if isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} is {allowed}, and {value} was given.")
    try:
        return stated(value)
    except (ParameterError, TypeError, ValueError, OverflowError):
        raise ParameterError(f"{name} is {allowed}, and {value!r} was given.") from None


def positive(value: Stated, name: str, advice: str = "") -> Fraction:
    """Read a finite number above 0."""
    exact = read(value, name, "a finite number above 0")
    if exact <= 0:
        raise ParameterError(f"{name} is above 0, and {value} was given{advice}.")
    return exact


def budget(epsilon: Stated, *, zero: bool = False) -> Fraction:
    """Read ε, which may be 0 where a mechanism has a meaning for it."""
    exact = read(
        epsilon, "ε (epsilon)", "a finite number above 0 (publish the value itself to give up ε)"
    )
    if exact < 0 or (exact == 0 and not zero):
        raise ParameterError(
            f"ε (epsilon) is above 0, and {epsilon} was given; for no loss of privacy at all "
            "release nothing, or a constant."
        )
    return exact


def failure(delta: Stated) -> Fraction:
    """Read δ of a Gaussian mechanism, strictly between 0 and 1."""
    exact = read(delta, "δ (delta)", "a probability above 0 and below 1")
    if exact == 0:
        raise ParameterError(
            "δ (delta) is 0, which Gaussian noise cannot give for any σ; use Laplace (real "
            "numbers) or Geometric (whole numbers) for pure differential privacy."
        )
    if not 0 < exact < 1:
        raise ParameterError(
            f"δ (delta) is a probability above 0 and below 1, far below 1 / number of people, "
            f"and {delta} was given; δ ≥ 1 would promise nothing."
        )
    return exact


def bound(sensitivity: Stated) -> Fraction:
    """Read a sensitivity."""
    if hasattr(sensitivity, "l1") and hasattr(sensitivity, "l2"):
        raise ParameterError(
            "The sensitivity is one number, and a derived sensitivity with several norms was "
            "given; write .l1 for Laplace and Geometric, and .l2 for Gaussian noise."
        )
    return positive(
        sensitivity,
        "The sensitivity",
        "; a query whose answer never changes needs no noise and no mechanism",
    )


def bound_up(sensitivity: Stated) -> Fraction:
    """Read a sensitivity that bounds floats: the larger of the decimal and the binary number.

    Whoever writes 0.1 means one tenth; scores 0.1 and 0.0 of that sensitivity differ by the binary
    number next to it, which may be larger.
    """
    exact = bound(sensitivity)
    return max(exact, Fraction(sensitivity)) if isinstance(sensitivity, float) else exact


def as_float(value: Fraction, what: str) -> float:
    """Give a float that is neither infinite nor, for a positive number, 0."""
    try:
        return float(value) or (math.ulp(0.0) if value > 0 else 0.0)
    except OverflowError:
        raise ParameterError(
            f"{what} is beyond the largest floating-point number; use a larger ε or δ, or scale "
            "the values."
        ) from None


def share(value: Stated, name: str) -> Fraction:
    """Read a probability strictly between 0 and 1."""
    exact = read(value, name, "a number above 0 and below 1")
    if not 0 < exact < 1:
        raise ParameterError(f"{name} is above 0 and below 1, and {value} was given.")
    return exact


def count(value: int | None, name: str) -> int | None:
    """Read an optional whole number of at least 1."""
    if value is None:
        return None
    try:
        whole = 0 if isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        whole = 0
    if whole != value or whole < 1:
        raise ParameterError(f"{name} is a whole number of at least 1, and {value!r} was given.")
    return whole


def rows_per_unit(neighbours: Neighbours) -> int:
    """Give the most values that one privacy unit may own, where a mechanism must know it."""
    unit, size = neighbours.unit, 1
    while isinstance(unit, Group):
        size *= unit.size
        unit = unit.unit
    rows = unit.parts if isinstance(unit, (Row, Transaction, Unit, Customer)) else None
    if rows is None:
        limited = (
            "Customer(transactions=…)" if isinstance(unit, Customer) else "Unit('column', rows=…)"
        )
        raise ParameterError(
            f"How many values {unit} owns is not limited; use {limited}, bound the contributions "
            "accordingly, or let every value be a row of its own."
        )
    return rows * size


def exactly_one(given: Sequence[object], names: str) -> None:
    """Refuse none or several of alternative parameters."""
    if sum(value is not None for value in given) != 1:
        raise ParameterError(f"Give exactly one of {names}.")
