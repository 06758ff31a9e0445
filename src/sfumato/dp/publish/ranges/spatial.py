"""``spatial_histogram``: how many are where, on a grid that is fine where many are.

Promise: ε-DP, (ε, δ) or ρ-zCDP for a row added or removed. Proof. A point is in one cell of every
grid, by itself, so each measurement has L1 and L2 sensitivity 1: the number of rows, which chooses
the first grid; the counts of that grid, each of which chooses how finely its cell is divided; the
counts of the parts; and, where the first grid is fine, counts of blocks of its cells. Their shares
add up to 1 (Qardaji, Yang and Li, "Differentially private grids for geospatial data", ICDE 2013:
the adaptive grid; here the number of rows is paid for, and blocks spare a large rectangle the noise
of all its cells). Joining levels by precision, and all that is read off, is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.dp.publish.forecast import Forecast
from sfumato.dp.publish.kmeans.rows import Box, box_of, matrix_of
from sfumato.dp.publish.numbers import NumberTable, release_numbers
from sfumato.dp.publish.purse import NoisyNumbers, Price, Purse, price_of, within_95
from sfumato.dp.publish.ranges.hierarchy import project
from sfumato.errors import ParameterError
from sfumato.representation import Shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.guarantees import Guarantee
    from sfumato.dp.neighbours import Neighbours, PrivacyUnit
    from sfumato.dp.publish.purse import PurseEntry
    from sfumato.dp.rounding import Stated
    from sfumato.release import Release

_TOTAL = Fraction(2, 100)
_BLOCK = 8  # first cells along a side of a block
_FINE = 4  # blocks along a side of the map, at least, or there are none
_FOR_RANGES, _FOR_MAPS = 4.0, 2.0
_SIDES = (16, 1024)


@dataclass(frozen=True, eq=False)
class SpatialHistogram(Shown):
    """Released counts on a fine grid of equal cells, (rows, columns) from the lower left.

    ``counts`` are consistent and nearly unbiased, and may be negative: for rectangles. ``settled``
    are non-negative: for maps and synthetic points. ``parts`` tells into how many parts a side each
    first cell was divided; a cell of the fine grid is an even share of its part.
    """

    box: Box
    counts: NDArray[np.float64]
    settled: NDArray[np.float64]
    parts: NDArray[np.int64]
    deviation: float
    guarantee: Guarantee
    entries: tuple[PurseEntry, ...]

    @property
    def side(self) -> int:
        """How many fine cells there are along a side."""
        return int(self.counts.shape[0])

    @property
    def total(self) -> float:
        """The noisy number of rows."""
        return float(self.settled.sum())

    @cached_property
    def _corners(self) -> NDArray[np.float64]:
        corners = np.zeros((self.side + 1, self.side + 1))
        corners[1:, 1:] = self.counts.cumsum(axis=0).cumsum(axis=1)
        return corners

    def rectangle(self, low: Any, high: Any) -> Any:
        """Count the points with low ≤ point < high; (x, y) of two corners, or arrays of such."""
        first = self._place(low)
        second = self._place(high)
        found = (
            self._below(second[..., 0], second[..., 1])
            - self._below(first[..., 0], second[..., 1])
            - self._below(second[..., 0], first[..., 1])
            + self._below(first[..., 0], first[..., 1])
        )
        return float(found) if found.ndim == 0 else found

    def _place(self, points: Any) -> NDArray[np.float64]:
        places = (np.asarray(points, dtype=np.float64) - self.box.low) / self.box.sides
        return np.asarray(np.clip(places, 0.0, 1.0) * self.side)

    def _below(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the counts left of x and under y, in cells, cut cells by their share."""
        i, j = (np.minimum(c.astype(np.int64), self.side - 1) for c in (y, x))
        u, v = y - i, x - j
        c = self._corners
        return np.asarray(
            (1 - u) * (1 - v) * c[i, j] + u * (1 - v) * c[i + 1, j]
            + (1 - u) * v * c[i, j + 1] + u * v * c[i + 1, j + 1]
        )  # fmt: skip

    def release(self, name: str = "map") -> Release:
        """Hand the map over as a release: a row for each fine cell that is not empty."""
        x, y = (
            self.box.low[i] + self.box.sides[i] / self.side * np.arange(self.side) for i in (0, 1)
        )
        rows = [
            (float(x[j]), float(y[i]), float(self.counts[i, j]), float(count))
            for (i, j), count in np.ndenumerate(self.settled)
            if count or self.counts[i, j]
        ]
        facts = {"cell": (self.box.sides / self.side).tolist(), "part ±": self.deviation}
        names = (*self.box.names, "x", "y")[:2] if self.box.names else ("x", "y")
        table = NumberTable((*names, "count", "settled"), rows, self, facts)
        return release_numbers(table, self.guarantee, name=name, mechanism="adaptive grid")

    def picture(self) -> str:
        """Draw the settled counts as a map."""
        from sfumato.dp.publish.pictures.ranges import draw_spatial  # noqa: PLC0415 - loaded when shown

        return draw_spatial(self)

    def __str__(self) -> str:
        return (
            f"a map of {self.parts.shape[0]} × {self.parts.shape[1]} cells, divided into "
            f"{int((self.parts**2).sum()):,} parts, about {self.total:,.0f} rows; the counts of a "
            f"part add up to within ± {within_95(self.deviation):,} of it with 95 % confidence; "
            f"{self.guarantee}"
        )


