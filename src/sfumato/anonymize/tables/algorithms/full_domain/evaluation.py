"""Evaluate one node of the generalisation lattice: who is suppressed, what it costs.

Groupings of evaluated nodes are kept, and a node is grouped from the smallest kept grouping
below it (`rollup`). `judging` says which classes are suppressed; here the node is counted and
priced.

The price of a node before suppression and what suppression adds to it are told apart, because one
grows on the way up the lattice and the other on the way down. Over n records, all objectives that
charge records are written in that form: for sums over cells, the price is that of the released
cells and a suppressed record adds the difference to a suppressed one. For DM a record costs the
size of its class over n, and n over n when it is suppressed. No class below the minimum size `m`
is released, so the price may charge max(size, m), and the suppressed record adds n − max(size, m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.algorithms.clock import TimeUp
from sfumato.anonymize.tables.algorithms.full_domain.gains import Gains
from sfumato.anonymize.tables.algorithms.full_domain.grouping import Grouper
from sfumato.anonymize.tables.algorithms.full_domain.judging import Judge
from sfumato.anonymize.tables.algorithms.full_domain.prices import SEPARABLE
from sfumato.anonymize.tables.algorithms.full_domain.rollup import (
    Grouping,
    Histogram,
    Rollups,
    merge_histograms,
    sum_per_group,
)
from sfumato.compiled import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.clock import Clock
    from sfumato.anonymize.tables.algorithms.full_domain.bar import Bar
    from sfumato.anonymize.tables.problem import Problem

    ByLevel = tuple[NDArray[np.float64], ...]

NOTHING_BY_LEVEL: ByLevel = ()


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a node of the lattice would release.

    `least` bounds the records that every node below must suppress, and is at most what this one
    does; `saved` is what suppression adds to the price here, `least_saved` what it adds at least in
    every node below; `by_level` is sharper for sums over cells (`gains`), where there is any.
    With the definition's minimum size m: `large` counts the classes of at least m records,
    `small` the records in others, `parts` how many classes of m records can be cut from what each
    class may keep, and `lifted` sums size × max(size, m). Where `finished` is false, judging ended
    early: the node is beyond what was asked about, and more may have to be suppressed than is said.
    """

    node: tuple[int, ...]
    suppressed: int
    classes: int
    kept_classes: int
    kept_squares: int
    lifted: int
    large: int
    small: int
    parts: int
    least: int
    saved: float
    least_saved: float
    finished: bool
    by_level: ByLevel = ()


