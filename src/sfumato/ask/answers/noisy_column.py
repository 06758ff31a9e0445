"""A column of noisy numbers: what a cell is, and how far the noise may have moved it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.ask.price.measures import Interval, Recipe
    from sfumato.ask.price.noise import Noise


@dataclass(frozen=True)
class NoisyColumn:
    """A measure of an answer: how it follows from noisy numbers, and the noise of each."""

    recipe: Recipe
    noises: tuple[Noise | None, ...]
    parts: tuple[tuple[int, ...], ...]  # per row, the noisy numbers the recipe uses

    def value(self, row: int) -> float | int | None:
        """Compute the cell; whole where it counts or sums whole numbers."""
        found = self.recipe.value(self.parts[row])
        whole = self.recipe.grid is None or self.recipe.grid.step == 1
        if found is not None and whole and self.recipe.aggregate in {"count", "people", "sum"}:
            return round(found)
        return found

    def interval(self, row: int, confidence: float) -> Interval:
        """Enclose the cell, all its noisy numbers being within their own intervals at once."""
        each = 1 - (1 - confidence) / len(self.noises)
        half = [0.0 if noise is None else noise.half_width(each) for noise in self.noises]
        return self.recipe.interval(self.parts[row], half)
