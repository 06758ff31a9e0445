"""Top-down search: cut sets of records again and again while every part holds.

All open sets are cut in the same round: each proposes its best remaining cut, all parts of
all sets are judged in one question, sets whose parts hold are replaced by their parts, the
others try their next cut. Where some parts fail, they are put together and judged once more
before the cut is given up, which matters for definitions that are not monotone. A set for
which nothing is left to try is a class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sfumato.anonymize.tables.algorithms.bottom_up.clusters import Shares
from sfumato.anonymize.tables.algorithms.top_down.cuts import RecordSets, Rules, cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.algorithms.bottom_up.verdicts import Judge
    from sfumato.anonymize.tables.algorithms.encoding import Encoding

MEDIAN = 0.5
PLACES = (MEDIAN, 0.25, 0.75)
"""Shares of the records at which an ordered attribute is cut, in the order they are tried."""


class Preference(Protocol):
    """Says how much each set would like to be cut along each attribute."""

    def __call__(
        self, sets: RecordSets, gain: NDArray[np.float64], parts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return a score per set and attribute; the highest is tried first."""
        ...


def by_gain(
    sets: RecordSets,  # noqa: ARG001 - other preferences look at the records
    gain: NDArray[np.float64],
    parts: NDArray[np.int64],  # noqa: ARG001 - the same
) -> NDArray[np.float64]:
    """Prefer the cut that saves most loss on its own attribute."""
    return gain


@dataclass(frozen=True, eq=False)
class Parts:
    """Proposed parts as entries: so many records of a tuple in a part of a set.

    Entries are sorted by set and part; `holds` is the verdict on the entry's part.
    """

    tuple_: NDArray[np.int64]
    count: NDArray[np.int64]
    set_: NDArray[np.int64]
    part: NDArray[np.int64]
    holds: NDArray[np.bool_]

    def __getitem__(self, chosen: NDArray[np.bool_] | NDArray[np.int64] | slice) -> Parts:
        return Parts(
            self.tuple_[chosen],
            self.count[chosen],
            self.set_[chosen],
            self.part[chosen],
            self.holds[chosen],
        )

    def sorted(self) -> Parts:
        """Sort the entries by set and part."""
        radix = int(self.part.max(initial=0)) + 1
        return self[np.argsort(self.set_ * radix + self.part, kind="stable")]

    @property
    def begins(self) -> NDArray[np.int64]:
        """Return where each part begins."""
        new = np.ones(len(self.set_), dtype=np.bool_)
        new[1:] = (self.set_[1:] != self.set_[:-1]) | (self.part[1:] != self.part[:-1])
        return np.flatnonzero(new)

    @property
    def groups(self) -> NDArray[np.int64]:
        """Return the parts of all sets numbered from 0, per entry."""
        begins = self.begins
        return np.repeat(np.arange(len(begins)), np.diff(begins, append=len(self.set_)))

    @staticmethod
    def concatenate(many: Sequence[Parts]) -> Parts:
        """Return the entries of many, one after another."""
        names = ("tuple_", "count", "set_", "part", "holds")
        return Parts(*(np.concatenate([getattr(p, name) for p in many]) for name in names))


