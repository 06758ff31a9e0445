"""The compiled step of top-down search: where a set of records could be cut in two or more.

A set can be cut along an attribute in one of two ways. Below its common ancestor every
child with enough records becomes a part of its own, and the others stay together as the
remainder, part 0; if the remainder alone is too small, the smallest child joins it. Where an
attribute is cut by order, the cut falls between two leaves, as near to the wanted share of the
records as the sizes of both sides allow.

A relaxed cut may divide records of equal value: those of the leaf at the cut between both
sides, or those of the largest child with a remainder that is too small. One share of a
tuple is then split; `cut` reports it.

The kernel takes records of arrays: what is cut (`Sets`), along which trees, by which rules, what
was found (`Found`), and its scratch, one row per array, unpacked by name at its top.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfumato.compiler import njit

if TYPE_CHECKING:
    from sfumato.anonymize.tables.algorithms.encoding import ValueTree


class RecordSets(NamedTuple):
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


Ints = NDArray[np.int64]


class BestCuts(NamedTuple):
    """What is found per set and attribute: loss saved (−1 for no cut) and number of parts.

    `divided` tells per set the share that is divided (−1 for none), how many of its records leave
    it and the part they go to; `part`, where cuts are made, the part of each share.
    """

    gain: NDArray[np.float64]
    parts: Ints
    divided: Ints
    part: Ints


class Tally(NamedTuple):
    """Per leaf or child of the set at hand; `seen` lists the `found` ones that occur.

    `weight` is its records (zero before and after), `lowest` its lowest leaf, `above` the level of
    its own common ancestor, `number` its part.
    """

    weight: Ints
    lowest: Ints
    above: Ints
    number: Ints
    seen: Ints


def cut(
    sets: RecordSets,
    tree: ValueTree,
    rules: Rules,
    along: Ints,
    wanted: float,
    part: Ints | None = None,
) -> tuple[NDArray[np.float64], Ints, Ints]:
    """Cut each set along an attribute, or where `along` is −1, gauge all attributes.

    Return the loss saved per set and attribute, −1 where it cannot be cut, the number of
    parts, and per set the share that is divided (−1 for none), how many of its records leave
    it, and the part they go to. When cutting, `part[i]` is set to the part of share `i`.
    """
    n, width = len(sets.begin) - 1, len(tree.start)
    found = BestCuts(
        np.full((n, width), -1.0),
        np.zeros((n, width), dtype=np.int64),
        np.full((n, 3), -1, dtype=np.int64),
        np.empty(0, dtype=np.int64) if part is None else part,
    )
    column = np.empty(int(np.diff(sets.begin).max(initial=1)), dtype=np.int64)
    tally = Tally(*np.zeros((5, rules.leaves), dtype=np.int64))
    _cut(sets, tree, rules, along, wanted, found, column, tally)
    return found.gain, found.parts, found.divided


@njit(cache=True)
def _cut(  # noqa: C901, PLR0912 - two kinds of cut, gauged or made
    sets: RecordSets, tree: ValueTree, rules: Rules, along: Ints, wanted: float, cuts: BestCuts,
    leaf: Ints, tally: Tally,
) -> None:  # fmt: skip
    """Do what `cut` says. `leaf` holds the leaves of the set at hand, one per share."""
    tuple_, size, begin = sets
    leaves, starts, heights, node, price = tree
    minimum, relaxed, by_order, step, _ = rules
    gain, parts, divided, part = cuts
    weight, lowest, above, number, seen = tally
    for p in range(len(begin) - 1):
        first, n = begin[p], begin[p + 1] - begin[p]
        for a in range(len(starts)):
            if along[p] >= 0 and a != along[p]:
                continue
            total = np.int64(0)
            for i in range(n):
                leaf[i] = leaves[tuple_[first + i], a]
                total += size[first + i]
            start, height = starts[a], heights[a]
            low, high, level = _extent(leaf, n, node, start, height)
            if low == high or total < 2 * minimum:
                continue
            key_level = -1 if by_order[a] else level - 1
            found = _count(leaf, n, size, first, tree, a, key_level, tally)
            if by_order[a]:
                at, left, over = _place(weight, low, high, total, wanted, minimum, relaxed)
                if at >= 0:
                    parts[p, a] = 2
                    gain[p, a] = step[a] * _spread(weight, low, high, total, at, left, over)
                    if along[p] >= 0:
                        _divide(leaf, n, size, first, at, over, part, divided, p)
            else:
                own, pool, donor, lent = _pool(weight, number, seen, found, minimum, relaxed)
                if own + (pool > 0) >= 2:
                    parts[p, a] = own + (pool > 0)
                    top = price[start + low * height + level]
                    saved = 0.0
                    for j in range(found):
                        key = seen[j]
                        if number[key] > 0:
                            stays = weight[key] - (lent if key == donor else 0)
                            own_price = price[start + lowest[key] * height + above[key]]
                            saved += stays * (top - own_price)
                    gain[p, a] = saved
                    if along[p] >= 0:
                        for i in range(n):
                            leaf[i] = node[start + leaf[i] * height + level - 1]
                        _assign(leaf, n, size, first, number, donor, lent, part, divided, p)
            for j in range(found):
                weight[seen[j]] = 0


@njit(cache=True)
def _extent(
    leaf: Ints, n: int, node: NDArray[np.int32], start: int, height: int
) -> tuple[int, int, int]:
    """Return lowest and highest leaf of a set, and the level of its common ancestor."""
    low, high, level = leaf[0], leaf[0], 0
    for i in range(n):
        member = leaf[i]
        while node[start + member * height + level] != node[start + low * height + level]:
            level += 1
        low, high = min(low, member), max(high, member)
    return low, high, level


@njit(cache=True)
def _count(
    leaf: Ints, n: int, size: Ints, first: int, tree: ValueTree, a: int, level: int, tally: Tally
) -> int:
    """Count the records per node on a level, or per leaf where it is −1; return how many occur.

    The nodes' own common ancestors are found as well, for their prices.
    """
    start, height, node = tree.start[a], tree.height[a], tree.node
    weight, lowest, above, _, seen = tally
    found = 0
    for i in range(n):
        x = start + leaf[i] * height
        key = leaf[i] if level < 0 else np.int64(node[x + level])
        if weight[key] == 0:
            seen[found] = key
            found += 1
            lowest[key] = leaf[i]
            above[key] = 0
        else:
            y = start + lowest[key] * height
            while node[x + above[key]] != node[y + above[key]]:
                above[key] += 1
        weight[key] += size[first + i]
    return found


@njit(cache=True)
def _place(
    weight: Ints, low: int, high: int, total: int, wanted: float, minimum: int, relaxed: bool
) -> tuple[int, int, int]:
    """Return the last leaf on the left, or −1, the records there, and how many are divided off.

    A relaxed cut may put that many records of the last leaf on the right all the same.
    """
    goal = wanted * total
    at, left, passed = -1, 0, 0
    for leaf in range(low, high):
        passed += weight[leaf]
        fits = passed >= minimum and total - passed >= minimum
        if weight[leaf] > 0 and fits and (at < 0 or abs(passed - goal) < abs(left - goal)):
            at, left = leaf, passed
    exact = min(max(int(goal), minimum), total - minimum)
    if not relaxed or (at >= 0 and abs(left - goal) <= abs(exact - goal)):
        return at, left, 0
    passed, leaf = weight[low], low
    while passed < exact:
        leaf += 1
        passed += weight[leaf]
    return leaf, exact, passed - exact


@njit(cache=True)
def _spread(weight: Ints, low: int, high: int, total: int, at: int, left: int, over: int) -> int:
    """Return by how many leaves the ranges of all records shrink together."""
    begins = at if over > 0 else at + 1
    while weight[begins] == 0:
        begins += 1
    return total * (high - low) - left * (at - low) - (total - left) * (high - begins)


@njit(cache=True)
def _divide(
    leaf: Ints, n: int, size: Ints, first: int, at: int, over: int, part: Ints, divided: Ints,
    p: int,
) -> None:  # fmt: skip
    """Put shares on the left, part 0, or on the right, part 1; `over` of leaf `at` go right."""
    for i in range(n):
        part[first + i] = 1 if leaf[i] > at else 0
        if leaf[i] == at and over > 0:
            if size[first + i] <= over:
                part[first + i] = 1
            else:
                divided[p, 0], divided[p, 1], divided[p, 2] = first + i, over, 1
            over -= min(over, size[first + i])


@njit(cache=True)
def _pool(
    weight: Ints, part: Ints, seen: Ints, found: int, minimum: int, relaxed: bool
) -> tuple[int, int, int, int]:
    """Decide which children stand alone, and number their parts; 0 is the remainder.

    Return how many stand alone, the records of the remainder, and the child that lends it
    records and how many.
    """
    own, pool, smallest, largest = 0, 0, -1, -1
    for j in range(found):
        key = seen[j]
        part[key] = 0
        if weight[key] < minimum:
            pool += weight[key]
            continue
        own += 1
        part[key] = own
        if smallest < 0 or weight[key] < weight[smallest]:
            smallest = key
        if largest < 0 or weight[key] > weight[largest]:
            largest = key
    missing = minimum - pool
    if pool == 0 or missing <= 0 or own == 0:
        return own, pool, -1, 0
    if relaxed and weight[largest] - missing >= minimum:
        return own, minimum, largest, missing
    # The smallest child joins the remainder, and the last number takes the place of its own.
    for j in range(found):
        if part[seen[j]] == own:
            part[seen[j]] = part[smallest]
            break
    part[smallest] = 0
    return own - 1, pool + weight[smallest], -1, 0


@njit(cache=True)
def _assign(
    child: Ints, n: int, size: Ints, first: int, number: Ints, donor: int, lent: int, part: Ints,
    divided: Ints, p: int,
) -> None:  # fmt: skip
    """Put each share into the part of its child; `lent` records of the donor into part 0."""
    for i in range(n):
        part[first + i] = number[child[i]]
        if child[i] == donor and lent > 0:
            if size[first + i] <= lent:
                part[first + i] = 0
            else:
                divided[p, 0], divided[p, 1], divided[p, 2] = first + i, lent, 0
            lent -= min(lent, size[first + i])
