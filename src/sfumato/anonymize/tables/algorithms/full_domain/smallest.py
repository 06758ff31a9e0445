"""The smallest class that can hold: sizes alone then tell that many classes fail.

A class of w records has whole numbers of records per value, which cannot follow a distribution as
closely as shares can. For each kind of `Rule` that compares with the released table, what w
records can come to at best, in the notation of `removal` and against the widened reference:

* *Equal distance* t. Σ min(s(v), w·q⁺(v)) ≥ (1 − t)·w is needed. The k-th record of a value adds 1
  while k ≤ w·q⁺(v), then once the fractional part of w·q⁺(v), then nothing. So the largest sum over
  all s with w records is Σ ⌊w·q⁺(v)⌋ plus the largest w − Σ ⌊w·q⁺(v)⌋ of the fractional parts, and
  w where the whole parts alone come to that.
* *Hierarchical.* The same on each level of the tree, the best of each bounding its sum.
* *Ordered.* w·P is whole for every value and Q′ is between Q⁻ and Q⁺, so each summand |P − Q′| is
  at least the distance from there to the next whole number, over w.
* *Likeness, disclosure.* s(v) ≤ ⌊cap(v)·w⌋ for each value, and these must have room for w; for
  disclosure every value that is sure to stay has a record.

None of these need grow with w, so sizes are tried one after the other, and the first that passes
is what no smaller class comes up to. Without what comes from rounding (w records have at most
w values, which have at most the w largest shares of q⁺) they do grow, which tells where to begin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.full_domain.rules import (
    DISCLOSURE,
    EQUAL,
    HIERARCHICAL,
    KL,
    LIKENESS,
    ORDERED,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.full_domain.rules import Rule, Widened

_TRIED = 64
"""Sizes tried; if none passes, the last is a bound as well."""

_CRUMB = 1e-7


def smallest_class(rule: Rule, widened: Widened) -> int:
    """Return a number of records such that no class with fewer holds."""
    if rule.kind in {EQUAL, KL}:
        return _smallest_close([widened.shares], widened.distance)
    if rule.kind == HIERARCHICAL:
        return _smallest_close(widened.branches, widened.distance)
    if rule.kind == ORDERED:
        return _smallest_ordered(widened)
    if rule.kind == LIKENESS:
        return _smallest_capped(widened.caps)
    if rule.kind == DISCLOSURE:
        return max(_smallest_capped(widened.caps), widened.staying)
    return 1  # the definition's own minimum size is as sharp


def _smallest_close(levels: Sequence[NDArray[np.float64]] | NDArray[np.float64], t: float) -> int:
    """Return the first size at which the levels can be filled to 1 − t on average."""
    needed = len(levels) * (1 - t)
    if needed <= 0:
        return 1
    largest = sum(np.cumsum(np.sort(shares)[::-1]) for shares in levels)
    begin = int(np.searchsorted(largest, needed - _CRUMB)) + 1
    for w in range(begin, begin + _TRIED):
        if sum(_fill(shares, w) for shares in levels) >= (needed - _CRUMB) * w:
            return w
    return begin + _TRIED


def _fill(shares: NDArray[np.float64], w: int) -> float:
    """Return the largest Σ min(s, w·q⁺) over whole numbers s of w records."""
    wanted = shares * w
    whole = np.floor(wanted)
    spare = max(w - int(whole.sum()), 0)
    parts = np.sort(wanted - whole)[::-1]
    return min(float(whole.sum() + parts[:spare].sum()), float(w))


def _smallest_ordered(widened: Widened) -> int:
    least, most = widened.line[0, :-1][widened.stays], widened.line[3, :-1][widened.stays]
    allowed = max(widened.occurring - 1, 0) * widened.distance
    for w in range(1, _TRIED + 1):
        low, high = least * w, most * w
        apart = np.minimum(low - np.floor(low), np.ceil(high) - high)
        apart[np.ceil(low) <= np.floor(high)] = 0.0
        if float(apart.sum()) <= (allowed + _CRUMB) * w:
            return w
    return _TRIED + 1


def _smallest_capped(caps: NDArray[np.float64]) -> int:
    """Return the first size whose records fit below the caps."""
    largest = np.cumsum(np.sort(caps)[::-1])
    begin = int(np.searchsorted(largest, 1 - _CRUMB)) + 1
    for w in range(begin, begin + _TRIED):
        if float(np.floor(caps * w + _CRUMB).sum()) >= w:
            return w
    return begin + _TRIED
