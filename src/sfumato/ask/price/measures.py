"""From measures to the whole numbers they are made of, and back from noisy ones.

Contract: :func:`breakdown` lists the totals that a question's measures need, each once however many
measures share it; a :class:`Recipe` turns the noisy totals of a group into the measure's value,
which is post-processing, and the half-widths of their intervals into an interval for it.

Means divide a noisy sum by a noisy count, variances take noisy sums of squares. Their intervals
hold when all the numbers they use lie in their own intervals at once, so each of j numbers is asked
for confidence 1 − (1 − γ)/j (Bonferroni); no distribution is assumed.

They also hold what rounding values to their grid may have done, all rows in the same direction. If
every value is off by at most e, a sum of n is off by n·e, for which the most rows there can be are
taken; a mean by e; a standard deviation by e, because it is the length of the centred values
over √n, and by √2·e where it is divided by n − 1 ≥ n/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.request import Grid, Total
from sfumato.ask.price.grids import MOST_ROWS, grid_for, rounding
from sfumato.ask.price.quantiles import grid_of
from sfumato.errors import ParameterError
from sfumato.message import Argument, Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sfumato.ask.language.language import Aggregate, Measure, Question

PEOPLE = -1
"""The place of the number of people, which every engine gives beside the totals."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class Recipe:
    """How a measure follows from noisy totals, by their places."""

    name: str
    aggregate: Aggregate
    spelling: str = ""
    places: tuple[int, ...] = ()
    grid: Grid | None = None

    def value(self, noisy: Sequence[float]) -> float | None:
        """Compute the measure; None where the noisy numbers define none."""
        form = self.aggregate
        if form in {"count", "people"}:
            return noisy[0]
        assert self.grid is not None
        step, centre = float(self.grid.step), float(self.grid.centre)
        if form == "sum":
            return noisy[0] * step
        return self._mean(noisy, step, centre) if form == "avg" else self._spread(noisy, step)

    def _mean(self, noisy: Sequence[float], step: float, centre: float) -> float | None:
        if noisy[1] < 1:
            return None
        return self._clip(centre + noisy[0] * step / noisy[1])

    def _clip(self, value: float) -> float:
        assert self.grid is not None
        low, high = self.grid.bounds
        return min(max(value, float(low)), float(high))

    def _spread(self, noisy: Sequence[float], step: float) -> float | None:
        total, squares, count = noisy
        sample = not self.spelling.upper().endswith("_POP")
        if count < (2 if sample else 1):
            return None
        variance = (squares / count - (total / count) ** 2) * step**2
        if sample:
            variance *= count / (count - 1)
        return self._finish(variance)

    def _finish(self, variance: float) -> float:
        variance = min(max(variance, 0.0), self._most_variance())
        return math.sqrt(variance) if self.aggregate == "stddev" else variance

    def _most_variance(self) -> float:
        assert self.grid is not None
        low, high = (float(end) for end in self.grid.bounds)
        return (high - low) ** 2 / 2  # of two values, divided by n − 1

    @property
    def rounded(self) -> float:
        """How far rounding values to the grid can have moved a sum or a mean."""
        if self.grid is None:
            return 0.0
        return rounding(self.grid) * (MOST_ROWS if self.aggregate == "sum" else 1)

    def interval(self, noisy: Sequence[float], half: Sequence[float]) -> Interval:
        """Enclose the measure of the kept rows when each number is off by at most its half-width.

        For counts and sums that is the number itself; where a divisor may be 0 nothing better
        than the bounds is known.
        """
        form = self.aggregate
        if form in {"count", "people"}:
            return noisy[0] - half[0], noisy[0] + half[0]
        assert self.grid is not None
        step = float(self.grid.step)
        if form == "sum":
            off = self.rounded
            return (noisy[0] - half[0]) * step - off, (noisy[0] + half[0]) * step + off
        return (
            self._mean_interval(noisy, half)
            if form == "avg"
            else self._spread_interval(noisy, half)
        )

    def _mean_interval(self, noisy: Sequence[float], half: Sequence[float]) -> Interval:
        assert self.grid is not None
        step, centre = float(self.grid.step), float(self.grid.centre)
        least = noisy[1] - half[1]
        if least < 1:
            return tuple(float(end) for end in self.grid.bounds)  # type: ignore[return-value]
        ends = [
            (noisy[0] + sign * half[0]) / count
            for sign in (-1, 1)
            for count in (least, noisy[1] + half[1])
        ]
        low, high = centre + min(ends) * step, centre + max(ends) * step
        return self._clip(low - self.rounded), self._clip(high + self.rounded)

    def _spread_interval(self, noisy: Sequence[float], half: Sequence[float]) -> Interval:
        assert self.grid is not None
        step = float(self.grid.step)
        least = noisy[2] - half[2]
        if least < 2:
            return 0.0, self._finish(math.inf)
        counts = (least, noisy[2] + half[2])
        squares = [(noisy[1] + s * half[1]) / n for s in (-1, 1) for n in counts]
        means = [(noisy[0] + s * half[0]) / n for s in (-1, 1) for n in counts]
        least_mean = 0.0 if min(means) <= 0 <= max(means) else min(abs(m) for m in means)
        low = (min(squares) - max(m * m for m in means)) * step**2
        high = (max(squares) - least_mean**2) * step**2 * least / (least - 1)
        return self._finish(self._off(low, -1)), self._finish(self._off(high, 1))

    def _off(self, variance: float, sign: int) -> float:
        """Move a variance by what rounding can have done to the standard deviation."""
        deviation = math.sqrt(max(variance, 0.0)) + sign * math.sqrt(2) * self.rounded
        return max(deviation, 0.0) ** 2


