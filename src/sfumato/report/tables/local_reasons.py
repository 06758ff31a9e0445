"""Why a local release is as coarse as it is: levels per class, and what forced them.

In a local recoding every class has a generalised tuple of its own. For each attribute the
page says on which levels it is released, and in how many classes one step finer would
split off people who break the promise. A step is one level of the hierarchy; a range is cut
in half. Some classes are shown with the original values that had to be brought together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.apply.cells import class_numbers, lowest_level, released_cells
from sfumato.data.wording import some
from sfumato.report.figures import count, label

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.problem import Problem
    from sfumato.anonymize.tables.recoding import Local

RANGE = -1
VALUES_SHOWN = 6


@dataclass(frozen=True)
class LevelUse:
    """How many classes, and records in them, release an attribute on one level."""

    level: int
    example: str
    classes: int
    records: int
    share: float


@dataclass(frozen=True)
class LocalReason:
    """One attribute: its levels; classes that generalise it, and those forced to."""

    attribute: str
    uses: tuple[LevelUse, ...]
    generalized: int
    forced: int | None
    sentence: str


@dataclass(frozen=True)
class ClassExample:
    """A class: what it releases, and the original values of its members per attribute."""

    what: str
    records: int
    cells: tuple[tuple[str, str, str], ...]


class LocalClasses:
    """The equivalence classes of a local release, with who is in them."""

    def __init__(self, problem: Problem, recoding: Local) -> None:
        self.problem = problem
        cells = released_cells(problem.table, problem.hierarchies, recoding)
        numbers, self.n = class_numbers(cells, problem.hierarchies)
        kept = np.flatnonzero(cells.kept & (cells.count > 0))
        self.tuples = cells.tuple_[kept]
        self.counts = cells.count[kept]
        self.group = numbers[cells.row[kept]]
        sizes = np.bincount(self.group, weights=self.counts, minlength=self.n)
        self.sizes = sizes.astype(np.int64)
        first = np.zeros(self.n, dtype=np.int64)
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]
        self.low, self.high = cells.low[first], cells.high[first]
        self.level = self._levels(cells.level[first])

    def _levels(self, level: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the lowest level that shows the same, `RANGE` for a range of several values."""
        lowest = np.empty_like(level)
        for a, h in enumerate(self.problem.hierarchies):
            node = lowest_level(h)[self.low[:, a], np.maximum(level[:, a], 0)]
            ranged = (level[:, a] < 0) & (self.low[:, a] != self.high[:, a])
            lowest[:, a] = np.where(ranged, RANGE, np.where(level[:, a] < 0, 0, node))
        return lowest

    def text(self, c: int, a: int) -> str:
        """Return what class `c` shows for the `a`-th attribute."""
        h, level = self.problem.hierarchies[a], int(self.level[c, a])
        if level == RANGE:
            return f"[{h.leaves[self.low[c, a]]},{h.leaves[self.high[c, a]]}]"
        return label(h.label(int(self.low[c, a]), level))

    def finer(self, a: int) -> NDArray[np.int64]:
        """Return for each share the part of its class it would be in, one step finer on `a`."""
        h = self.problem.hierarchies[a]
        leaf = self.problem.table.quasi[self.tuples, a].astype(np.int64)
        level = self.level[self.group, a]
        middle = (self.low[self.group, a] + self.high[self.group, a]) // 2
        node = h.levels[leaf, np.maximum(level - 1, 0)].astype(np.int64)
        part = np.where(level == RANGE, (leaf > middle).astype(np.int64), node)
        return np.where(level == 0, 0, part)

    @cached_property
    def totals(self) -> dict[str, NDArray[np.int64]]:
        """Distribution of the judged attributes among the released records."""
        table = self.problem.table
        found = {}
        for name in self.problem.definition.sensitive:
            s = table.sensitive_names.index(name)
            column = table.sensitive[self.tuples, s]
            width = len(table.sensitive_values[s])
            total = np.bincount(column, weights=self.counts, minlength=width)
            found[name] = total.astype(np.int64)
        return found

    def forced(self, a: int) -> NDArray[np.bool_] | None:
        """Return for each class whether one step finer on `a` would break the promise.

        None where the promise is not about single classes (key combinations, populations).
        """
        if not self.problem.definition.per_class:
            return None
        h = self.problem.hierarchies[a]
        key = self.group * max(h.size, 2) + self.finer(a)
        distinct, part = np.unique(key, return_inverse=True)
        holds = self.problem.judge(
            part.reshape(-1), len(distinct), tuples=self.tuples, counts=self.counts,
            totals=self.totals,
        )  # fmt: skip
        broken = np.zeros(self.n, dtype=np.bool_)
        broken[(distinct // max(h.size, 2))[~holds]] = True
        broken &= self.level[:, a] != 0
        return broken


def local_reasons(classes: LocalClasses) -> tuple[LocalReason, ...]:
    """Return for each quasi-identifier where it was generalised, and whether it had to be."""
    names = classes.problem.table.quasi_names
    return tuple(_reason(classes, a, name) for a, name in enumerate(names))


def _reason(classes: LocalClasses, a: int, name: str) -> LocalReason:
    present = classes.sizes > 0
    generalized = int((present & (classes.level[:, a] != 0)).sum())
    forced = classes.forced(a)
    n_forced = None if forced is None else int((forced & present).sum())
    sentence = _why(int(present.sum()), generalized, n_forced)
    return LocalReason(name, _uses(classes, a), generalized, n_forced, sentence)


def _why(classes: int, generalized: int, forced: int | None) -> str:
    if generalized == 0:
        return "Released as it is in every class; nothing had to be generalised."
    sentence = f"Generalised in {count(generalized)} of {some(classes, 'class', 'classes')}."
    if forced is None:
        return sentence
    if forced == generalized:
        return (
            f"{sentence} In each of them one step finer would split off people who break the "
            "promise."
        )
    return (
        f"{sentence} In {count(forced)} of them one step finer would split off people who break "
        f"the promise; in {count(generalized - forced)} it would not, and the heuristic stopped "
        "short of it."
    )


def _uses(classes: LocalClasses, a: int) -> tuple[LevelUse, ...]:
    total = max(int(classes.sizes.sum()), 1)
    uses = []
    for level in np.unique(classes.level[classes.sizes > 0, a]):
        on = (classes.level[:, a] == level) & (classes.sizes > 0)
        records = int(classes.sizes[on].sum())
        largest = int(np.where(on, classes.sizes, 0).argmax())
        uses.append(
            LevelUse(int(level), classes.text(largest, a), int(on.sum()), records, records / total)
        )
    return tuple(sorted(uses, key=lambda use: use.level if use.level >= 0 else 0.5))


def class_examples(classes: LocalClasses) -> tuple[ClassExample, ...]:
    """Return up to three classes: the one that lost most, a middling one, and the smallest."""
    price = _prices(classes)
    order = np.argsort(price, kind="stable")
    order = order[classes.sizes[order] > 0]
    if not len(order):
        return ()
    smallest = order[int(np.argmin(classes.sizes[order]))]
    picked = {
        "the class that lost most": int(order[-1]),
        "a typical class: half of all lost more": int(order[len(order) // 2]),
        "the smallest class": int(smallest),
    }
    examples: dict[int, ClassExample] = {}
    for what, c in picked.items():
        if c not in examples:
            examples[c] = _example(classes, what, c)
    return tuple(examples.values())


def _prices(classes: LocalClasses) -> NDArray[np.float64]:
    """Return the mean LM of each class over its attributes; a range counts its leaves."""
    problem = classes.problem
    total = np.zeros(classes.n)
    for a, h in enumerate(problem.hierarchies):
        low, high, level = classes.low[:, a], classes.high[:, a], classes.level[:, a]
        node = h.loss[low, np.maximum(level, 0)]
        total += np.where(level == RANGE, (high - low) / max(h.size - 1, 1), node)
    return total / problem.attributes


def _example(classes: LocalClasses, what: str, c: int) -> ClassExample:
    problem = classes.problem
    members = classes.tuples[classes.group == c]
    cells = []
    for a, (name, h) in enumerate(zip(problem.table.quasi_names, problem.hierarchies, strict=True)):
        leaves = np.unique(problem.table.quasi[members, a])
        values = [label(h.leaves[i]) for i in leaves[:VALUES_SHOWN]]
        more = len(leaves) - len(values)
        together = ", ".join(values) + (f" and {more} more" if more else "")
        cells.append((name, classes.text(c, a), together if len(leaves) > 1 else "all alike"))
    return ClassExample(what, int(classes.sizes[c]), tuple(cells))
