"""Merging of items without a hierarchy: groups grow where that repairs most for what it costs.

After PCTA (Gkoulalas-Divanis, Loukides, ICDM 2011): every item starts as a group of its own. While
some itemset that must not be rare is, a group in it is merged with the one that raises the
support most for the least loss; where nobody may merge with it, the item is deleted. Utility
groups, where they are stated, say which items may be merged: none across two of them.

Sets that hold a group are one number with a bit per set, so supports are counts of bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.itemsets import ItemConstraints, KmAnonymity
from sfumato.anonymize.sets.supports import blame, recode
from sfumato.data.sets.item_groups import name_group
from sfumato.data.sets.item_tree import build_tree
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.sets.item_tree import ItemTree
    from sfumato.data.sets.sets import Sets

MOST_ITEMS = 5_000
"""Items above which a hierarchy is needed: merging looks at pairs of groups."""
CANDIDATES = 24
"""Cheapest partners of a group that are looked at closely."""
SHARE = 0.05
"""Share of the guilty groups that are merged before everything is counted again."""


@dataclass
class Merging:
    """Groups of items: `group_of[item]`, −1 where it is deleted; `held[g]` the sets that hold g."""

    data: Sets
    promise: Definition
    members: dict[int, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        tree = self.data.tree
        if tree.items > MOST_ITEMS:
            raise ParameterError(
                f"Merging without a hierarchy looks at pairs of items, and there are "
                f"{tree.items:,}; use 'local' or 'global', with a hierarchy or without."
            )
        self.group_of = np.arange(tree.items, dtype=np.int32)
        self.members = {item: [item] for item in range(tree.items)}
        self.held = _bits(self.data)
        self.weight = {item: int(count) for item, count in enumerate(self.data.frequency)}
        self.kind = self._kinds()

    def _kinds(self) -> dict[int, int] | None:
        """Return the utility group of each item; None where all may be merged."""
        stated = [p.groups for p in self.promise.parts if isinstance(p, ItemConstraints)]
        groups = [group for found in stated for group in found]
        if not groups:
            return None
        codes = self.data.tree.codes
        return {codes[item]: n for n, group in enumerate(groups) for item in group if item in codes}

    def run(self, progress: Any = None) -> None:
        """Merge until every part of the promise that is about known items holds.

        A merge never breaks k^m-anonymity, but it may bring items together that never were: so
        named itemsets are looked at again until nothing changes. Groups only become fewer.
        """
        before = -1
        while before != len(self.members):
            before = len(self.members)
            for part in self.promise.parts:
                if isinstance(part, KmAnonymity):
                    self._protect_all(part.k, min(part.m, self.data.longest), progress)
                elif isinstance(part, ItemConstraints):
                    for wanted in part.itemsets:
                        self._protect(wanted, part.k)

    # -- named itemsets --------------------------------------------------------------------

    def _protect(self, wanted: tuple[str, ...], k: int) -> None:
        """Raise the support of one itemset to 0 or k."""
        codes = self.data.tree.codes
        if not all(item in codes for item in wanted):
            return
        while True:
            groups = {int(self.group_of[codes[item]]) for item in wanted}
            if -1 in groups:
                return
            support = self._support(groups)
            if support == 0 or support >= k:
                return
            best = self._best_merge(groups, support)
            if best is None:
                self._delete(min(groups, key=self.weight.__getitem__))
            else:
                self._merge(*best)

    def _best_merge(self, groups: set[int], support: int) -> tuple[int, int] | None:
        """Return the merge that raises a support most for its price."""
        best, score = None, 0.0
        for g in sorted(groups):
            for h in self._partners(g):
                new = groups - {g, h} | {g}
                bits = self.held[g] | self.held[h]
                for other in new - {g}:
                    bits &= self.held[other]
                gain = bits.bit_count() - support
                value = gain / (self._price(g, h) + 1e-9)
                if gain > 0 and value > score:
                    best, score = (g, h), value
        return best

    def _support(self, groups: Iterable[int]) -> int:
        bits = -1
        for g in groups:
            bits &= self.held[g]
        return bits.bit_count()

    # -- all itemsets of up to m items ------------------------------------------------------

    def _protect_all(self, k: int, m: int, progress: Any) -> None:
        most = 1
        while True:
            starts, items = recode(
                self.data.starts, self.data.items, self.group_of, self.data.tree.items
            )
            rare, guilt = blame(starts, items, self.data.tree.items, k, m, False)
            if not rare:
                return
            most = max(most, int(rare))
            if progress is not None:
                progress(1 - rare / most, float("inf"), f"{rare:,} itemsets too rare")
            guilty = np.flatnonzero(guilt)
            score = guilt[guilty] / np.array([self.weight[int(g)] for g in guilty])
            first = guilty[np.argsort(-score, kind="stable")]
            touched: set[int] = set()
            for g in first[: max(int(len(first) * SHARE), 1)].tolist():
                if g in touched:
                    continue
                h = self._repair(g, k, touched)
                if h is None:
                    self._delete(g)
                    touched.add(g)
                else:
                    touched |= {g, h}
                    self._merge(g, h)

    def _repair(self, g: int, k: int, touched: set[int]) -> int | None:
        """Return the partner with which most rare pairs of a group end, for the price."""
        mine = [x for x in self.members if x != g and 0 < self._support((g, x)) < k]
        best, score, any_free = None, -1.0, False
        for h in self._partners(g):
            any_free = True
            if h in touched:
                continue
            both = self.held[g] | self.held[h]
            ended = sum(x == h or (both & self.held[x]).bit_count() >= k for x in mine)
            value = (ended + 1) / (self._price(g, h) + 1e-9)
            if value > score:
                best, score = h, value
        if best is None and any_free:  # all are taken in this round: the cheapest will do
            return self._partners(g)[0]
        return best

    def _partners(self, g: int) -> list[int]:
        """Return the groups that may be merged with one, the cheapest first."""
        kind = None if self.kind is None else self.kind.get(self.members[g][0], -1)
        if kind == -1:
            return []
        free = [
            h
            for h in self.members
            if h != g and (self.kind is None or self.kind.get(self.members[h][0], -1) == kind)
        ]
        free.sort(key=lambda h: self._price(g, h))
        return free[:CANDIDATES]

    def _price(self, g: int, h: int) -> float:
        """Return what merging two groups costs: items times what they may now stand for."""
        sizes = len(self.members[g]), len(self.members[h])
        now = sum(size * self.weight[x] for x, size in zip((g, h), sizes, strict=True) if size > 1)
        return sum(sizes) * (self.weight[g] + self.weight[h]) - now

    def _merge(self, g: int, h: int) -> None:
        self.members[g] += self.members.pop(h)
        self.held[g] |= self.held.pop(h)
        self.weight[g] += self.weight.pop(h)
        self.group_of[self.members[g]] = g

    def _delete(self, g: int) -> None:
        self.group_of[self.members.pop(g)] = -1
        del self.held[g], self.weight[g]

    def tree(self) -> ItemTree:
        """Return items, the groups above them, and a root."""
        labels = self.data.tree.labels
        groups = [sorted(members) for members in self.members.values() if len(members) > 1]
        single = sorted(set(range(self.data.tree.items)) - {i for g in groups for i in g})
        order = [item for group in groups for item in group] + single
        sizes = [*(len(group) for group in groups), *(1 for _ in single)]
        begins = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        names = [name_group([labels[i] for i in group]) for group in groups]
        names += [labels[i] for i in single]
        root = (np.zeros(1, dtype=np.int64), ["*"])
        return build_tree([labels[i] for i in order], [(begins, names), root], "merging")


def _bits(data: Sets) -> dict[int, int]:
    """Return for each item the sets that hold it, a bit each."""
    rows = np.repeat(np.arange(len(data)), data.sizes)
    order = np.argsort(data.items, kind="stable")
    bounds = np.searchsorted(data.items[order], np.arange(data.tree.items + 1))
    found = {}
    for item in range(data.tree.items):
        flags = np.zeros(len(data), dtype=np.uint8)
        flags[rows[order[bounds[item] : bounds[item + 1]]]] = 1
        found[item] = int.from_bytes(np.packbits(flags).tobytes(), "big")
    return found


def merged_nodes(search: Merging, data: Sets) -> NDArray[np.int32]:
    """Return the node of every item of sets that stand under the tree of the groups."""
    came, tree = search.data.tree, data.tree
    shown = np.full(tree.items, -1, dtype=np.int32)
    for members in search.members.values():
        leaves = [tree.codes[came.labels[item]] for item in members]
        node = leaves[0] if len(leaves) == 1 else int(tree.parent[leaves[0]])
        shown[leaves] = node
    return shown[data.items]
