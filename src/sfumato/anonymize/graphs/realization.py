"""Give nodes the degrees they should have by editing the graph, not by building another one.

Where a node should have more edges than it has (it *wants* some) or fewer (it has some *to spare*),
steps are tried from the cheapest on:

1. join two wanting nodes, or part two neighbours that both have an edge to spare: one edit helps
two; 2. turn an edge: w leaves a node with an edge to spare for a wanting one: two edits help two;
3. join a wanting node to one that may rise to the next degree, because k nodes stay behind and k
   wait there (or part two, one of which may fall): one edit helps one;
4. put two wanting nodes into an edge (w, x): w and x are parted and each joined to one of them; or
   the other way round: three edits help two.

What then is still wanted or spare is returned; the caller chooses other degrees. Among possible
partners those at distance two come first; edges of triangles are removed before others, and edges
that no other way replaces last: groups of friends stay, and so do the connections between them.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from sfumato.anonymize.graphs.editor import EdgeEditor

TRIED = 64
"""Partners looked at for one that is close, before any is taken."""
LOOKED_AT = 2000
"""Nodes looked at for another way between two that may be parted."""


class Realization:
    """Edits a graph towards target degrees, `k` nodes to each.

    `adding` and `removing` say which edits are allowed. `members` holds the nodes of each target
    degree; `wanted[u]` is target minus degree where they differ.
    """

    def __init__(
        self, editor: EdgeEditor, degrees: NDArray[np.int64], target: NDArray[np.int64], k: int,
        *, adding: bool = True, removing: bool = True,
    ) -> None:  # fmt: skip
        self.editor, self.k = editor, k
        self.adding, self.removing = adding, removing
        self.target = target.copy()
        differs = np.flatnonzero(target != degrees)
        self.wanted = dict(zip(differs.tolist(), (target - degrees)[differs].tolist(), strict=True))
        self.members: dict[int, list[int]] = defaultdict(list)
        for node, degree in enumerate(target.tolist()):
            self.members[degree].append(node)
        self.counts = {degree: len(nodes) for degree, nodes in self.members.items()}

    def run(self) -> None:
        """Take every step that helps, from the cheapest kind on."""
        if self.adding:
            self._join_wanting()
        if self.removing:
            self._part_spare()
        if self.adding and self.removing:
            self._turn_edges()
        for node in list(self.wanted):
            self._settle(node)
        if self.adding and self.removing:
            self._insert_into_edges()
            self._close_over_pairs()

    def force(self) -> None:
        """Serve what is wanted or spare by whoever comes first; the next round puts that right."""

        def crowd(node: int) -> tuple[int, int]:
            """Order nodes by how many share their degree: among many, a node matters least."""
            return -self.counts[int(self.target[node])], node

        for u in self.wanting if self.adding else []:
            around = self.editor.around(u)
            free = iter(sorted(set(range(self.editor.nodes)) - around - {u}, key=crowd))
            while self.wanted.get(u, 0) > 0 and (partner := next(free, None)) is not None:
                self.add(u, partner)
        for u in self.spare if self.removing else []:
            friends = sorted(self.editor.around(u), key=crowd)
            for partner in friends[: max(-self.wanted.get(u, 0), 0)]:
                self.remove(u, partner)

    @property
    def wanting(self) -> list[int]:
        """Nodes that want edges, those that want most first."""
        return sorted((u for u, d in self.wanted.items() if d > 0), key=lambda u: -self.wanted[u])

    @property
    def spare(self) -> list[int]:
        """Nodes with edges to spare, those with most first."""
        return sorted((u for u, d in self.wanted.items() if d < 0), key=lambda u: self.wanted[u])

    # -- edits, with what they change in what is wanted --------------------------------------

    def add(self, u: int, v: int) -> None:
        """Join two nodes."""
        self.editor.add(u, v)
        self._owe(u, -1)
        self._owe(v, -1)

    def remove(self, u: int, v: int) -> None:
        """Part two nodes."""
        self.editor.remove(u, v)
        self._owe(u, 1)
        self._owe(v, 1)

    def _owe(self, node: int, change: int) -> None:
        left = self.wanted.pop(node, 0) + change
        if left:
            self.wanted[node] = left

    # -- the steps ---------------------------------------------------------------------------

    def _join_wanting(self) -> None:
        """Join wanting nodes to each other; who wants most chooses first, among those who do."""
        heap = [(-d, u) for u, d in self.wanted.items() if d > 0]
        heapify(heap)
        while heap:
            want, u = heappop(heap)
            around = self.editor.around(u)
            passed: list[tuple[int, int]] = []
            partners: list[tuple[int, int]] = []
            while heap and len(partners) < -want:
                offer = heappop(heap)
                (passed if offer[1] in around else partners).append(offer)
            for want_of_other, v in partners:
                self.add(u, v)
                if want_of_other < -1:
                    heappush(heap, (want_of_other + 1, v))
            for offer in passed:
                heappush(heap, offer)

    def _part_spare(self) -> None:
        """Part neighbours that both have edges to spare."""
        for u in self.spare:
            others = [v for v in self.editor.around(u) if self.wanted.get(v, 0) < 0]
            others.sort(key=lambda v: self.wanted[v])
            for v in others[: -self.wanted.get(u, 0)]:
                self.remove(u, v)

    def _turn_edges(self) -> None:
        """Let neighbours of nodes with edges to spare change over to wanting ones."""
        spare = self.spare
        for u in self.wanting:
            for v in spare:
                while self.wanted.get(u, 0) > 0 and self.wanted.get(v, 0) < 0:
                    free = self.editor.around(v) - self.editor.around(u)
                    free.discard(u)
                    free.difference_update(w for w in list(free) if w in self.wanted)
                    if not free:
                        break
                    w = self._closest(u, free)
                    self.remove(v, w)
                    self.add(u, w)
                if self.wanted.get(u, 0) <= 0:
                    break

    def _settle(self, node: int) -> None:
        """Join a node to (part it from) nodes that may move to the next degree."""
        step = 1 if self.wanted.get(node, 0) > 0 else -1
        if not (self.adding if step > 0 else self.removing):
            return
        around = self.editor.around(node)
        for partner in self._risers(node) if step > 0 else self._fallers(node):
            if not self.wanted.get(node, 0):
                return
            if partner == node or (partner in around) == (step > 0):
                continue
            if self._movable(partner, step):
                self._move(partner, step)
                (self.add if step > 0 else self.remove)(node, partner)

    def _insert_into_edges(self) -> None:
        """Part w and x and join each to a wanting node."""
        units = [u for u in self.wanting for _ in range(self.wanted[u])]
        while len(units) > 1:
            u, v = units.pop(0), units.pop(0)
            found = self._edge_for(u, v)
            if found is None:
                continue
            w, x = found
            self.remove(w, x)
            self.add(u, w)
            self.add(v, x)

    def _edge_for(self, u: int, v: int) -> tuple[int, int] | None:
        near_u, near_v = self.editor.around(u), self.editor.around(v)
        for w in self._calm():
            if w in near_u or w in {u, v}:
                continue
            for x in self.editor.around(w):
                if x not in near_v and x not in {u, v} and x not in self.wanted:
                    return w, x
        return None

    def _close_over_pairs(self) -> None:
        """Part two nodes with edges to spare from a neighbour each, and join those neighbours."""
        units = [u for u in self.spare for _ in range(-self.wanted[u])]
        while len(units) > 1:
            u, v = units.pop(0), units.pop(0)
            found = self._pair_for(u, v)
            if found is None:
                continue
            w, x = found
            self.remove(u, w)
            self.remove(v, x)
            self.add(w, x)

    def _pair_for(self, u: int, v: int) -> tuple[int, int] | None:
        for w in sorted(self.editor.around(u)):
            if w == v or w in self.wanted:
                continue
            for x in sorted(self.editor.around(v)):
                if x not in {u, w} and x not in self.wanted and x not in self.editor.around(w):
                    return w, x
        return None

    # -- who may take part -------------------------------------------------------------------

    def _calm(self) -> Iterator[int]:
        """Return nodes that have the degree they should have."""
        return (w for w in range(self.editor.nodes) if w not in self.wanted)

    def _movable(self, node: int, step: int) -> bool:
        """Tell whether a node may change its degree: k stay behind, and k wait for it."""
        degree = int(self.target[node])
        left = self.counts[degree] - 1
        return (
            node not in self.wanted
            and (left >= self.k or left == 0)
            and self.counts.get(degree + step, 0) >= self.k
        )

    def _move(self, node: int, step: int) -> None:
        degree = int(self.target[node])
        self.counts[degree] -= 1
        self.counts[degree + step] += 1
        self.target[node] = degree + step
        self.members[degree + step].append(node)
        self._owe(node, step)

    def _risers(self, node: int) -> Iterator[int]:
        """Return whom a node could be joined to: nodes at distance two, then any with slack."""
        for middle in list(self.editor.around(node)):
            yield from list(self.editor.around(middle))
        yield from self._slack(1)

    def _fallers(self, node: int) -> Iterator[int]:
        """Return whom a node could be parted from.

        Where a common friend stays comes first, then where another way stays, then anybody.
        """
        around = self.editor.around(node)
        some = list(around)
        yield from (w for w in some if not around.isdisjoint(self.editor.around(w)))
        for w in some:
            if self._movable(w, -1) and self.editor.linked_otherwise(node, w, LOOKED_AT):
                yield w
        yield from some

    def _slack(self, step: int) -> Iterator[int]:
        """Return the nodes that may move, from the smallest degree on."""
        for degree in sorted(self.counts):
            if self.counts[degree] > self.k and self.counts.get(degree + step, 0) >= self.k:
                for node in self.members[degree]:
                    if int(self.target[node]) == degree and self._movable(node, step):
                        yield node

    def _closest(self, node: int, free: Iterable[int]) -> int:
        """Return a free node that shares a neighbour with `node`, if one is soon found."""
        around = self.editor.around(node)
        first: int | None = None
        for tried, w in enumerate(free):
            first = w if first is None else first
            if not around.isdisjoint(self.editor.around(w)):
                return w
            if tried > TRIED:
                break
        assert first is not None
        return first
