"""Who holds which records, and a size of classes that algorithms can add up.

Where a person has several rows, a class of k rows may be one person. What counts is the number of
*different people* of a class, and that is no sum over tuples: somebody may have rows in two.

`primary_table` gives the algorithms a sum all the same. Every person gets one primary record, in
one of the tuples she has rows of. **A class has at least as many people as primary records**: two
primary records belong to two people, and whoever has a primary record in a class is in it. So a
class that holds k primary records holds k people, and since the bound is a plain sum of counts,
every algorithm may work on it as on any other frequency table. It is exact where a person's rows
agree on the quasi-identifiers, which is the usual case. What an algorithm decides on the bound is
judged again with exact numbers of people before anything is released (`exact.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.data.tables.frequency import FrequencyTable

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class Holdings:
    """Entry `i`: person `person[i]` has `count[i]` records of distinct tuple `tuple_[i]`.

    Every pair of a person and a tuple stands once. A missing name of a person is one unknown
    person, so that nobody is counted twice.
    """

    person: NDArray[np.int64]
    tuple_: NDArray[np.int64]
    count: NDArray[np.int64]
    people: int

    def __len__(self) -> int:
        return len(self.person)

    @property
    def records(self) -> int:
        """Number of records."""
        return int(self.count.sum())


def gather_holdings(
    person: NDArray[np.integer], tuple_of: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[Holdings, NDArray[np.int64]]:
    """Add up records per person and tuple; also return the holding of every combination."""
    width = int(tuple_of.max(initial=0)) + 1
    key = person.astype(np.int64) * width + tuple_of
    distinct, index = np.unique(key, return_inverse=True)
    index = index.reshape(-1).astype(np.int64)
    count = np.bincount(index, weights=counts, minlength=len(distinct)).astype(np.int64)
    who = distinct // width
    return Holdings(who, distinct % width, count, len(np.unique(who))), index


def one_record_each(table: FrequencyTable) -> Holdings:
    """Return the holdings of a table in which every record is a person of its own."""
    tuple_ = np.repeat(np.arange(table.distinct), table.counts)
    ones = np.ones(len(tuple_), dtype=np.int64)
    return Holdings(np.arange(len(tuple_)), tuple_, ones, len(tuple_))


def primary_holdings(table: FrequencyTable, holdings: Holdings) -> NDArray[np.int64]:
    """Return the holding in which each person's primary record is, one per person.

    It is where most other people are, then where the person has most rows: the classes that the
    algorithms find by the bound are then nearest to the real ones. Among equals the choice is
    spread, so that of several values of a sensitive attribute not always the first is seen.
    """
    _, place = np.unique(table.quasi, axis=0, return_inverse=True)
    quasi = place.reshape(-1)[holdings.tuple_]
    width = int(quasi.max(initial=0)) + 1
    pairs = np.unique(holdings.person * width + quasi)
    popular = np.bincount(pairs % width, minlength=width)[quasi]
    spread = (holdings.person * 2654435761 + holdings.tuple_ * 40503) & 0xFFFF
    order = np.lexsort((spread, -holdings.count, -popular, holdings.person))
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = holdings.person[order][1:] != holdings.person[order][:-1]
    return np.asarray(order[first], dtype=np.int64)


def primary_table(
    table: FrequencyTable, holdings: Holdings, primary: NDArray[np.int64]
) -> tuple[FrequencyTable, NDArray[np.int64]]:
    """Return the frequency table of primary records, and which tuple of `table` each of its is."""
    counts = np.bincount(holdings.tuple_[primary], minlength=table.distinct).astype(np.int64)
    held = np.flatnonzero(counts)
    seen = FrequencyTable(
        table.quasi_names,
        table.sensitive_names,
        np.ascontiguousarray(table.quasi[held]),
        np.ascontiguousarray(table.sensitive[held]),
        counts[held],
        table.sensitive_values,
    )
    return seen, held
