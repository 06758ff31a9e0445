"""``ordered_histogram``: counts of ordered cells, for ranges, distribution function, quantiles.

Promise: ε-DP, (ε, δ) or ρ-zCDP for a row added or removed. Proof. A row is in one cell or none, by
itself, so it moves one count at each of the h levels of a tree of intervals by 1: L1
sensitivity h, squared L2 sensitivity h, for all counts of the tree together, which get
noise at once. Everything else, pruning included, reads the noisy counts only
(:mod:`~sfumato.dp.publish.ranges.hierarchy`). The tree depends on the number of cells alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.publish.binning import Axis, axis
from sfumato.dp.publish.forecast import Forecast
from sfumato.dp.publish.numbers import ERRORS, NumberTable, release_numbers
from sfumato.dp.publish.purse import Price, Purse, price_of, within_95
from sfumato.dp.publish.ranges.hierarchy import consistent, project, prune
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import Neighbours, PrivacyUnit
    from sfumato.dp.publish.purse import PurseEntry
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_FLAT = 40
"""Up to so many cells the counts of the cells alone, which then have less noise, answer better."""
_WIDEST = 16
_MOST_CELLS = 1 << 20


@dataclass(frozen=True, eq=False)
class OrderedHistogram(Shown):
    """Released counts of cells between ``edges``; whatever is computed from them costs nothing.

    ``counts`` are consistent and unbiased, and may be negative: for sums of ranges with intervals.
    ``settled`` are non-negative and smooth where noise is all there is: for ranges without bias
    to care about, distribution function, quantiles and synthetic values.
    """

    edges: NDArray[np.float64]
    counts: NDArray[np.float64]
    settled: NDArray[np.float64]
    deviation: float
    branching: int
    guarantee: Guarantee
    entries: tuple[PurseEntry, ...]

    @cached_property
    def _rising(self) -> NDArray[np.float64]:
        return np.concatenate([[0.0], np.cumsum(self.settled)])

    @property
    def total(self) -> float:
        """The noisy number of rows."""
        return float(self._rising[-1])

    def between(self, low: Any, high: Any) -> Any:
        """Count the rows with low ≤ value < high; a cell that is cut counts by its share."""
        rising = np.interp(np.asarray(high, dtype=np.float64), self.edges, self._rising)
        return rising - np.interp(np.asarray(low, dtype=np.float64), self.edges, self._rising)

    def cdf(self, values: Any) -> Any:
        """Give the share of rows below each value."""
        share = np.interp(np.asarray(values, dtype=np.float64), self.edges, self._rising)
        return share / self.total if self.total > 0 else share

    def quantile(self, shares: Any) -> Any:
        """Give the values below which these shares of the rows lie; any number of them."""
        wanted = np.asarray(shares, dtype=np.float64)
        if wanted.size and (wanted.min() < 0 or wanted.max() > 1):
            raise ParameterError("A quantile is asked for by a share between 0 and 1.")
        if self.total <= 0:
            return np.full(wanted.shape, (self.edges[0] + self.edges[-1]) / 2)
        rising, first = np.unique(self._rising, return_index=True)
        return np.interp(wanted * self.total, rising, self.edges[first])

    def range_error(self, cells: int | None = None) -> float:
        """Bound the standard deviation of a consistent count of a range of cells."""
        return range_deviation(cells or self.counts.size, self.counts.size, self.branching) * (
            self.deviation
        )

    def release(self, name: str = "ordered histogram") -> Release:
        """Hand the cells over as a release: a row each."""
        cells = zip(self.edges[:-1], self.edges[1:], self.counts, self.settled, strict=True)
        rows = [tuple(map(float, cell)) for cell in cells]
        facts = {"range ±": self.range_error(), "errors": ERRORS}
        table = NumberTable(("low", "high", "count", "settled"), rows, self, facts)
        return release_numbers(table, self.guarantee, name=name, mechanism="hierarchy, pruned")

    def picture(self) -> str:
        """Draw the settled counts, and the distribution function above them."""
        from sfumato.dp.publish.pictures.ranges import draw_ordered  # noqa: PLC0415 - loaded when shown

        return draw_ordered(self)

    def __str__(self) -> str:
        off = within_95(self.range_error())
        return (
            f"{self.counts.size:,} ordered cells, about {self.total:,.0f} rows; the counts of a "
            f"range add up to within ± {off:,} of it with 95 % confidence; {self.guarantee}"
        )


def ordered_histogram(
    values: Any,
    *,
    bounds: Any = None,
    cells: Any = 4096,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    neighbours: Neighbours | PrivacyUnit | str = "unbounded",
) -> OrderedHistogram:
    """Release counts of ordered cells, from which ranges and any quantiles are read for nothing.

    ``cells`` is a number of equal cells within public ``bounds``, or a list of rising edges.
    Values outside are left out. Finer cells cost little: where they tell nothing they are smoothed.

    >>> ages = [23, 34, 34, 71, 58, 45, 29] * 300
    >>> found = ordered_histogram(ages, bounds=(0, 100), cells=100, epsilon=1)
    >>> bool(30 < found.quantile(0.5) < 50)
    True
    """
    price = price_of(epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours)
    line = _line(cells, bounds)
    places = line.places(values)
    exact = np.bincount(places[places >= 0], minlength=line.bins).astype(np.int64)
    return release_ordered(exact, np.asarray(line.edges), price)


def release_ordered(
    exact: NDArray[np.int64], edges: NDArray[np.float64], price: Price
) -> OrderedHistogram:
    """Release exact counts of cells through a tree of intervals."""
    purse = Purse(price)
    branching, height = tree_of(exact.size)
    levels = _levels(exact, branching, height)
    sizes = np.cumsum([level.size for level in levels])[:-1]
    noisy = purse.measure(
        "counts of intervals", Fraction(1), np.concatenate(levels), l1=len(levels),
        l2_squared=len(levels),
    )  # fmt: skip
    heard = np.split(noisy.values.astype(np.float64), sizes)
    if height == 1:
        counts = heard[0]
        settled = project(counts[None], np.maximum(counts.sum(keepdims=True), 0.0))[0]
    else:
        fitted = consistent(heard, branching)
        counts = fitted[-1]
        settled = prune(fitted, branching, noisy.deviation**2)
    return OrderedHistogram(
        edges, counts[: exact.size], _folded(settled, exact.size), noisy.deviation, branching,
        price.guarantee, purse.close(),
    )  # fmt: skip


def tree_of(cells: int) -> tuple[int, int]:
    """Choose branching and height: the fewest levels, then the fewest children that hold all."""
    if cells <= _FLAT:
        return cells, 1
    height = next(h for h in range(2, 64) if _WIDEST**h >= cells)
    return next(b for b in range(2, _WIDEST + 1) if b**height >= cells), height


def _levels(exact: NDArray[np.int64], branching: int, height: int) -> list[NDArray[np.int64]]:
    bottom = np.zeros(branching**height, dtype=np.int64)
    bottom[: exact.size] = exact
    levels = [bottom]
    for _ in range(height - 1):
        levels.append(levels[-1].reshape(-1, branching).sum(axis=1))
    return levels[::-1]


def _folded(settled: NDArray[np.float64], cells: int) -> NDArray[np.float64]:
    """Give back to the cells what noise has put beyond them, in proportion."""
    kept = settled[:cells]
    inside = kept.sum()
    return kept * (settled.sum() / inside) if inside > 0 else kept


def range_deviation(width: int, cells: int, branching: int) -> float:
    """Bound the deviation of a range, in deviations of one count: its intervals, all independent.

    At most b intervals of the highest level make up a range nearly, and each of its ends is reached
    by adding or taking away at most b/2 intervals of each level below; a short range is made of its
    cells. The consistent counts are those of least squares, so no unbiased combination of the noisy
    ones has a smaller variance than theirs.
    """
    if cells <= _FLAT:
        return math.sqrt(min(width, cells))
    height = tree_of(cells)[1]
    return math.sqrt(max(min(width, branching * height), 1))


def forecast_ordered(
    *,
    rows: int,
    cells: int = 4096,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    neighbours: Neighbours | PrivacyUnit | str = "unbounded",
) -> Forecast:
    """Tell, before anything is spent, how far ranges and quantiles will be off for so many rows."""
    price = price_of(epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours)
    branching, height = tree_of(cells)
    amount = float(price.amount)
    noise = math.sqrt(2) * height / amount if price.pure else math.sqrt(height / (2 * amount))
    deviation = noise * range_deviation(cells, cells, branching)
    useful = 2 * deviation < 0.1 * max(rows, 1)
    need = 20 * deviation / max(rows, 1)
    return Forecast(
        f"{cells:,} ordered cells of {rows:,} rows",
        {"a range, in rows": deviation, "the rank of a quantile, in shares": deviation / rows},
        useful,
        "" if useful else (
            "Quantiles will be off by more than a tenth of the rows. Use about "
            f"{need:.2g} times the ε, or as many times the rows"
        ),
    )  # fmt: skip


def _line(cells: Any, bounds: Any) -> Axis:
    line = axis(cells, bounds)
    if line.categories:
        raise ParameterError(
            "Ordered cells have edges of numbers; give sf.dp.histogram categories."
        )
    if line.bins > _MOST_CELLS:
        raise ParameterError(f"At most {_MOST_CELLS:,} ordered cells are published.")
    return line
