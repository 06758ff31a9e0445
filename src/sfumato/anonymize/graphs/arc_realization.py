"""Give nodes of a directed graph the pairs of degrees they should have, by editing arcs.

The steps are those for undirected graphs (:mod:`.realization`), a node being two: one whose arcs go
out and one whose arcs come in. From the cheapest on: an arc from a node that wants to send one to a
node that wants to receive one (or the removal of one that both have to spare) is one edit for two;
turning an arc at one end is two for two; an arc to a node that may move to the pair next door,
because k stay behind and k wait there, is one for one, and the only step that evens out the sums of
arcs in and out; putting two nodes into an arc of others is three for two.
"""

from __future__ import annotations

from collections import defaultdict
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.graphs.arc_editor import IN, OUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from sfumato.anonymize.graphs.arc_editor import ArcEditor

TRIED = 64
"""Partners looked at for one that is close, before any is taken."""


class ArcRealization:
    """Edits a directed graph towards target pairs, `k` nodes to each.

    `wanted[side][u]` is target minus degree where they differ.
    """

    def __init__(
        self, editor: ArcEditor, pairs: NDArray[np.int64], target: NDArray[np.int64], k: int,
        *, adding: bool = True, removing: bool = True,
    ) -> None:  # fmt: skip
        self.editor, self.k = editor, k
        self.adding, self.removing = adding, removing
        self.target = [(int(i), int(o)) for i, o in target]
        change = target - pairs
        self.needs: tuple[dict[int, int], dict[int, int]] = (
            {int(u): int(change[u, IN]) for u in np.flatnonzero(change[:, IN])},
            {int(u): int(change[u, OUT]) for u in np.flatnonzero(change[:, OUT])},
        )
        self.members: dict[tuple[int, int], list[int]] = defaultdict(list)
        for node, pair in enumerate(self.target):
            self.members[pair].append(node)
        self.counts = {pair: len(nodes) for pair, nodes in self.members.items()}

    @property
    def wanted(self) -> bool:
        """Whether any node has not the pair that it should have."""
        return bool(self.needs[IN] or self.needs[OUT])

    def run(self) -> None:
        """Take every step that helps, from the cheapest kind on."""
        if self.adding:
            self._join_wanting()
        if self.removing:
            self._part_spare()
        for side in (IN, OUT):
            if self.adding and self.removing:
                self._turn_arcs(side)
        for side in (IN, OUT):
            for node in list(self.needs[side]):
                self._settle(side, node)
        if self.adding and self.removing:
            self._insert_into_arcs()
            self._close_over_arcs()

    def force(self) -> None:
        """Serve what is wanted or spare by whoever comes first; the next round puts that right."""

        def crowd(node: int) -> tuple[int, int]:
            return -self.counts[self.target[node]], node

        for side in (IN, OUT):
            for u in self._in_need(side, 1) if self.adding else []:
                taken = self.editor.around(side, u) | {u}
                free = iter(sorted(set(range(self.editor.nodes)) - taken, key=crowd))
                for other in islice(free, max(self.needs[side].get(u, 0), 0)):
                    self._add(side, u, other)
            for u in self._in_need(side, -1) if self.removing else []:
                friends = sorted(self.editor.around(side, u), key=crowd)
                for other in friends[: max(-self.needs[side].get(u, 0), 0)]:
                    self._remove(side, u, other)

    # -- edits, with what they change in what is wanted --------------------------------------

    def _add(self, side: int, node: int, other: int) -> None:
        """Put an arc out of (into) a node."""
        self.editor.add(*((node, other) if side == OUT else (other, node)))
        self._owe(side, node, -1)
        self._owe(1 - side, other, -1)

    def _remove(self, side: int, node: int, other: int) -> None:
        """Take an arc out of (into) a node away."""
        self.editor.remove(*((node, other) if side == OUT else (other, node)))
        self._owe(side, node, 1)
        self._owe(1 - side, other, 1)

    def _owe(self, side: int, node: int, change: int) -> None:
        left = self.needs[side].pop(node, 0) + change
        if left:
            self.needs[side][node] = left

    def _in_need(self, side: int, sign: int) -> list[int]:
        """Return nodes that want arcs (1) or have some to spare (−1), those with most first."""
        needs = self.needs[side]
        return sorted((u for u, d in needs.items() if d * sign > 0), key=lambda u: -sign * needs[u])

    # -- the steps ---------------------------------------------------------------------------

    def _join_wanting(self) -> None:
        """Lead arcs from nodes that want to send some to those that want to receive most."""
        heap = [(-want, v) for v, want in self.needs[IN].items() if want > 0]
        heapify(heap)
        for u in self._in_need(OUT, 1):
            taken = self.editor.around(OUT, u)
            passed: list[tuple[int, int]] = []
            partners: list[tuple[int, int]] = []
            while heap and len(partners) < self.needs[OUT][u]:
                offer = heappop(heap)
                (passed if offer[1] in taken or offer[1] == u else partners).append(offer)
            for want, v in partners:
                self._add(OUT, u, v)
                if want < -1:
                    heappush(heap, (want + 1, v))
            for offer in passed:
                heappush(heap, offer)

    def _part_spare(self) -> None:
        """Take away arcs that both ends have to spare."""
        spare = self.needs[IN]
        for u in self._in_need(OUT, -1):
            heads = [v for v in self.editor.around(OUT, u) if spare.get(v, 0) < 0]
            heads.sort(key=lambda v: (spare[v], v))
            for v in heads[: -self.needs[OUT].get(u, 0)]:
                self._remove(OUT, u, v)

    def _turn_arcs(self, side: int) -> None:
        """Let arcs of nodes with some to spare change over to wanting ones."""
        needs, spare = self.needs[side], self._in_need(side, -1)
        for u in self._in_need(side, 1):
            for v in spare:
                most = min(needs.get(u, 0), -needs.get(v, 0))
                if most <= 0:
                    continue
                free = self.editor.around(side, v) - self.editor.around(side, u) - {u}
                for w in self._close_first(u, free)[:most]:
                    self._remove(side, v, w)
                    self._add(side, u, w)
                if needs.get(u, 0) <= 0:
                    break

    def _settle(self, side: int, node: int) -> None:
        """Join a node to (part it from) nodes that may move to the pair next door."""
        step = 1 if self.needs[side].get(node, 0) > 0 else -1
        if not (self.adding if step > 0 else self.removing):
            return
        taken = self.editor.around(side, node)
        near = [x for w in list(taken) for x in list(self.editor.around(side, w))]
        partners = self._risers(1 - side, near) if step > 0 else iter(sorted(taken))
        for partner in partners:
            if not self.needs[side].get(node, 0):
                return
            if partner == node or (partner in taken) == (step > 0):
                continue
            if self._movable(1 - side, partner, step):
                self._move(1 - side, partner, step)
                (self._add if step > 0 else self._remove)(side, node, partner)

    def _insert_into_arcs(self) -> None:
        """Take an arc (w, x) away for one from u to x and one from w to v."""
        for u, v in self._units(1):
            taken, taking = self.editor.around(OUT, u), self.editor.around(IN, v)
            found = next(
                ((w, x) for w in range(self.editor.nodes) if w not in taking and w != v
                 for x in self.editor.around(OUT, w) if x not in taken and x != u), None,
            )  # fmt: skip
            if found is not None:
                w, x = found
                self._remove(OUT, w, x)
                self._add(OUT, u, x)
                self._add(OUT, w, v)

    def _close_over_arcs(self) -> None:
        """Take arcs (u, x) and (w, v) away for one from w to x."""
        for u, v in self._units(-1):
            found = next(
                ((w, x) for x in sorted(self.editor.around(OUT, u))
                 for w in sorted(self.editor.around(IN, v))
                 if w != x and (w, x) != (u, v) and x not in self.editor.around(OUT, w)), None,
            )  # fmt: skip
            if found is not None:
                w, x = found
                self._remove(OUT, u, x)
                self._remove(OUT, w, v)
                self._add(OUT, w, x)

    def _units(self, sign: int) -> list[tuple[int, int]]:
        """Return pairs of a node in need of arcs out and one in need of arcs in."""
        sides = [
            [u for u in self._in_need(side, sign) for _ in range(abs(self.needs[side][u]))]
            for side in (OUT, IN)
        ]
        return list(zip(*sides, strict=False))

    # -- who may take part -------------------------------------------------------------------

    def _movable(self, side: int, node: int, step: int) -> bool:
        """Tell whether a node may change its pair: k stay behind, and k wait for it."""
        pair = self.target[node]
        left = self.counts[pair] - 1
        calm = node not in self.needs[IN] and node not in self.needs[OUT]
        waiting = self.counts.get(_next_door(pair, side, step), 0)
        return calm and (left >= self.k or left == 0) and waiting >= self.k

    def _move(self, side: int, node: int, step: int) -> None:
        pair = self.target[node]
        goal = _next_door(pair, side, step)
        self.counts[pair] -= 1
        self.counts[goal] += 1
        self.target[node] = goal
        self.members[goal].append(node)
        self._owe(side, node, step)

    def _risers(self, side: int, near: list[int]) -> Iterator[int]:
        """Return whom a node could be joined to: nodes two steps away, then any with slack."""
        yield from near
        for pair in sorted(self.counts, key=sum):
            if self.counts[pair] > self.k:
                waiting = self.counts.get(_next_door(pair, side, 1), 0)
                yield from list(self.members[pair]) if waiting >= self.k else ()

    def _close_first(self, node: int, free: Iterable[int]) -> list[int]:
        """Order free nodes: those that share somebody with a node first, of as many as tried."""
        some = sorted(free)
        mine = self.editor.around(IN, node) | self.editor.around(OUT, node)
        close = [w in mine or not mine.isdisjoint(self.editor.around(OUT, w)) for w in some[:TRIED]]
        first = [w for w, near in zip(some, close, strict=False) if near]
        return [
            *first,
            *(w for w, near in zip(some, close, strict=False) if not near),
            *some[TRIED:],
        ]


def _next_door(pair: tuple[int, int], side: int, step: int) -> tuple[int, int]:
    return (pair[0] + step, pair[1]) if side == IN else (pair[0], pair[1] + step)