class Evaluator:
    """Evaluates nodes for one problem, remembering groupings."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        table, population = problem.table, problem.population
        quasi = table.quasi if population is None else np.vstack([table.quasi, population.quasi])
        self._quasi = quasi
        columns = np.ascontiguousarray(quasi.T, dtype=np.int32)
        self._grouper = Grouper(columns, problem.hierarchies)
        self._judge = Judge(problem, self._grouper)
        self._values = {
            name: len(values)
            for name, values in zip(table.sensitive_names, table.sensitive_values, strict=True)
        }
        self._class_of, finest = self._finest()
        self._rollups = Rollups(finest, problem.attributes)
        self._gains = _stack_gains(problem)
        self._below = Gains(problem, self._quasi)

    # -- grouping ----------------------------------------------------------------------

    def _finest(self) -> tuple[NDArray[np.int64], Grouping]:
        """Group the distinct tuples of table and population without generalising any."""
        table, population = self.problem.table, self.problem.population
        rows = len(self._quasi)
        counts = np.zeros(rows, dtype=np.int64)
        counts[: table.distinct] = table.counts
        lines = np.minimum(np.arange(rows + 1), table.distinct)
        alone = Grouping(
            np.arange(rows, dtype=np.int64),
            counts,
            None
            if population is None
            else np.concatenate([np.zeros(table.distinct, dtype=np.int64), population.counts]),
            lambda: {
                name: Histogram(
                    lines, np.ascontiguousarray(table.sensitive[:, s], np.int32), table.counts
                )
                for s, name in enumerate(table.sensitive_names)
            },
        )
        if population is None and not table.sensitive_names:
            return alone.representatives, alone  # distinct tuples of quasi-identifiers alone
        bottom = (0,) * self.problem.attributes
        groups, representatives = self._grouper.group(bottom, alone.representatives)
        return groups, self._merge(alone, groups, representatives)

    def _merge(
        self, fine: Grouping, groups: NDArray[np.int64], representatives: NDArray[np.int64]
    ) -> Grouping:
        n = len(representatives)
        people = None if fine.people is None else sum_per_group(groups, fine.people, n)
        return Grouping(
            representatives,
            sum_per_group(groups, fine.sizes, n),
            people,
            lambda: {
                name: merge_histograms(h, groups, n, self._values[name])
                for name, h in fine.histograms.items()
            },
        )

    @property
    def minimum(self) -> int:
        """The size below which no class is released."""
        return self._judge.minimum

    def watch(self, clock: Clock) -> None:
        """Leave an evaluation that has a bar with `TimeUp` when the time is up."""
        self._judge.clock = clock

    def grouping(self, node: tuple[int, ...]) -> Grouping:
        """Return the classes of a node, by roll-up."""
        exact, fine = self._rollups.smallest_below(node)
        if exact:
            return fine
        groups, representatives = self._grouper.group(node, fine.representatives)
        coarse = self._merge(fine, groups, representatives)
        if coarse.classes < 0.9 * fine.classes:
            self._rollups.keep(node, coarse)
        return coarse

    # -- judging -----------------------------------------------------------------------

    def evaluate(self, node: tuple[int, ...], bar: Bar | None = None) -> Evaluation:
        """Group, judge and price one node; in full, or until it is beyond a bar."""
        grouping = self.grouping(node)

        def price(fails: NDArray[np.bool_]) -> float:
            return self._added(node, grouping, np.where(fails, grouping.sizes, 0))

        if bar is not None and self._judge.clock.late:
            raise TimeUp
        if bar is not None and self.problem.objective == "DM":
            bar = bar._replace(price=bar.price - self._lifted(grouping.sizes))
        verdict = self._judge.judge(node, grouping, bar, price)
        tally = _tally(grouping.sizes, verdict.fails, verdict.removed, self._judge.minimum)
        suppressed, classes, kept, squares, lifted, large, small, parts, least = map(int, tally)
        limit = self.problem.suppression_limit
        known = verdict.finished and 0 < suppressed <= limit
        saved = price(verdict.fails) if known else 0.0
        least_saved, by_level = 0.0, NOTHING_BY_LEVEL
        if 0 < least <= limit:
            least_saved, by_level = self._least_saved(node, grouping, verdict.removed)
        if 0 < verdict.removed_in_all <= limit:
            cheapest = self._cheapest(node, grouping, verdict.removed_in_all)
            least_saved = max(least_saved, cheapest)
        least = max(least, verdict.removed_in_all)
        parts = min(parts, self._judge.most_classes(least))
        return Evaluation(
            node=node,
            suppressed=suppressed,
            classes=classes,
            kept_classes=kept,
            kept_squares=squares,
            lifted=lifted,
            large=large,
            small=small,
            parts=parts,
            least=least,
            saved=saved,
            least_saved=least_saved,
            finished=verdict.finished,
            by_level=by_level,
        )

    def _lifted(self, sizes: NDArray[np.int64]) -> float:
        """Return the price of a node under DM before suppression."""
        return float(sizes @ np.maximum(sizes, self._judge.minimum)) / self.problem.rows

    def suppressed_tuples(self, node: tuple[int, ...]) -> NDArray[np.bool_]:
        """Return for every distinct tuple of the table whether its records are suppressed."""
        finest = self._rollups.finest
        groups, representatives = self._grouper.group(node, finest.representatives)
        grouping = self._merge(finest, groups, representatives)
        verdict = self._judge.judge(node, grouping, None, lambda _: 0.0)
        rows: NDArray[np.bool_] = verdict.fails[groups[self._class_of]]
        return rows[: self.problem.table.distinct]

    def _least_saved(
        self, node: tuple[int, ...], grouping: Grouping, removed: NDArray[np.int64]
    ) -> tuple[float, ByLevel]:
        """Return what suppressing these records adds below at least; by level where known."""
        if self.problem.objective in SEPARABLE:
            return 0.0, self._below.added(node, grouping.representatives, removed)
        return self._added(node, grouping, removed), NOTHING_BY_LEVEL

    def _cheapest(self, node: tuple[int, ...], grouping: Grouping, records: int) -> float:
        """Return what suppressing so many records adds at least, whichever they are."""
        if self.problem.objective == "AECS":
            return 0.0
        each = self._each(node, grouping)
        order = np.argsort(each, kind="stable")
        before = np.cumsum(grouping.sizes[order]) - grouping.sizes[order]
        taken = np.clip(records - before, 0, grouping.sizes[order])
        return float((each[order] * taken).sum())

    def _each(self, node: tuple[int, ...], grouping: Grouping) -> NDArray[np.float64]:
        """Return what suppressing one record of each class adds to the price of the node."""
        if self.problem.objective == "DM":
            n = self.problem.rows
            return np.asarray((n - np.maximum(grouping.sizes, self._judge.minimum)) / n)
        chosen = self._quasi[grouping.representatives]
        gains = (self._gains[a, level].take(chosen[:, a]) for a, level in enumerate(node))
        return np.asarray(sum(gains, np.zeros(len(chosen))))

    def _added(
        self, node: tuple[int, ...], grouping: Grouping, records: NDArray[np.int64]
    ) -> float:
        """Return what suppressing so many records of each class adds to the price of the node."""
        if self.problem.objective == "AECS":
            return 0.0
        if self.problem.objective == "DM":
            return float((self._each(node, grouping) * records).sum())  # no BLAS, which spins
        levels = np.array(node, dtype=np.int64)
        return _sum_gains(self._gains, self._quasi, levels, grouping.representatives, records)


def _stack_gains(problem: Problem) -> NDArray[np.float64]:
    """Return what suppressing a cell adds to its price, by attribute, level and leaf."""
    width = max((len(cost) for cost in problem.costs), default=1)
    gains = np.zeros((problem.attributes, int(problem.heights.max(initial=1)), width))
    for a, (supp, cost) in enumerate(zip(problem.suppressed, problem.costs, strict=True)):
        gains[a, : cost.shape[1], : len(cost)] = (supp[:, None] - cost).T
    return gains


def _plain_sum_gains(
    gains: NDArray[np.float64],
    quasi: NDArray[np.int32],
    levels: NDArray[np.int64],
    representatives: NDArray[np.int64],
    records: NDArray[np.int64],
) -> float:
    which = np.flatnonzero(records)
    chosen = representatives[which]
    total = np.zeros(len(chosen))
    for a, level in enumerate(levels):
        total += gains[a, level].take(quasi[chosen, a])
    return float((total * records[which]).cumsum()[-1]) if len(which) else 0.0


@kernel(_plain_sum_gains, loss=lambda *a: 3e-5 + 1e-8 * len(a[2]) * len(a[3]))
def _sum_gains(gains, quasi, levels, representatives, records):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Sum what suppressing the records adds, one class after the other (so do both forms)."""
    total = 0.0
    for c in range(len(records)):
        if records[c] > 0:
            gain = 0.0
            for a in range(len(levels)):
                gain += gains[a, levels[a], quasi[representatives[c], a]]
            total += gain * records[c]
    return total


