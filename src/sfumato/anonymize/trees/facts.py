"""Facts about trees that too few people share: labels, and relations between their vertices.

A *fact set* has up to m labels and up to n relations, each of which says that two of the labels are
at one vertex, or one at a vertex above the other's. A label that occurs several times is of as many
vertices. Violations are fact sets that some, but fewer
than k, trees show. The root lies above everything, so a relation to it adds nothing to its labels.

Up to two labels are counted by matrix products and sorting. Three and more are enumerated tree by
tree, of twins (siblings with the same tree below) as many as there are labels: which of them show
it makes no difference.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import chain, combinations, groupby, permutations, product
from typing import TYPE_CHECKING

import numpy as np

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sfumato.anonymize.trees.tree_arrays import Forest

FactSet = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""Labels, and pairs of their places that are related."""

MOST_COMBINATIONS = 20_000_000
"""Sets of three and more labels that are enumerated at most."""

ROWS = 4096
"""Trees whose labels are laid out at once to count pairs."""


@dataclass(frozen=True, eq=False)
class CutState:
    """What is shown: a node for every node, a type to hang at for every type, what is left out.

    `dropped` are types, `gone` single vertices, with all that is below them.
    """

    forest: Forest
    shown: NDArray[np.int32]
    attached: NDArray[np.int32]
    dropped: NDArray[np.bool_]
    gone: NDArray[np.bool_]

    def of_type(self, kind: int) -> NDArray[np.int64]:
        """Return the vertices of a type that are there."""
        vertices = self.forest.trees.of_type[kind].astype(np.int64)
        return vertices[~self.gone[vertices]]

    @property
    def cut_off(self) -> NDArray[np.bool_]:
        """Which types hang higher than they did."""
        usual = np.array([kind.parent for kind in self.forest.trees.types])
        return np.asarray((self.attached != usual) & ~self.dropped)

    def above(self, kind: int) -> list[int]:
        """Return the types above one, without the root, the nearest first."""
        found = []
        while (kind := int(self.attached[kind])) > 0:
            found.append(kind)
        return found

    def with_shown(self, nodes: NDArray[np.int64], instead: NDArray[np.int32]) -> CutState:
        """Return the state with some nodes shown as others."""
        shown = self.shown.copy()
        shown[nodes] = instead
        return replace(self, shown=shown)


@dataclass(frozen=True, eq=False)
class Violations:
    """Fact sets below k: labels (looks) per violation, −1 beyond, and types that are related.

    A row of `related` is a violation with the upper and the lower type of one of its relations.
    """

    items: NDArray[np.int64]
    related: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.items)


def first_state(forest: Forest) -> CutState:
    """Show everything as it came."""
    types = forest.trees.types
    dropped = np.array([t not in forest.kept for t in range(len(types))])
    attached = np.array([kind.parent for kind in types], dtype=np.int32)
    shown = np.arange(len(forest.nodes.parent), dtype=np.int32)
    gone = np.zeros(len(forest.trees.type_of), dtype=np.bool_)
    return CutState(forest, shown, attached, dropped, gone)


