"""How many released trees show the same m labels with n relations: counted from the file alone.

A label may be known several times, of as many vertices.

One and two labels are counted for all trees. Of more labels every combination in every tree is gone
through where there are not too many; beyond that, combinations are drawn at random, and for each
the trees that show it are counted by trying all vertices for all parts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, permutations
from math import comb
from random import Random
from typing import TYPE_CHECKING

from sfumato.released.tree_points import Point, ShownTree, shown_trees

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sfumato.released.trees import TreesView

EXHAUSTIVE = 2_000_000
"""Combinations that are gone through; where there are more, some are drawn."""

DRAWN = 3_000
"""Combinations that are drawn."""


@dataclass(frozen=True)
class RarestFact:
    """The fact set that the fewest trees show; `exact` unless only some were looked at."""

    support: int
    labels: tuple[str, ...]
    relations: int
    exact: bool


def rarest_fact(view: TreesView, m: int, n: int, k: int) -> RarestFact | None:
    """Find the fact set of at most m labels and n relations with the least support."""
    trees = shown_trees(view)
    best = _pick(Counter((label,) for tree in trees for label in tree.places), 0)
    if m >= 2:
        both: Counter[tuple[str, ...]] = Counter(
            pair for tree in trees for pair in tree.label_pairs()
        )
        best = _less(best, _pick(both, 0))
        if n >= 1:
            joined = Counter(pair for tree in trees for pair in tree.related_pairs())
            best = _less(best, _pick(joined, 1))
    if m < 3 or best is None or best.support < k:
        return best
    total = sum(comb(len(tree.points), size) for tree in trees for size in range(3, m + 1))
    if total <= EXHAUSTIVE:
        return _less(best, _all_facts(trees, m, n))
    return _less(best, _some_facts(trees, m, n))


def _pick(counted: Counter[tuple[str, ...]], relations: int) -> RarestFact | None:
    if not counted:
        return None
    fact, support = min(counted.items(), key=lambda item: item[1])
    return RarestFact(support, fact, relations, exact=True)


def _less(a: RarestFact | None, b: RarestFact | None) -> RarestFact | None:
    if a is None or b is None:
        return a or b
    exact = a.exact and b.exact
    least = a if a.support <= b.support else b
    return RarestFact(least.support, least.labels, least.relations, exact)


def _facts_of(
    tree: ShownTree, chosen: tuple[Point, ...], n: int
) -> Iterator[tuple[tuple[str, ...], tuple[tuple[int, int], ...]]]:
    """Give the fact sets that some points of a tree show."""
    ordered = sorted(chosen)
    labels = tuple(label for label, _ in ordered)
    holds = [
        (i, j)
        for i, j in combinations(range(len(ordered)), 2)
        if tree.related(ordered[i][1], ordered[j][1])
    ]
    for count in range(min(n, len(holds)) + 1):
        for relations in combinations(holds, count):
            yield labels, _any_of_the_same(labels, relations)


def _any_of_the_same(
    labels: tuple[str, ...], relations: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Write relations with the places of equal labels so that they come first of all ways."""
    best = relations
    for order in permutations(range(len(labels))) if len(set(labels)) < len(labels) else ():
        if all(labels[i] == labels[j] for i, j in enumerate(order)):
            moved = [(min(order[a], order[b]), max(order[a], order[b])) for a, b in relations]
            best = min(best, tuple(sorted(moved)))
    return best


def _all_facts(trees: list[ShownTree], m: int, n: int) -> RarestFact | None:
    counted: Counter[tuple[tuple[str, ...], tuple[tuple[int, int], ...]]] = Counter()
    for tree in trees:
        counted.update({
            fact
            for size in range(3, m + 1)
            for chosen in combinations(tree.points, size)
            for fact in _facts_of(tree, chosen, n)
        })  # fmt: skip
    if not counted:
        return None
    (labels, relations), support = min(counted.items(), key=lambda item: item[1])
    return RarestFact(support, labels, len(relations), exact=True)


def _some_facts(trees: list[ShownTree], m: int, n: int) -> RarestFact | None:
    chance = Random(0)  # noqa: S311 - which facts are looked at is no secret
    best: RarestFact | None = None
    large = [tree for tree in trees if len(tree.points) >= 3]
    for _ in range(DRAWN if large else 0):
        tree = chance.choice(large)
        size = chance.randint(3, min(m, len(tree.points)))
        facts = list(_facts_of(tree, tuple(chance.sample(tree.points, size)), n))
        if not facts:
            continue
        labels, relations = max(facts, key=lambda fact: len(fact[1]))
        support = sum(other.fits(labels, relations) for other in trees)
        best = _less(best, RarestFact(support, labels, len(relations), exact=False))
    return best
