"""One level per attribute for everybody, chosen again with exact numbers of people.

The levels that a search on primary records found are lowered while the promise still holds exactly,
or raised until it does. Then all cheaper nodes of the lattice are tried in the order of their
price, which is a lower bound of what they cost (suppression only adds to it). Where none is left to
try, the best one found is the optimum; where there are too many, it is the best found.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.cell_keys import mixed_radix
from sfumato.anonymize.tables.people.generalized_tuples import GeneralizedTuples, price
from sfumato.anonymize.tables.people.placement import Placement, suppress
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.people.exact import ExactJudge

Node = tuple[int, ...]

MOST_NODES = 20_000
"""Nodes up to which a lattice is listed to look for a cheaper one."""

MOST_RECORDS = 20_000_000
"""Holdings looked at in all, over all nodes that are tried, before the best so far is taken."""

TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Candidate:
    """A node at which the promise holds, what is left out there, and what it costs in all."""

    node: Node
    placement: Placement
    loss: float


class Levels:
    """Judges nodes of the lattice by the people in their classes."""

    def __init__(self, judge: ExactJudge) -> None:
        self.judge = judge
        self.problem = judge.problem
        table = self.problem.table
        self.prices = [
            table.counts @ costs[table.quasi[:, a]] for a, costs in enumerate(self.problem.costs)
        ]
        dropped = sum(s[table.quasi[:, a]] for a, s in enumerate(self.problem.suppressed))
        self.dropped = np.broadcast_to(np.asarray(dropped, dtype=np.float64), (table.distinct,))
        self.top = tuple(h.height - 1 for h in self.problem.hierarchies)

    def price(self, node: Node) -> float:
        """Return what a node costs before suppression."""
        return float(sum(self.prices[a][level] for a, level in enumerate(node)))

    def classes(self, node: Node) -> Placement:
        """Return the classes of a node with everybody in them."""
        table, holdings = self.problem.table, self.judge.holdings
        codes = [
            h.levels[table.quasi[:, a], node[a]].astype(np.int64)
            for a, h in enumerate(self.problem.hierarchies)
        ]
        widths = [len(h.labels[node[a]]) for a, h in enumerate(self.problem.hierarchies)]
        key = mixed_radix(codes, widths, table.distinct)
        _, first, index = np.unique(key, return_index=True, return_inverse=True)
        low = table.quasi[first].astype(np.int64)
        level = np.broadcast_to(np.array(node, dtype=np.int64), low.shape).copy()
        return Placement(index.reshape(-1)[holdings.tuple_], GeneralizedTuples(level, low, low))

    def decide(self, node: Node) -> Candidate | None:
        """Leave out what does not hold until all that is left does; None if that is too much."""
        placement = self.classes(node)
        records = self.judge.records(placement.class_, len(placement.classes))
        gone = np.zeros(len(records), dtype=np.bool_)
        if len(self.judge.uncovered(placement.classes)):
            return None
        while True:
            fails = self.judge.fails(placement.class_, placement.classes)
            if not fails.any():
                break
            gone |= fails
            if int(records[gone].sum()) > self.problem.suppression_limit:
                return None
            placement = suppress(placement, fails)
        if gone.all():
            return None
        return Candidate(node, placement, self._loss(node, placement))

    def _loss(self, node: Node, placement: Placement) -> float:
        holdings = self.judge.holdings
        out = placement.class_ < 0
        leaves = self.problem.table.quasi[holdings.tuple_[out]].astype(np.int64)
        level = np.broadcast_to(np.array(node, dtype=np.int64), leaves.shape)
        paid = price(self.problem, GeneralizedTuples(level, leaves, leaves))
        more = self.dropped[holdings.tuple_[out]] - paid
        return self.price(node) + float(more @ holdings.count[out])


def settle_levels(judge: ExactJudge, start: Node, *, fixed: bool = False) -> tuple[Candidate, bool]:
    """Return the best node found and whether it is proven the best; raise where none holds.

    `fixed` keeps the levels as they are, as a policy asks for.
    """
    levels = Levels(judge)
    best = levels.decide(start)
    if fixed or best is None:
        best = best if fixed else _climb(levels, start)
    if best is None:
        raise Unsatisfiable(
            f"{judge.problem.definition} cannot be kept among the {judge.holdings.people:,} people "
            f"of this table at {'these levels' if fixed else 'any level'} with at most "
            f"{judge.problem.suppression_limit:,} of {judge.holdings.records:,} records left out. "
            "Ask for less, or allow more suppression."
        )
    if fixed or judge.problem.objective not in {"LM", "MD", "NUE"}:
        return best, False
    return _cheaper(levels, _descend(levels, best))


def _climb(levels: Levels, node: Node) -> Candidate | None:
    """Raise the attribute that this makes dearer by the least, until the promise holds."""
    while node != levels.top:
        up = [_step(node, a, 1) for a in range(len(node)) if node[a] < levels.top[a]]
        node = min(up, key=levels.price)
        if (found := levels.decide(node)) is not None:
            return found
    return None


def _descend(levels: Levels, best: Candidate) -> Candidate:
    """Lower one attribute after the other while that is cheaper and holds."""
    while True:
        down = [_step(best.node, a, -1) for a in range(len(best.node)) if best.node[a] > 0]
        for node in sorted(down, key=levels.price):
            found = levels.decide(node) if levels.price(node) < best.loss - TIE else None
            if found is not None and found.loss < best.loss - TIE:
                best = found
                break
        else:
            return best


def _cheaper(levels: Levels, best: Candidate) -> tuple[Candidate, bool]:
    """Try every node whose price is below the best loss, the cheapest first, while it pays."""
    if np.prod([float(height + 1) for height in levels.top]) > MOST_NODES:
        return best, False
    nodes = sorted(product(*(range(height + 1) for height in levels.top)), key=levels.price)
    most = max(MOST_RECORDS // max(len(levels.judge.holdings), 1), 10)
    for tried, node in enumerate(nodes):
        if levels.price(node) >= best.loss - TIE:
            return best, True
        if tried == most:
            return best, False
        found = levels.decide(node)
        if found is not None and found.loss < best.loss - TIE:
            best = found
    return best, True


def _step(node: Node, attribute: int, by: int) -> Node:
    return (*node[:attribute], node[attribute] + by, *node[attribute + 1 :])


def suppressed_tuples(judge: ExactJudge, placement: Placement) -> NDArray[np.bool_]:
    """Return which tuples are left out; their classes are left out as a whole."""
    out = np.zeros(judge.problem.table.distinct, dtype=np.bool_)
    out[judge.holdings.tuple_[placement.class_ < 0]] = True
    return out
