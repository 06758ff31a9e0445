"""Groups of sets with a pattern in common, from which division starts.

A pattern must save more than division would, which is learnt from the data: some of the sets are
divided without patterns (`nested_partition`). Where division does well, as with a few items that
most sets have, hardly any pattern is worth taking.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.sets.seed.pattern_kernel import (
    DEEPEST,
    FIELD,
    Baskets,
    Candidates,
    Terms,
    choose_patterns,
    find_patterns,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.sets.item_tree import ItemTree
    from sfumato.data.sets.sets import Sets

WIDEST = 0.2
"""Nodes above more than this share of items are opened for the crown."""
BETTER = 1.2
"""How much more than division a pattern must save."""
LEFT = 0.5
"""How much of what division saves is left to be saved after a pattern."""
LEAST = 2
"""How many times k sets a pattern must have to be extended."""
EFFORT = 100
"""How many sets are listed for patterns with one first item, per set that has it."""
ROOM = 6
"""How many sets may be listed for patterns, as a multiple of all items of all sets."""


def find_groups(
    data: Sets, k: int, expected: float, slope: float
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the group of every set, −1 for none, and which items are shown for what they are.

    Division is `expected` to save so much per set, and `slope` more for e times as many sets.
    """
    crown = find_crown(data.tree)
    baskets, items = rank_items(data, crown)
    rate = LEFT * slope
    terms = Terms(k, int(LEAST * k), rate, BETTER * expected + rate * np.log(k), EFFORT)
    listed = ROOM * data.occurrences
    room = listed // k
    candidates = Candidates(
        np.empty(room), np.empty(room, np.int64), np.empty((room, DEEPEST), np.int32),
        np.zeros(room + 1, np.int64), np.empty(listed, np.int32), np.zeros(1, np.int64),
    )  # fmt: skip
    find_patterns(baskets, terms, candidates)
    group = choose_patterns(candidates, terms, len(data))
    pattern = group[np.repeat(np.arange(len(data)), data.sizes)]
    inside = np.flatnonzero(pattern >= 0)
    pattern = pattern[inside]
    exact = np.zeros(data.occurrences, dtype=np.bool_)
    for place in range(DEEPEST):
        there = candidates.length[pattern] > place
        exact[inside[there]] |= (
            items[candidates.items[pattern[there], place]] == data.items[inside[there]]
        )
    return group, exact


def find_crown(tree: ItemTree) -> NDArray[np.int64]:
    """Return for every item the node of the crown above it: the widest are opened first."""
    starts, below = tree.children
    crown = [tree.root]
    while True:
        width = [int(tree.last[v] - tree.first[v]) for v in crown]
        widest = int(np.argmax(width))
        children = below[starts[crown[widest]] : starts[crown[widest] + 1]].tolist()
        if width[widest] <= WIDEST * tree.items or len(crown) - 1 + len(children) > 64 // FIELD:
            break
        crown[widest : widest + 1] = children
    top = np.empty(tree.items, dtype=np.int64)
    for v in crown:
        top[tree.first[v] : tree.last[v]] = v
    return top


def rank_items(data: Sets, crown: NDArray[np.int64]) -> tuple[Baskets, NDArray[np.int64]]:
    """Return sets with their rarest items first, and the item of every rank."""
    tree = data.tree
    items = np.argsort(data.frequency, kind="stable")
    rank = np.empty(tree.items, dtype=np.int64)
    rank[items] = np.arange(tree.items)
    set_of = np.repeat(np.arange(len(data)), data.sizes)
    ranks = np.sort(set_of * tree.items + rank[data.items]) % tree.items
    _, field = np.unique(crown, return_inverse=True)
    held = np.zeros((len(data), 64 // FIELD), dtype=np.uint64)
    np.add.at(held, (set_of, field[data.items]), np.uint64(1))
    shift = np.arange(0, 64, FIELD, dtype=np.uint64)
    most = np.uint64((1 << FIELD) - 1)
    saves = tree.price[crown[items]]
    total = np.concatenate([[0.0], np.cumsum(saves[ranks])])
    baskets = Baskets(
        data.starts,
        ranks.astype(np.int32),
        saves,
        np.left_shift(np.uint64(1), shift[field[items]]),
        np.bitwise_or.reduce(np.left_shift(np.minimum(held, most), shift), axis=1),
        total[data.starts[1:]][set_of] - total[:-1],
    )
    return baskets, items
