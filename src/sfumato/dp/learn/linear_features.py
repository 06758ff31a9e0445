"""Features of linear models: one-hot categories, numbers in whole steps, and an intercept.

Contract: numbers lie in [−1, 1] in steps of 2⁻¹²: first by their declared bounds and then, by
:class:`Scaling`, stretched around a noisy centre to a noisy reach and clamped. Without that, a
column whose values crowd in a corner of its bounds would drown in noise. Both depend on a cell and
on published numbers alone.

Proof for :meth:`LinearLayout.moments`. A row adds, in steps, 2¹² to one place for each category and
to the number of rows, and for each number its square and itself, both at most 2¹² in size: with m
columns, q of them numbers, the squares of its entries sum to at most (m + 1 + q)·2²⁴.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.learn import residuals
from sfumato.dp.learn.features import Category, Number
from sfumato.dp.learn.shapes import Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.dp.learn.features import Column

NUMBER = 1 << residuals.NUMBER_BITS
LEAST_REACH = 2.0  # standard deviations that a stretched number reaches


class LinearLayout:
    """Where categories, numbers and the intercept lie among the coefficients."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self.numbers = [j for j, c in enumerate(columns) if isinstance(c, Number)]
        self.categories = [j for j, c in enumerate(columns) if isinstance(c, Category)]
        listed = [columns[j] for j in self.categories]
        sizes = [len(c.values) for c in listed if isinstance(c, Category)]
        self.bins = Layout(tuple(listed), tuple(sizes))
        self.first = self.bins.total
        self.size = self.first + len(self.numbers) + 1

    def read(self, cells: Sequence[NDArray[Any]]) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
        """Give the places of categories and the steps of numbers of every row."""
        rows = len(cells[0])
        codes = np.empty((rows, 0), dtype=np.uint32)
        if self.categories:
            codes = self.bins.codes([cells[j] for j in self.categories])
        steps = np.empty((rows, len(self.numbers)), dtype=np.int32)
        for k, j in enumerate(self.numbers):
            column = self.columns[j]
            assert isinstance(column, Number)
            steps[:, k] = column.steps(cells[j], residuals.NUMBER_BITS)
        return codes, steps

    def moments(self, codes: NDArray[np.uint32], steps: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count categories and rows, and add up numbers and their squares, in steps of 2⁻¹².

        Each entry is a sum over rows of whole numbers of at most 2¹² in size.
        """
        out = np.zeros(self.size + len(self.numbers), dtype=np.int64)
        out[: self.first] = np.bincount(codes.ravel(), minlength=self.first) * NUMBER
        wide = steps.astype(np.int64)
        squares, ones = self.first + len(self.numbers), len(codes) * NUMBER
        out[self.first : squares] = (wide * wide >> residuals.NUMBER_BITS).sum(axis=0)
        out[squares] = ones
        out[squares + 1 :] = wide.sum(axis=0)
        return out

    @property
    def moments_l2_squared(self) -> int:
        """Bound the square of what a row moves: its entries number m + 1, and again its numbers."""
        return (len(self.columns) + 1 + len(self.numbers)) * NUMBER**2


def name_coefficients(
    layout: LinearLayout, rows: NDArray[np.float64]
) -> list[tuple[Any, str, NDArray[np.float64]]]:
    """Pair coefficients (a row for each class) with their column and category."""
    named = []
    for column, start in zip(layout.bins.columns, layout.bins.starts, strict=False):
        assert isinstance(column, Category)
        texts = [*map(str, column.values), "(missing)"]
        named += [(column.name, text, rows[:, start + k]) for k, text in enumerate(texts)]
    for k, j in enumerate(layout.numbers):
        named.append((layout.columns[j].name, "", rows[:, layout.first + k]))
    return named


@dataclass(frozen=True, eq=False)
class Scaling:
    """Numbers shifted by a public centre and stretched to [−1, 1], clamped there: whole steps."""

    centre: NDArray[np.int64]
    reach: NDArray[np.int64]

    def apply(self, steps: NDArray[np.int32]) -> NDArray[np.int32]:
        """Shift, stretch and clamp; each step count depends on its own cell alone."""
        moved = (steps.astype(np.int64) - self.centre) * NUMBER
        scaled = np.sign(moved) * (np.abs(moved) // self.reach)
        clamped: NDArray[np.int32] = np.clip(scaled, -NUMBER, NUMBER).astype(np.int32)
        return clamped


def read_moments(
    noisy: NDArray[np.float64], layout: LinearLayout, noise: float, far: float = LEAST_REACH
) -> tuple[Scaling, NDArray[np.float64]]:
    """Choose centres and reaches, and give the curvature of every feature, from noisy moments.

    A number reaches as far as ``far`` standard deviations, the noise allowed for.
    """
    inside = slice(layout.first, layout.first + len(layout.numbers))
    rows = max(noisy[layout.size - 1], 1.0)
    sums = noisy[layout.size :]
    centre = np.clip(sums / rows, -1.0, 1.0)
    weight = np.maximum(noisy[: layout.size], 0.0)
    spread = np.maximum(noisy[inside] - 2 * centre * sums + rows * centre**2, 0.0) + 2 * noise
    reach = np.minimum(1 + np.abs(centre), far * np.sqrt(spread / rows))
    weight[inside] = spread / reach**2
    steps = np.maximum(np.rint(reach * NUMBER), 1).astype(np.int64)
    return Scaling(np.rint(centre * NUMBER).astype(np.int64), steps), weight
