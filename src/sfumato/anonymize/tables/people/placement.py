"""Where everybody's records go: from classes of primary records to classes of all records.

A recoding found on primary records (`holdings.py`) says in which class each primary record is. The
other records follow, and may only add people to a class, never take any away:

1. Records of the tuple in which the person's primary record is go where that one goes.
2. Records that the class of the person's primary record covers go there: her rows stay together.
3. Records of a tuple that has primary records of others go to one of its classes, at random with
   the probabilities with which those were dealt.
4. Where more records were left out than may be, the largest holdings among them are taken back.
5. What is left goes to the class that becomes dearest by the least when it is widened to cover it.

Which of the people of one tuple go to which of its classes is decided by cryptographic randomness,
never by their other cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.people.generalized_tuples import (
    GeneralizedTuples,
    covers,
    leaf_tuple,
    widening,
)
from sfumato.anonymize.tables.recoding import SUPPRESSED, Local

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sfumato.anonymize.tables.people.holdings import Holdings
    from sfumato.anonymize.tables.problem import Problem
    from sfumato.data.tables.permutation import RandomWords
    from sfumato.decision import SearchRecord

UNPLACED = -2
"""Class of a holding that has none yet."""


@dataclass(frozen=True, eq=False, repr=False)
class Placement:
    """The class of every holding (`SUPPRESSED` for none) and the classes' generalised tuples."""

    class_: NDArray[np.int64]
    classes: GeneralizedTuples

    def local(self, holdings: Holdings, record: SearchRecord) -> Local:
        """Return the same as a recoding of all records."""
        n = len(self.classes) + 1
        key, index = np.unique(holdings.tuple_ * n + self.class_ + 1, return_inverse=True)
        count = np.bincount(index.reshape(-1), weights=holdings.count).astype(np.int64)
        return Local(
            key // n,
            key % n - 1,
            count,
            self.classes.level,
            self.classes.low,
            self.classes.high,
            record,
        )


def place(
    problem: Problem,
    holdings: Holdings,
    primary: NDArray[np.int64],
    held: NDArray[np.int64],
    recoding: Local,
    words: RandomWords,
) -> Placement:
    """Give every holding a class; `recoding` is about primary records of the tuples `held`."""
    class_ = np.full(len(holdings), UNPLACED, dtype=np.int64)
    class_[primary] = _deal(holdings.tuple_[primary], held, recoding, words)
    own = np.full(int(holdings.person.max(initial=0)) + 1, SUPPRESSED, dtype=np.int64)
    own[holdings.person[primary]] = class_[primary]
    classes = GeneralizedTuples(
        recoding.level.copy(),
        recoding.low.copy(),
        np.where(recoding.level < 0, recoding.high, recoding.low),
    )
    _follow(problem, holdings, class_, own[holdings.person], classes)
    _join_others(holdings, class_, held, recoding, words)
    _take_back(holdings, class_, problem.suppression_limit)
    _widen(problem, holdings, class_, classes)
    return Placement(class_, classes)


def _deal(
    tuple_: NDArray[np.int64], held: NDArray[np.int64], recoding: Local, words: RandomWords
) -> NDArray[np.int64]:
    """Deal the primary records of each tuple out to its shares, at random."""
    order = np.argsort(recoding.tuple_, kind="stable")
    seats = np.repeat(recoding.class_[order], recoding.count[order])
    people = np.lexsort((words.take(len(tuple_)), np.searchsorted(held, tuple_)))
    dealt = np.empty(len(tuple_), dtype=np.int64)
    dealt[people] = seats
    return dealt


def _follow(
    problem: Problem,
    holdings: Holdings,
    class_: NDArray[np.int64],
    own: NDArray[np.int64],
    classes: GeneralizedTuples,
) -> None:
    """Put records where the person's primary record is, if its class covers them."""
    loose = np.flatnonzero((class_ == UNPLACED) & (own >= 0))
    leaves = problem.table.quasi[holdings.tuple_[loose]]
    fits = covers(problem.hierarchies, classes.take(own[loose]), leaves)
    class_[loose[fits]] = own[loose[fits]]


def _join_others(
    holdings: Holdings,
    class_: NDArray[np.int64],
    held: NDArray[np.int64],
    recoding: Local,
    words: RandomWords,
) -> None:
    """Put records into a class of the same tuple, by lot."""
    released = recoding.class_ != SUPPRESSED
    tuple_ = held[recoding.tuple_[released]]
    order = np.argsort(tuple_, kind="stable")
    tuple_, classes = tuple_[order], recoding.class_[released][order]
    ends = np.cumsum(recoding.count[released][order])
    loose = np.flatnonzero(class_ == UNPLACED)
    wanted = holdings.tuple_[loose]
    begin = np.searchsorted(tuple_, wanted, side="left")
    end = np.searchsorted(tuple_, wanted, side="right")
    known = end > begin
    loose, begin, end = loose[known], begin[known], end[known]
    before = np.where(begin > 0, ends[begin - 1], 0)
    total = ends[end - 1] - before
    lot = (words.take(len(loose)) % np.maximum(total, 1).astype(np.uint64)).astype(np.int64)
    class_[loose] = classes[np.searchsorted(ends, before + lot, side="right")]


def _take_back(holdings: Holdings, class_: NDArray[np.int64], limit: int) -> None:
    """Find a place for the largest holdings that were left out, where too many records were.

    Algorithms count one record per person; somebody who is left out may have many.
    """
    out = np.flatnonzero(class_ == SUPPRESSED)
    out = out[np.argsort(-holdings.count[out], kind="stable")]
    left = int(holdings.count[out].sum()) - np.cumsum(holdings.count[out])
    excess = int(holdings.count[out].sum()) > limit
    needed = int(np.argmax(left <= limit)) + 1 if excess else 0
    class_[out[:needed]] = UNPLACED


def _widen(
    problem: Problem, holdings: Holdings, class_: NDArray[np.int64], classes: GeneralizedTuples
) -> None:
    """Put what is left into the class that costs least to widen; suppress it if there is none."""
    loose = np.flatnonzero(class_ == UNPLACED)
    kept = class_ >= 0
    sizes = np.bincount(class_[kept], weights=holdings.count[kept], minlength=len(classes))
    sizes = sizes.astype(np.int64)
    if not sizes.any():
        class_[loose] = SUPPRESSED
        return
    quasi = problem.table.quasi[holdings.tuple_[loose]]
    tuples, which = np.unique(quasi, axis=0, return_inverse=True)
    records = np.bincount(which.reshape(-1), weights=holdings.count[loose]).astype(np.int64)
    there = np.flatnonzero(sizes)
    for t in range(len(tuples)):
        cost, wider = widening(
            problem, classes.take(there), sizes[there], leaf_tuple(tuples[t]), int(records[t])
        )
        best = int(cost.argmin())
        classes.put(int(there[best]), wider.take(slice(best, best + 1)))
        sizes[there[best]] += records[t]
        class_[loose[which.reshape(-1) == t]] = there[best]


def suppress(placement: Placement, gone: NDArray[np.bool_]) -> Placement:
    """Leave the records of some classes out."""
    kept = placement.class_ >= 0
    class_ = placement.class_.copy()
    class_[kept] = np.where(gone[class_[kept]], SUPPRESSED, class_[kept])
    return replace(placement, class_=class_)
