"""Top-down specialisation of whole levels: full-domain generalisation, greedily.

From the top of the generalisation lattice, one attribute at a time goes one level down, as
long as the records that must be suppressed stay within the limit. For monotone definitions an
attribute that cannot go down never can later. Otherwise it is asked again after every step,
and more than one level at a time is tried as well, because a finer level may hold where a
coarser one does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluator
from sfumato.anonymize.tables.algorithms.full_domain.grouping import Grouper
from sfumato.anonymize.tables.recoding import FullDomain, SearchRecord
from sfumato.errors import Unsatisfiable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.clock import Clock
    from sfumato.anonymize.tables.algorithms.full_domain.evaluation import Evaluation
    from sfumato.anonymize.tables.algorithms.progress import Progress
    from sfumato.anonymize.tables.problem import Problem

    Node = tuple[int, ...]


def specialize_levels(
    problem: Problem,
    *,
    steps: str,
    target: NDArray[np.int64] | None = None,
    clock: Clock,
    progress: Progress | None = None,
) -> FullDomain:
    """Return one level per attribute, reached from the roots by the given steps."""
    descent = _Descent(problem, steps, target)
    node = descent.start()
    while not clock.late and (lower := descent.step(node)) is not None:
        node = lower
        if progress is not None:
            done = 1 - sum(node) / max(int((problem.heights - 1).sum()), 1)
            progress(done, descent.loss(node), f"levels {', '.join(map(str, node))}")
    record = SearchRecord(
        algorithm="topdown",
        label=f"heuristic: full-domain specialisation by {steps}; not proven optimal",
        facts={
            "scope": "full-domain",
            "steps": steps,
            "loss": descent.loss(node),
            "objective": problem.objective,
            "checked": len(descent.known),
        },
    )
    return FullDomain(node, descent.evaluator.suppressed_tuples(node), record)


class _Descent:
    """Evaluates nodes and ranks the steps down from one."""

    def __init__(self, problem: Problem, steps: str, target: NDArray[np.int64] | None) -> None:
        self.problem = problem
        self.steps = steps
        self.target = target
        self.evaluator = Evaluator(problem)
        self.grouper = None
        if target is not None:
            columns = np.ascontiguousarray(problem.table.quasi.T, dtype=np.int32)
            self.grouper = Grouper(columns, problem.hierarchies)
        self.known: dict[Node, Evaluation] = {}
        self.closed: set[int] = set()
        definition = problem.definition
        self.prunes = definition.monotone or (
            definition.union_closed and problem.suppression_limit == 0
        )
        self.leaves = [
            np.bincount(problem.table.quasi[:, a], weights=problem.table.counts, minlength=len(c))
            for a, c in enumerate(problem.costs)
        ]

    def evaluate(self, node: Node) -> Evaluation:
        if node not in self.known:
            self.known[node] = self.evaluator.evaluate(node)
        return self.known[node]

    def holds(self, node: Node) -> bool:
        found = self.evaluate(node)
        return found.suppressed <= self.problem.suppression_limit and found.kept_classes > 0

    def loss(self, node: Node) -> float:
        """Return the loss of a node that holds, under the problem's objective."""
        found, n = self.evaluate(node), self.problem.rows
        if self.problem.objective == "DM":
            return (found.kept_squares + found.suppressed * n) / n**2
        if self.problem.objective == "AECS":
            return 1 / max(found.kept_classes + (found.suppressed > 0), 1)
        return (self._price(node) + found.saved) / n

    def _price(self, node: Node) -> float:
        costs = zip(self.leaves, self.problem.costs, node, strict=True)
        return float(sum(leaves @ c[:, level] for leaves, c, level in costs))

    # -- moving ------------------------------------------------------------------------

    def start(self) -> Node:
        """Return the highest node that holds: the roots, or what is found below them."""
        node = tuple(int(h) - 1 for h in self.problem.heights)
        while not self.holds(node):
            below = [] if self.prunes else [n for _, n in self._down(node, 1)]
            if not below:
                raise Unsatisfiable(
                    f"No generalisation tried meets {self.problem.definition} on "
                    f"{self.problem.rows:,} records with at most "
                    f"{self.problem.suppression_limit:,} suppressed, beginning with every value "
                    "generalised to the root. Ask for less (a smaller k or l, a larger t) or "
                    "allow more suppression."
                )
            node = min(below, key=lambda n: self.evaluate(n).suppressed)
        return node

    def step(self, node: Node) -> Node | None:
        """Return the preferred node below that holds, or None."""
        depths = 1 if self.prunes else max(node, default=0)
        for depth in range(1, depths + 1):
            steps = [(a, lower) for a, lower in self._down(node, depth) if a not in self.closed]
            ranked = sorted(steps, key=lambda s: self._rank(node, s[1], s[0]))
            for a, lower in ranked:
                if self.holds(lower):
                    return lower
                if self.prunes:
                    self.closed.add(a)
        return None

    @staticmethod
    def _down(node: Node, depth: int) -> Iterator[tuple[int, Node]]:
        for a, level in enumerate(node):
            if level >= depth:
                yield a, (*node[:a], level - depth, *node[a + 1 :])

    def _rank(self, node: Node, lower: Node, a: int) -> tuple[float, float]:
        """Return what the preferred step has least of."""
        saved = self._price(node) - self._price(lower)
        if self.target is not None:
            return (-self._informs(node, lower, a), -saved)
        if self.steps == "fewest-children":
            labels = self.problem.hierarchies[a].labels
            return (len(labels[lower[a]]) / len(labels[node[a]]), -saved)
        return (-saved, 0.0)

    def _informs(self, node: Node, lower: Node, a: int) -> float:
        """Return the information gained about the target for the anonymity lost."""
        gained = self._entropy(a, node[a]) - self._entropy(a, lower[a])
        lost = self._smallest(node) - self._smallest(lower)
        return gained / (max(lost, 0) + 1)

    def _entropy(self, a: int, level: int) -> float:
        """Return entropy times records of the target, given the attribute on a level."""
        assert self.target is not None
        table = self.problem.table
        nodes = self.problem.hierarchies[a].levels[table.quasi[:, a], level].astype(np.int64)
        values = int(self.target.max(initial=0)) + 1
        cells = np.bincount(nodes * values + self.target, weights=table.counts)
        cells = np.pad(cells, (0, -len(cells) % values)).reshape(-1, values)
        shares = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return float(-(cells * logs).sum())

    def _smallest(self, node: Node) -> int:
        """Return the size of the smallest class of a node, suppressed ones included."""
        assert self.grouper is not None
        counts = self.problem.table.counts
        groups, _ = self.grouper.group(node, np.arange(len(counts)))
        sizes = np.bincount(groups, weights=counts)
        return int(sizes[sizes > 0].min(initial=self.problem.rows))
