"""Bounds that nobody declared, found privately.

Contract: values are counted in bins between powers of two, on both sides of 0; the counts get
noise; the bounds are the outer edges of the outermost bins whose noisy count stands out of
the noise. That is post-processing of a noisy histogram, whose cost the allocation has charged: one
unit has at most r rows in it, so its L1 and L2 sensitivities are r.

The price is a share of the question's; the gain is that nobody has to look at the data to
declare bounds. A few extreme values are clamped, which is what bounds are for. Where no bin stands
out (little data, little budget) the noise is drawn as for [−1, 1] and the answer has no value.
(Smith, STOC 2011; Wilson et al., "Differentially private SQL with bounded user contribution",
PoPETs 2020.)
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from sfumato.ask.language.language import Case, Compare, Constant, Expression, IsNull, Logic
from sfumato.ask.language.request import Aggregates, Grid, GroupsBound, Request, RowBound, Total

if TYPE_CHECKING:
    import numpy.typing as npt

    from sfumato.ask.language.language import Bounds, Relation
    from sfumato.ask.language.request import Bound
    from sfumato.ask.price.noise import Noise

_LEAST, _MOST = -20, 52  # powers of two: bins from 2⁻²⁰ to 2⁵²
_BINS = _MOST - _LEAST + 1
_FALSE_ALARM = 1e-3
UNKNOWN: Bounds = (Fraction(-1), Fraction(1))
"""What is used where nothing stands out of the noise."""

ASSUMED: Bounds = (Fraction(-1), 1 + Fraction(1, 2**40))
"""What stands for bounds not yet found; nobody states these, so they merge with no others."""


def search_request(
    relation: Relation, term: Expression, where: Expression | None, *, bound: Bound, salt: bytes
) -> Request:
    """Ask for the number of values per bin, of the rows that one unit may have in one group."""
    rows = 1 if isinstance(bound, RowBound) else bound.rows
    kept = bound if isinstance(bound, RowBound) else GroupsBound(1, rows)
    grid = Grid((Fraction(-_BINS), Fraction(_BINS)), Fraction(1), Fraction(0))
    binned = _bin(term) if where is None else Case(((where, _bin(term)),), _nothing())
    return Request(relation, (), (Total("rows"),), kept, salt, spread=((binned, grid),))


def _nothing() -> Constant:
    return Constant(None, "integer")


def _bin(term: Expression) -> Expression:
    """Give the number of a value's bin: 0 for 0, ±i for |x| in (2^(i−2+LEAST), 2^(i−1+LEAST)]."""
    edges = [Fraction(2) ** power for power in range(_LEAST, _MOST + 1)]
    zero = Constant(Fraction(0), "real")
    branches: list[tuple[Expression, Expression]] = [(IsNull(term), _nothing())]
    branches.append((Compare("=", term, zero), Constant(0, "integer")))
    for number, edge in enumerate(edges[:-1], start=1):
        inside = Compare("<=", term, Constant(edge, "real"))
        branches.append((_and(Compare(">", term, zero), inside), Constant(number, "integer")))
        below = Compare(">=", term, Constant(-edge, "real"))
        branches.append((_and(Compare("<", term, zero), below), Constant(-number, "integer")))
    branches.append((Compare(">", term, zero), Constant(_BINS, "integer")))
    return Case(tuple(branches), Constant(-_BINS, "integer"))


def _and(left: Expression, right: Expression) -> Expression:
    return Logic("and", (left, right))


def found_bounds(counted: Aggregates, noise: Noise) -> Bounds | None:
    """Read bounds off a noisy histogram; None where nothing stands out."""
    counts = _histogram(counted)
    noisy = counts + noise.draw(counts.size)
    standing_out = noise.half_width(1 - 2 * _FALSE_ALARM / counts.size)
    places = np.flatnonzero(noisy > max(standing_out, 1.0)) - _BINS
    if not places.size:
        return None
    low, high = int(places[0]), int(places[-1])
    return _edge(low - 1) if low > 0 else _edge(low), _edge(high + 1) if high < 0 else _edge(high)


def _histogram(counted: Aggregates) -> npt.NDArray[np.int64]:
    counts = np.zeros(2 * _BINS + 1, dtype=np.int64)
    if counted.spread:
        np.add.at(counts, counted.spread[0] + _BINS, counted.totals[0].astype(np.int64))
    return counts


def _edge(number: int) -> Fraction:
    if number == 0:
        return Fraction(0)
    size = Fraction(2) ** (_LEAST + abs(number) - 1)
    return size if number > 0 else -size