class FactCounter:
    """Counts what trees show under a state."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        trees = forest.trees
        known = set(forest.nodes.leaf)
        self.labelled = [t for t in forest.kept if known.intersection(trees.types[t].labels)]

    def find(self, state: CutState, m: int, n: int, k: int) -> Violations:
        """Return the fact sets of at most m labels and n relations that 1 to k − 1 trees show."""
        record, item, times = self._shown(state)
        found = [self._singles(item, k)]
        if m >= 2:
            found.append(self._pairs(record, item, k))
            found.append(self._repeated(item[times > 1], k))
            if n >= 1:
                found.append(self._related(state, k))
        if m >= 3 and not any(len(part) for part in found):
            found.append(self._larger(state, m, n, k))
        return _join(found)

    # -- one and two labels ---------------------------------------------------------------

    def looks(self, state: CutState, kind: int) -> NDArray[np.int64]:
        """Return the shown labels of the vertices of a type that are there, a column each."""
        forest = self.forest
        marks = forest.marks[state.of_type(kind)]
        width = int((marks[0] >= 0).sum()) if len(marks) else 0
        return forest.nodes.look[state.shown[marks[:, :width]]].astype(np.int64)

    def _shown(
        self, state: CutState
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return distinct pairs of tree and label, and how often the tree has the label."""
        trees = self.forest.trees
        records, items = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for t in self.labelled:
            if not state.dropped[t]:
                looks = self.looks(state, t)
                items.append(looks.ravel())
                records.append(np.repeat(trees.record[state.of_type(t)], looks.shape[1]))
        wide = int(self.forest.nodes.look.max(initial=0)) + 1
        code = np.concatenate(records).astype(np.int64) * wide + np.concatenate(items)
        code, times = np.unique(code, return_counts=True)
        return code // wide, code % wide, times

    def _repeated(self, item: NDArray[np.int64], k: int) -> Violations:
        """Find labels that few trees have at two vertices; such vertices are never related."""
        twice = self._singles(item, k)
        return replace(twice, items=np.repeat(twice.items, 2, axis=1))

    def _singles(self, item: NDArray[np.int64], k: int) -> Violations:
        labels, support = np.unique(item, return_counts=True)
        rare = labels[support < k]
        return Violations(rare[:, None], np.zeros((0, 3), np.int64))

    def _pairs(self, record: NDArray[np.int64], item: NDArray[np.int64], k: int) -> Violations:
        labels, place = np.unique(item, return_inverse=True)
        place = place.reshape(-1)
        support = np.zeros((len(labels), len(labels)), dtype=np.float32)
        for begin in range(0, len(self.forest.trees), ROWS):
            low, high = np.searchsorted(record, [begin, begin + ROWS])
            rows = np.zeros((ROWS, len(labels)), dtype=np.float32)
            rows[record[low:high] - begin, place[low:high]] = 1.0
            support += rows.T @ rows
        a, b = np.nonzero(np.triu((support > 0) & (support < k), 1))
        return Violations(np.column_stack([labels[a], labels[b]]), np.zeros((0, 3), np.int64))

    def _related(self, state: CutState, k: int) -> Violations:
        """Find rare pairs of labels at one vertex, or at vertices one above the other."""
        trees = self.forest.trees
        wide = int(self.forest.nodes.look.max(initial=0)) + 1
        pieces = []
        for t in self.labelled:
            if state.dropped[t]:
                continue
            vertices, mine = state.of_type(t), self.looks(state, t)
            if t > 0:
                pieces += [
                    (mine[:, i] * wide + mine[:, j], vertices, t, t)
                    for i, j in combinations(range(mine.shape[1]), 2)
                ]
            for upper, theirs in self._ancestors(state, t):
                pieces += [
                    (theirs[:, i] * wide + mine[:, j], vertices, upper, t)
                    for i in range(theirs.shape[1])
                    for j in range(mine.shape[1])
                ]
        items, related = [np.zeros((0, 2), np.int64)], [np.zeros((0, 3), np.int64)]
        known = 0
        for code, vertices, upper, lower in pieces:
            rare = _rare(code, trees.record[vertices], k)
            items.append(np.column_stack([rare // wide, rare % wide]))
            if upper != lower:
                numbers = np.arange(known, known + len(rare))
                ends = np.tile([upper, lower], (len(rare), 1))
                related.append(np.column_stack([numbers, ends]))
            known += len(rare)
        return Violations(np.concatenate(items), np.concatenate(related))

    def _ancestors(self, state: CutState, t: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Give for each labelled type above the labels of the ancestors of the vertices of t."""
        trees = self.forest.trees
        local = np.zeros(len(trees.type_of), dtype=np.int64)
        vertices = state.of_type(t)
        for upper in state.above(t):
            while len(vertices) and trees.type_of[vertices[0]] != upper:
                vertices = trees.parent[vertices].astype(np.int64)
            if upper in self.labelled and len(vertices):
                there = state.of_type(upper)
                local[there] = np.arange(len(there))
                yield upper, self.looks(state, upper)[local[vertices]]

    # -- three and more ---------------------------------------------------------------------

    def _larger(self, state: CutState, m: int, n: int, k: int) -> Violations:
        points = [self._points(state, r, m) for r in range(len(self.forest.trees))]
        total = sum(_combinations(len(mine), m) for mine in points)
        if total > MOST_COMBINATIONS:
            raise ParameterError(
                f"Up to {m} labels have {total:,} combinations in these trees, more than can be "
                f"gone through ({MOST_COMBINATIONS:,}); ask for a smaller m, or give labels "
                "coarser hierarchies."
            )
        counted: Counter[FactSet] = Counter()
        for mine in points:
            counted.update(fact_sets(mine, m, n))
        rare = [fact for fact, support in counted.items() if support < k]
        items = np.full((len(rare), m), -1, dtype=np.int64)
        related = []
        for number, (labels, relations) in enumerate(rare):
            items[number, : len(labels)] = labels
            for a, b in relations:
                ends = (self.type_of_look(labels[a]), self.type_of_look(labels[b]))
                if ends[0] != ends[1]:
                    related.append((number, min(ends), max(ends)))
        return Violations(items, np.array(related, dtype=np.int64).reshape(-1, 3))

    def type_of_look(self, look: int) -> int:
        """Return the type of the vertices that a label is at."""
        nodes = self.forest.nodes
        node = int(np.argmax(nodes.look == look))
        label = nodes.labels[int(nodes.label_of[node])]
        return next(t for t in self.labelled if label in self.forest.trees.types[t].labels)

    def _points(
        self, state: CutState, record: int, m: int
    ) -> list[tuple[int, int, frozenset[int]]]:
        """Return (label, vertex, vertices above) of a tree, m twins at most, the root first."""
        trees, looks = self.forest.trees, self.forest.nodes.look
        mine = [v for v in self.forest.originals[record].tolist()
                if not state.dropped[trees.type_of[v]] and not state.gone[v]]  # fmt: skip
        parent = {v: self._hangs(state, v) for v in mine}
        below: dict[int, list[str]] = {v: [] for v in mine}
        form: dict[int, str] = {}
        labels: dict[int, list[int]] = {}
        for v in reversed(mine):
            marks = self.forest.marks[v]
            labels[v] = [int(looks[state.shown[x]]) for x in marks if x >= 0]
            twins = sorted((text, min(n, m)) for text, n in Counter(below[v]).items())
            form[v] = f"{trees.type_of[v]}:{labels[v]}({twins})"
            if parent[v] >= 0:
                below[parent[v]].append(form[v])
        above: dict[int, frozenset[int]] = {}
        seen: Counter[tuple[int, str]] = Counter()
        points = []
        for v in mine:
            up = parent[v]
            if (up >= 0 and up not in above) or seen[up, form[v]] >= m:
                continue  # one twin more than labels, or below one
            seen[up, form[v]] += 1
            above[v] = frozenset() if up < 0 else above[up] | {up}
            points += [(label, v, above[v]) for label in labels[v]]
        return points

    def _hangs(self, state: CutState, vertex: int) -> int:
        trees = self.forest.trees
        wanted, up = state.attached[trees.type_of[vertex]], int(trees.parent[vertex])
        while up >= 0 and trees.type_of[up] != wanted:
            up = int(trees.parent[up])
        return up


def fact_sets(points: list[tuple[int, int, frozenset[int]]], m: int, n: int) -> set[FactSet]:
    """Return every fact set of three to m labels that a tree shows."""
    found: set[FactSet] = set()
    for size in range(3, m + 1):
        for chosen in combinations(sorted(points, key=lambda point: point[0]), size):
            labels = tuple(point[0] for point in chosen)
            holds = [
                (i, j)
                for (i, a), (j, b) in combinations(enumerate(chosen), 2)
                if a[1] == b[1] or a[1] in b[2] or b[1] in a[2]
            ]
            for count in range(min(n, len(holds)) + 1):
                found.update(
                    (labels, _ordered(labels, relations))
                    for relations in combinations(holds, count)
                )
    return found


def _ordered(
    labels: tuple[int, ...], relations: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, int], ...]:
    """Write relations in one way, whichever of several equal labels they are of."""
    if len(set(labels)) == len(labels) or not relations:
        return relations
    groups = (tuple(group) for _, group in groupby(range(len(labels)), key=labels.__getitem__))
    ways = []
    for orders in product(*map(permutations, groups)):  # equal labels are next to each other
        place = tuple(chain.from_iterable(orders))
        moved = ((place[a], place[b]) for a, b in relations)
        ways.append(tuple(sorted((min(a, b), max(a, b)) for a, b in moved)))
    return min(ways)


def _rare(code: NDArray[np.int64], record: NDArray[np.int32], k: int) -> NDArray[np.int64]:
    """Return the codes that fewer than k records have."""
    people = int(record.max(initial=0)) + 1
    codes, support = np.unique(np.unique(code * people + record) // people, return_counts=True)
    found: NDArray[np.int64] = codes[support < k]
    return found


def _combinations(n: int, m: int) -> int:
    total, ways = 0, 1
    for size in range(1, m + 1):
        ways = ways * (n - size + 1) // size
        total += max(ways, 0)
    return total


def _join(parts: list[Violations]) -> Violations:
    width = max(part.items.shape[1] for part in parts)
    items, related, known = [], [], 0
    for part in parts:
        padded = np.full((len(part), width), -1, dtype=np.int64)
        padded[:, : part.items.shape[1]] = part.items
        items.append(padded)
        moved = part.related.copy()
        moved[:, 0] += known
        related.append(moved)
        known += len(part)
    return Violations(np.concatenate(items), np.concatenate(related))