@dataclass(frozen=True)
class Breakdown:
    """The totals a question needs, the recipes that use them, and the quantiles it asks for."""

    totals: tuple[Total, ...]
    recipes: tuple[Recipe, ...]
    quantiles: tuple[Measure, ...]
    people: bool


def breakdown(
    question: Question, *, rows_are_people: bool = False, searched: frozenset[str] = frozenset()
) -> Breakdown:
    """List what the measures of a question are made of.

    ``rows_are_people``: a person has one row in a group at most, so that counting rows is
    counting people, and one noisy number serves both. ``searched`` names measures whose bounds
    are found privately: which of their totals are one must not depend on what is found, or the
    cost would, so sums that are squared and those that are not stay apart.
    """
    found: list[tuple[Total, str]] = []
    recipes, quantiles = [], []
    summed = {(m.term, m.where, m.bounds) for m in question.measures if m.aggregate == "sum"}
    for measure in question.measures:
        if measure.aggregate == "quantile":
            grid_of(measure)  # bounds that no grid spans are refused here, before the charge
            quantiles.append(measure)
            continue
        grid = _grid(measure, centred=(measure.term, measure.where, measure.bounds) not in summed)
        everyone = (None, Total("rows")) if rows_are_people else (None,)
        kept_apart = _family(measure) if measure.name in searched else ""
        places = tuple(
            PEOPLE if total in everyone else _place(found, total, kept_apart)
            for total in _totals(measure, grid)
        )
        recipes.append(Recipe(measure.name, measure.aggregate, measure.spelling, places, grid))
    people = any(PEOPLE in recipe.places for recipe in recipes)
    totals = tuple(total for total, _ in found)
    return Breakdown(totals, tuple(recipes), tuple(quantiles), people)


def _family(measure: Measure) -> str:
    return "squared" if measure.aggregate in {"variance", "stddev"} else "plain"


def _place(found: list[tuple[Total, str]], total: Total | None, kept_apart: str) -> int:
    assert total is not None
    wanted = (total, kept_apart if total.grid is not None else "")
    if wanted not in found:
        found.append(wanted)
    return found.index(wanted)


def _grid(measure: Measure, *, centred: bool) -> Grid | None:
    if measure.aggregate in {"count", "people"}:
        return None
    if measure.bounds is None or measure.term is None:
        raise ParameterError(
            Message(
                "{} of a term without bounds cannot be measured; give {}, or let them be found.",
                measure.spelling or measure.aggregate.upper(),
                Argument("bounds", ...),
            )
        )
    kind = kind_of(measure.term)
    if measure.aggregate == "sum":
        return grid_for(measure.bounds, kind, centred=False)
    squared = measure.aggregate in {"variance", "stddev"}
    return grid_for(measure.bounds, kind, centred=squared or centred, squared=squared)


def _totals(measure: Measure, grid: Grid | None) -> tuple[Total | None, ...]:
    term, where = measure.term, measure.where
    present = Total("present", term, None, where)
    match measure.aggregate:
        case "people":
            return (None,)
        case "count":
            return (present if term is not None else Total("rows", None, None, where),)
        case "sum":
            return (Total("sum", term, grid, where),)
        case "avg":
            return Total("sum", term, grid, where), present
        case _:
            return Total("sum", term, grid, where), Total("squares", term, grid, where), present
