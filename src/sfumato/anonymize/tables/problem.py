"""The question an algorithm answers: which recoding meets the promise at the least loss.

A `Problem` gathers a frequency table, a hierarchy per quasi-identifier, the definition,
the price of generalising each value, and the number of records that may be suppressed.
It is the only thing an algorithm sees; it holds no rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram, batches, histogram
from sfumato.anonymize.tables.cell_keys import mixed_radix
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.tables.frequency import FrequencyTable
    from sfumato.data.tables.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """What to anonymise, what to promise, and what each step costs.

    `costs[a][leaf, level]` is what one record pays for having that leaf of the `a`-th
    quasi-identifier released on that level; `suppressed[a][leaf]` what it pays when the
    cell is suppressed. Weights are already in them, and they are scaled so that the sum
    over all records and attributes of a fully suppressed table is `rows`. Costs never fall
    as the level rises.
    """

    table: FrequencyTable
    hierarchies: tuple[Hierarchy, ...]
    definition: Definition
    costs: tuple[NDArray[np.float64], ...]
    suppressed: tuple[NDArray[np.float64], ...]
    suppression_limit: int = 0
    sensitive_hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    population: FrequencyTable | None = None
    population_source: Table | None = None
    objective: str = "LM"

    @property
    def rows(self) -> int:
        """Number of records."""
        return self.table.rows

    @property
    def attributes(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.hierarchies)

    @cached_property
    def heights(self) -> NDArray[np.int64]:
        """Number of levels per quasi-identifier."""
        return np.array([h.height for h in self.hierarchies], dtype=np.int64)

    @cached_property
    def totals(self) -> dict[str, NDArray[np.int64]]:
        """Histogram of each judged sensitive attribute over the whole table."""
        return {name: self._total(name, self.table.counts) for name in self.definition.sensitive}

    def _total(self, name: str, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        s = self.table.sensitive_names.index(name)
        n_values = len(self.table.sensitive_values[s])
        column = self.table.sensitive[:, s]
        return np.bincount(column, weights=counts, minlength=n_values).astype(np.int64)

    def classes(
        self,
        groups: NDArray[np.int64],
        n_groups: int,
        *,
        tuples: NDArray[np.int64] | None = None,
        counts: NDArray[np.int64] | None = None,
        totals: Mapping[str, NDArray[np.int64]] | None = None,
        population: NDArray[np.int64] | None = None,
    ) -> Classes:
        """Gather tuples into classes.

        `groups[i]` is the class of the `i`-th given tuple (`tuples` selects some of the
        table's, repeats allowed; default all); `counts` replaces the table's counts when a
        tuple's records are shared between classes; `totals` replaces the reference
        distribution when records have been suppressed.
        """
        table = self.table
        chosen = slice(None) if tuples is None else tuples
        weights = table.counts[chosen] if counts is None else counts
        sizes = np.bincount(groups, weights=weights, minlength=n_groups).astype(np.int64)
        reference = self.totals if totals is None else totals
        views = {}
        for name in self.definition.sensitive:
            s = table.sensitive_names.index(name)
            values = table.sensitive_values[s]
            cells = histogram(groups, n_groups, table.sensitive[chosen, s], len(values), weights)
            views[name] = SensitiveHistogram(
                cells, reference[name], values, self.sensitive_hierarchies.get(name)
            )
        return Classes(sizes, views, population)

    def judge(
        self,
        groups: NDArray[np.int64],
        n_groups: int,
        *,
        tuples: NDArray[np.int64] | None = None,
        counts: NDArray[np.int64] | None = None,
        totals: Mapping[str, NDArray[np.int64]] | None = None,
    ) -> NDArray[np.bool_]:
        """Return for each class whether the definition holds; in batches where there are many."""
        chosen = np.arange(self.table.distinct) if tuples is None else tuples
        weights = self.table.counts[chosen] if counts is None else counts
        verdict = np.empty(n_groups, dtype=np.bool_)
        for batch, places in self.batches(groups, n_groups):
            verdict[batch] = self.definition.judge(
                self.classes(
                    groups[places] - batch.start,
                    batch.stop - batch.start,
                    tuples=chosen[places],
                    counts=weights[places],
                    totals=totals,
                )
            )
        return verdict

    def batches(
        self, groups: NDArray[np.int64], n_groups: int
    ) -> Iterator[tuple[slice, NDArray[np.int64] | slice]]:
        """Cut classes into batches whose histograms fit in memory."""
        widest = max((len(total) for total in self.totals.values()), default=1)
        return batches(groups, n_groups, widest)

    def population_of(self, level: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the people of the population who fit each generalised tuple.

        Class `c` covers, on attribute `a`, the leaves below the node on level `level[c, a]`
        above leaf `low[c, a]`.
        """
        if self.population is None:
            raise ParameterError(
                f"{self.definition} compares with a population; give the table of everybody who "
                "could be in the data as population=…"
            )
        found = np.zeros(len(level), dtype=np.int64)
        nodes, which = np.unique(level, axis=0, return_inverse=True)
        for i, node in enumerate(nodes):
            classes = np.flatnonzero(which.reshape(-1) == i)
            found[classes] = self._fitting(node, low[classes])
        return found

    def _fitting(self, node: NDArray[np.int64], low: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the population below each generalised tuple of one node of the lattice."""
        people = self.population
        assert people is not None
        both = np.concatenate([people.quasi.astype(np.int64), low])
        codes = [
            h.levels[both[:, a], node[a]].astype(np.int64) for a, h in enumerate(self.hierarchies)
        ]
        widths = [len(h.labels[node[a]]) for a, h in enumerate(self.hierarchies)]
        _, group = np.unique(mixed_radix(codes, widths, len(both)), return_inverse=True)
        group = group.reshape(-1)
        total = np.bincount(
            group[: people.distinct], weights=people.counts, minlength=int(group.max()) + 1
        )
        return total[group[people.distinct :]].astype(np.int64)
