"""How many records every node below must suppress, for definitions that are union-closed.

Let `C` be a class of a node. In any node below, `C` falls apart into classes of which some are
released. All of these hold, so their union `S` ⊆ `C` holds too, or is empty. So at least
`r(C) = |C| − max{|S| : S ⊆ C holds}` records of `C` are suppressed below, whatever the node, and
the sum over the classes bounds what every node below suppresses. Where a definition compares with
the released table, S holds against a reference q′ that may have moved, within what `rules` says of
it. Of a conjunction each part bounds alone.

The largest `S`, as a vector s ≤ c of counts with sum w, c the counts of `C`:

* *Entropy.* Among the vectors with given w ≤ |C|, cutting off the highest counts, s = min(c, h),
  is majorised by every other, and entropy is Schur-concave. Entropy falls as h grows, so the
  largest h is found by bisection.
* *Recursive.* If s holds and h is its largest count, min(c, h) has the same top, no smaller
  tail and no fewer records. With the tail concave in h and 0 at 0, `h − c·tail(h)` is convex and 0
  at 0, so it is negative up to some h: bisection again.
* *Equal distance* t. The least possible Σ (s − w·q′)⁺ is w − Σ min(c, w·q′) (fill up to w·q′
  first), and q′ ≤ q⁺, so s exists only if Σ min(c(v), w·q⁺(v)) ≥ (1 − t)·w.
* *Hierarchical.* The same for each level of the tree; the sum over H levels of what each must at
  least exceed is at most H·t·w, so Σ_levels Σ_nodes min(c(node), w·q⁺(node)) ≥ H·(1 − t)·w.
* *Ordered.* Of the first i values s has at most C_i and at least w − (|C| − C_i) records, so the
  i-th summand, times w, is at least max(0, w·Q′_i − C_i, w·(1 − Q′_i) − (|C| − C_i)), in which
  Q⁻_i may stand for the first Q′_i and Q⁺_i for the second. Values may vanish from the release, and
  with them summands: the sum over values that are sure to stay is at most that over all that are
  left, hence at most (m − 1)·t for the m values of the whole table: (m − 1)·t·w in all.
* *Likeness, disclosure.* s(v) ≤ cap(v)·w for every v, so w ≤ Σ min(c(v), cap(v)·w).

The last four say G(w) ≥ 0 for a concave, piecewise linear G with G(0) = 0, so they hold up to
some w. Newton's method from the right never passes it, because a tangent lies above G: every
iterate bounds |S|, and a few are enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.full_domain.rules import (
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    EQUAL,
    HIERARCHICAL,
    KL,
    ORDERED,
    RECURSIVE,
)
from sfumato.anonymize.tables.algorithms.full_domain.verdicts import (
    DENSE,
    find_beyond,
    measure_excess,
)
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.full_domain.rollup import Histogram
    from sfumato.anonymize.tables.algorithms.full_domain.rules import Reference, Rule, Widened

# ruff: noqa: ANN001, ANN202 - the types of compiled functions are those of their callers

_STEPS = 12
"""Newton's steps per class; each is a bound, more make it sharper."""

_CRUMB = 1e-7
_LAST_BITS = 1e-14
"""Slack of bounds for the rounding of sums of shares, and of one product."""

_TIE = 1e-12
"""Terms as small as this are left out, which raises a bound by less than its slack."""


def bound_classes(
    rule: Rule,
    against: tuple[Reference, Widened],
    histogram: Histogram,
    sizes: NDArray[np.int64],
    fails: NDArray[np.bool_],
    removed: NDArray[np.int64],
    slack: NDArray[np.float64],
    minimum: int,
    room: int,
) -> int:
    """Mark the classes that fail the rule, and say what every node below suppresses of them.

    `removed[c]` is raised to the records of class `c` that every node below suppresses; of one that
    holds nothing need be, as it is its own largest S. No class below the minimum size is released,
    so of a class is kept that much or nothing. Judging ends as soon as `removed` has risen by more
    than `room` in all; returned is by how much it has. `slack` is set for later rounds of judging.
    """
    found: int = _bound(rule, *against, histogram, sizes, fails, removed, slack, minimum, room)
    return found


@njit(cache=True)
def _bound(rule, reference, widened, histogram, sizes, fails, removed, slack, minimum, room):  # type: ignore[no-untyped-def]
    scratch = np.zeros(max(len(widened.shares), widened.branches.shape[1]), dtype=np.int64)
    risen = 0
    for c in range(len(sizes)):
        size = sizes[c]
        if fails[c] and removed[c] == size:
            continue
        excess = measure_excess(rule, reference, histogram, c, size, scratch)
        slack[c] = -excess
        if excess <= 0:
            continue
        fails[c] = True
        begin, end = histogram.starts[c], histogram.starts[c + 1]
        values, counts = histogram.values[begin:end], histogram.counts[begin:end]
        kept = _largest(rule, widened, values, counts, size, minimum, scratch)
        least = size - np.int64(np.floor(kept + _slip(size)))
        if size - least < minimum:
            least = size
        if least > removed[c]:
            risen += least - removed[c]
            removed[c] = least
            if risen > room:
                break
    return risen


@njit(cache=True)
def _slip(size):  # type: ignore[no-untyped-def]
    """Return what rounding may have taken from a number of records."""
    return _CRUMB * size + 1e-6


