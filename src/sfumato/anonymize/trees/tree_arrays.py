"""One tree as arrays for the kernels, and what is the same for all trees.

Vertices stand type by type, and within a type in the order of their parents, so that the children
of one type of a vertex are next to each other. Vertices of a type that carry nothing known and have
nothing below (`bare`) are only counted: any two of them are alike.

Identical subtrees get one number, their *form*; the cost of merging two subtrees is worked out once
per pair of forms, not per pair of vertices.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.trees.label_nodes import LabelNodes, join_hierarchies

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.data.trees.trees import Trees, VertexType


class Model(NamedTuple):
    """What all trees share: nodes of labels, and which types are children of which.

    `child[t, s]` is the s-th child type of type t, of which there are `slots[t]`.
    """

    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    loss: NDArray[np.float64]
    labels: NDArray[np.int32]
    child: NDArray[np.int32]
    slots: NDArray[np.int32]
    bare: NDArray[np.bool_]


class TreeArrays(NamedTuple):
    """One tree; `low` and `high` bound the children of a vertex by slot of the child type.

    `start` bounds the types, `marks` has the node of every label, `size` the vertices below and at
    a vertex, `rest` what one person would still lose if they all were left out. `form` numbers
    subtrees, forms of a type next to each other from `forms` on; `sample` has a vertex of each
    form.
    """

    start: NDArray[np.int32]
    up: NDArray[np.int32]
    low: NDArray[np.int32]
    high: NDArray[np.int32]
    marks: NDArray[np.int32]
    size: NDArray[np.float64]
    rest: NDArray[np.float64]
    form: NDArray[np.int32]
    forms: NDArray[np.int32]
    sample: NDArray[np.int32]


@dataclass(eq=False)
class Forest:
    """All trees of a dataset with what they share; `kept` are the types that are released."""

    trees: Trees
    nodes: LabelNodes
    kept: tuple[int, ...]
    model: Model

    def __post_init__(self) -> None:
        self._known: dict[tuple[object, ...], int] = {}

    @property
    def types(self) -> tuple[VertexType, ...]:
        """The released vertex types."""
        return tuple(self.trees.types[t] for t in self.kept)

    @cached_property
    def originals(self) -> tuple[NDArray[np.int64], ...]:
        """The vertices of every tree in the order of its arrays."""
        place = np.full(len(self.trees.types), -1, dtype=np.int64)
        place[list(self.kept)] = np.arange(len(self.kept))
        kind = place[self.trees.type_of]
        order = np.lexsort((np.arange(len(kind)), kind, self.trees.record))
        order = order[kind[order] >= 0]
        bounds = np.searchsorted(self.trees.record[order], np.arange(len(self.trees) + 1))
        return tuple(order[bounds[i] : bounds[i + 1]] for i in range(len(self.trees)))

    @cached_property
    def marks(self) -> NDArray[np.int32]:
        """The leaf node of every label of every vertex; −1 where there is none."""
        found = np.full((len(self.trees.type_of), self._most_labels), -1, dtype=np.int32)
        for t in self.kept:
            own = [label for label in self.trees.types[t].labels if label in self.nodes.leaf]
            for j, label in enumerate(own):
                found[self.trees.of_type[t], j] = self.nodes.leaf[label]
        return found

    @property
    def _most_labels(self) -> int:
        return max(int(self.model.labels.max(initial=0)), 1)

    def tree(self, record: int) -> TreeArrays:
        """Return one tree as it came."""
        vertices = self.originals[record]
        place = np.full(len(self.trees.types), -1, dtype=np.int32)
        place[list(self.kept)] = np.arange(len(self.kept), dtype=np.int32)
        kinds = place[self.trees.type_of[vertices]]
        where = {int(v): i for i, v in enumerate(vertices)}
        up = np.array([where.get(int(p), -1) for p in self.trees.parent[vertices]], dtype=np.int32)
        return self.arrange(kinds, up, self.marks[vertices])

    def arrange(
        self, kinds: NDArray[np.int32], up: NDArray[np.int32], marks: NDArray[np.int32]
    ) -> TreeArrays:
        """Gather what kernels need of vertices that stand in order."""
        model, n = self.model, len(kinds)
        start = np.searchsorted(kinds, np.arange(len(self.kept) + 1)).astype(np.int32)
        low = np.zeros((n, model.child.shape[1]), dtype=np.int32)
        high = np.zeros_like(low)
        for t in range(len(self.kept)):
            for s in range(int(model.slots[t])):
                c = int(model.child[t, s])
                parents = up[start[c] : start[c + 1]]
                here = np.arange(start[t], start[t + 1])
                low[here, s] = start[c] + np.searchsorted(parents, here)
                high[here, s] = start[c] + np.searchsorted(parents, here, side="right")
        lost = np.where(marks >= 0, model.loss[marks], 0.0).sum(axis=1)
        size, rest = np.ones(n), 1.0 - lost
        for v in range(n - 1, 0, -1):
            size[up[v]] += size[v]
            rest[up[v]] += rest[v]
        form = self.forms_of(kinds, low, high, marks)
        return self._numbered(start, up, low, high, marks, size, rest, form)

    def forms_of(
        self,
        kinds: NDArray[np.int32],
        low: NDArray[np.int32],
        high: NDArray[np.int32],
        marks: NDArray[np.int32],
    ) -> list[int]:
        """Give subtrees numbers, across all trees: equal numbers, equal looks."""
        look, model = self.nodes.look, self.model
        looks = np.where(marks >= 0, look[marks], -1).tolist() if len(look) else marks.tolist()
        found = [0] * len(kinds)
        bounds = zip(kinds.tolist(), low.tolist(), high.tolist(), strict=True)
        for v, (t, begin, end) in reversed(list(enumerate(bounds))):
            slots = range(int(model.slots[t]))
            below = [tuple(sorted(found[begin[s] : end[s]])) for s in slots]
            key = (t, tuple(looks[v]), *below)
            found[v] = self._known.setdefault(key, len(self._known))
        return found

    @staticmethod
    def _numbered(
        start: NDArray[np.int32],
        up: NDArray[np.int32],
        low: NDArray[np.int32],
        high: NDArray[np.int32],
        marks: NDArray[np.int32],
        size: NDArray[np.float64],
        rest: NDArray[np.float64],
        form: list[int],
    ) -> TreeArrays:
        """Renumber the forms of one tree from 0, type by type."""
        numbers: dict[int, int] = {}
        sample: list[int] = []
        forms = np.zeros(len(start), dtype=np.int32)
        for t in range(len(start) - 1):
            for v in range(int(start[t]), int(start[t + 1])):
                if form[v] not in numbers:
                    numbers[form[v]] = len(numbers)
                    sample.append(v)
            forms[t + 1] = len(numbers)
        local = np.array([numbers[f] for f in form], dtype=np.int32)
        return TreeArrays(
            start, up, low, high, marks, size, rest, local, forms, np.array(sample, np.int32)
        )

    def whole_form(self, tree: TreeArrays) -> int:
        """Return the number of a whole tree among all: equal numbers, isomorphic trees."""
        kinds = np.repeat(np.arange(len(self.kept)), np.diff(tree.start)).astype(np.int32)
        return self.forms_of(kinds, tree.low, tree.high, tree.marks)[0]


def make_forest(trees: Trees) -> Forest:
    """Choose the types that are released and gather what their trees share."""
    kept = released_types(trees)
    nodes = join_hierarchies(trees)
    children = [[kept.index(c) for c in kept if trees.types[c].parent == t] for t in kept]
    labels = [sum(label in nodes.leaf for label in trees.types[t].labels) for t in kept]
    width = max(map(len, children), default=0)
    child = np.full((len(kept), max(width, 1)), -1, dtype=np.int32)
    for t, found in enumerate(children):
        child[t, : len(found)] = found
    slots = np.array([len(found) for found in children], dtype=np.int32)
    counts = np.array(labels, dtype=np.int32)
    bare = (counts == 0) & (slots == 0)
    loss = nodes.loss if len(nodes.loss) else np.zeros(1)
    return Forest(
        trees, nodes, kept,
        Model(nodes.parent, nodes.depth, loss, counts, child, slots, bare),
    )  # fmt: skip


def released_types(trees: Trees) -> tuple[int, ...]:
    """Return the types with a label to be released, and those above them."""
    wanted = set(trees.with_role("quasi", "sensitive", "insensitive"))
    kept = {0}
    for number, kind in enumerate(trees.types):
        if wanted.intersection(kind.labels):
            up = number
            while up >= 0:
                kept.add(up)
                up = trees.types[up].parent
    return tuple(sorted(kept))
