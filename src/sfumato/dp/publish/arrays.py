"""One private number of an array: count, sum, mean, variance, deviation, least and largest value.

Contract: `bounds` are public; values outside are clamped, missing ones, and whatever else is no
number (:mod:`sfumato.data.cells`), count as the middle (for a sum, as the bound nearest to 0). Each
function spends ε once and returns a float; it is ε-differentially private for the `neighbours` that
it names: one row added or removed unless told otherwise. Under "bounded" neighbours (one row
replaced) the number of rows is public, and no ε goes to it; not so where a unit of several rows is
replaced, by one of fewer perhaps. With ``Unit("user", rows=5)`` the caller vouches that nobody has
more than five rows.

Proof. Every record is mapped, by itself, to whole steps of a grid (`queries/exact_sum.py`), so that
a total is a whole number whose sensitivity Δ is derived there, exactly; two-sided geometric noise
of scale Δ/ε on a whole number is ε-DP (`mechanisms/laplace.py`). With mid the middle of the bounds,
R their distance and h = R/2, the totals are

* T = Σ (x − mid), each in [−h, h]; S = Σ ((x − mid)² − h²/2), each in [−h²/2, h²/2]; N = Σ 1.

A mean is made of T and N, a variance of T, S and N; each total gets an equal share of ε, and the
shares add up to ε (basic composition). What is computed from noisy totals, clamping to the possible
included, is post-processing. The least and largest value, medians and quantiles are chosen by the
exponential mechanism over ranks (`mechanisms/quantiles.py` has the proof): a minimum with noise
would need noise as large as the bounds.
"""

from __future__ import annotations

import builtins
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.data.cells import as_numbers, cells_of
from sfumato.dp.mechanisms import parameters
from sfumato.dp.mechanisms.laplace import Geometric
from sfumato.dp.mechanisms.releases import quantile
from sfumato.dp.neighbours import UNBOUNDED, Group, Neighbours
from sfumato.dp.queries.base import Records, sensitivity
from sfumato.dp.queries.bounds import read_interval
from sfumato.dp.queries.exact_sum import GridSum
from sfumato.dp.queries.tables import Count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.dp.neighbours import PrivacyUnit
    from sfumato.dp.queries.bounds import Interval
    from sfumato.dp.rounding import Stated

    Relation = Neighbours | PrivacyUnit | str

_FINE = 24
"""Steps of the grid: between 2²⁴ and 2²⁵ of them are as long as the bounds."""


def count(values: Any, *, epsilon: Stated, neighbours: Relation = UNBOUNDED) -> int:
    """Release how many rows there are, or of truth values how many are true.

    Every cell counts but False, whatever the others are: 0, None and a text do.

    >>> isinstance(count([True, False, True], epsilon=1), int)
    True
    """
    relation = Neighbours.of(neighbours)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        exact = int(np.count_nonzero(values)) if values.dtype == bool else len(values)
    elif len(getattr(values, "shape", ())) > 1:  # a frame
        exact = len(values)
    else:
        exact = len([cell for cell in cells_of(values) if not _is_false(cell)])
    most = sensitivity(Count(), relation).l1
    return int(Geometric(sensitivity=most, epsilon=epsilon, neighbours=relation).release(exact))


def _is_false(cell: Any) -> bool:
    return isinstance(cell, (bool, np.bool_)) and not cell


def sum(  # noqa: A001 - named as in numpy
    values: Any, *, bounds: Interval, epsilon: Stated, neighbours: Relation = UNBOUNDED
) -> float:
    """Release the sum of values in `bounds`.

    >>> -100 < sum([1, 2, 3], bounds=(0, 5), epsilon=10) < 100
    True
    """
    low, high = read_interval(bounds)
    grid = _grid(low, high)
    return float(
        _noisy(grid, as_numbers(values), parameters.budget(epsilon), Neighbours.of(neighbours))
    )


def mean(
    values: Any, *, bounds: Interval, epsilon: Stated, neighbours: Relation = UNBOUNDED
) -> float:
    """Release the mean of values in `bounds`; of no values, something between the bounds.

    >>> 0 <= mean([1, 2, 3], bounds=(0, 5), epsilon=1) <= 5
    True
    """
    low, high = read_interval(bounds)
    moments = _moments(values, (low, high), epsilon, neighbours, squares=False)
    return float(builtins.min(builtins.max(moments[0], low), high))