def spatial_histogram(
    points: Any,
    *,
    bounds: Any,
    side: int = 256,
    use: str = "ranges",
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    neighbours: Neighbours | PrivacyUnit | str = "unbounded",
) -> SpatialHistogram:
    """Release how many points are where, in a public box, by an adaptive grid.

    ``bounds`` is a pair (low, high) for each of two coordinates, or {column: (low, high)}; points
    outside are left out. ``side`` is the finest grid, a power of 2. ``use`` is "ranges", for
    sums of rectangles, or "map", which divides more finely.

    >>> import numpy as np
    >>> where = np.random.default_rng(1).normal(0.5, 0.1, (20_000, 2))
    >>> found = spatial_histogram(where, bounds=[(0, 1), (0, 1)], epsilon=1)
    >>> bool(4_000 < found.rectangle((0.5, 0.5), (1, 1)) < 6_000)
    True
    """
    price = price_of(epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours)
    check_map(side, use)
    box = box_of(points, bounds)
    if box.width != 2:
        raise ParameterError("A map has two coordinates; give bounds for each of two columns.")
    matrix = matrix_of(points, box)
    with np.errstate(invalid="ignore"):
        inside = ((matrix >= box.low) & (matrix <= box.high)).all(axis=1)
    scaled = box.unit(matrix[inside])
    places = np.minimum((scaled * side).astype(np.int64), side - 1)
    exact = np.bincount(places[:, 1] * side + places[:, 0], minlength=side * side)
    return release_spatial(exact.reshape(side, side), box, price, use)


