"""Sums that cannot overflow, cannot depend on the order of rows, and cannot meet a NaN.

Contract: :class:`GridSum` maps every record, by itself, to a whole number of grid steps and adds
those as integers. Its sensitivity is a whole number of steps, exactly. Against attacks on sums of
floats (Casacuberta, Shoemate, Vadhan and Wagaman, "Widespread underestimation of sensitivity in
differentially private libraries", CCS 2022):

* Order. Integer addition is associative and commutative, so any order gives the same sum.
* Overflow. A record is at most K = max(|low|, |high|) steps. When K < 2⁵³, every number of steps
  is a float and an int64, and rows are added as int64 in blocks of at most ⌊(2⁶³ − 1)/K⌋ rows, so
  a block sum is below 2⁶³; block sums are added as Python integers, which have no limit. When
  K ≥ 2⁵³, each record, read as a float, is mapped and added as a Python integer.
* Rounding. Each value is clamped, then rounded to the grid by itself: ``value / step`` is exact
  because the step is a power of two, and only a quotient below 2⁻¹⁰²² could lose bits, which
  rounds to 0 either way. Rounding is monotone, so results stay between the rounded bounds, and
  sensitivities are computed from those.
* Missing values. What is no number counts as the bound nearest to 0, or as nothing
  (``missing="skip"``, 0 steps); infinities are clamped. Cells are read as floats, each by itself
  (:mod:`sfumato.data.cells`), so no value makes the sum fail or turn into NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.data.cells import as_numbers
from sfumato.dp.neighbours import UNBOUNDED, Neighbours, PrivacyUnit
from sfumato.dp.queries.base import read_bounds, sensitivity
from sfumato.dp.queries.tables import Sum
from sfumato.errors import ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.queries.base import Sensitivity
    from sfumato.dp.rounding import Real

_INT64 = 2**63 - 1
_EXACT_FLOAT = 2**53


@dataclass(frozen=True)
class GridSum(Written):
    """The sum of values in ``bounds``, in whole steps of 2^``exponent``."""

    bounds: tuple[Real, Real]
    exponent: int = 0
    missing: Literal["clamp", "skip"] = "clamp"

    def __post_init__(self) -> None:
        read_bounds(self.bounds)
        if not -1000 <= self.exponent <= 1000:
            raise ParameterError(
                f"The exponent of a grid is between -1000 and 1000, and {self.exponent} was given."
            )
        Sum(self.bounds, missing=self.missing)

    @property
    def step(self) -> Fraction:
        """The size of one grid step."""
        return Fraction(2) ** self.exponent

    @property
    def step_bounds(self) -> tuple[int, int]:
        """The bounds in steps, rounded to the grid as values are."""
        low, high = self.bounds
        return round(Fraction(low) / self.step), round(Fraction(high) / self.step)

    def sensitivity(self, neighbours: Neighbours | PrivacyUnit | str = UNBOUNDED) -> Sensitivity:
        """Give the sensitivity in whole steps."""
        return sensitivity(Sum(self.step_bounds, missing=self.missing), neighbours)

    def steps(self, values: Any) -> int:
        """Add the values, in steps of the grid."""
        low, high = self.step_bounds
        size = max(abs(low), abs(high))
        if size >= _EXACT_FLOAT:
            return sum(map(self._one, as_numbers(values).tolist()))
        column = self._column(values)
        block = max(1, min(_INT64 // max(1, size), column.size))
        return sum(
            int(column[start : start + block].sum(dtype=np.int64))
            for start in range(0, column.size, block)
        )

    def exact(self, values: Any) -> Fraction:
        """Add the values and give the sum as an exact multiple of the step."""
        return self.steps(values) * self.step

    def _column(self, values: Any) -> NDArray[np.int64]:
        """Map every value to whole steps."""
        column = as_numbers(values)
        low, high = (float(end) for end in self.bounds)
        empty = np.isnan(column)
        column = np.clip(np.where(empty, self._default(), column), low, high)
        steps = np.rint(np.ldexp(column, -self.exponent)).astype(np.int64)
        steps = np.clip(steps, *self.step_bounds)  # bounds no float holds are rounded here
        return np.where(empty, 0, steps) if self.missing == "skip" else steps

    def _default(self) -> float:
        low, high = self.bounds
        return float(min(max(0, low), high))

    def _one(self, value: float) -> int:
        """Map one value to whole steps, in integers of any length."""
        low, high = self.step_bounds
        if math.isnan(value):
            return 0 if self.missing == "skip" else min(max(0, low), high)
        if math.isinf(value):
            return high if value > 0 else low
        clamped = min(max(Fraction(value), Fraction(self.bounds[0])), Fraction(self.bounds[1]))
        return round(clamped / self.step)
