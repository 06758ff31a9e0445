"""Optimal full-domain generalisation: the cheapest node of the lattice that keeps the promise.

Every node of the lattice is a level per quasi-identifier. The search keeps a lower bound
for every node and the best release found so far (the incumbent), and evaluates nodes until
every node is decided: evaluated, known to fail, or unable to beat the incumbent. Then
the incumbent is optimal, whatever the order of evaluation was.

What may be concluded from an evaluated node, and why:

* *Price.* Costs never fall with the level and a suppressed record costs at least as much as a
  released one, so the price of a node before suppression bounds every node above it. For sums
  over cells it is known at once for all nodes. For DM, where a record costs the size of its class,
  classes only grow on the way up, so the price of an evaluated node bounds all nodes above.
* *Failure.* Of every class of a node, the nodes below must suppress at least so many records
  (`removal`; all of them if the definition is monotone and the class fails, or if the class is
  below the minimum size). More than allowed in sum means that the node and everything below
  fail. If nothing may be suppressed, union-closed definitions need no more than this: a class
  above is a union of classes that all hold (predictive tagging).
* *Suppression.* Suppressing those same records adds to the price here what releasing them would
  have saved, and in a node below, where releasing them would have been cheaper still, at least
  as much; for sums over cells it is known how much more (`gains`). So a node is bounded by the
  highest price known from below plus the highest addition known from above. Promises about the
  whole release say how many records are suppressed at least here and below, but not which: these
  add what the cheapest ones would.
* *Fewest classes.* A node has at most as many classes as there are combinations of labels on its
  levels, say c. AECS is then at least 1/c (suppressed records are of a class that is not released),
  and so is DM, as Σ size² ≥ n²/c.
* *Number of classes* (AECS), m being the minimum size: the definition's, or what whole numbers of
  records need to come close to a distribution (`smallest`). A class released above contains one
  of at least m records or is made of smaller ones that have m records together; so at most
  `large + small/m` of them are released there, and what is suppressed counts as one more.
  Below, a class of s records of which r are suppressed falls into at most (s − r)/m released ones.
  Promises about the whole release may allow so many records only so many classes.
* *Worth suppressing.* A suppressed record costs what its suppression costs, whatever the node, so
  a node that suppresses more records than the cheapest of which cost as much as the incumbent
  cannot beat it. The allowed number shrinks to that as the incumbent improves.

Chains of open nodes are searched by bisection, as in Kohlmayer et al., *Flash: efficient,
stable and optimal k-anonymity* (2012), to find a first incumbent, which is improved by looking at
its neighbours where failing tells little about the nodes below; after that the dearest open node
is decided first, in turn with the cheapest where both can teach something.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.clock import Clock, TimeUp
from sfumato.anonymize.tables.algorithms.full_domain.bar import Bar
from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.algorithms.full_domain.level_bounds import level_bounds
from sfumato.anonymize.tables.algorithms.full_domain.prices import (
    SEPARABLE,
    TIE,
    along_all,
    least_losses,
    node_loss,
    node_prices,
    suppression_prices,
    unsatisfiable_message,
)
from sfumato.anonymize.tables.recoding import FullDomain, SearchRecord
from sfumato.errors import ParameterError, Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluation
    from sfumato.anonymize.tables.algorithms.full_domain.level_bounds import Bounds
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.problem import Problem

LARGEST_LATTICE = 5_000_000
"""Number of nodes up to which optimality is proven; beyond, a heuristic search answers."""

MUCH = 0.1
"""Share of the records from which on suppression is much: few nodes fail by it."""


@dataclass
class _Incumbent:
    loss: float = math.inf
    evaluation: Evaluation | None = None


def search(
    problem: Problem,
    *,
    progress: Progress | None = None,
    time_limit: float | None = None,
    heuristic: bool = False,
    width: int | None = None,
    levels: Mapping[str, tuple[int, int] | int] | None = None,
) -> FullDomain:
    """Return the cheapest full-domain recoding that meets the definition.

    Interrupted by Ctrl-C or the time limit it returns the best found, marked as not proven.
    A lattice of more than `LARGEST_LATTICE` nodes is searched heuristically (`beam`), a smaller
    one on request; `width`, how many nodes that search keeps per step, is such a request too.
    `levels` gives attributes the lowest and the highest level that may be chosen; the cheapest
    node among those is returned.
    """
    bounds = level_bounds(problem, levels or {})
    if heuristic or width is not None or math.prod(problem.heights.tolist()) > LARGEST_LATTICE:
        from sfumato.anonymize.tables.algorithms.full_domain import beam  # noqa: PLC0415 - rarely needed

        if levels:
            raise ParameterError(
                "Limits on levels are kept by the proven search only; leave 'heuristic' and "
                f"'width' out, and the lattice at {LARGEST_LATTICE:,} nodes or fewer."
            )
        chosen = beam.WIDTH if width is None else width
        return beam.beam_search(problem, progress=progress, time_limit=time_limit, width=chosen)
    lattice = Lattice(problem, bounds)
    proven = lattice.run(progress, time_limit)
    lattice.settle()
    return lattice.result(proven)


class Lattice:
    """The state of a search: bounds and decisions for every node."""

    def __init__(self, problem: Problem, bounds: Bounds | None = None) -> None:
        self.problem = problem
        self.evaluator = Evaluator(problem)
        self.shape = tuple(int(h) for h in problem.heights)
        self.size = math.prod(self.shape)
        definition = problem.definition
        self.tags = definition.monotone or (
            definition.union_closed and problem.suppression_limit == 0
        )
        self.separable = problem.objective in SEPARABLE
        self.base = node_prices(problem)
        self.added = np.zeros(self.shape)
        self.lower = least_losses(problem, self.base)
        self.open = np.ones(self.shape, dtype=np.bool_)
        self.best = _Incumbent()
        self.checked = 0
        self.bounds = bounds or level_bounds(problem, {})
        self._close()
        self._left = np.flatnonzero(self.open)
        self._upto = suppression_prices(problem) if problem.suppression_limit else None

    def _close(self) -> None:
        """Count nodes outside the levels that may be chosen as decided: they cannot win."""
        allowed = np.zeros(self.shape, dtype=np.bool_)
        allowed[tuple(slice(low, high + 1) for low, high in self.bounds)] = True
        self.open &= allowed
        self.lower[~allowed] = math.inf

    def loss(self, node: Evaluation) -> float:
        """Return the loss of an evaluated node under the problem's objective."""
        return node_loss(self.problem, node, float(self.base[node.node]))

    def bar(self, node: tuple[int, ...]) -> Bar:
        """Return what a node must stay within to beat the incumbent.

        AECS counts the suppressed records as one class more, so a node that is better than an
        incumbent of c classes releases at least c. For DM the price of the node itself is known
        when it is grouped, and is taken off then.
        """
        limit = self.problem.suppression_limit
        if self.best.evaluation is None:
            return Bar(limit)
        spent = (self.best.loss + TIE) * self.problem.rows
        if self._upto is not None:
            limit = min(limit, int(self._upto.searchsorted(spent, side="right")))
        if self.problem.objective == "AECS":
            return Bar(limit, classes=round(1 / self.best.loss))
        if self.problem.objective == "DM":
            return Bar(limit, spent)
        return Bar(limit, spent - float(self.base[node]) * self.problem.rows)

    # -- the search --------------------------------------------------------------------

    def run(self, progress: Progress | None, time_limit: float | None) -> bool:
        """Decide nodes until none is open; return whether all were decided."""
        try:
            self._decide(tuple(high for _, high in self.bounds))
            clock = Clock(time_limit)  # the first node is always decided
            self.evaluator.watch(clock)
            for turn in count():
                upward = self._upward(turn)
                node = self._dearest() if upward else self._cheapest()
                if node is None:
                    return True
                if clock.late:
                    return False
                if upward or (turn > 0 and self.separable):
                    self._decide(node)
                else:
                    self._bisect(self._chain(node))
                if turn == 0 and self._climbs:
                    self._improve()
                if progress is not None:
                    self._report(progress)
        except (KeyboardInterrupt, TimeUp):
            return False
        raise AssertionError("the search ends by deciding every node")

    @property
    def _climbs(self) -> bool:
        """Whether failing tells so little that a better incumbent is worth looking for at once."""
        return not self.tags or self.problem.suppression_limit >= MUCH * self.problem.rows

    def _upward(self, turn: int) -> bool:
        """Whether the dearest node comes next, or the cheapest.

        For AECS the bounds from below are the sharper ones. With tags a chain from the cheapest
        node finds for DM what its price does not tell.
        """
        if turn == 0 or self.problem.objective == "AECS":
            return False
        if self.tags:
            return self.separable
        return turn % 2 == 1

    def _cheapest(self) -> tuple[int, ...] | None:
        """Return the open node with the lowest bound that could still beat the incumbent."""
        bounds = self._useful()
        return self._node(int(self._left[bounds.argmin()])) if len(bounds) else None

    def _dearest(self) -> tuple[int, ...] | None:
        """Return the open node with the highest bound that could still beat the incumbent.

        Nothing above it is open, so it has to be decided anyway, and if it fails everything
        below is decided with it: the fewest evaluations once the incumbent is good.
        """
        bounds = self._useful()
        return self._node(int(self._left[bounds.argmax()])) if len(bounds) else None

    def _useful(self) -> NDArray[np.float64]:
        """Return the bounds of the open nodes that could still beat the incumbent: of `_left`.

        A node that could not never can again, as bounds only rise and the incumbent only improves.
        """
        bounds = self.lower.reshape(-1)[self._left]
        useful = self.open.reshape(-1)[self._left] & (bounds < self.best.loss - TIE)
        self._left = self._left[useful]
        return bounds[useful]

    def _node(self, at: int) -> tuple[int, ...]:
        return tuple(int(i) for i in np.unravel_index(at, self.shape))

    def _chain(self, start: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Climb from a node through open nodes that could still win, cheapest step first."""
        chain = [start]
        if not self.tags and self.evaluator.minimum <= 1:
            return chain
        while True:
            here = chain[-1]
            steps = [
                (*here[:a], here[a] + 1, *here[a + 1 :])
                for a in range(len(here))
                if here[a] + 1 < self.shape[a]
            ]
            useful = [s for s in steps if self.open[s] and self.lower[s] < self.best.loss - TIE]
            if not useful:
                return chain
            chain.append(min(useful, key=lambda s: float(self.lower[s])))

    def _bisect(self, chain: list[tuple[int, ...]]) -> None:
        """Find the lowest node of a chain that keeps the promise, deciding nodes on the way."""
        low, high = 0, len(chain) - 1
        while low <= high:
            middle = (low + high) // 2
            if self._decide(chain[middle]):
                high = middle - 1
            else:
                low = middle + 1

    def _improve(self) -> None:
        """Walk from the incumbent to better neighbours: a good incumbent decides many nodes."""
        before = math.inf
        while self.best.evaluation is not None and self.best.loss < before:
            before = self.best.loss
            near = {self._at(n) for n in neighbours(self.best.evaluation.node, self.shape)}
            for at in sorted(near, key=lambda at: float(self.lower.flat[at])):
                node = self._node(at)
                if self.open[node] and self.lower[node] < self.best.loss - TIE:
                    self._decide(node)

    def _at(self, node: tuple[int, ...]) -> int:
        return int(np.ravel_multi_index(node, self.shape))

    def _decide(self, node: tuple[int, ...]) -> bool:
        """Evaluate a node unless it is decided; draw every conclusion; return if it holds."""
        if not self.open[node]:
            return bool(self.lower[node] < math.inf)
        bar = self.bar(node)
        found = self.evaluator.evaluate(node, bar)
        self.checked += 1
        self.open[node] = False
        self._bound_above(found)
        holds = self._holds(found)
        self._bound_below(found, bar, holds)
        if holds:
            loss = self.loss(found)
            if loss < self.best.loss - TIE:
                self.best = _Incumbent(loss, found)
        return holds

    def _bound_above(self, found: Evaluation) -> None:
        if self.separable:
            return
        above = tuple(slice(level, None) for level in found.node)
        if self.problem.objective == "DM":
            base = self.base[above]
            np.maximum(base, found.lifted / self.problem.rows**2, out=base)
            self._raise(above, base + self.added[above])
        else:
            released = found.large + found.small // self.evaluator.minimum
            self._raise(above, 1 / max(min(released + 1, found.classes), 1))

    def _bound_below(self, found: Evaluation, bar: Bar, holds: bool) -> None:
        below = tuple(slice(0, level + 1) for level in found.node)
        if found.least > bar.limit or (self.tags and not holds and found.finished):
            self.open[below] = False
            self.lower[below] = math.inf
        elif self.problem.objective == "AECS":
            self._raise(below, 1 / (found.parts + 1))
        elif found.least_saved > 0 or found.by_level:
            added, more = self.added[below], np.array(found.least_saved)
            if found.by_level:
                more = np.maximum(more, along_all(found.by_level))
            np.maximum(added, more / self.problem.rows, out=added)
            self._raise(below, self.base[below] + added)

    def _raise(self, where: tuple[slice, ...], bound: float | NDArray[np.float64]) -> None:
        lower = self.lower[where]
        np.maximum(lower, bound, out=lower)

    def settle(self) -> None:
        """Climb down from the incumbent while nothing is lost: never more than is needed.

        Nodes with the same loss are not told apart by the search; the lowest is released.
        """
        moved = self.best.evaluation is not None
        while moved:
            moved = False
            node = self.best.evaluation.node if self.best.evaluation else ()
            for a, level in enumerate(node):
                lower = (*node[:a], level - 1, *node[a + 1 :])
                if level == 0 or self.lower[lower] > self.best.loss + TIE:
                    continue
                found = self.evaluator.evaluate(lower)
                if self._holds(found) and self.loss(found) <= self.best.loss + TIE:
                    self.best = _Incumbent(self.loss(found), found)
                    moved = True
                    break

    def _holds(self, found: Evaluation) -> bool:
        if not found.finished:
            return False
        return found.suppressed <= self.problem.suppression_limit and found.kept_classes > 0

    def _report(self, progress: Progress) -> None:
        decided = self.size - int((self.open & (self.lower < self.best.loss - TIE)).sum())
        progress(decided / self.size, self.best.loss, f"{decided:,} of {self.size:,} nodes decided")

    def _limited(self) -> str:
        return (
            " The levels that may be chosen were limited; widen --levels." if self._among() else ""
        )

    def _among(self) -> str:
        whole = all(
            (low, high) == (0, h - 1)
            for (low, high), h in zip(self.bounds, self.shape, strict=True)
        )
        return "" if whole else " on the levels allowed"

    # -- the answer --------------------------------------------------------------------

    def result(self, proven: bool) -> FullDomain:
        """Return the incumbent as a recoding, or say that there is none."""
        found = self.best.evaluation
        if found is None:
            raise Unsatisfiable(unsatisfiable_message(self.problem, proven) + self._limited())
        label = (
            f"optimal: every other generalisation{self._among()} was shown to fail or to lose more"
            if proven
            else "best found before the search was stopped; not proven optimal"
        )
        record = SearchRecord(
            algorithm="optimal",
            proven_optimal=proven,
            label=label,
            facts={
                "nodes": self.size,
                "checked": self.checked,
                "loss": self.best.loss,
                "objective": self.problem.objective,
            },
        )
        suppressed = self.evaluator.suppressed_tuples(found.node)
        return FullDomain(found.node, suppressed, record)


def neighbours(node: tuple[int, ...], shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the nodes with a level one lower, alone or with another level one or two higher."""
    for a, level in enumerate(node):
        if level == 0:
            continue
        lower = (*node[:a], level - 1, *node[a + 1 :])
        yield lower
        for b, other in enumerate(lower):
            for higher in range(other + 1, min(other + 3, shape[b])):
                if b != a:
                    yield (*lower[:b], higher, *lower[b + 1 :])
