"""What each quasi-identifier lost: its distribution before and after, and the price.

Before, original values are shown on the lowest level of the hierarchy that needs at most
`MOST_BARS` bars, and beside each the share a reader of the release would estimate, who
spreads every label evenly over the values it stands for. After, the labels as they are
released. What does not fit is put together in a last row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.loss.measures import attribute_losses, leaf_counts
from sfumato.anonymize.tables.apply.cells import released_cells
from sfumato.anonymize.tables.apply.recode import labelled_shares
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.data.wording import some
from sfumato.report.figures import label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.apply.cells import ReleasedCells
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.hierarchies.hierarchy import Hierarchy

MOST_BARS = 20


@dataclass(frozen=True)
class Bar:
    """One label and how many records show it; `share` is of all records shown.

    `estimate` is the share a reader of the release would guess, where that is asked. `rest`
    says that the row stands for all labels that did not get a bar.
    """

    label: str
    count: int
    share: float
    estimate: float | None = None
    rest: bool = False


@dataclass(frozen=True)
class Distribution:
    """Bars, and what the reader must know about how they were made."""

    bars: tuple[Bar, ...]
    note: str

    @property
    def longest(self) -> float:
        """Share of the longest bar that is drawn."""
        drawn = [max(bar.share, bar.estimate or 0.0) for bar in self.bars if not bar.rest]
        return max(drawn, default=1.0) or 1.0


@dataclass(frozen=True)
class AttributeChange:
    """One quasi-identifier before and after."""

    name: str
    losses: Mapping[str, float]
    before: Distribution
    after: Distribution
    values: int
    labels: int


def attribute_changes(problem: Problem, recoding: Recoding) -> tuple[AttributeChange, ...]:
    """Return what happened to each quasi-identifier, in the order of the schema."""
    table = problem.table
    cells = released_cells(table, problem.hierarchies, recoding)
    prices = attribute_losses(table, problem.hierarchies, cells)
    shares = labelled_shares(table, problem.hierarchies, recoding)
    changes = []
    for a, (name, h) in enumerate(zip(table.quasi_names, problem.hierarchies, strict=True)):
        counts = leaf_counts(table, a, h)
        labels = shares.labels[a]
        released = np.bincount(shares.codes[a], shares.count, len(labels)).astype(np.float64)
        present = np.flatnonzero(released)
        before = original_distribution(h, counts, estimated_leaves(h, cells, a))
        after = distribution([labels[i] for i in present], released[present], in_order=has_order(h))
        values = int((counts > 0).sum())
        changes.append(AttributeChange(name, prices[name], before, after, values, len(present)))
    return tuple(changes)


def estimated_leaves(h: Hierarchy, cells: ReleasedCells, a: int) -> NDArray[np.float64]:
    """Return how many released records a reader would ascribe to each value.

    Every label is spread evenly over the values it stands for.
    """
    kept = cells.kept
    records = np.bincount(cells.row[kept], weights=cells.count[kept], minlength=len(cells.level))
    level, low, high = cells.level[:, a], cells.low[:, a], cells.high[:, a]
    estimate = np.zeros(h.size)
    for v in range(h.height):
        on = level == v
        node = np.bincount(h.levels[low[on], v], weights=records[on], minlength=len(h.labels[v]))
        estimate += (node / h.leaf_counts[v])[h.levels[:, v]]
    ranged = level < 0
    each = records[ranged] / (high[ranged] - low[ranged] + 1)
    edges = np.bincount(low[ranged], weights=each, minlength=h.size + 1)
    edges -= np.bincount(high[ranged] + 1, weights=each, minlength=h.size + 1)
    return estimate + np.cumsum(edges)[:-1]


def original_distribution(
    h: Hierarchy, counts: NDArray[np.int64], estimate: NDArray[np.float64]
) -> Distribution:
    """Return how the original values are spread, on the level that needs few enough bars."""
    present = int((counts > 0).sum())
    enough = (v for v in range(h.height) if np.count_nonzero(_per_node(h, counts, v)) <= MOST_BARS)
    level = next(enough, h.height - 1)
    if level == h.height - 1 > 0 and present > MOST_BARS:
        level -= 1
    nodes, guessed = _per_node(h, counts, level), _per_node(h, estimate, level)
    found = np.flatnonzero(nodes)
    labels = [h.labels[level][i] for i in found]
    guesses = guessed[found] / max(float(estimate.sum()), 1.0)
    shown = distribution(labels, nodes[found], in_order=has_order(h), estimates=guesses)
    if level == 0:
        return shown
    what = f"{some(present, 'value')}, grouped as on level {level} of the hierarchy"
    return Distribution(shown.bars, f"{what}; {shown.note}" if shown.note else what)


def has_order(h: Hierarchy) -> bool:
    """Tell whether bars keep the order of the leaves: declared, or numbers listed by size."""
    if h.ordered:
        return True
    try:
        numbers = [float(leaf) for leaf in h.leaves if leaf != MISSING]
    except ValueError:
        return False
    return all(a < b for a, b in pairwise(numbers))


def _per_node(
    h: Hierarchy, leaves: NDArray[np.int64] | NDArray[np.float64], level: int
) -> NDArray[np.float64]:
    nodes = np.bincount(h.levels[:, level], weights=leaves, minlength=len(h.labels[level]))
    return nodes.astype(np.float64)


def distribution(
    labels: Sequence[str],
    counts: NDArray[np.float64],
    *,
    in_order: bool,
    estimates: NDArray[np.float64] | None = None,
) -> Distribution:
    """Return at most `MOST_BARS` bars; the rarest labels are put together in a last row."""
    total = max(float(counts.sum()), 1.0)
    by_count = np.argsort(-counts, kind="stable")
    fits = len(labels) <= MOST_BARS
    chosen = np.arange(len(labels)) if in_order and fits else by_count
    guesses = [None] * len(labels) if estimates is None else estimates.tolist()
    bars = [
        Bar(label(labels[i]), int(counts[i]), float(counts[i]) / total, guesses[i])
        for i in (chosen if fits else chosen[: MOST_BARS - 1])
    ]
    if fits:
        return Distribution(tuple(bars), "")
    others = int(counts[by_count[MOST_BARS - 1 :]].sum())
    bars.append(Bar(f"{len(labels) - len(bars):,} others", others, others / total, rest=True))
    return Distribution(tuple(bars), f"the {MOST_BARS - 1} most frequent of {len(labels):,}")
