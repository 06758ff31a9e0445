"""Released trees as labels at vertices: what somebody may know of them, and whom it fits."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.released.trees import TreesView

Point = tuple[str, int]
"""A label with its text, and the vertex that has it."""


class ShownTree:
    """One released tree: its labels, and which vertices lie above which."""

    def __init__(self, points: list[Point], above: dict[int, set[int]]) -> None:
        self.points, self.above = points, above
        self.places: dict[str, list[int]] = {}
        for label, vertex in points:
            self.places.setdefault(label, []).append(vertex)

    def label_pairs(self) -> set[tuple[str, ...]]:
        """Return the pairs of labels that different vertices or different labels give."""
        twice = {(label, label) for label, places in self.places.items() if len(places) > 1}
        return twice | set(combinations(sorted(self.places), 2))

    def related(self, a: int, b: int) -> bool:
        """Tell whether two vertices are one, or one lies above the other."""
        return a == b or a in self.above[b] or b in self.above[a]

    def related_pairs(self) -> set[tuple[str, ...]]:
        """Return the pairs of labels that related vertices have."""
        at: dict[int, list[str]] = {}
        for label, vertex in self.points:
            at.setdefault(vertex, []).append(label)
        found: set[tuple[str, ...]] = set()
        for vertex, labels in at.items():
            found.update(combinations(sorted(labels), 2))
            for upper in self.above[vertex]:
                found.update(_pair(a, b) for a in at.get(upper, ()) for b in labels)
        return found

    def fits(self, labels: tuple[str, ...], relations: tuple[tuple[int, int], ...]) -> bool:
        """Try all vertices for all labels; equal labels are of different vertices."""
        chosen: list[int] = []

        def extend() -> bool:
            n = len(chosen)
            if n == len(labels):
                return True
            for vertex in self.places.get(labels[n], ()):
                known = [a for a, b in relations if b == n]
                other = all(chosen[a] != vertex for a in range(n) if labels[a] == labels[n])
                if other and all(self.related(chosen[a], vertex) for a in known):
                    chosen.append(vertex)
                    if extend():
                        return True
                    chosen.pop()
            return False

        return extend()


def shown_trees(view: TreesView) -> list[ShownTree]:
    """Return the trees of a view with the labels that others may know."""
    trees = view.trees
    points: list[list[Point]] = [[] for _ in range(len(trees))]
    above: list[dict[int, set[int]]] = [{} for _ in range(len(trees))]
    known = set(view.quasi)
    for vertex, (record, parent) in enumerate(
        zip(trees.record.tolist(), trees.parent.tolist(), strict=True)
    ):
        mine = above[record]
        mine[vertex] = set() if parent < 0 else mine[parent] | {parent}
        points[record] += [
            (f"{name} = {text}", vertex)
            for name, text in view.texts[vertex].items()
            if name in known
        ]
    return [ShownTree(p, a) for p, a in zip(points, above, strict=True)]


def _pair(a: str, b: str) -> tuple[str, ...]:
    return (a, b) if a <= b else (b, a)
