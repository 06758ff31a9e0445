"""Definitions in the form that kernels judge: a kind, its numbers, and what it compares with.

Every definition of the package that looks at one sensitive attribute has a `Rule`; the kernels
(`verdicts`, `removal`) judge classes by it from the values that occur. A user's own definition has
none and is judged by its own `judge`.

A rule compares with the distribution of the *released* records, its `Reference`, which moves when
classes are suppressed. `Widened` is the same for bounds: it holds for every release that leaves
out at most so many records. With n records, q the distribution of all and q′ of what is left when
s ≤ L of them go,

* (n − s)·q′(v) ≤ n·q(v), so q′(v) ≤ q⁺(v) = min(1, q(v)·n/(n − L)), for the nodes of a tree as
  well; what is at most (1 + β)·q′(v) is at most (1 + β)·q⁺(v); and since x·(1 − ln x) grows with x
  up to 1, what is at most (1 − ln q′(v))·q′(v) is at most (1 − ln q⁺(v))·q⁺(v);
* of the N records with the first values at most s go and at most n − N stay behind them, so their
  share Q′ is at least (N − s)/(n − s) and 0, and at most N/(n − s) and 1. The first falls and the
  second rises with s (N ≤ n), so Q⁻ = max(0, N − L)/(n − L) ≤ Q′ ≤ Q⁺ = min(N, n − L)/(n − L);
* a value that more than L records have is still there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.definitions.closeness import TCloseness, tree_nodes
from sfumato.anonymize.definitions.definition import TOLERANCE
from sfumato.anonymize.definitions.diversity import (
    SAFE_SIDE,
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.likeness import BetaLikeness, DeltaDisclosure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.hierarchies.hierarchy import Hierarchy

DISTINCT, ENTROPY, RECURSIVE, EQUAL, KL, ORDERED, HIERARCHICAL, LIKENESS, DISCLOSURE = range(9)
_DISTANCES = {"equal": EQUAL, "kl": KL, "ordered": ORDERED, "hierarchical": HIERARCHICAL}
METRIC = frozenset({EQUAL, ORDERED, HIERARCHICAL})
"""Kinds whose distance obeys the triangle inequality, so that a small move of the reference
changes no verdict that was clear. Likeness has the same by the logarithm of what it allows."""

_NEVER_SEEN = 1e-300
_CRUMB = 1e-7
"""Slack of bounds for the rounding of sums of shares; wider than `TOLERANCE`."""


class Rule(NamedTuple):
    """What a class must satisfy.

    `bound` is compared with what the kind measures: l, log l, c, t, β or δ; `l` is the l of
    recursive diversity; `nodes[h, v]` is the node of value `v` on level `h` below the root.
    """

    kind: int
    bound: float
    l: int  # noqa: E741 - the letter of the definition
    nodes: NDArray[np.int32]


class Reference(NamedTuple):
    """What is compared with: shares of values, sums of them, shares of the nodes of a tree.

    `most[v]` is the largest share of value `v` that likeness allows, tolerance included;
    `occurs[v]` says which values are released at all, `released` how many, and `line` counts
    along those.
    """

    shares: NDArray[np.float64]
    occurs: NDArray[np.bool_]
    branches: NDArray[np.float64]
    most: NDArray[np.float64]
    line: NDArray[np.float64]
    released: int


class Widened(NamedTuple):
    """The reference of all records, with room for leaving some of them out.

    `shares` and `branches` are the largest that values and nodes can have; `line` has the rows of
    `Reference.line` for Q⁻, and the first two of them again for Q⁺. `occurring` values does the
    table have, `staying` of them are sure to be released.
    """

    shares: NDArray[np.float64]
    branches: NDArray[np.float64]
    distance: float
    caps: NDArray[np.float64]
    stays: NDArray[np.bool_]
    line: NDArray[np.float64]
    occurring: int
    staying: int


def rule_of(part: Definition, values: Sequence[str], tree: Hierarchy | None) -> Rule | None:
    """Return the rule behind a definition of the package, None for any other."""
    flat = np.zeros((0, len(values)), dtype=np.int32)
    if type(part) is DistinctLDiversity:
        return Rule(DISTINCT, float(part.l), 0, flat)
    if type(part) is EntropyLDiversity:
        return Rule(ENTROPY, math.log(part.l) - TOLERANCE, 0, flat)
    if type(part) is RecursiveLDiversity:
        return Rule(RECURSIVE, part.c * SAFE_SIDE, part.l, flat)
    if type(part) is BetaLikeness:
        return Rule(LIKENESS, part.beta, int(part.enhanced), flat)
    if type(part) is DeltaDisclosure:
        return Rule(DISCLOSURE, part.delta - TOLERANCE, 0, flat)
    if type(part) is not TCloseness:
        return None
    kind = _DISTANCES[part.distance]
    if kind != HIERARCHICAL:
        return Rule(kind, part.t + TOLERANCE, 0, flat)
    if tree is None:
        return None  # its own judge says what is missing
    nodes = np.ascontiguousarray(tree_nodes(tree, tuple(values), part.attribute), dtype=np.int32)
    return Rule(kind, part.t + TOLERANCE, 0, nodes)


def reference(rule: Rule, total: NDArray[np.int64]) -> Reference:
    """Return what the rule compares with when these are the released records per value."""
    shares, occurs = total / max(int(total.sum()), 1), total > 0
    return Reference(
        shares,
        occurs,
        _branches(rule, shares),
        _largest_shares(rule, shares),
        _line(rule, shares, occurs),
        int(occurs.sum()),
    )


def _largest_shares(rule: Rule, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return q·(1 + the gain that likeness allows), and a share no class has for other kinds."""
    if rule.kind != LIKENESS:
        return np.full(len(shares), 2.0)
    seen = np.maximum(shares, _NEVER_SEEN)
    gain = np.minimum(rule.bound, -np.log(seen)) if rule.l else rule.bound
    most: NDArray[np.float64] = seen * (1 + gain + TOLERANCE)
    return most


