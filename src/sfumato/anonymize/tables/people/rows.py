"""Rows of a release in which a person may have several, with numbers that mean one class only.

A reader must be able to count the *people* of a class, so every row carries a number: rows of one
class with the same number are of the same person. The numbers 1, 2, … are dealt anew in every
class, by cryptographic randomness, so number 3 of one class and number 3 of another have nothing to
do with each other: the rows of a person in two classes cannot be linked by them. What the numbers
do tell is how many rows a person has *inside* a class, and which.

A class is what a reader sees as one: rows that show the same texts on the quasi-identifiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.tables.apply.recode import compose_lines
from sfumato.anonymize.tables.cell_keys import mixed_radix
from sfumato.data.tables.row_query import Dealing, dealt_query

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.apply.recode import LabelledShares
    from sfumato.anonymize.tables.people.holdings import Holdings
    from sfumato.anonymize.tables.people.placement import Placement
    from sfumato.data.engines.counted import Counted
    from sfumato.data.tables.permutation import RandomWords
    from sfumato.data.tables.rows import Rows
    from sfumato.data.tables.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Seats:
    """For each combination that was counted: its share (−1 where left out) and its number."""

    share: NDArray[np.int64]
    number: NDArray[np.int64]


def seat(
    holdings: Holdings,
    placement: Placement,
    holding_of: NDArray[np.int64],
    shares: LabelledShares,
    words: RandomWords,
) -> Seats:
    """Find the share of every combination and number the people of each class."""
    share = _share_of(holdings, placement, shares)
    kept = np.flatnonzero(share >= 0)
    shown = mixed_radix(
        [codes[share[kept]].astype(np.int64) for codes in shares.codes],
        [len(labels) for labels in shares.labels],
        len(kept),
    )
    number = np.zeros(len(holdings), dtype=np.int64)
    number[kept] = _numbers(shown, holdings.person[kept], words)
    return Seats(share[holding_of], number[holding_of])


def _share_of(
    holdings: Holdings, placement: Placement, shares: LabelledShares
) -> NDArray[np.int64]:
    """Return the share in which each holding is; a tuple's shares stand in the order of classes."""
    n = len(placement.classes) + 1
    kept = placement.class_ >= 0
    keys, index = np.unique(holdings.tuple_[kept] * n + placement.class_[kept], return_inverse=True)
    assert len(keys) == len(shares.tuple_)
    assert np.array_equal(keys // n, shares.tuple_)
    share = np.full(len(holdings), -1, dtype=np.int64)
    share[kept] = index.reshape(-1)
    return share


def _numbers(
    class_: NDArray[np.int64], person: NDArray[np.int64], words: RandomWords
) -> NDArray[np.int64]:
    """Give the people of every class numbers from 1, in an order that tells nothing."""
    width = int(person.max(initial=0)) + 1
    _, place = np.unique(class_, return_inverse=True)
    pairs, index = np.unique(place.reshape(-1) * width + person, return_inverse=True)
    of = pairs // width
    order = np.lexsort((words.take(len(pairs)), of))
    rank = np.empty(len(pairs), dtype=np.int64)
    rank[order] = np.arange(len(pairs)) - np.searchsorted(of, of[order], side="left")
    return np.asarray(rank[index.reshape(-1)] + 1, dtype=np.int64)


def numbered_lines(
    counted: Counted,
    seats: Seats,
    shares: LabelledShares,
    quasi: tuple[str, ...],
    *,
    unit: str,
    column: str,
    types: Mapping[str, str],
    words: RandomWords,
) -> Rows:
    """Return the rows as distinct lines in random order; `unit` itself is not released."""
    kept = np.flatnonzero(seats.share >= 0)
    names, codes, values = [], [], []
    for c, name in enumerate(counted.columns):
        if name == unit:
            continue
        names.append(name)
        if name in quasi:
            a = quasi.index(name)
            codes.append(shares.codes[a][seats.share[kept]])
            values.append(shares.labels[a])
        else:
            codes.append(counted.codes[c][kept])
            values.append(counted.values[c])
    names.append(column)
    codes.append((seats.number[kept] - 1).astype(np.int32))
    values.append(tuple(str(i + 1) for i in range(int(seats.number.max(initial=0)))))
    return compose_lines(
        tuple(names), codes, values, counted.counts[kept], {**types, column: "BIGINT"}, words
    )


def numbered_query(
    table: Table,
    columns: tuple[str, ...],
    counted: Counted,
    seats: Seats,
    shares: LabelledShares,
    quasi: tuple[str, ...],
    *,
    column: str,
    types: Mapping[str, str],
    words: RandomWords,
    keep: bool,
) -> Rows:
    """Return the rows as a query: every combination of a person and a tuple gets its texts."""
    kept = np.flatnonzero(seats.share >= 0)
    match: dict[str, Any] = {
        name: np.array(values, dtype=object)[codes[kept]]
        for name, codes, values in zip(counted.columns, counted.codes, counted.values, strict=True)
    }
    texts: dict[str, Any] = {
        name: np.array(labels, dtype=object)[codes[seats.share[kept]]]
        for name, codes, labels in zip(quasi, shares.codes, shares.labels, strict=True)
    }
    texts[column] = seats.number[kept].astype(str).astype(object)
    first = np.ones(len(kept), dtype=np.int64)
    return dealt_query(
        table,
        (*columns, column),
        Dealing(match, texts, first, counted.counts[kept], shared=False),
        replacements={},
        types={**types, column: "BIGINT"},
        key=words.key(),
        keep=keep,
    )
