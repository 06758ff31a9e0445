"""Full-domain generalisation where the lattice is too large to decide: a beam search.

With fifteen or twenty quasi-identifiers a lattice has billions of nodes and optimality cannot
be proven in reasonable time. This search starts with everything at the root, goes down level
by level, keeps the `width` most promising nodes of each step (Lowerre, 1976), and ends
with moves around the best nodes found. What it returns keeps the promise like any other
recoding; that nothing cheaper exists is not claimed, and the search record says so.

What keeps the number of evaluations small:

* *Failure.* The conclusions of `lattice`: below a node that fails a monotone definition, or
  that has more records in too small classes than may be suppressed, everything fails.
* *Floors.* If lowering attribute `a` from a node fails for that reason, it fails for all nodes
  below it. So each kept node carries the lowest level every attribute can still reach; the
  grouping at these floors is made once, and the nodes above are rolled up from it.
* *Price.* What the floors would cost, plus what this node must suppress, bounds every node
  below. A node that cannot beat the best found is dropped.

Half of the beam is chosen by loss, half by what was won so far per unit of anonymity spent
(the logarithm of the number of classes): the first alone would spend everything on the
attribute with the biggest first step. Definitions that are not monotone can fail in a
node and hold below it, so some failing nodes, those nearest to holding, stay in the beam.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sfumato.anonymize.definitions.definition import positive_integer
from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.algorithms.full_domain.prices import (
    SEPARABLE,
    TIE,
    level_prices,
    node_loss,
    unsatisfiable_message,
)
from sfumato.anonymize.tables.recoding import FullDomain, SearchRecord
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluation
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.problem import Problem

Node = tuple[int, ...]

WIDTH = 16
"""Nodes kept per step; on tables with 20 quasi-identifiers more of them changed nothing."""

IMPROVED = 4
"""How many of the best nodes are improved by moves at the end."""


class Found(NamedTuple):
    """An evaluated node that is not known to fail together with everything below it."""

    loss: float
    holds: bool
    evaluation: Evaluation


@dataclass(frozen=True)
class Candidate:
    """A node that may enter the beam, with the lowest levels still open below it."""

    node: Node
    floor: Node
    found: Found


class _StoppedError(Exception):
    """The time limit was reached."""


def beam_search(
    problem: Problem,
    *,
    progress: Progress | None = None,
    time_limit: float | None = None,
    width: int = WIDTH,
) -> FullDomain:
    """Return the cheapest full-domain recoding found, marked as not proven optimal.

    Interrupted by Ctrl-C or the time limit (in seconds) it returns the best found so far.
    """
    beam = _Beam(problem, positive_integer("width", width), progress, time_limit)
    finished = beam.run()
    return beam.result(finished)


class _Beam:
    """The state of a search: evaluated nodes, nodes below which all fails, the best found."""

    def __init__(
        self, problem: Problem, width: int, progress: Progress | None, time_limit: float | None
    ) -> None:
        self.problem = problem
        self.width = width
        self.evaluator = Evaluator(problem)
        self.top: Node = tuple(int(h) - 1 for h in problem.heights)
        self.size = math.prod(level + 1 for level in self.top)
        definition = problem.definition
        self.tags = definition.monotone or (
            definition.union_closed and problem.suppression_limit == 0
        )
        self.separable = problem.objective in SEPARABLE
        self.prices: list[list[float]] = [p.tolist() for p in level_prices(problem)]
        self.found: dict[Node, Found | None] = {}
        self.checked = 0
        self.best: Found | None = None
        self._dooms = np.zeros((64, problem.attributes), dtype=np.int64)
        self._doomed = 0
        self._progress = progress
        self._deadline = math.inf if time_limit is None else time.monotonic() + time_limit

    # -- the search --------------------------------------------------------------------

    def run(self) -> bool:
        """Search; return whether the search came to its own end."""
        try:
            self._descend()
            self._improve()
        except (KeyboardInterrupt, _StoppedError):
            return False
        return True

    def _descend(self) -> None:
        """Go down from the root, keeping the most promising nodes of each step."""
        start = self._look(self.top)
        if start is None:
            return
        beam = [Candidate(self.top, self._lowest_alone(), start)]
        steps = max(sum(self.top), 1)
        for step in range(steps):
            if not beam:
                return
            self._report(0.9 * step / steps)
            beam = self._chosen(self._below(beam))

    def _lowest_alone(self) -> Node:
        """Return how far down each attribute goes while all others stay at the root."""
        floor = []
        for a, level in enumerate(self.top):
            while level > 0 and self._look(_moved(self.top, (a, level - 1))) is not None:
                level -= 1  # noqa: PLW2901 - walks down from the root
            floor.append(level)
        return tuple(floor)

    def _below(self, beam: Iterable[Candidate]) -> list[Candidate]:
        """Evaluate the nodes one step below the beam; raise the floors where a step fails."""
        floors: dict[Node, Node] = {}
        for candidate in beam:
            node, floor = candidate.node, list(candidate.floor)
            self.evaluator.grouping(candidate.floor)
            steps = []
            for a, level in enumerate(node):
                if level == floor[a]:
                    continue
                lower = _moved(node, (a, level - 1))
                if self._look(lower) is None:
                    floor[a] = level
                else:
                    steps.append(lower)
            for lower in steps:
                known = floors.get(lower, lower[:0]) or floor
                floors[lower] = tuple(map(max, floor, known))
        return [
            Candidate(node, floor, found)
            for node, floor in floors.items()
            if (found := self.found[node]) is not None and self._promising(found, floor)
        ]

    def _promising(self, found: Found, floor: Node) -> bool:
        """Whether anything below could still beat the best found."""
        if self.best is None or not self.separable:
            return True
        added = found.evaluation.least_saved / self.problem.rows
        return self._price(floor) + added < self.best.loss - TIE

    def _chosen(self, candidates: list[Candidate]) -> list[Candidate]:
        """Return the next beam: by loss, by price per anonymity, and some that nearly hold."""
        holding = [c for c in candidates if c.found.holds]
        failing = [c for c in candidates if not c.found.holds]
        half = (self.width + 1) // 2
        chosen: dict[Node, Candidate] = {}
        _add(chosen, holding, half, lambda c: c.found.loss)
        _add(chosen, holding, self.width - half, _price_of_anonymity)
        quota = self.width if not holding else max(self.width // 4, 1)
        _add(chosen, failing, quota, lambda c: c.found.evaluation.suppressed)
        return list(chosen.values())

    # -- moves around the best ----------------------------------------------------------

    def _improve(self) -> None:
        """Look around the best nodes until no move brings a new one among them."""
        pool: list[Node] = []
        while True:
            held = [(f.loss, node) for node, f in self.found.items() if f and f.holds]
            best = [node for _, node in sorted(held)[:IMPROVED]]
            if best == pool:
                return
            pool = best
            self._report(0.95)
            for node in sorted({move for p in pool for move in self._moves(p)}, key=self._price):
                if self.best is None or self._price(node) < self.best.loss - TIE:
                    self._look(node)

    def _moves(self, node: Node) -> Iterable[Node]:
        """Yield the nodes one step up or down, and those with a second attribute shifted too."""
        for a, level in enumerate(node):
            if level < self.top[a]:
                yield _moved(node, (a, level + 1))
            if level == 0:
                continue
            yield _moved(node, (a, level - 1))
            for b, other in enumerate(node):
                for shift in (-1, 1, 2):
                    if b != a and 0 <= other + shift <= self.top[b]:
                        yield _moved(node, (a, level - 1), (b, other + shift))

    # -- evaluating --------------------------------------------------------------------

    def _price(self, node: Node) -> float:
        """Return the price of a node before suppression; 0 where it cannot be told at once."""
        if not self.separable:
            return 0.0
        return sum(prices[level] for prices, level in zip(self.prices, node, strict=True))

    def _look(self, node: Node) -> Found | None:
        """Evaluate a node once; None means that it and everything below it fail."""
        if node in self.found:
            return self.found[node]
        if bool((self._dooms[: self._doomed] >= np.array(node)).all(axis=1).any()):
            return None
        if self.checked and time.monotonic() > self._deadline:
            raise _StoppedError
        evaluation = self.evaluator.evaluate(node)
        self.checked += 1
        limit = self.problem.suppression_limit
        holds = evaluation.suppressed <= limit and evaluation.kept_classes > 0
        if evaluation.least > limit or (self.tags and not holds):
            self._doom(node)
            return None
        loss = node_loss(self.problem, evaluation, self._price(node))
        found = self.found[node] = Found(loss, holds, evaluation)
        if holds and (self.best is None or loss < self.best.loss - TIE):
            self.best = found
        return found

    def _doom(self, node: Node) -> None:
        self.found[node] = None
        if self._doomed == len(self._dooms):
            self._dooms = np.concatenate([self._dooms, np.zeros_like(self._dooms)])
        self._dooms[self._doomed] = node
        self._doomed += 1

    def _report(self, share: float) -> None:
        if self._progress is not None:
            loss = math.inf if self.best is None else self.best.loss
            words = f"{self.checked:,} of {self.size:,} nodes looked at (heuristic)"
            self._progress(share, loss, words)

    # -- the answer --------------------------------------------------------------------

    def result(self, finished: bool) -> FullDomain:
        """Return the best found as a recoding, or say that nothing was found."""
        if self.best is None:
            proven = self.tags and self.top in self.found
            raise Unsatisfiable(unsatisfiable_message(self.problem, proven))
        stopped = "" if finished else " that was stopped"
        record = SearchRecord(
            algorithm="beam",
            proven_optimal=False,
            label=f"best found by a heuristic search{stopped}; not proven optimal",
            facts={
                "nodes": self.size,
                "checked": self.checked,
                "loss": self.best.loss,
                "objective": self.problem.objective,
                "width": self.width,
            },
        )
        node = self.best.evaluation.node
        return FullDomain(node, self.evaluator.suppressed_tuples(node), record)


def _moved(node: Node, *levels: tuple[int, int]) -> Node:
    changed = list(node)
    for a, level in levels:
        changed[a] = level
    return tuple(changed)


def _price_of_anonymity(candidate: Candidate) -> float:
    """Return minus what was won per unit of anonymity spent; smaller is better."""
    spent = math.log(max(candidate.found.evaluation.classes, 2))
    return (candidate.found.loss - 1) / spent


def _add(
    chosen: dict[Node, Candidate],
    candidates: list[Candidate],
    quota: int,
    rank: Callable[[Candidate], float],
) -> None:
    """Add the best candidates that are not chosen yet."""
    fresh = (c for c in sorted(candidates, key=rank) if c.node not in chosen)
    for candidate in islice(fresh, quota):
        chosen[candidate.node] = candidate
