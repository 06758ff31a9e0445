"""Quantiles of groups, picked by the exponential mechanism.

Contract: for every shown group, a point of the term's grid is picked by its distance in ranks from
the wanted quantile (:mod:`sfumato.dp.mechanisms.quantiles` has the proof), with the ε that the
allocation gives to one quantile in one group and the rows that one unit may have there.

Values are moved to points of a public grid first, at most 2²⁴ of them, so that no engine gives back
more rows than that. Whole numbers in a range that is not wider are their own points, all of the
same weight; other points are weighted such that coarser grids, down to 1,024 points, count as much
as the finest. :func:`moved` says how far a value can be from its point, which the notes of answers
state beside the ranks.

MIN and MAX are the quantiles of order 0 and 1: the true ones would show one person's value. Those
of dates are picked among days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.ask.language.analysis import kind_of
from sfumato.ask.language.days import days_of
from sfumato.ask.language.language import Case, Constant
from sfumato.ask.language.request import Request, RowBound, Total
from sfumato.ask.price.contributions import Reach, rows_in_group
from sfumato.ask.price.grids import point_grid
from sfumato.dp.mechanisms.quantiles import ExponentialQuantile
from sfumato.dp.neighbours import Neighbours, Row, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from sfumato.ask.language.language import Expression, Measure, Question, Value
    from sfumato.ask.language.request import Aggregates, Bound, Grid

_COARSEST = 11  # bits of 1,024 points


def grid_of(measure: Measure) -> Grid:
    """Give the points among which a quantile is picked."""
    assert measure.term is not None
    assert measure.bounds is not None
    kind = kind_of(measure.term)
    return point_grid(measure.bounds, "integer" if kind == "date" else kind)


def moved(measure: Measure) -> float:
    """Give the farthest that a clamped value can be from its point; 0 for whole numbers.

    The grid may end before the upper bound, so that a value may be moved by a whole step.
    """
    grid = grid_of(measure)
    return 0.0 if _own_points(measure) else float(grid.step)


def _own_points(measure: Measure) -> bool:
    assert measure.term is not None
    return kind_of(measure.term) in {"integer", "date"} and grid_of(measure).step == 1


def is_dated(measure: Measure) -> bool:
    """Tell whether a measure is a date."""
    return measure.term is not None and kind_of(measure.term) == "date"


def points_request(question: Question, measure: Measure, bound: Bound, salt: bytes) -> Request:
    """Ask how many kept rows of each group have each point."""
    assert measure.term is not None
    term: Expression = days_of(measure.term) if is_dated(measure) else measure.term
    if measure.where is not None:
        term = Case(((measure.where, term),), Constant(None, kind_of(term)))
    return Request(
        question.relation,
        question.keys,
        (Total("rows"),),
        bound,
        salt,
        spread=((term, grid_of(measure)),),
    )


def mechanism(measure: Measure, reach: Reach, epsilon: Fraction) -> ExponentialQuantile | None:
    """Give the mechanism of one group; None when the bounds leave a single point."""
    grid = grid_of(measure)
    points = grid.ends[1] + 1
    if points <= 1:
        return None
    bound = reach.bound
    unit = Row() if isinstance(bound, RowBound) else Unit("person", rows=rows_in_group(bound))
    assert measure.order is not None
    return ExponentialQuantile(
        q=measure.order,
        lower=grid.centre,
        upper=grid.centre + (points - 1) * grid.step,
        step=grid.step,
        levels=0 if _own_points(measure) else max(0, points.bit_length() - _COARSEST),
        epsilon=epsilon,
        neighbours=Neighbours(reach.relation, unit),
    )


def pick(
    measure: Measure,
    counted: Aggregates,
    shown: Sequence[tuple[Value, ...]],
    reach: Reach,
    epsilon: Fraction,
) -> list[float]:
    """Pick the quantile of every shown group, in their order."""
    chooser = mechanism(measure, reach, epsilon)
    assert measure.bounds is not None
    low, high = (float(end) for end in measure.bounds)
    if chooser is None:
        return [low] * len(shown)
    places: dict[tuple[Value, ...], list[int]] = {}
    for place, key in enumerate(counted.keys):
        places.setdefault(key, []).append(place)
    picked = []
    for key in shown:
        at = np.array(places.get(key, []), dtype=np.int64)
        points = counted.spread[0][at] if at.size else at
        counts = counted.totals[0][at].astype(np.int64) if at.size else at
        picked.append(min(max(chooser.release_counted(points, counts), low), high))
    return picked
