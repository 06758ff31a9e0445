"""Verdicts on classes given as shares, in batches that fit in memory."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.classes import Classes
from sfumato.anonymize.tables.algorithms.clock import Clock
from sfumato.anonymize.tables.algorithms.local.space import gather, summarize

DENSE_CELLS = 4_000_000
"""Largest histogram held at once; more classes are judged in batches."""

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.local.space import Shares, Space, Summary
    from sfumato.anonymize.tables.problem import Problem


@dataclass(frozen=True, eq=False)
class Judge:
    """The problem's definition, asked about shares; `totals` is the released reference.

    `people` remembers how many people of the population fit a generalised tuple; `clock` says
    when to come to an end.
    """

    problem: Problem
    space: Space
    totals: Mapping[str, NDArray[np.int64]] | None = None
    people: dict[bytes, int] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)

    def released(self, shares: Shares) -> Judge:
        """Return the judge whose reference distribution is that of the given shares."""
        table = self.problem.table
        if int(shares.count.sum()) == self.problem.rows:
            return replace(self, totals=None)
        totals = {}
        for name in self.problem.definition.sensitive:
            s = table.sensitive_names.index(name)
            values = table.sensitive[shares.tuple_, s]
            cells = len(table.sensitive_values[s])
            totals[name] = np.bincount(values, shares.count, minlength=cells).astype(np.int64)
        return replace(self, totals=totals)

    def holds(self, shares: Shares) -> NDArray[np.bool_]:
        """Return for each class whether the definition holds; an empty class does."""
        verdict: NDArray[np.bool_] = shares.width == 0
        large = np.flatnonzero(shares.size >= max(self.problem.definition.minimum_size, 1))
        for batch in self._batches(large):
            verdict[batch] = self.problem.definition.judge(self._classes(shares.take(batch)))
        return verdict

    def shortfall(self, shares: Shares) -> NDArray[np.float64]:
        """Return how far each class is from holding."""
        found = np.zeros(shares.classes)
        for batch in self._batches(np.flatnonzero(shares.width)):
            found[batch] = self.problem.definition.shortfall(self._classes(shares.take(batch)))
        return found

    def holding(
        self, tuples: NDArray[np.int64], groups: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return for each group of whole tuples whether it holds."""
        definition = self.problem.definition
        large = sizes >= definition.minimum_size
        if not large.any():
            return large  # as for most groups that are ever looked at
        if not definition.sensitive and not definition.needs_population:
            large[large] = definition.judge(Classes(sizes[large]))
            return large
        inside = np.flatnonzero(large[groups])
        chosen, number = tuples[inside], (np.cumsum(large) - 1)[groups[inside]]
        n = int(large.sum())
        if definition.needs_population or n * self._cells > DENSE_CELLS:
            large[large] = self.holds(gather(chosen, number, self.space.counts[chosen], n))
        elif n:
            large[large] = definition.judge(
                self.problem.classes(number, n, tuples=chosen, totals=self.totals)
            )
        return large

    def changed(
        self,
        shares: Shares,
        classes: NDArray[np.int64],
        tuples: NDArray[np.int64],
        counts: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return whether each of the classes would hold with so many more records of a tuple.

        Negative counts leave. Tuples with the same sensitive values make no difference to
        the definition, so each combination is judged once.
        """
        if not len(classes):
            return np.zeros(0, dtype=np.bool_)
        keys = np.stack([classes, self.kinds[tuples], counts], axis=1)
        _, first, again = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        trial = shares.take(classes[first])
        trial = gather(
            np.concatenate([trial.tuple_, tuples[first]]),
            np.concatenate([trial.class_, np.arange(len(first))]),
            np.concatenate([trial.count, counts[first]]),
            len(first),
        )
        verdict: NDArray[np.bool_] = self.holds(trial)[again.ravel()]
        return verdict

    @cached_property
    def exact(self) -> NDArray[np.int64]:
        """Number of each tuple's combination of quasi-identifiers."""
        _, exact = np.unique(self.problem.table.quasi, axis=0, return_inverse=True)
        return exact.ravel().astype(np.int64)

    @cached_property
    def kinds(self) -> NDArray[np.int64]:
        """Number of each tuple's combination of sensitive values."""
        table = self.problem.table
        if self.problem.definition.needs_population:
            return np.arange(table.distinct)  # the generalised tuple matters, so all differ
        _, kinds = np.unique(table.sensitive, axis=0, return_inverse=True)
        return kinds.ravel().astype(np.int64)

    @cached_property
    def _cells(self) -> int:
        """Width of the widest histogram."""
        return max((len(values) for values in self.problem.table.sensitive_values), default=1)

    def _batches(self, chosen: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        step = max(DENSE_CELLS // max(self._cells, 1), 1)
        for begin in range(0, len(chosen), step):
            yield chosen[begin : begin + step]

    def _classes(self, shares: Shares) -> Classes:
        population = None
        if self.problem.definition.needs_population:
            population = self._population(summarize(self.space, shares))
        return self.problem.classes(
            shares.class_, shares.classes, tuples=shares.tuple_, counts=shares.count,
            totals=self.totals, population=population,
        )  # fmt: skip

    def _population(self, classes: Summary) -> NDArray[np.int64]:
        """Return the people who fit each class; every generalised tuple is counted once."""
        columns = self.space.start[:-1] + classes.level
        nodes = self.space.node[classes.rep[:, None], columns]
        keys = [row.tobytes() for row in nodes]
        unknown = [i for i, key in enumerate(keys) if key not in self.people]
        if unknown:
            low = self.problem.table.quasi[classes.rep[unknown]].astype(np.int64)
            found = self.problem.population_of(classes.level[unknown], low)
            self.people.update(zip([keys[i] for i in unknown], found.tolist(), strict=True))
        return np.array([self.people[key] for key in keys], dtype=np.int64)