Tally = tuple[int, int, int, int, int, int, int, int, int]


def _plain_tally(
    sizes: NDArray[np.int64], fails: NDArray[np.bool_], removed: NDArray[np.int64], minimum: int
) -> Tally:
    kept = sizes[~fails]
    large = sizes[sizes >= max(minimum, 1)]
    return (
        int(sizes.sum() - kept.sum()),
        int(np.count_nonzero(sizes)),
        int(np.count_nonzero(kept)),
        int(kept @ kept),
        int(sizes @ np.maximum(sizes, minimum)),
        len(large),
        int(sizes.sum() - large.sum()),
        int(((sizes - removed) // max(minimum, 1)).sum()),
        int(removed.sum()),
    )


@kernel(_plain_tally, loss=lambda sizes, *_: 1e-5 + 5e-9 * len(sizes))
def _tally(sizes, fails, removed, minimum):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Count what `Evaluation` lists: suppressed … least, in its order."""
    suppressed = classes = kept = kept_squares = lifted = large = small = parts = least = 0
    for c in range(len(sizes)):
        size = sizes[c]
        if size == 0:
            continue
        classes += 1
        lifted += size * max(size, minimum)
        least += removed[c]
        if size >= minimum:
            large += 1
        else:
            small += size
        parts += (size - removed[c]) // minimum
        if fails[c]:
            suppressed += size
        else:
            kept += 1
            kept_squares += size * size
    return suppressed, classes, kept, kept_squares, lifted, large, small, parts, least