def var(
    values: Any,
    *,
    bounds: Interval,
    epsilon: Stated,
    ddof: Literal[0, 1] = 0,
    neighbours: Relation = UNBOUNDED,
) -> float:
    """Release the variance of values in `bounds`, dividing by n − ddof.

    >>> 0 <= var([1, 2, 3], bounds=(0, 5), epsilon=1) <= 6.25
    True
    """
    low, high = read_interval(bounds)
    middle, squares, rows = _moments(values, (low, high), epsilon, neighbours, squares=True)
    about = builtins.min(builtins.max(middle, low), high) - (low + high) / 2
    found = squares - about**2
    if ddof:
        found *= rows / builtins.max(rows - ddof, Fraction(1))
    most = ((high - low) / 2) ** 2 * (2 if ddof else 1)
    return float(builtins.min(builtins.max(found, Fraction(0)), most))


def std(
    values: Any,
    *,
    bounds: Interval,
    epsilon: Stated,
    ddof: Literal[0, 1] = 0,
    neighbours: Relation = UNBOUNDED,
) -> float:
    """Release the standard deviation of values in `bounds`: the root of the noisy variance."""
    found = var(values, bounds=bounds, epsilon=epsilon, ddof=ddof, neighbours=neighbours)
    return math.sqrt(found)


def min(  # noqa: A001 - named as in numpy
    values: Any, *, bounds: Interval, epsilon: Stated, neighbours: Relation = UNBOUNDED
) -> float:
    """Release a value near the least of values in `bounds`, by the exponential mechanism."""
    relation = Neighbours.of(neighbours)
    return quantile(values, 0, bounds=bounds, epsilon=epsilon, neighbours=relation)


def max(  # noqa: A001 - named as in numpy
    values: Any, *, bounds: Interval, epsilon: Stated, neighbours: Relation = UNBOUNDED
) -> float:
    """Release a value near the largest of values in `bounds`, by the exponential mechanism."""
    relation = Neighbours.of(neighbours)
    return quantile(values, 1, bounds=bounds, epsilon=epsilon, neighbours=relation)


# -- totals ----------------------------------------------------------------------------------


def _grid(low: Fraction, high: Fraction) -> GridSum:
    """Lay a grid of at least 2²⁴ steps over what one record may bring."""
    widest = builtins.max(high - low, abs(low), abs(high))
    exponent = math.frexp(float(widest))[1] - 1 - _FINE
    return GridSum((low, high), builtins.max(exponent, -1000))


def _noisy(
    grid: GridSum, column: NDArray[np.float64], epsilon: Fraction, relation: Neighbours
) -> Fraction:
    """Add up on the grid, with noise for the sensitivity that is derived for it."""
    noise = Geometric(
        sensitivity=grid.sensitivity(relation).l1, epsilon=epsilon, neighbours=relation
    )
    return int(noise.release(grid.steps(column))) * grid.step


def _moments(
    values: Any,
    bounds: tuple[Fraction, Fraction],
    epsilon: Stated,
    neighbours: Relation,
    *,
    squares: bool,
) -> tuple[Fraction, Fraction, Fraction]:
    """Release the mean, the mean square about the middle (if asked for), and the number of rows."""
    relation, column = Neighbours.of(neighbours), as_numbers(values)
    public = _keeps_rows(relation)
    parts = 1 + squares + (not public)
    each = parameters.budget(epsilon) / parts
    low, high = bounds
    middle, half = (low + high) / 2, (high - low) / 2
    away = np.clip(np.nan_to_num(column - float(middle), nan=0.0), -float(half), float(half))
    total = _noisy(_grid(-half, half), away, each, relation)
    square = half**2 / 2
    spread = Fraction(0)
    if squares:
        spread = _noisy(_grid(-square, square), away**2 - float(square), each, relation)
    rows = Fraction(len(column))
    if not public:
        rows = Fraction(count(column, epsilon=each, neighbours=relation))
    rows = builtins.max(rows, Fraction(1))
    return middle + total / rows, spread / rows + square, rows


def _keeps_rows(relation: Neighbours) -> bool:
    """Tell whether neighbours have the same number of rows, which is then public."""
    unit = relation.unit.members[0] if isinstance(relation.unit, Group) else relation.unit
    return Records.of(Neighbours(relation.relation, unit), Count()).fixed
