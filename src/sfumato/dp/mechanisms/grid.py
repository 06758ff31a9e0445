"""Real numbers on a grid of exact binary multiples.

Contract: a :class:`Grid` of step g = 2^power turns real values into whole multiples of g and
back. Noise is added to the multiples, as integers; what is published is a multiple of g, so
no low-order bit can carry information past the noise (Mironov, "On significance of the least
significant bits for differential privacy", CCS 2012).

What rounding costs. ρ(x) = ⌊x/g + ½⌋ is monotone, and ρ(x + m·g) = ρ(x) + m for whole m. If
|x − y| ≤ m·g, then y ≤ x + m·g gives ρ(y) ≤ ρ(x) + m, and likewise the other way round: a
single value whose sensitivity is Δ moves by at most ⌈Δ/g⌉ steps. In a vector of d values each
coordinate moves by at most ⌈|x_i−y_i|/g⌉ ≤ |x_i−y_i|/g + 1 steps, hence all by at most Δ₁/g + d in
L1, and being whole by at most ⌊Δ₁/g⌋ + d, and by at most Δ₂/g + √d in L2 (the triangle inequality).
:meth:`Grid.l1` and :meth:`Grid.l2` are these sensitivities in steps, rounded up.

The step is chosen from the sensitivity and the scale of the noise alone, which are public:
2⁻²⁰ of the smaller one, finer for vectors, so that rounding adds less than one thousandth.
Values are exact: floats are dyadic, integers are integers. Turning a multiple back into a
float rounds to at most 53 bits, which is post-processing and again a multiple of g.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.dp.noise.alias import FEW
from sfumato.dp.rounding import sqrt_up
from sfumato.errors import DataError

_RESOLUTION = 20  # bits of the grid below the sensitivity and the scale
_SAFE = 1 << 62
_EXACT_POWER = 900  # floats times powers of two up to here are exact, see grid_kernels
_LARGEST = (1 << 63) - 1
_TOP = math.nextafter(math.inf, 0.0)

Integers = npt.NDArray[Any]


@dataclass(frozen=True)
class Grid:
    """Multiples of 2^power."""

    power: int

    @classmethod
    def fine(cls, *, sensitivity: Fraction, scale: Fraction, size: int) -> Grid:
        """Choose a step far below the sensitivity and the scale, for ``size`` values."""
        smaller = min(sensitivity, scale)
        finer = max(_RESOLUTION, size.bit_length() + 10)
        return cls(_floor_log2(smaller) - finer)

    @property
    def step(self) -> Fraction:
        """The distance of neighbouring points."""
        return Fraction(2) ** self.power

    def l1(self, sensitivity: Fraction, size: int) -> int:
        """Give the L1 sensitivity in steps after rounding ``size`` values."""
        if size == 1:
            return math.ceil(sensitivity / self.step)
        return math.floor(sensitivity / self.step) + size

    def l2(self, sensitivity: Fraction, size: int) -> Fraction:
        """Give the L2 sensitivity in steps after rounding ``size`` values."""
        if size == 1:
            return Fraction(math.ceil(sensitivity / self.step))
        return sensitivity / self.step + Fraction(sqrt_up(size))

    def multiples(self, values: npt.NDArray[Any]) -> Integers:
        """Round values to multiples: ``int64``, or Python integers when those do not fit."""
        if values.dtype.kind in "iubO":
            return self._from_integers(values)
        if self._compiled(values):
            from sfumato.dp.mechanisms import grid_kernels  # noqa: PLC0415 - many values only

            out = np.empty(values.shape, dtype=np.int64)
            if grid_kernels.multiples(values.ravel(), 2.0**-self.power, out.reshape(-1)):
                return out
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(values, -self.power)
        if np.isfinite(scaled).all() and np.abs(scaled).max(initial=0.0) < _SAFE:
            whole = np.floor(scaled)
            # Exact: the fraction of a float has no more bits than the float itself.
            rounded: Integers = whole.astype(np.int64) + (scaled - whole >= 0.5)
            return rounded
        flat = [math.floor(Fraction(x) / self.step + Fraction(1, 2)) for x in values.ravel()]
        return _objects(flat).reshape(values.shape)

    def _from_integers(self, values: npt.NDArray[Any]) -> Integers:
        most = max((abs(int(values.max())), abs(int(values.min()))) if values.size else (0, 0))
        if self.power <= 0 and most << -self.power < _SAFE:
            return values.astype(np.int64) << -self.power
        flat = [math.floor(Fraction(int(x)) / self.step + Fraction(1, 2)) for x in values.ravel()]
        return _objects(flat).reshape(values.shape)

    def noised(self, multiples: Integers, noise: Integers) -> npt.NDArray[np.float64]:
        """Add noise of the same shape to multiples, and turn the sums into floats."""
        if self._compiled(multiples) and noise.dtype == multiples.dtype == np.int64:
            from sfumato.dp.mechanisms import grid_kernels  # noqa: PLC0415 - many values only

            out = np.empty(noise.shape)
            if grid_kernels.noised(
                multiples.ravel(), noise.ravel(), 2.0**self.power, out.reshape(-1)
            ):
                return out
        return self.values(add(multiples, noise))

    def _compiled(self, values: npt.NDArray[Any]) -> bool:
        """Tell whether so many values repay a compiled loop, and its arithmetic is exact."""
        return values.size > FEW and abs(self.power) <= _EXACT_POWER

    def values(self, multiples: Integers) -> npt.NDArray[np.float64]:
        """Turn multiples into floats, never infinite."""
        if multiples.dtype != object:
            with np.errstate(over="ignore", under="ignore"):
                return np.clip(np.ldexp(multiples.astype(np.float64), self.power), -_TOP, _TOP)
        flat = [_to_float(Fraction(int(n)) * self.step) for n in multiples.ravel()]
        return np.array(flat, dtype=np.float64).reshape(multiples.shape)


def add(values: Integers, noise: Integers) -> Integers:
    """Add integers without wrap-around: ``int64`` iff every sum fits, else Python integers.

    Which of the two comes out is a function of the noisy sums alone, hence post-processing; were
    it decided from the values, the dtype of a release would betray them.
    """
    if _fits(values) and _fits(noise):
        narrow: Integers = values.astype(np.int64) + noise.astype(np.int64)
        return narrow
    total: Integers = values.astype(object) + noise.astype(object)
    if total.size and (total.max() > _LARGEST or total.min() < -_LARGEST - 1):
        return total
    return total.astype(np.int64)


def _fits(values: Integers) -> bool:
    return not values.size or (int(values.max()) < _SAFE and int(values.min()) > -_SAFE)


def numeric(values: Any, *, whole: bool = False) -> npt.NDArray[Any]:
    """Read a scalar, sequence, array or column of finite numbers, none of them rounded."""
    refuse_masked(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(
            "The values to be released are lists of different lengths; give one number, one list, "
            "or an array of one shape."
        ) from None
    if array.dtype == object:
        return _python_integers(array, whole=whole)
    if array.dtype.kind == "f" and array.dtype.itemsize <= 8 and not _read_as_they_are(values):
        return _from_sequence(values, array, whole=whole)
    return _checked(array, whole=whole)


def refuse_masked(values: Any) -> None:
    """Refuse masked arrays, also inside lists: NumPy would release what the mask hides."""
    if isinstance(values, np.ma.MaskedArray):
        raise DataError(
            "A masked array is refused, because its hidden values would be released; choose the "
            "values first, as in values.compressed() or values.filled(0)."
        )
    if isinstance(values, (list, tuple)):
        for value in values:
            if isinstance(value, (list, tuple, np.ma.MaskedArray)):
                refuse_masked(value)


def _checked(array: npt.NDArray[Any], *, whole: bool) -> npt.NDArray[Any]:
    if whole and not array.size and array.dtype.kind == "f":
        return array.astype(np.int64)
    if array.dtype.kind not in ("iub" if whole else "iubf") or array.dtype.itemsize > 8:
        raise DataError(_wrong_kind(array.dtype, whole=whole))
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError(
                "A value to be released is NaN or infinite; replace or drop such values, and "
                "clamp the rest, before a mechanism sees them."
            )
        return array.astype(np.float64, copy=False)
    return array


def _read_as_they_are(values: Any) -> bool:
    """Tell whether values were floats before NumPy saw them, so that none was rounded."""
    return isinstance(values, float) or getattr(getattr(values, "dtype", None), "kind", "") == "f"


def _from_sequence(values: Any, array: npt.NDArray[Any], *, whole: bool) -> npt.NDArray[Any]:
    """Read what NumPy made floats of: integers among them must have come through unrounded."""
    limit = 1 << np.finfo(array.dtype).nmant + 1  # up to here every integer is such a float
    items = (
        np.asarray(values, dtype=object).ravel() if isinstance(values, (list, tuple)) else [None]
    )
    integers = [int(x) for x in items if isinstance(x, Integral)]
    if len(integers) == array.size > 0:
        return _objects(integers).reshape(array.shape)  # too long or too mixed for one dtype
    # What is no number here, such as the column of another library, may have held integers.
    unknown = not all(isinstance(x, Real) for x in items)
    if any(abs(x) > limit for x in integers) or (
        unknown and np.abs(array).max(initial=0.0) >= limit
    ):
        raise DataError(_MIXED)
    return _checked(array, whole=whole)


def _python_integers(array: npt.NDArray[Any], *, whole: bool) -> npt.NDArray[Any]:
    """Accept integers, of any length, and nothing else in object arrays."""
    if all(isinstance(x, Integral) for x in array.ravel()):
        return _objects([int(x) for x in array.ravel()]).reshape(array.shape)
    raise DataError(_wrong_kind(array.dtype, whole=whole))


_MIXED = (
    "Whole numbers beyond 2^53 stand beside floats, and as floats they would be rounded, which "
    "changes the sensitivity; give an array of integers, or round them yourself with "
    "numpy.asarray(values, dtype=float) and state the sensitivity of what results."
)

_KINDS = {"U": "text", "S": "bytes", "M": "date", "m": "duration", "c": "complex", "O": "object"}


def _wrong_kind(dtype: np.dtype[Any], *, whole: bool) -> str:
    name = _KINDS.get(dtype.kind, dtype.name)  # the name of a text type has the longest length
    if whole:
        return (
            f"Whole numbers are needed here, and the values have type {name}; use Laplace or "
            "Gaussian for real numbers, or convert counts to integers."
        )
    return (
        f"Numbers of at most 64 bits are needed here, and the values have type {name}; convert "
        "them first with float(value) or numpy.asarray(values, dtype=float)."
    )


def _objects(flat: list[int]) -> npt.NDArray[Any]:
    out = np.empty(len(flat), dtype=object)
    out[:] = flat
    return out


def _to_float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return _TOP if value > 0 else -_TOP


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1
