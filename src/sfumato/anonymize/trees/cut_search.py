"""Search for labels and edges to give up until no m labels and n relations single anybody out.

Greedy, as for sets: a step is to show the children of a node as the node, for all trees; to cut a
vertex type off, so that its vertices hang at a higher ancestor and nobody can tell which of the
vertices between is theirs (structural disassociation); to leave vertices out whose label a tree has
more often than a bound for all trees; or, where a label cannot be made any coarser, to leave a
vertex type out. The steps that mend the most violations per loss are taken;
then steps are taken back, one by one, where nothing breaks.

Why cutting a whole type is safe: where a fact set relates vertices across a cut edge, the release
shows for nobody whether it is true. Of what it implies the release shows at most as many relations,
for j vertices known to lie above one vertex lie on one path, which j − 1 relations say. The person
shows these, so at least k trees do, and in each of them the cut vertices may hang where they must
for the whole fact set to be true. Cutting single vertices off would not be safe: those that stay
would tell whose are elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.trees.facts import CutState, FactCounter, Violations, first_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.branches import KmnAnonymity
    from sfumato.anonymize.trees.tree_arrays import Forest

AT_ONCE = 0.05
"""Share of the steps that mend something which are taken before counting again."""

EDGE = 0.5
"""What a vertex loses by being cut off, between 0 and 1."""

TRIES = 600
"""Steps that are tried to be taken back at most."""


@dataclass(frozen=True)
class _Step:
    """Raise labels to a node, cut a type off, leave it out, or a label's vertices beyond `most`."""

    score: float
    kind: str
    target: int
    most: int = 0