def release_spatial(
    exact: NDArray[np.int64], box: Box, price: Price, use: str = "ranges"
) -> SpatialHistogram:
    """Release exact counts of a fine grid through an adaptive one."""
    purse = Purse(price)
    side = exact.shape[0]
    total = purse.measure("number of rows", _TOTAL, exact.sum(keepdims=True).ravel())
    rows = max(float(total.values[0]), 1.0)
    first = first_side(rows, float(purse.epsilon((1 - _TOTAL) * price.amount)), side)
    above, level, below = shares_of(first)
    coarse = purse.measure("first grid", level, blocks(exact, side // first))
    each = float(purse.epsilon(below * price.amount))
    parts = parts_of(coarse.values, each, side // first, use)
    fine = _measure_parts(exact, parts, purse, below)
    totals = joined_totals(coarse, fine, parts)
    if above:
        heard = purse.measure("blocks", above, blocks(exact, side // first * _BLOCK))
        totals = fit_blocks(heard, *totals), totals[1]
    counts, settled = _spread(totals[0], fine, parts, side)
    return SpatialHistogram(
        box, counts, settled, parts, fine.deviation, price.guarantee, purse.close()
    )


def shares_of(first: int) -> tuple[Fraction, Fraction, Fraction]:
    """Divide the budget between blocks, which a coarse map has none of, cells and parts."""
    hundredths = (8, 36, 54) if first >= _FINE * _BLOCK else (0, 39, 59)
    above, level, below = (Fraction(part, 100) for part in hundredths)
    return above, level, below


def first_side(rows: float, epsilon: float, side: int) -> int:
    """Choose the first grid, a power of 2, from the noisy number of rows."""
    wanted = max(8.0, math.sqrt(rows * epsilon / 10) / 4)
    return int(min(2 ** round(math.log2(wanted)), side // 2))


def parts_of(
    noisy: NDArray[Any], epsilon: float, most: int, use: str = "ranges"
) -> NDArray[np.int64]:
    """Choose into how many parts a side each cell is divided, from its noisy count."""
    crowd = _FOR_RANGES if use == "ranges" else _FOR_MAPS
    wanted = np.sqrt(np.maximum(noisy.astype(np.float64), 0.0) * epsilon / crowd)
    powers = 2 ** np.round(np.log2(np.maximum(wanted, 1.0))).astype(np.int64)
    return np.asarray(np.minimum(powers, most), dtype=np.int64)


def blocks(exact: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Sum square blocks of cells."""
    across = exact.shape[0] // size
    return np.asarray(exact.reshape(across, size, across, size).sum(axis=(1, 3)))


def _measure_parts(
    exact: NDArray[np.int64], parts: NDArray[np.int64], purse: Purse, share: Fraction
) -> NoisyNumbers:
    """Release the counts of all parts at once, cell by cell, each row by row."""
    width = exact.shape[0] // parts.shape[0]
    counted = []
    for (i, j), number in np.ndenumerate(parts):
        cell = exact[i * width : (i + 1) * width, j * width : (j + 1) * width]
        counted.append(blocks(cell, width // int(number)).ravel())
    return purse.measure("second grid", share, np.concatenate(counted))


def joined_totals(
    coarse: NoisyNumbers, fine: NoisyNumbers, parts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Join each cell with the sum of its parts, by precision; gives totals and their variances."""
    sizes = (parts**2).ravel()
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums = np.add.reduceat(fine.values.astype(np.float64), begins).reshape(parts.shape)
    own, others = coarse.deviation**2, fine.deviation**2 * parts.astype(np.float64) ** 2
    totals = (others * coarse.values.astype(np.float64) + own * sums) / (own + others)
    return totals, own * others / (own + others)


def fit_blocks(
    heard: NoisyNumbers, totals: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Join each block with the sum of its cells, by precision, and correct the cells for it."""
    own = heard.deviation**2
    sums, others = (_block_sums(cells) for cells in (totals, variances))
    missing = (heard.values.astype(np.float64) - sums) / (own + others)
    return np.asarray(totals + variances * np.repeat(np.repeat(missing, _BLOCK, 0), _BLOCK, 1))


def _block_sums(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    across = cells.shape[0] // _BLOCK
    return np.asarray(cells.reshape(across, _BLOCK, across, _BLOCK).sum(axis=(1, 3)))


def _spread(
    totals: NDArray[np.float64], fine: NoisyNumbers, parts: NDArray[np.int64], side: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make parts add up to their cell, and spread them evenly over the fine grid."""
    across, sizes = parts.shape[0], (parts**2).ravel()
    width = side // across
    counts, settled = np.empty((2, parts.size, width, width))
    begins = np.cumsum(sizes) - sizes
    values = fine.values.astype(np.float64)
    for number in np.unique(parts).tolist():
        cells = np.flatnonzero(parts == number)
        heard = values[begins[cells, None] + np.arange(number**2)]
        total = totals.ravel()[cells]
        even = heard + ((total - heard.sum(axis=1)) / number**2)[:, None]
        positive = project(even, np.maximum(total, 0.0))
        size = width // number
        for out, part in ((counts, even), (settled, positive)):
            tiles = part.reshape(-1, number, 1, number, 1) / size**2
            wide = np.broadcast_to(tiles, (cells.size, number, size, number, size))
            out[cells] = wide.reshape(-1, width, width)
    counts, settled = (
        out.reshape(across, across, width, width).swapaxes(1, 2).reshape(side, side)
        for out in (counts, settled)
    )
    return counts, settled


def forecast_spatial(
    *,
    rows: int,
    side: int = 256,
    epsilon: Stated | None = None,
    delta: Stated | None = None,
    rho: Stated | None = None,
    neighbours: Neighbours | PrivacyUnit | str = "unbounded",
) -> Forecast:
    """Tell, before anything is spent, how far a map of so many rows will be off."""
    price = price_of(epsilon=epsilon, delta=delta, rho=rho, neighbours=neighbours)
    purse = Purse(price)
    first = first_side(rows, float(purse.epsilon((1 - _TOTAL) * price.amount)), side)
    each = math.sqrt(2) / float(purse.epsilon(shares_of(first)[1] * price.amount))
    useful = rows / first**2 > 2 * each
    return Forecast(
        f"a map of {rows:,} rows in {first} × {first} cells and their parts",
        {"a cell or a part of one": each, "a quarter of the map": each * first / 2},
        useful,
        "" if useful else (
            "Noise will be as large as a mean cell: only crowded places will show. Use about "
            f"{2 * each * first**2 / max(rows, 1):.2g} times the ε, or as many times the rows"
        ),
    )  # fmt: skip


def check_map(side: Any, use: str) -> None:
    """Refuse a grid that cannot be, or a use that is not known."""
    whole = isinstance(side, int) and not isinstance(side, bool)
    if not whole or not _SIDES[0] <= side <= _SIDES[1] or side & (side - 1):
        raise ParameterError(f"side= is a power of 2 from {_SIDES[0]} to {_SIDES[1]}.")
    if use not in {"ranges", "map"}:
        raise ParameterError(f"use= is 'ranges' or 'map', and {use!r} was given.")
