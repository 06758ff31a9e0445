"""Kernels that judge classes by a rule from the values that occur in them.

With p the shares of a class and q those of the reference, both adding up to 1, half of Σ|p − q| is
Σ (p − q) over the values where p is larger, and only values that occur in the class can be such.
So the equal distance, and the hierarchical one level by level of the tree, are sums over what the
class has, not over all values: the mean over the levels below the root of the distance of the
nodes' shares. Entropy, divergence, likeness and disclosure are sums or maxima over occurring
values by their form.

The ordered distance is the sum of |P − Q| over the values that are released, P and Q the shares of
the values up to each. Between two values that the class has P stays the same while Q rises, so
the sum of a stretch is told by where Q passes P and by sums of Q (`Reference.line`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.full_domain.rules import (
    DISTINCT,
    ENTROPY,
    EQUAL,
    HIERARCHICAL,
    KL,
    LIKENESS,
    ORDERED,
    RECURSIVE,
)
from sfumato.compiler import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.full_domain.rollup import Histogram
    from sfumato.anonymize.tables.algorithms.full_domain.rules import Reference, Rule

# ruff: noqa: ANN001, ANN202 - the types of compiled functions are those of their callers

_NEVER_SEEN = 1e-300

DENSE = 8
"""A class with more than one value of so many walks along all of them."""


def judge_classes(
    rule: Rule,
    reference: Reference,
    histogram: Histogram,
    sizes: NDArray[np.int64],
    fails: NDArray[np.bool_],
    slack: NDArray[np.float64],
    moved: float,
    room: int,
) -> int:
    """Mark the classes that fail the rule; return how many records they have together.

    Classes that fail already are left alone, and so are those whose slack, what the reference may
    still move before they can fail, exceeds how far it has `moved`. Judging ends as soon as the
    newly failing classes have more than `room` records.
    """
    found: int = _judge(rule, reference, histogram, sizes, fails, slack, moved, room)
    return found


@njit(cache=True)
def _judge(rule, reference, histogram, sizes, fails, slack, moved, room):  # type: ignore[no-untyped-def]
    scratch = np.zeros(max(len(reference.shares), reference.branches.shape[1]), dtype=np.int64)
    lost = 0
    for c in range(len(sizes)):
        if fails[c] or slack[c] > moved:
            continue
        excess = measure_excess(rule, reference, histogram, c, sizes[c], scratch)
        slack[c] = moved - excess
        if excess > 0:
            fails[c] = True
            lost += sizes[c]
            if lost > room:
                break
    return lost


@njit(cache=True)
def measure_excess(rule, reference, histogram, c, size, scratch):  # type: ignore[no-untyped-def]  # noqa: ANN201, C901 - one branch per kind
    """Return by how much class `c` breaks the rule: positive where it fails.

    `scratch` has room for a number per value and per node, all zero before and after.
    """
    begin, end = histogram.starts[c], histogram.starts[c + 1]
    values, counts = histogram.values, histogram.counts
    if rule.kind == DISTINCT:
        return rule.bound - (end - begin)
    if rule.kind == ENTROPY:
        return rule.bound - _entropy(counts[begin:end], size)
    if rule.kind == RECURSIVE:
        return 1.0 if _recursive(counts[begin:end], rule.bound, rule.l) >= 0 else -1.0
    if rule.kind == EQUAL:
        beyond = 0.0
        for j in range(begin, end):
            beyond += max(counts[j] / size - reference.shares[values[j]], 0.0)
        return beyond - rule.bound
    if rule.kind == KL:
        beyond = 0.0
        for j in range(begin, end):
            share = counts[j] / size
            beyond += share * np.log(share / max(reference.shares[values[j]], _NEVER_SEEN))
        return beyond - rule.bound
    if rule.kind == ORDERED:
        return _ordered(reference, values[begin:end], counts[begin:end], size, scratch) - rule.bound
    if rule.kind == HIERARCHICAL:
        return _tree(rule, reference, values[begin:end], counts[begin:end], size, scratch)
    if rule.kind == LIKENESS:
        worst = 0.0
        for j in range(begin, end):
            worst = max(worst, counts[j] / size / reference.most[values[j]])
        return np.log(worst)
    # what is left is DISCLOSURE
    return _disclosure(rule, reference, values[begin:end], counts[begin:end], size)


@njit(cache=True)
def _entropy(counts, size):  # type: ignore[no-untyped-def]
    """Return the entropy of counts that add up to `size`, in nats."""
    entropy = 0.0
    for j in range(len(counts)):
        share = counts[j] / size
        entropy -= share * np.log(share)
    return entropy


@njit(cache=True)
def _recursive(counts, c, l):  # type: ignore[no-untyped-def]  # noqa: E741
    """Return r₁ − c·(r_l + … + r_m)."""
    if len(counts) == 0:
        return 0.0
    tail = counts.sum()
    if l == 2:
        tail -= counts.max()
    elif l > 2:
        tail = np.sort(counts)[: max(len(counts) - l + 1, 0)].sum()
    return counts.max() - c * tail


@njit(cache=True)
def _ordered(reference, values, counts, size, held):  # type: ignore[no-untyped-def]
    """Return the earth mover's distance over the values that are released, in their order."""
    line, m = reference.line, len(reference.shares)
    steps = line[2, m] - 1
    if steps <= 0:
        return 0.0
    if DENSE * len(values) > m:
        return _walk(reference, values, counts, size, held) / steps
    moved = 0.0
    begin = upto = 0
    for j in range(len(values) + 1):
        end = values[j] if j < len(values) else m
        share = upto / size
        at = find_beyond(line[0], begin, end, share)
        moved += share * (line[2, at] - line[2, begin]) - (line[1, at] - line[1, begin])
        moved += line[1, end] - line[1, at] - share * (line[2, end] - line[2, at])
        if j < len(values):
            upto += counts[j]
        begin = end
    return moved / steps


