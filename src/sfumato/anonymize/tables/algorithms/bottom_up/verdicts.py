"""Ask the definition about many candidate classes at once.

Algorithms propose classes as bags: parallel arrays of tuple, count and class number. A
`Judge` gathers them in batches small enough for memory, adds the population where the
definition compares with one, and puts the question once per batch, never per class: a
user's own definition is Python code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.clock import Clock
from sfumato.anonymize.tables.algorithms.encoding import describe
from sfumato.compiler import njit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.classes import Classes
    from sfumato.anonymize.tables.algorithms.encoding import Encoding
    from sfumato.anonymize.tables.problem import Problem

DENSE_CELLS = 4_000_000
"""Largest histogram (classes × sensitive values) held at once."""


class Judge:
    """Judges bags of records for one problem and one reference distribution.

    `totals` is the distribution of what is released; without it, of the whole table.
    `values` is the largest number of values of a sensitive attribute that is judged; `clock` says
    when to come to an end.
    """

    def __init__(
        self,
        problem: Problem,
        encoding: Encoding,
        totals: Mapping[str, NDArray[np.int64]] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.problem = problem
        self.clock = clock or Clock()
        self.encoding = encoding
        self.totals = totals
        values = problem.table.sensitive_values
        names = problem.table.sensitive_names
        widths = [len(values[names.index(name)]) for name in problem.definition.sensitive]
        self.values = max([1, *widths])
        self._batch = max(DENSE_CELLS // self.values, 1)
        self._population: dict[bytes, int] = {}

    @property
    def joins_hold(self) -> bool:
        """Whether a union of classes that hold is sure to hold.

        Not for a class compared with a population: its union may have to be widened.
        """
        definition = self.problem.definition
        return definition.monotone or (definition.union_closed and not definition.needs_population)

    @property
    def counts_only(self) -> bool:
        """Whether the definition looks at nothing but sizes, and more is never worse."""
        definition = self.problem.definition
        return definition.monotone and not definition.sensitive and not definition.needs_population

    def holds(
        self,
        tuples: NDArray[np.int64],
        counts: NDArray[np.int64],
        groups: NDArray[np.int64],
        n: int,
    ) -> NDArray[np.bool_]:
        """Return for each of `n` bags whether the definition holds; `groups` ascends."""
        verdicts = [
            self.problem.definition.judge(batch)
            for batch in self._batches(tuples, counts, groups, n)
        ]
        return np.concatenate([np.zeros(0, dtype=np.bool_), *verdicts])

    def shortfall(
        self,
        tuples: NDArray[np.int64],
        counts: NDArray[np.int64],
        groups: NDArray[np.int64],
        n: int,
    ) -> NDArray[np.float64]:
        """Return for each of `n` bags how far it is from holding; `groups` ascends."""
        gaps = [
            self.problem.definition.shortfall(batch)
            for batch in self._batches(tuples, counts, groups, n)
        ]
        return np.concatenate([np.zeros(0), *gaps])

    def _batches(
        self,
        tuples: NDArray[np.int64],
        counts: NDArray[np.int64],
        groups: NDArray[np.int64],
        n: int,
    ) -> Iterator[Classes]:
        for first in range(0, n, self._batch):
            last = min(first + self._batch, n)
            here = slice(*np.searchsorted(groups, [first, last]))
            local = groups[here] - first
            population = None
            if self.problem.definition.needs_population:
                population = self._people(tuples[here], local, last - first)
            yield self.problem.classes(
                local,
                last - first,
                tuples=tuples[here],
                counts=counts[here],
                totals=self.totals,
                population=population,
            )

    def _people(
        self, tuples: NDArray[np.int64], groups: NDArray[np.int64], n: int
    ) -> NDArray[np.int64]:
        """Return the population that fits each bag's lowest common ancestors, remembered."""
        level, low, _ = describe(self.encoding.tree, tuples, groups, n)
        nodes = self.encoding.tree.node[self.encoding.at(level, low)]
        keys = [row.tobytes() for row in np.hstack([level, nodes])]
        unknown = [i for i, key in enumerate(keys) if key not in self._population]
        first = {keys[i]: i for i in unknown}
        if first:
            rows = np.fromiter(first.values(), dtype=np.int64)
            found = self._count_people(level[rows], low[rows])
            self._population.update(zip(first, found.tolist(), strict=True))
        return np.array([self._population[key] for key in keys], dtype=np.int64)

    def _count_people(self, level: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.int64]:
        people = self.problem.population
        if people is None:
            return self.problem.population_of(level, low)  # which says what is missing
        leaves = np.ascontiguousarray(people.quasi, dtype=np.int32)
        found: NDArray[np.int64] = _fitting(
            *self.encoding.tree[1:4], leaves, people.counts, level, low
        )
        return found


@njit(cache=True)
def _fitting(
    start: NDArray[np.int64],
    height: NDArray[np.int64],
    node: NDArray[np.int32],
    leaves: NDArray[np.int32],
    counts: NDArray[np.int64],
    level: NDArray[np.int64],
    low: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count the people below each generalised tuple, leaving a person at the first mismatch."""
    found = np.zeros(len(level), dtype=np.int64)
    for c in range(len(level)):
        for i in range(len(leaves)):
            fits = True
            for a in range(leaves.shape[1]):
                h = start[a] + level[c, a]
                if node[h + leaves[i, a] * height[a]] != node[h + low[c, a] * height[a]]:
                    fits = False
                    break
            if fits:
                found[c] += counts[i]
    return found
