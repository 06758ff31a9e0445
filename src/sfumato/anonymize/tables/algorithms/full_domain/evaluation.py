"""Evaluate one node of the generalisation lattice: who is suppressed, what it costs.

Groupings of evaluated nodes are kept, and a node is grouped from the smallest kept grouping
below it (roll-up). Records of classes that fail the definition are suppressed; where the
definition compares with the whole release, or where several key combinations are
promised, suppressing changes the question, so it is asked again until all that is left holds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram, batches, histogram
from sfumato.anonymize.tables.algorithms.full_domain.grouping import Grouper
from sfumato.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.problem import Problem

KEPT_GROUPINGS = 256
KEPT_SHARE = 6
"""How many groupings are kept for roll-up, and how many cells in all as a multiple of the
number of distinct tuples; the oldest give way."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Groups of tuples that look alike: a representative tuple and the people per cell."""

    representatives: NDArray[np.int64]
    weights: NDArray[np.int64]
    population: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a node of the lattice would release.

    `forced` counts the records that must be suppressed here for being in a class below the
    definition's minimum size; they must be suppressed in every node below as well. `saved` is
    what suppression adds to the price, `forced_saved` the forced part of it.
    """

    node: tuple[int, ...]
    suppressed: int
    classes: int
    kept_classes: int
    sum_of_squares: int
    kept_squares: int
    forced: int
    saved: float
    forced_saved: float


class Evaluator:
    """Evaluates nodes for one problem, remembering groupings."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        table = problem.table
        population = problem.population
        quasi = table.quasi if population is None else np.vstack([table.quasi, population.quasi])
        sensitive = np.zeros((len(quasi), table.sensitive.shape[1]), dtype=np.int32)
        sensitive[: table.distinct] = table.sensitive
        self._sensitive = sensitive
        widths = tuple(len(values) for values in table.sensitive_values)
        columns = np.concatenate([quasi, sensitive], axis=1).T.astype(np.int32)
        self._grouper = Grouper(columns, problem.hierarchies, widths)
        self._population = np.zeros(len(quasi), dtype=np.int64)
        counts = np.zeros(len(quasi), dtype=np.int64)
        counts[: table.distinct] = table.counts
        if population is not None:
            self._population[table.distinct :] = population.counts
        self._quasi = quasi
        everyone = Cells(
            np.arange(len(quasi), dtype=np.int64),
            counts,
            None if population is None else self._population,
        )
        self._rollups = _Rollups(everyone, problem.attributes)
        self._gains = [
            (supp[:, None] - cost)
            for supp, cost in zip(problem.suppressed, problem.costs, strict=True)
        ]

    # -- grouping ----------------------------------------------------------------------

    def cells(self, node: tuple[int, ...]) -> Cells:
        """Return the cells of a node (generalised tuple × sensitive values), by roll-up."""
        exact, fine = self._rollups.finest_below(node)
        if exact:
            return fine
        groups, representatives = self._grouper.group(node, fine.representatives, plain=True)
        weights = _summed(groups, fine.weights, len(representatives))
        population = fine.population
        if population is not None:
            population = _summed(groups, population, len(representatives))
        coarse = Cells(representatives, weights, population)
        if len(representatives) < 0.9 * len(fine.representatives):
            self._rollups.keep(node, coarse)
        return coarse

    # -- judging -----------------------------------------------------------------------

    def evaluate(self, node: tuple[int, ...]) -> Evaluation:
        """Group, judge and price one node."""
        cells = self.cells(node)
        groups, representatives = self._classes_of(node, cells)
        sizes = cells.weights
        if len(representatives) != len(cells.representatives):
            sizes = _summed(groups, sizes, len(representatives))
        fails = self._failing(node, cells, groups, representatives, sizes)
        counted = _counted(sizes, fails, self.problem.definition.minimum_size)
        classes, kept, suppressed, forced, squares, kept_squares = (int(x) for x in counted)
        small = sizes < self.problem.definition.minimum_size
        return Evaluation(
            node=node,
            suppressed=suppressed,
            classes=classes,
            kept_classes=kept,
            sum_of_squares=squares,
            kept_squares=kept_squares,
            forced=forced,
            saved=self._saved(node, suppressed, fails, representatives, sizes),
            forced_saved=self._saved(node, forced, small, representatives, sizes),
        )

    def suppressed_tuples(self, node: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return for every distinct tuple of the table whether its records are suppressed."""
        everyone = self._rollups.everyone
        groups, representatives = self._grouper.group(node, everyone.representatives)
        sizes = _summed(groups, everyone.weights, len(representatives))
        fails = self._failing(node, everyone, groups, representatives, sizes)
        verdict: NDArray[np.bool_] = fails[groups][: self.problem.table.distinct]
        return verdict

    def _classes_of(
        self, node: tuple[int, ...], cells: Cells
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if not self.problem.table.sensitive_names and cells is not self._rollups.everyone:
            return np.arange(len(cells.representatives)), cells.representatives
        return self._grouper.group(node, cells.representatives)

    def _saved(
        self,
        node: tuple[int, ...],
        records: int,
        which: NDArray[np.bool_],
        representatives: NDArray[np.int64],
        sizes: NDArray[np.int64],
    ) -> float:
        """Return how much cheaper releasing some classes would be than suppressing them.

        Not worth knowing, hence 0, when they are more records than may be suppressed.
        """
        if records == 0 or records > self.problem.suppression_limit:
            return 0.0
        chosen = representatives[which]
        total = np.zeros(len(chosen))
        for a, level in enumerate(node):
            total += self._gains[a][self._quasi[chosen, a], level]
        return float(total @ sizes[which])

    def _failing(
        self,
        node: tuple[int, ...],
        cells: Cells,
        groups: NDArray[np.int64],
        representatives: NDArray[np.int64],
        sizes: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return which classes must be suppressed so that all others hold."""
        definition = self.problem.definition
        n = len(sizes)
        people = None
        if cells.population is not None:
            people = _summed(groups, cells.population, n)
        if not definition.sensitive and not _combinations(definition):
            return ~definition.judge(Classes(sizes, {}, people))
        fails: NDArray[np.bool_] = sizes == 0
        while True:
            verdict = self._together(node, representatives, sizes, fails)
            self._judge(cells, groups, sizes, people, fails, verdict)
            newly = ~verdict & ~fails
            if not newly.any():
                return fails
            fails |= newly

    def _together(
        self,
        node: tuple[int, ...],
        representatives: NDArray[np.int64],
        sizes: NDArray[np.int64],
        gone: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """Judge promises about key combinations, whose groups span classes."""
        verdict = np.ones(len(sizes), dtype=np.bool_)
        left = np.where(gone, 0, sizes)
        for part in self.problem.definition.parts:
            if part.combination:
                names = self.problem.table.quasi_names
                attributes = tuple(names.index(name) for name in part.combination)
                groups, found = self._grouper.group(node, representatives, attributes=attributes)
                verdict &= part.judge(Classes(_summed(groups, left, len(found))))[groups]
        return verdict

    def _judge(
        self,
        cells: Cells,
        groups: NDArray[np.int64],
        sizes: NDArray[np.int64],
        people: NDArray[np.int64] | None,
        gone: NDArray[np.bool_],
        verdict: NDArray[np.bool_],
    ) -> None:
        """Judge all classes against what is still released, and lower `verdict` accordingly."""
        definition, table = self.problem.definition, self.problem.table
        parts = [part for part in definition.parts if not part.combination]
        columns = {}
        for name in definition.sensitive:
            s = table.sensitive_names.index(name)
            codes = self._sensitive[cells.representatives, s].astype(np.int64)
            values = table.sensitive_values[s]
            left = np.where(gone[groups], 0, cells.weights)
            columns[name] = (codes, values, _summed(codes, left, len(values)))
        widest = max((len(values) for _, values, _ in columns.values()), default=1)
        for batch, places in batches(groups, len(sizes), widest):
            views = {
                name: SensitiveHistogram(
                    histogram(
                        groups[places] - batch.start,
                        batch.stop - batch.start,
                        codes[places],
                        len(values),
                        cells.weights[places],
                    ),
                    total,
                    values,
                    self.problem.sensitive_hierarchies.get(name),
                )
                for name, (codes, values, total) in columns.items()
            }
            those = Classes(sizes[batch], views, None if people is None else people[batch])
            for part in parts:
                verdict[batch] &= part.judge(those)


def _combinations(definition: Definition) -> bool:
    return any(part.combination for part in definition.parts)


def _plain_summed(
    groups: NDArray[np.int64], weights: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    # Sums are counts of people, which doubles hold exactly.
    return np.bincount(groups, weights=weights, minlength=n).astype(np.int64)


@kernel(_plain_summed, loss=lambda groups, _weights, _n: 5e-6 + 2e-9 * len(groups))
def _summed(groups, weights, n):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Sum integer weights per group."""
    total = np.zeros(n, dtype=np.int64)
    for i in range(len(groups)):
        total[groups[i]] += weights[i]
    return total


def _plain_counted(
    sizes: NDArray[np.int64], fails: NDArray[np.bool_], minimum: int
) -> tuple[int, int, int, int, int, int]:
    kept = sizes[~fails]
    return (
        int(np.count_nonzero(sizes)),
        int(np.count_nonzero(kept)),
        int(sizes.sum() - kept.sum()),
        int(sizes[sizes < minimum].sum()),
        int(sizes @ sizes),
        int(kept @ kept),
    )


@kernel(_plain_counted, loss=lambda sizes, _fails, _minimum: 1e-5 + 5e-9 * len(sizes))
def _counted(sizes, fails, minimum):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count classes, kept classes, suppressed and forced records, and sums of squares."""
    classes = kept = suppressed = forced = squares = kept_squares = 0
    for c in range(len(sizes)):
        size = sizes[c]
        if size == 0:
            continue
        classes += 1
        squares += size * size
        if size < minimum:
            forced += size
        if fails[c]:
            suppressed += size
        else:
            kept += 1
            kept_squares += size * size
    return classes, kept, suppressed, forced, squares, kept_squares


class _Rollups:
    """Groupings kept for roll-up, found by the node they belong to."""

    def __init__(self, everyone: Cells, attributes: int) -> None:
        self.everyone = everyone
        self._levels = np.zeros((KEPT_GROUPINGS, attributes), dtype=np.int64)
        self._sizes = np.full(KEPT_GROUPINGS, np.iinfo(np.int64).max)
        self._kept: list[Cells | None] = [None] * KEPT_GROUPINGS
        self._sizes[0] = len(everyone.representatives)
        self._kept[0] = everyone
        self._ages: deque[int] = deque()
        self._free = list(range(KEPT_GROUPINGS - 1, 0, -1))
        self._room = KEPT_SHARE * max(len(everyone.representatives), 1)

    def finest_below(self, node: tuple[int, ...]) -> tuple[bool, Cells]:
        """Return the smallest kept grouping from which a node can be made, and if it is its own."""
        wanted = np.array(node, dtype=np.int64)
        fits = (self._levels <= wanted).all(axis=1)
        at = int(np.where(fits, self._sizes, np.iinfo(np.int64).max).argmin())
        cells = self._kept[at]
        assert cells is not None
        return at > 0 and bool((self._levels[at] == wanted).all()), cells

    def keep(self, node: tuple[int, ...], cells: Cells) -> None:
        """Remember a grouping; forget the oldest ones when there are too many."""
        self._room -= len(cells.representatives)
        while self._ages and (not self._free or self._room < 0):
            oldest = self._ages.popleft()
            self._room += int(self._sizes[oldest])
            self._sizes[oldest] = np.iinfo(np.int64).max
            self._kept[oldest] = None
            self._free.append(oldest)
        at = self._free.pop()
        self._levels[at] = node
        self._kept[at] = cells
        self._sizes[at] = len(cells.representatives)  # last: an interrupt must not find a gap
        self._ages.append(at)