class Splitter:
    """Cuts the records of one problem top-down."""

    def __init__(
        self,
        encoding: Encoding,
        judge: Judge,
        *,
        relaxed: bool = False,
        by_order: Sequence[bool] | None = None,
        preference: Preference = by_gain,
    ) -> None:
        problem = judge.problem
        self.encoding = encoding
        self.judge = judge
        self.preference = preference
        sizes = [h.size for h in problem.hierarchies]
        ordered = np.zeros(len(sizes), dtype=np.bool_)
        if by_order is not None:
            ordered[:] = by_order
        steps = [s.mean() / max(n - 1, 1) for s, n in zip(problem.suppressed, sizes, strict=True)]
        minimum = max(problem.definition.minimum_size, 1)
        self.rules = Rules(minimum, relaxed, ordered, np.array(steps), max(sizes))

    def split(self, start: Shares | None = None) -> Shares:
        """Return the classes reached from the whole table, or from the given classes."""
        level = self._judged(self._whole() if start is None else _as_parts(start))
        classes: list[Shares] = []
        finished = 0
        while len(level.tuple_):
            if self.judge.clock.late:  # sets that could still be cut are classes as they are
                level, rest = level[:0], level
            else:
                level, rest = self._round(level)
            numbers = rest.groups
            classes.append(Shares(rest.tuple_, numbers + finished, rest.count))
            finished += int(numbers[-1]) + 1 if len(numbers) else 0
        return Shares(
            np.concatenate([c.tuple_ for c in classes]),
            np.concatenate([c.class_ for c in classes]),
            np.concatenate([c.count for c in classes]),
        )

    def _whole(self) -> Parts:
        counts = self.judge.problem.table.counts
        present = np.flatnonzero(counts)
        zero = np.zeros(len(present), dtype=np.int64)
        return Parts(present, counts[present], zero, zero, zero > 0)

    def _judged(self, parts: Parts) -> Parts:
        groups = parts.groups
        n = int(groups[-1]) + 1 if len(groups) else 0
        verdict = self.judge.holds(parts.tuple_, parts.count, groups, n)
        return replace(parts, holds=verdict[groups])

    # -- one round ---------------------------------------------------------------------

    def _round(self, level: Parts) -> tuple[Parts, Parts]:
        """Cut every part as it likes best; return the parts made and those left as classes."""
        begins = level.begins
        sets = RecordSets(level.tuple_, level.count, np.append(begins, len(level.tuple_)))
        holds = level.holds[begins]
        everywhere = np.full(len(begins), -1, dtype=np.int64)
        gain, parts, _ = cut(sets, self.encoding.tree, self.rules, everywhere, MEDIAN)
        score = np.where(parts > 1, self.preference(sets, gain, parts), -np.inf)
        ranked = np.argsort(-score, axis=1, kind="stable")
        uncut = np.ones(len(begins), dtype=np.bool_)
        made: list[Parts] = [level[:0]]
        for place in PLACES[: 1 if self.judge.counts_only else None]:
            for along in ranked.T:
                possible = uncut & (score[np.arange(len(uncut)), along] > -np.inf)
                if place != MEDIAN:
                    possible &= self.rules.by_order[along]
                tried = np.flatnonzero(possible)
                if len(tried):
                    made += self._try(self._cut(sets, tried, along[tried], place), holds)
                    uncut[made[-1].set_] = False
        left = level[np.repeat(uncut, np.diff(sets.begin))]
        return Parts.concatenate(made).sorted(), left

    def _cut(
        self, sets: RecordSets, tried: NDArray[np.int64], along: NDArray[np.int64], place: float
    ) -> Parts:
        """Cut the tried sets, each along its attribute."""
        lengths = np.diff(sets.begin)[tried]
        ends = np.cumsum(lengths)
        entries = np.arange(ends[-1]) + np.repeat(sets.begin[tried] - (ends - lengths), lengths)
        some = RecordSets(sets.tuple_[entries], sets.size[entries], np.append(0, ends))
        part = np.zeros(len(entries), dtype=np.int64)
        _, _, divided = cut(some, self.encoding.tree, self.rules, along, place, part)
        whole = Parts(some.tuple_, some.size.copy(), np.repeat(tried, lengths), part, part < 0)
        share, moved, target = divided[divided[:, 0] >= 0].T
        whole.count[share] -= moved
        split = replace(whole[share], count=moved, part=target)
        return Parts.concatenate([whole, split]).sorted()

    def _try(self, parts: Parts, holds: NDArray[np.bool_]) -> list[Parts]:
        """Return the parts of sets all of whose parts hold, pooling parts where that helps.

        A set that did not hold itself may be cut into parts that do not hold either, where
        unions need not hold: nothing is lost, and smaller parts may hold.
        """
        made = []
        for pool in (_pool_failing, _pool_smallest, None):
            parts = self._judged(parts)
            bad = np.zeros(len(holds), dtype=np.bool_)
            bad[parts.set_[~parts.holds]] = True
            if not self.judge.joins_hold:
                bad &= holds
            made.append(parts[~bad[parts.set_]])
            if pool is None or not bad.any():
                break
            parts = pool(parts[bad[parts.set_]])
        return [Parts.concatenate(made)]


def _as_parts(start: Shares) -> Parts:
    """Return the released shares as one part per class."""
    kept = start.kept()
    zero = np.zeros(len(kept.tuple_), dtype=np.int64)
    return Parts(kept.tuple_, kept.count, kept.class_, zero, zero > 0).sorted()


def _pool_failing(parts: Parts) -> Parts:
    """Put the failing parts of each set into its remainder, where two parts would be left."""
    return _with_two_parts(replace(parts, part=np.where(parts.holds, parts.part, 0)))


def _pool_smallest(parts: Parts) -> Parts:
    """Put the smallest part that holds into the remainder, where two parts would be left."""
    groups, begins = parts.groups, parts.begins
    sizes = np.bincount(groups, weights=parts.count)
    sets = parts.set_[begins]
    sizes[parts.part[begins] == 0] = np.inf
    order = np.lexsort((sizes, sets))
    first = order[np.append(True, sets[order][1:] != sets[order][:-1])]
    chosen = np.zeros(len(begins), dtype=np.bool_)
    chosen[first] = True
    return _with_two_parts(replace(parts, part=np.where(chosen[groups], 0, parts.part)))


def _with_two_parts(parts: Parts) -> Parts:
    """Return the entries of the sets that still have more than one part."""
    parts = parts.sorted()
    sets = parts.set_[parts.begins]
    several = np.bincount(sets, minlength=int(parts.set_.max(initial=0)) + 1) > 1
    return parts[several[parts.set_]]