@njit(cache=True)
def find_beyond(shares, begin, end, share):  # type: ignore[no-untyped-def]  # noqa: ANN201
    """Return the first place from `begin` on where rising shares are at least `share`, or `end`.

    Most stretches between two values of a class lie wholly before or behind it: looked at first.
    """
    if begin < end:
        if shares[begin] >= share:
            return begin
        if shares[end - 1] < share:
            return end
    while begin < end:
        middle = (begin + end) // 2
        if shares[middle] < share:
            begin = middle + 1
        else:
            end = middle
    return begin


@njit(cache=True)
def _walk(reference, values, counts, size, held):  # type: ignore[no-untyped-def]
    """Return the sum of |P − Q|, value by value."""
    for j in range(len(values)):
        held[values[j]] = counts[j]
    carried = moved = 0.0
    for v in range(len(reference.shares)):
        if reference.occurs[v]:
            carried += held[v] / size - reference.shares[v]
            moved += abs(carried)
    for j in range(len(values)):
        held[values[j]] = 0
    return moved


@njit(cache=True)
def _tree(rule, reference, values, counts, size, held):  # type: ignore[no-untyped-def]
    """Return the mean distance over the levels of the tree, less the bound."""
    beyond = 0.0
    levels = rule.nodes.shape[0]
    for h in range(levels):
        for j in range(len(values)):
            held[rule.nodes[h, values[j]]] += counts[j]
        for j in range(len(values)):
            node = rule.nodes[h, values[j]]
            beyond += max(held[node] / size - reference.branches[h, node], 0.0)
            # counted once: a node that is met again has nothing, hence no excess
            held[node] = 0
    return (beyond / levels if levels > 0 else 0.0) - rule.bound


@njit(cache=True)
def _disclosure(rule, reference, values, counts, size):  # type: ignore[no-untyped-def]
    """Return 1 where a released value is lacking or its share changes too much, else −1."""
    if len(values) < reference.released:
        return 1.0
    for j in range(len(values)):
        ratio = counts[j] / size / max(reference.shares[values[j]], _NEVER_SEEN)
        if abs(np.log(ratio)) >= rule.bound:
            return 1.0
    return -1.0