def move(rule: Rule, before: Reference, after: Reference) -> float:
    """Return how far a class can come nearer to breaking the rule by a move of the reference."""
    if rule.kind == LIKENESS:
        return max(float(np.log(before.most / after.most)[before.occurs].max(initial=0.0)), 0.0)
    if rule.kind not in METRIC or not np.array_equal(before.occurs, after.occurs):
        return math.inf
    gap = after.shares - before.shares
    if rule.kind == EQUAL:
        return float(np.abs(gap).sum() / 2)
    if rule.kind == ORDERED:
        apart = max(int(after.occurs.sum()) - 1, 1)
        return float(np.abs(np.cumsum(gap)[after.occurs]).sum() / apart)
    levels = max(len(rule.nodes), 1)
    return float(np.abs(after.branches - before.branches).sum() / (2 * levels))


def widen(rule: Rule, total: NDArray[np.int64], limit: int) -> Widened:
    """Return what bounds compare with when at most `limit` records are left out."""
    n = max(int(total.sum()), 1)
    left = max(n - limit, 1)
    largest = np.minimum(total / left, 1.0)
    stays = total > limit
    distance = rule.bound + _CRUMB
    if rule.kind == KL:  # Pinsker: the variational distance is at most √(KL/2)
        distance = math.sqrt(rule.bound / 2) + _CRUMB
    caps = largest
    if rule.kind == LIKENESS:
        caps = _largest_shares(rule, largest)
    elif rule.kind == DISCLOSURE:
        caps = math.exp(min(rule.bound, 700.0)) * largest
    return Widened(
        largest,
        np.minimum(_branches(rule, total / left), 1.0),
        distance,
        caps + _CRUMB,
        stays,
        _widened_line(rule, total, limit, stays),
        int((total > 0).sum()),
        int(stays.sum()),
    )


def _branches(rule: Rule, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each node of the tree, one row per level."""
    width = int(rule.nodes.max(initial=-1)) + 1
    branches = np.zeros((len(rule.nodes), width))
    for h, level in enumerate(rule.nodes):
        branches[h] = np.bincount(level, weights=shares, minlength=width)
    return branches


def _widened_line(
    rule: Rule, total: NDArray[np.int64], limit: int, stays: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the least and the largest share of the values up to each, with their sums."""
    if rule.kind != ORDERED:
        return np.zeros((5, 0))
    n, upto = int(total.sum()), np.cumsum(total)
    left = max(n - limit, 1)
    least = _sum_along(np.maximum(upto - limit, 0) / left, stays)
    most = _sum_along(np.minimum(upto, left) / left, stays)
    return np.concatenate([least, most[:2]])


def _line(
    rule: Rule, shares: NDArray[np.float64], counted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return what the ordered distance needs to pass over many values in one step.

    The rows are: the share of the values up to each, which rises; and, for the values before each,
    the sum of those shares and the number of values, both over counted values alone.
    """
    if rule.kind != ORDERED:
        return np.zeros((3, 0))
    return _sum_along(np.cumsum(shares), counted)


def _sum_along(upto: NDArray[np.float64], counted: NDArray[np.bool_]) -> NDArray[np.float64]:
    line = np.zeros((3, len(upto) + 1))
    line[0] = np.append(upto, 2.0)
    line[1, 1:] = np.cumsum(upto * counted)
    line[2, 1:] = np.cumsum(counted)
    return line
