"""Form classes of at least k trees that lose little by being shown alike.

Greedy: a class begins with the tree that is farthest from the last class and takes in the tree that
costs least, k − 1 times; candidates are found by signatures and priced exactly. Where a promise
about sensitive values fails at some vertices, the class takes in more trees as long as that costs
less than the values that would have to be withheld. Trees that are left over join the class that
pays least.

Which of several equal trees comes first is decided by an order from cryptographic randomness.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.trees.classes import TreeClass, single
from sfumato.anonymize.trees.merge_kernel import merge_cost
from sfumato.anonymize.trees.signatures import divide, sign

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.anonymize.trees.diversity import SensitiveValues
    from sfumato.anonymize.trees.tree_arrays import Forest, TreeArrays

    Tell = Callable[[float, float, str], None]

PRICED = 40
"""Candidates whose merging cost is worked out, of those closest by signature."""

JUDGED = 4
"""Candidates of least cost whose effect on sensitive values is looked at."""

TOGETHER = 1500
"""Trees among which a class is sought; more are divided by signature first."""


class Clustering:
    """The search for classes; `classes` is the result."""

    def __init__(
        self, forest: Forest, k: int, values: SensitiveValues, order: NDArray[np.int64]
    ) -> None:
        self.forest, self.k, self.values = forest, k, values
        self.signatures = sign(forest)
        self.order = order
        self.trees: dict[int, TreeArrays] = {}
        self.classes: list[TreeClass] = []
        self.spent = 0.0

    def tree(self, record: int) -> TreeArrays:
        """Return a tree as it came, made when first asked for."""
        if record not in self.trees:
            self.trees[record] = self.forest.tree(record)
        return self.trees[record]

    def run(self, tell: Tell | None = None) -> list[TreeClass]:
        """Form all classes."""
        n = len(self.forest.trees)
        for part in divide(self.signatures[self.order], max(TOGETHER, 2 * self.k)):
            self._form(self.order[part], n, tell)
            self.trees.clear()
        return join_alike(self.classes)

    def _form(self, records: NDArray[np.int64], n: int, tell: Tell | None) -> None:
        """Form classes among some trees; what is left over joins them."""
        free = dict.fromkeys(records.tolist())
        centre = self.signatures[records].mean(axis=0)
        formed: list[TreeClass] = []
        while len(free) >= self.k:
            seed = self._farthest(free, centre)
            del free[seed]
            group = self._fill(single(self.forest, seed, self.tree(seed)), free)
            formed.append(group)
            centre = self._centre(group)
            if tell is not None:
                done = sum(map(len, self.classes)) + sum(map(len, formed))
                tell(done / n, float("inf"), f"{len(self.classes) + len(formed):,} classes")
        for record in free:
            self._place(record, formed)
        self.classes += formed

    def _fill(self, group: TreeClass, free: dict[int, Any]) -> TreeClass:
        while len(group) < self.k:
            group, _ = self._take(group, free)
        if not self.values.parts:
            return group
        price = self.values.price(group)
        while price and free and len(group) < 2 * self.k:
            usual = self.spent / max(sum(map(len, self.classes)) + len(group), 1)
            before, left = self.spent, dict(free)
            larger, cost = self._take(group, left)
            less = self.values.price(larger)
            if cost + less - price >= usual:
                self.spent = before
                break
            free.clear()
            free.update(left)
            group, price = larger, less
        return group

    def _take(self, group: TreeClass, free: dict[int, Any]) -> tuple[TreeClass, float]:
        """Let in the tree that costs least, withheld values included."""
        near = self._nearest(group, free)
        model, s = self.forest.model, len(group)
        costs = np.array([merge_cost(model, group.tree, self.tree(r), s) for r in near])
        best = np.argsort(costs, kind="stable")[: JUDGED if self.values.parts else 1]
        merged = [group.merge(near[i], self.tree(near[i])) for i in best]
        totals = [
            costs[i] + (self.values.price(m) if self.values.parts else 0.0)
            for i, m in zip(best, merged, strict=True)
        ]
        chosen = int(np.argmin(totals))
        del free[near[best[chosen]]]
        cost = float(costs[best[chosen]])
        self.spent += cost
        return merged[chosen], cost

    def _place(self, record: int, formed: list[TreeClass]) -> None:
        """Put a tree that is left over into the class that pays least."""
        model, tree = self.forest.model, self.tree(record)
        gaps = [float(np.abs(self._centre(g) - self.signatures[record]).sum()) for g in formed]
        near = np.argsort(gaps, kind="stable")[:PRICED]
        costs = [merge_cost(model, formed[i].tree, tree, len(formed[i])) for i in near]
        chosen = int(near[int(np.argmin(costs))])
        formed[chosen] = formed[chosen].merge(record, tree)

    def _centre(self, group: TreeClass) -> NDArray[np.float64]:
        centre: NDArray[np.float64] = self.signatures[list(group.members)].mean(axis=0)
        return centre

    def _farthest(self, free: dict[int, Any], centre: NDArray[np.float64]) -> int:
        records = list(free)
        gaps = np.abs(self.signatures[records] - centre).sum(axis=1)
        return records[int(np.argmax(gaps))]

    def _nearest(self, group: TreeClass, free: dict[int, Any]) -> list[int]:
        records = np.array(list(free))
        gaps = np.abs(self.signatures[records] - self._centre(group)).sum(axis=1)
        chosen: list[int] = records[np.argsort(gaps, kind="stable")[:PRICED]].tolist()
        return chosen


def join_alike(classes: list[TreeClass]) -> list[TreeClass]:
    """Put classes with isomorphic representatives together: a stranger sees one class."""
    found: dict[int, TreeClass] = {}
    for group in classes:
        other = found.get(group.form)
        if other is None:
            found[group.form] = group
            continue
        vertices = np.empty((len(other.kinds), len(other) + len(group)), dtype=np.int64)
        vertices[other.ordered(), : len(other)] = other.vertices[other.ordered()]
        vertices[other.ordered(), len(other) :] = group.vertices[group.ordered()]
        found[group.form] = replace(
            other, members=(*other.members, *group.members), vertices=vertices
        )
    return list(found.values())
