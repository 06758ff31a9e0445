"""The compiled step of top-down search: where a set of records could be cut in two or more.

A set can be cut along an attribute in one of two ways. Below its common ancestor every
child with enough records becomes a part of its own, and the others stay together as the
remainder, part 0; if the remainder alone is too small, the smallest child joins it. Where an
attribute is cut by order, the cut falls between two leaves, as near to the wanted share of the
records as the sizes of both sides allow.

A relaxed cut may divide records of equal value: those of the leaf at the cut between both
sides, or those of the largest child with a remainder that is too small. One share of a
tuple is then split; `cut` reports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.algorithms.encoding import Tree


class Sets(NamedTuple):
    """Sets of records: set `p` is the shares from `begin[p]` up to `begin[p + 1]`."""

    tuple_: NDArray[np.int64]
    size: NDArray[np.int64]
    begin: NDArray[np.int64]


class Rules(NamedTuple):
    """How to cut: the smallest part, which attributes by order and their price per step."""

    minimum: int
    relaxed: bool
    by_order: NDArray[np.bool_]
    step: NDArray[np.float64]
    leaves: int


class Scratch(NamedTuple):
    """Per leaf or child of the set at hand: its records, its common ancestor, its part."""

    weight: NDArray[np.int64]
    lowest: NDArray[np.int64]
    level: NDArray[np.int64]
    part: NDArray[np.int64]
    seen: NDArray[np.int64]


@njit(cache=True)
def cut(  # noqa: C901 - two kinds of cut, gauged or made
    sets: Sets,
    tree: Tree,
    rules: Rules,
    along: NDArray[np.int64],
    wanted: float,
    gain: NDArray[np.float64],
    parts: NDArray[np.int64],
    part: NDArray[np.int64],
    divided: NDArray[np.int64],
) -> None:
    """Cut each set along an attribute, or where `along` is −1, gauge all attributes.

    `gain[p, a]` is the loss saved on that attribute, −1 where it cannot be cut, and
    `parts[p, a]` the number of parts. When cutting, `part[i]` is the part of share `i`, and
    `divided[p]` says: share, records of it that leave, and the part they go to.
    """
    zero = np.zeros(rules.leaves, dtype=np.int64)
    scratch = Scratch(zero, zero.copy(), zero.copy(), zero.copy(), zero.copy())
    for p in range(len(sets.begin) - 1):
        for a in range(len(tree.start)):
            if along[p] >= 0 and a != along[p]:
                continue
            gain[p, a] = -1.0
            parts[p, a] = 0
            low, high, level, total = _extent(sets, tree, p, a)
            if low == high or total < 2 * rules.minimum:
                continue
            ordered = rules.by_order[a]
            found = _tally(sets, tree, scratch, p, a, -1 if ordered else level - 1)
            if ordered:
                at, left, over = _place(rules, scratch, low, high, total, wanted)
                if at >= 0:
                    parts[p, a] = 2
                    spread = _spread(scratch, low, high, total, at, left, over)
                    gain[p, a] = rules.step[a] * spread
                    if along[p] >= 0:
                        _divide(sets, tree, p, a, at, over, part, divided)
            else:
                own, pool, donor, lent = _pool(rules, scratch, found)
                if own + (pool > 0) >= 2:
                    parts[p, a] = own + (pool > 0)
                    top = tree.price[tree.start[a] + low * tree.height[a] + level]
                    gain[p, a] = _saved(tree, scratch, a, found, top, donor, lent)
                    if along[p] >= 0:
                        _assign(sets, tree, scratch, p, a, level - 1, donor, lent, part, divided)
            for j in range(found):
                scratch.weight[scratch.seen[j]] = 0


@njit(cache=True)
def _extent(sets: Sets, tree: Tree, p: int, a: int) -> tuple[int, int, int, int]:
    """Return lowest and highest leaf, level of the common ancestor, and records of a set."""
    start, height = tree.start[a], tree.height[a]
    node = tree.node
    low = int(tree.leaves[sets.tuple_[sets.begin[p]], a])
    high, level, total = low, 0, 0
    for i in range(sets.begin[p], sets.begin[p + 1]):
        leaf = int(tree.leaves[sets.tuple_[i], a])
        while node[start + leaf * height + level] != node[start + low * height + level]:
            level += 1
        low, high = min(low, leaf), max(high, leaf)
        total += sets.size[i]
    return low, high, level, total


@njit(cache=True)
def _tally(sets: Sets, tree: Tree, scratch: Scratch, p: int, a: int, level: int) -> int:
    """Count the records per node on a level, or per leaf where it is −1; return how many occur.

    The nodes' own common ancestors are found as well, for their prices.
    """
    start, height, node = tree.start[a], tree.height[a], tree.node
    weight, lowest, above, _, seen = scratch
    found = 0
    for i in range(sets.begin[p], sets.begin[p + 1]):
        leaf = int(tree.leaves[sets.tuple_[i], a])
        x = start + leaf * height
        key = leaf if level < 0 else int(node[x + level])
        if weight[key] == 0:
            seen[found] = key
            found += 1
            lowest[key] = leaf
            above[key] = 0
        else:
            y = start + lowest[key] * height
            while node[x + above[key]] != node[y + above[key]]:
                above[key] += 1
        weight[key] += sets.size[i]
    return found


@njit(cache=True)
def _place(
    rules: Rules, scratch: Scratch, low: int, high: int, total: int, wanted: float
) -> tuple[int, int, int]:
    """Return the last leaf on the left, or −1, the records there, and how many are divided off.

    A relaxed cut may put that many records of the last leaf on the right all the same.
    """
    goal = wanted * total
    at, left, passed = -1, 0, 0
    for leaf in range(low, high):
        passed += scratch.weight[leaf]
        fits = passed >= rules.minimum and total - passed >= rules.minimum
        if scratch.weight[leaf] > 0 and fits and (at < 0 or abs(passed - goal) < abs(left - goal)):
            at, left = leaf, passed
    exact = min(max(int(goal), rules.minimum), total - rules.minimum)
    if not rules.relaxed or (at >= 0 and abs(left - goal) <= abs(exact - goal)):
        return at, left, 0
    passed, leaf = scratch.weight[low], low
    while passed < exact:
        leaf += 1
        passed += scratch.weight[leaf]
    return leaf, exact, passed - exact


@njit(cache=True)
def _spread(
    scratch: Scratch, low: int, high: int, total: int, at: int, left: int, over: int
) -> int:
    """Return by how many leaves the ranges of all records shrink together."""
    begins = at if over > 0 else at + 1
    while scratch.weight[begins] == 0:
        begins += 1
    return total * (high - low) - left * (at - low) - (total - left) * (high - begins)


@njit(cache=True)
def _divide(
    sets: Sets, tree: Tree, p: int, a: int, at: int, over: int,
    part: NDArray[np.int64], divided: NDArray[np.int64],
) -> None:  # fmt: skip
    """Put shares on the left, part 0, or on the right, part 1; `over` of leaf `at` go right."""
    for i in range(sets.begin[p], sets.begin[p + 1]):
        leaf = tree.leaves[sets.tuple_[i], a]
        part[i] = 1 if leaf > at else 0
        if leaf == at and over > 0:
            if sets.size[i] <= over:
                part[i] = 1
            else:
                divided[p, 0], divided[p, 1], divided[p, 2] = i, over, 1
            over -= min(over, sets.size[i])


@njit(cache=True)
def _pool(rules: Rules, scratch: Scratch, found: int) -> tuple[int, int, int, int]:
    """Decide which children stand alone, and number their parts; 0 is the remainder.

    Return how many stand alone, the records of the remainder, and the child that lends it
    records and how many.
    """
    weight, part, seen = scratch.weight, scratch.part, scratch.seen
    own, pool, smallest, largest = 0, 0, -1, -1
    for j in range(found):
        key = seen[j]
        part[key] = 0
        if weight[key] < rules.minimum:
            pool += weight[key]
            continue
        own += 1
        part[key] = own
        if smallest < 0 or weight[key] < weight[smallest]:
            smallest = key
        if largest < 0 or weight[key] > weight[largest]:
            largest = key
    missing = rules.minimum - pool
    if pool == 0 or missing <= 0 or own == 0:
        return own, pool, -1, 0
    if rules.relaxed and weight[largest] - missing >= rules.minimum:
        return own, rules.minimum, largest, missing
    # The smallest child joins the remainder, and the last number takes the place of its own.
    for j in range(found):
        if part[seen[j]] == own:
            part[seen[j]] = part[smallest]
            break
    part[smallest] = 0
    return own - 1, pool + weight[smallest], -1, 0


@njit(cache=True)
def _saved(
    tree: Tree, scratch: Scratch, a: int, found: int, top: float, donor: int, lent: int
) -> float:
    """Return the loss saved by the children that stand alone."""
    saved = 0.0
    for j in range(found):
        key = scratch.seen[j]
        if scratch.part[key] > 0:
            at = tree.start[a] + scratch.lowest[key] * tree.height[a] + scratch.level[key]
            leaving = lent if key == donor else 0
            saved += (scratch.weight[key] - leaving) * (top - tree.price[at])
    return saved


@njit(cache=True)
def _assign(
    sets: Sets, tree: Tree, scratch: Scratch, p: int, a: int, level: int, donor: int, lent: int,
    part: NDArray[np.int64], divided: NDArray[np.int64],
) -> None:  # fmt: skip
    """Put each share into the part of its child; `lent` records of the donor into part 0."""
    for i in range(sets.begin[p], sets.begin[p + 1]):
        leaf = int(tree.leaves[sets.tuple_[i], a])
        key = tree.node[tree.start[a] + leaf * tree.height[a] + level]
        part[i] = scratch.part[key]
        if key == donor and lent > 0:
            if sets.size[i] <= lent:
                part[i] = 0
            else:
                divided[p, 0], divided[p, 1], divided[p, 2] = i, lent, 0
            lent -= min(lent, sets.size[i])