@njit(cache=True)
def _largest(rule, widened, values, counts, size, minimum, scratch):  # type: ignore[no-untyped-def]
    """Return a number of records that no part of the class which holds exceeds.

    It is 0 where that is known to be less than the minimum.
    """
    if rule.kind == DISTINCT:
        return 0.0
    if rule.kind in (ENTROPY, RECURSIVE):
        return _cut_off(rule, counts)
    if rule.kind == DISCLOSURE and _lacks(widened, values):
        return 0.0
    kept = float(size)
    for _ in range(_STEPS):
        if rule.kind == HIERARCHICAL:
            constant, slope = _tree_line(rule, widened, values, counts, kept, scratch)
        elif rule.kind == ORDERED:
            constant, slope = _ordered_line(widened, values, counts, size, kept, scratch)
        else:
            constant, slope = _share_line(rule, widened, values, counts, kept)
        # G(w) = constant + slope·w near w = kept, and G is at most this line everywhere.
        if constant + slope * kept >= 0 or slope >= 0:
            return kept
        below = constant / -slope
        if below > kept - 0.5:
            return below
        if below + _slip(size) < minimum:
            return 0.0
        kept = below
    return kept


@njit(cache=True)
def _cut_off(rule, counts):  # type: ignore[no-untyped-def]
    """Return the sum of min(counts, h) for the largest h that holds."""
    ranked = np.sort(counts)
    low, high = 0, ranked[-1] if len(ranked) else 0
    while low < high:
        h = (low + high + 1) // 2
        if _holds_cut(rule, ranked, h):
            low = h
        else:
            high = h - 1
    return float(np.minimum(ranked, low).sum())


@njit(cache=True)
def _holds_cut(rule, ranked, h):  # type: ignore[no-untyped-def]
    """Whether counts cut off at `h` hold; `ranked` rises."""
    if rule.kind == RECURSIVE:
        tail = 0
        for j in range(len(ranked) - rule.l + 1):
            tail += min(ranked[j], h)
        return min(ranked[-1], h) < rule.bound * tail * (1 + _LAST_BITS)
    total = 0
    for j in range(len(ranked)):
        total += min(ranked[j], h)
    entropy = 0.0
    for j in range(len(ranked)):
        share = min(ranked[j], h) / total
        entropy -= share * np.log(share)
    return entropy >= rule.bound - _CRUMB


@njit(cache=True)
def _lacks(widened, values):  # type: ignore[no-untyped-def]
    """Whether the class lacks a value that is sure to be released."""
    there = 0
    for j in range(len(values)):
        there += widened.stays[values[j]]
    return there < widened.staying


@njit(cache=True)
def _share_line(rule, widened, values, counts, kept):  # type: ignore[no-untyped-def]
    """Return the tangent of Σ min(c, cap·w) − whole·w: q and 1 − t, or likeness' caps and 1."""
    metric = rule.kind in (EQUAL, KL)
    constant = 0.0
    slope = widened.distance - 1.0 if metric else -1.0
    for j in range(len(values)):
        cap = widened.shares[values[j]] if metric else widened.caps[values[j]]
        if counts[j] < cap * kept:
            constant += counts[j]
        else:
            slope += cap
    return constant, slope


@njit(cache=True)
def _tree_line(rule, widened, values, counts, kept, held):  # type: ignore[no-untyped-def]
    """Return the tangent of Σ_levels Σ_nodes min(c, w·q) − H·(1 − t)·w."""
    levels = rule.nodes.shape[0]
    constant, slope = 0.0, levels * (widened.distance - 1.0)
    for h in range(levels):
        for j in range(len(values)):
            held[rule.nodes[h, values[j]]] += counts[j]
        for j in range(len(values)):
            node = rule.nodes[h, values[j]]
            if held[node] == 0:
                continue
            if held[node] < widened.branches[h, node] * kept:
                constant += held[node]
            else:
                slope += widened.branches[h, node]
            held[node] = 0
    return constant, slope


@njit(cache=True)
def _ordered_line(widened, values, counts, size, kept, held):  # type: ignore[no-untyped-def]
    """Return the tangent of (m − 1)·t·w − Σ max(0, w·Q⁻ − C, w·(1 − Q⁺) − (size − C)).

    Between two values of the class C stays the same while Q⁻ and Q⁺ rise: the first term counts
    from where Q⁻ passes C/w, the other up to where Q⁺ passes 1 − (size − C)/w, which comes first,
    as Q⁻ ≤ Q⁺ and w ≤ size.
    """
    constant, slope = 0.0, (widened.occurring - 1) * widened.distance
    if DENSE * len(values) > len(widened.shares):
        return _ordered_walk(widened, values, counts, size, kept, held, constant, slope)
    line = widened.line
    begin = upto = 0
    for j in range(len(values) + 1):
        end = values[j] if j < len(values) else len(widened.shares)
        high = find_beyond(line[0], begin, end, upto / kept + _TIE)
        low = find_beyond(line[3], begin, high, 1 - (size - upto) / kept)
        n_low, n_high = line[2, low] - line[2, begin], line[2, end] - line[2, high]
        constant += (size - upto) * n_low + upto * n_high
        slope -= n_low - (line[4, low] - line[4, begin]) + line[1, end] - line[1, high]
        if j < len(values):
            upto += counts[j]
        begin = end
    return constant, slope


@njit(cache=True)
def _ordered_walk(widened, values, counts, size, kept, held, constant, slope):  # type: ignore[no-untyped-def]
    """Return the same, value by value."""
    for j in range(len(values)):
        held[values[j]] = counts[j]
    upto = 0
    for v in range(len(widened.shares)):
        upto += held[v]
        if not widened.stays[v]:
            continue
        least, most = widened.line[0, v], widened.line[3, v]
        if kept * least - upto > 0:
            constant += upto
            slope -= least
        elif kept * (1 - most) - (size - upto) > 0:
            constant += size - upto
            slope -= 1 - most
    for j in range(len(values)):
        held[values[j]] = 0
    return constant, slope