class CutSearch:
    """The search; `steps` counts what was done."""

    def __init__(self, forest: Forest, known: list[KmnAnonymity], *, cut: bool = True) -> None:
        self.forest, self.known, self.cut = forest, known, cut
        self.counter = FactCounter(forest)
        self.steps = 0
        marks = forest.marks[forest.marks >= 0]
        self._order, self._place, self._sizes = _lay_out(forest.nodes.parent)
        self.frequency = np.bincount(marks, minlength=len(forest.nodes.parent)).astype(np.float64)

    def run(self, progress: Any = None) -> CutState:
        """Give up what must be given up, from single labels to the largest fact sets."""
        state = first_state(self.forest)
        largest = max(part.m for part in self.known)
        for m in range(1, largest + 1):
            while len(found := self._violations(state, m)):
                state = self._mend(state, found)
                self.steps += 1
                if progress is not None:
                    progress(m / (largest + 1), float("inf"), f"{len(found):,} rare facts")
        return self._take_back(state, largest, progress)

    def _violations(self, state: CutState, m: int) -> Violations:
        for part in self.known:
            size = min(m, part.m)
            found = self.counter.find(state, size, part.n, part.k)
            if len(found):
                return found
        return Violations(np.zeros((0, 1), np.int64), np.zeros((0, 3), np.int64))

    # -- forward ------------------------------------------------------------------------------

    def _mend(self, state: CutState, found: Violations) -> CutState:
        steps = sorted(self._steps(state, found), key=lambda step: -step.score)
        for step in steps[: max(1, int(AT_ONCE * len(steps)))]:
            state = self._do(state, step)
        return state

    def _steps(self, state: CutState, found: Violations) -> list[_Step]:
        """Return what could be done, by how many violations it touches per loss."""
        nodes = self.forest.nodes
        touched = np.bincount(found.items[found.items >= 0], minlength=int(nodes.look.max()) + 1)
        there = np.unique(state.shown[self.frequency > 0])
        mended: dict[int, float] = {}
        stuck: dict[int, float] = {}
        for node in there[touched[nodes.look[there]] > 0].tolist():
            up = self._forks(state, node)
            gain = float(touched[nodes.look[node]])
            if up is not None:
                mended[up] = mended.get(up, 0.0) + gain
            else:
                kind = self._type_of(node)
                stuck[kind] = stuck.get(kind, 0.0) + gain
        steps = [_Step(gain / (self._raise_cost(state, up) + 1e-9), "raise", up)
                 for up, gain in mended.items()]  # fmt: skip
        steps += [_Step(gain / (self._weight(kind) + 1e-9), "drop", kind)
                  for kind, gain in stuck.items() if kind > 0]  # fmt: skip
        steps += self._thinnings(state, found)
        return steps + (self._cuts(state, found) if self.cut else [])

    def _thinnings(self, state: CutState, found: Violations) -> list[_Step]:
        """Return bounds on how often a tree may have a label that is rare so often."""
        gains: dict[tuple[int, int], float] = {}
        for row in found.items.tolist():
            for look in {a for a in row if a >= 0 and row.count(a) > 1}:
                gains[look, row.count(look) - 1] = gains.get((look, row.count(look) - 1), 0.0) + 1
        return [
            _Step(g / float(self._beyond(state, look, most).sum()), "thin", look, most)
            for (look, most), g in gains.items()
        ]

    def _beyond(self, state: CutState, look: int, most: int) -> NDArray[np.bool_]:
        """Return which vertices have a label more often than bounded, with those below them."""
        trees = self.forest.trees
        kind = self.counter.type_of_look(look)
        vertices = state.of_type(kind)
        vertices = vertices[(self.counter.looks(state, kind) == look).any(axis=1)]
        vertices = vertices[np.argsort(trees.record[vertices], kind="stable")]
        owner = trees.record[vertices]
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        beyond = np.zeros_like(state.gone)
        beyond[vertices[rank >= most]] = True
        for t, below in enumerate(trees.of_type):
            if t > 0:
                beyond[below] |= beyond[trees.parent[below]]
        return beyond & ~state.gone

    def _cuts(self, state: CutState, found: Violations) -> list[_Step]:
        gains: dict[int, float] = {}
        for _, upper, lower in found.related.tolist():
            chain = [lower, *state.above(lower)]
            for kind in chain[: chain.index(upper)] if upper in chain else ():
                if state.attached[kind] > 0:
                    gains[kind] = gains.get(kind, 0.0) + 1.0
        sizes = self.forest.trees.of_type
        return [_Step(g / (EDGE * len(sizes[t]) + 1e-9), "cut", t) for t, g in gains.items()]

    def _do(self, state: CutState, step: _Step) -> CutState:
        if step.kind == "raise":
            below = self._below(step.target)
            return state.with_shown(below, np.full(len(below), step.target, np.int32))
        if step.kind == "cut":
            attached = state.attached.copy()
            attached[step.target] = max(int(state.attached[state.attached[step.target]]), 0)
            return replace(state, attached=attached)
        if step.kind == "thin":
            return replace(state, gone=state.gone | self._beyond(state, step.target, step.most))
        dropped = state.dropped.copy()
        for kind in range(step.target, len(dropped)):
            up = kind
            while up > 0 and up != step.target:
                up = self.forest.trees.types[up].parent
            dropped[kind] |= up == step.target
        return replace(state, dropped=dropped)

    # -- what steps cost --------------------------------------------------------------------

    def _below(self, node: int) -> NDArray[np.int64]:
        """Return the nodes at and below a node, parents first."""
        begin = self._place[node]
        return self._order[begin : begin + self._sizes[node]]

    def _forks(self, state: CutState, node: int) -> int | None:
        """Return the nearest node above that would bring several shown nodes together."""
        parent, look = self.forest.nodes.parent, self.forest.nodes.look
        while parent[node] != node:
            node = int(parent[node])
            below = self._below(node)
            below = below[self.frequency[below] > 0]
            if len(np.unique(look[state.shown[below]])) > 1:
                return node
        return None

    def _raise_cost(self, state: CutState, node: int) -> float:
        below = self._below(node)
        loss = self.forest.nodes.loss
        more = np.maximum(loss[node] - loss[state.shown[below]], 0.0)
        return float((self.frequency[below] * more).sum())

    def _type_of(self, node: int) -> int:
        label = self.forest.nodes.labels[int(self.forest.nodes.label_of[node])]
        types = self.forest.trees.types
        return next(t for t, kind in enumerate(types) if label in kind.labels)

    def _weight(self, kind: int) -> float:
        return float(len(self.forest.trees.of_type[kind]))

    # -- back -----------------------------------------------------------------------------------

    def _take_back(self, state: CutState, m: int, progress: Any) -> CutState:
        """Undo what was not needed after all: cut types first, then the most costly labels."""
        tries = 0
        for kind in np.flatnonzero(state.cut_off).tolist():
            attached = state.attached.copy()
            attached[kind] = self.forest.trees.types[kind].parent
            whole = replace(state, attached=attached)
            state = whole if not len(self._violations(whole, m)) else state
        waiting = self._by_cost(state)
        while waiting and tries < TRIES:
            node = waiting.pop(0)
            finer = self._split(state, node)
            tries += 1
            if progress is not None:
                progress(0.9 + 0.1 * tries / TRIES, float("inf"), "taking steps back")
            if not len(self._violations(finer, m)):
                state = finer
                waiting = self._children(state, node) + waiting
        if state.gone.any():
            whole = replace(state, gone=np.zeros_like(state.gone))
            state = whole if not len(self._violations(whole, m)) else state
        return state

    def _by_cost(self, state: CutState) -> list[int]:
        nodes = self.forest.nodes
        weight = np.bincount(state.shown, weights=self.frequency, minlength=len(nodes.parent))
        cost = weight * nodes.loss
        order = np.argsort(-cost, kind="stable")
        return [int(v) for v in order if cost[v] > 0]

    def _children(self, state: CutState, node: int) -> list[int]:
        parent = self.forest.nodes.parent
        below = [int(v) for v in np.flatnonzero(parent == node) if v != node]
        return [v for v in below if self.forest.nodes.loss[v] > 0 and state.shown[v] == v]

    def _split(self, state: CutState, node: int) -> CutState:
        """Show the children of a node that is shown."""
        below = self._below(node)
        parent = self.forest.nodes.parent
        instead = np.empty(len(below), dtype=np.int32)
        child = {node: node}
        for place, v in enumerate(below.tolist()):
            if v != node:
                child[v] = v if parent[v] == node else child[int(parent[v])]
            instead[place] = child[v]
        return state.with_shown(below, instead)


def _lay_out(
    parent: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Order nodes so that all below one follow it; return order, places and numbers below."""
    n = len(parent)
    sizes = np.ones(n, dtype=np.int64)
    for v in range(n - 1, -1, -1):  # children have larger numbers than parents
        if parent[v] != v:
            sizes[parent[v]] += sizes[v]
    place = np.zeros(n, dtype=np.int64)
    free = np.zeros(n, dtype=np.int64)
    end = 0
    for v in range(n):
        if parent[v] == v:
            place[v], end = end, end + sizes[v]
        else:
            place[v] = free[parent[v]]
            free[parent[v]] += sizes[v]
        free[v] = place[v] + 1
    order = np.empty(n, dtype=np.int64)
    order[place] = np.arange(n)
    return order, place, sizes
