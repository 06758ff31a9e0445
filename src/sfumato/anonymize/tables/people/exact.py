"""Classes judged by the people in them, exactly, as a reader of the release counts them.

* The size of a class is the number of different people who have a record in it.
* A histogram of a sensitive attribute counts every person of the class once per value she has.
* The distribution in the whole release is the sum of those histograms. A person with records in
  two classes counts in both, since nobody who reads the file can tell that it is the same person.
* Where a person may have several values, a value that *everybody* in a class has is disclosed
  however many other values there are. A promise of diversity (l above 1) therefore does not
  hold in such a class. With one value per person this follows from having two values.
* With a lower bound of δ-presence, people of the population whom no class covers are known to be
  absent: nothing holds while there are any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram, batches
from sfumato.anonymize.definitions.diversity import (
    DistinctLDiversity,
    EntropyLDiversity,
    RecursiveLDiversity,
)
from sfumato.anonymize.definitions.presence import DeltaPresence
from sfumato.anonymize.tables.cell_keys import mixed_radix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.people.generalized_tuples import GeneralizedTuples
    from sfumato.anonymize.tables.people.holdings import Holdings
    from sfumato.anonymize.tables.problem import Problem

DIVERSITY = (DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity)


class ExactJudge:
    """Judges classes of one table by the people who hold its records.

    `problem` has the table of all records; `holdings` says whose they are.
    """

    def __init__(self, problem: Problem, holdings: Holdings) -> None:
        self.problem = problem
        self.holdings = holdings
        self.covering = any(
            isinstance(part, DeltaPresence) and part.low > 0 for part in problem.definition.parts
        )

    def people(self, group: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Count the people of each class; `group` is the class of each holding, −1 for none."""
        kept = group >= 0
        width = int(self.holdings.person.max(initial=0)) + 1
        pairs = np.unique(group[kept] * width + self.holdings.person[kept])
        return np.bincount(pairs // width, minlength=n).astype(np.int64)

    def records(self, group: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        """Count the records of each class."""
        kept = group >= 0
        found = np.bincount(group[kept], weights=self.holdings.count[kept], minlength=n)
        return found.astype(np.int64)

    def fails(self, group: NDArray[np.int64], classes: GeneralizedTuples) -> NDArray[np.bool_]:
        """Return which classes that have records do not hold."""
        n = len(classes)
        sizes = self.people(group, n)
        population = None
        if self.problem.definition.needs_population:
            population = self.problem.population_of(classes.level, classes.low)
        entries = {name: self._entries(name, group) for name in self.problem.definition.sensitive}
        widest = max((width for _, _, width in entries.values()), default=1)
        verdict = np.ones(n, dtype=np.bool_)
        for batch, _ in batches(np.zeros(0, dtype=np.int64), n, widest):
            views = {name: self._histogram(name, entries[name], batch) for name in entries}
            people = None if population is None else population[batch]
            those = Classes(sizes[batch], views, people)
            for part in self.problem.definition.parts:
                verdict[batch] &= judge_people(part, those)
        return ~verdict & (sizes > 0)

    def _entries(
        self, name: str, group: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
        """Return the pairs of class and value of an attribute, one per person who has it."""
        table, kept = self.problem.table, group >= 0
        s = table.sensitive_names.index(name)
        width = len(table.sensitive_values[s])
        value = table.sensitive[self.holdings.tuple_[kept], s].astype(np.int64)
        people = int(self.holdings.person.max(initial=0)) + 1
        key = (group[kept] * width + value) * people + self.holdings.person[kept]
        pairs = np.unique(key) // people
        return pairs // width, pairs % width, width

    def _histogram(
        self, name: str, entries: tuple[NDArray[np.int64], NDArray[np.int64], int], batch: slice
    ) -> SensitiveHistogram:
        class_, value, width = entries
        counts = np.zeros((batch.stop - batch.start, width), dtype=np.int64)
        inside = (class_ >= batch.start) & (class_ < batch.stop)
        np.add.at(counts, (class_[inside] - batch.start, value[inside]), 1)
        table = self.problem.table
        values = table.sensitive_values[table.sensitive_names.index(name)]
        total = np.bincount(value, minlength=width).astype(np.int64)
        tree = self.problem.sensitive_hierarchies.get(name)
        return SensitiveHistogram(counts, total, values, tree)

    def uncovered(self, classes: GeneralizedTuples) -> NDArray[np.int64]:
        """Return the tuples of the population that no class covers, where that breaks a promise."""
        people = self.problem.population
        if not self.covering or people is None:
            return np.zeros(0, dtype=np.int64)
        reached = np.zeros(people.distinct, dtype=np.bool_)
        nodes, which = np.unique(classes.level, axis=0, return_inverse=True)
        for i, node in enumerate(nodes):
            low = classes.low[which.reshape(-1) == i]
            both = np.concatenate([people.quasi.astype(np.int64), low])
            codes, widths = [], []
            for a, h in enumerate(self.problem.hierarchies):
                codes.append(h.levels[both[:, a], node[a]].astype(np.int64))
                widths.append(len(h.labels[node[a]]))
            key = mixed_radix(codes, widths, len(both))
            reached |= np.isin(key[: people.distinct], key[people.distinct :])
        return np.flatnonzero(~reached & (people.counts > 0))


def judge_people(part: Definition, classes: Classes) -> NDArray[np.bool_]:
    """Return for each class whether a definition holds among people with several values each."""
    verdict = part.judge(classes)
    if isinstance(part, DIVERSITY) and part.l > 1:
        common = classes.sensitive[part.attribute].counts.max(axis=1, initial=0) >= classes.sizes
        verdict = verdict & ~common
    return verdict
