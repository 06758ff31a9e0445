"""Apply a recoding: from distinct tuples and their classes to released rows.

The recoding says for every share of a distinct tuple which generalised tuple it gets.
Applying it replaces the quasi-identifiers of each record by that text, drops suppressed
records and columns without a role, and takes the records' order away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.tables.apply.cells import released_cells
from sfumato.anonymize.tables.cell_keys import mixed_radix
from sfumato.data.tables.permutation import RandomWords, shuffle
from sfumato.data.tables.rows import Lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.engines.counted import Counted
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.tables.frequency import FrequencyTable


@dataclass(frozen=True, eq=False, repr=False)
class LabelledShares:
    """Released shares of distinct tuples and the text each quasi-identifier gets.

    `labels[a][codes[a][j]]` is what the records of share `j` show for attribute `a`.
    Shares of one tuple stand together, in the order of the table's tuples.
    """

    tuple_: NDArray[np.int64]
    count: NDArray[np.int64]
    codes: tuple[NDArray[np.int32], ...]
    labels: tuple[tuple[str, ...], ...]


def labelled_shares(
    table: FrequencyTable, hierarchies: Sequence[Hierarchy], recoding: Recoding
) -> LabelledShares:
    """Return every released share with its texts; suppressed ones are left out."""
    cells = released_cells(table, hierarchies, recoding)
    kept = np.flatnonzero(cells.kept & (cells.count > 0))
    kept = kept[np.argsort(cells.tuple_[kept], kind="stable")]
    row = cells.row[kept]
    codes, labels = [], []
    for a, h in enumerate(hierarchies):
        texts, code = _texts(h, cells.level[:, a], cells.low[:, a], cells.high[:, a])
        codes.append(code[row])
        labels.append(texts)
    return LabelledShares(cells.tuple_[kept], cells.count[kept], tuple(codes), tuple(labels))


def _texts(
    h: Hierarchy, level: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the distinct texts of a column of generalised cells, and each cell's."""
    ranges = level < 0
    on = np.where(ranges, 0, level)
    node = h.levels[low, on].astype(np.int64)
    first = np.where(ranges, low, node)
    last = np.where(ranges, high, node)
    square = h.size**2
    # one number per cell sorts much faster than three; a hierarchy of 2^31 leaves fits nowhere
    keys = (np.maximum(level, -1) + 1) * square + first * h.size + last
    distinct, index = np.unique(keys, return_inverse=True)
    found = [
        _text(h, key // square - 1, key // h.size % h.size, key % h.size)
        for key in distinct.tolist()
    ]
    texts = {text: i for i, text in enumerate(dict.fromkeys(found))}
    codes = np.array([texts[text] for text in found], dtype=np.int32)
    return tuple(texts), codes[index.reshape(-1)] if len(codes) else np.zeros(0, np.int32)


def _text(h: Hierarchy, level: int, first: int, last: int) -> str:
    if level >= 0:
        return h.labels[level][first]
    if first == last:
        return h.leaves[first]
    return f"[{h.leaves[first]},{h.leaves[last]}]"


def released_lines(
    counted: Counted,
    tuple_of: NDArray[np.int64],
    shares: LabelledShares,
    quasi: Sequence[str],
    *,
    types: Mapping[str, str],
    words: RandomWords,
) -> Lines:
    """Return the released rows as distinct lines in random order.

    `counted` holds the combinations of all released columns, `tuple_of` the distinct tuple
    each belongs to. The records of a tuple that is shared between classes are dealt out at
    random.
    """
    combination, share, count = _dealt(counted.counts, tuple_of, shares, words)
    codes, values = [], []
    for c, name in enumerate(counted.columns):
        if name in quasi:
            a = list(quasi).index(name)
            codes.append(shares.codes[a][share])
            values.append(shares.labels[a])
        else:
            codes.append(counted.codes[c][combination])
            values.append(counted.values[c])
    return compose_lines(counted.columns, codes, values, count, types, words)


def compose_lines(
    columns: tuple[str, ...],
    codes: list[NDArray[np.int32]],
    values: list[tuple[str, ...]],
    count: NDArray[np.int64],
    types: Mapping[str, str],
    words: RandomWords,
) -> Lines:
    """Return lines that occur so many times each, in random order."""
    codes, count = _merged(codes, [len(v) for v in values], count)
    order = np.repeat(np.arange(len(count), dtype=np.int32), count)
    shuffle(order, words)
    kinds = tuple(types.get(name, "VARCHAR") for name in columns)
    return Lines(columns, tuple(codes), tuple(values), order, kinds)


def _dealt(
    counts: NDArray[np.int64],
    tuple_of: NDArray[np.int64],
    shares: LabelledShares,
    words: RandomWords,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Deal the records of each tuple's combinations out to the tuple's shares, at random.

    Returns pieces (combination, share, records). Which records of a tuple go to which class, and
    which are suppressed, must not depend on their other cells: the class would tell them.
    """
    first = np.searchsorted(shares.tuple_, shares.tuple_, side="left")
    ends = np.cumsum(shares.count)
    last = ends - (ends[first] - shares.count[first] if len(first) else ends)
    total = np.bincount(tuple_of, weights=counts).astype(np.int64)
    share_of = np.full(len(total), -1, dtype=np.int64)
    share_of[shares.tuple_] = np.arange(len(shares.tuple_))
    whole = np.zeros(len(total), dtype=np.bool_)
    whole[shares.tuple_] = shares.count == total[shares.tuple_]
    simple = np.flatnonzero(whole[tuple_of])
    mixed = np.flatnonzero(~whole[tuple_of] & (share_of[tuple_of] >= 0))
    record = np.repeat(mixed, counts[mixed])
    order = np.lexsort((words.take(len(record)), tuple_of[record]))
    record = record[order]
    of = tuple_of[record]
    place = np.arange(len(of)) - np.searchsorted(of, of, side="left")
    key = shares.tuple_ * (int(total.max(initial=0)) + 1) + last
    share = np.searchsorted(key, of * (int(total.max(initial=0)) + 1) + place, side="right")
    inside = share < len(shares.tuple_)
    inside[inside] = shares.tuple_[share[inside]] == of[inside]
    pieces, number = np.unique(
        np.stack([record[inside], share[inside]], axis=1), axis=0, return_counts=True
    )
    return (
        np.concatenate([simple, pieces[:, 0]]),
        np.concatenate([share_of[tuple_of[simple]], pieces[:, 1]]),
        np.concatenate([counts[simple], number]),
    )


def _merged(
    codes: list[NDArray[np.int32]], widths: list[int], count: NDArray[np.int64]
) -> tuple[list[NDArray[np.int32]], NDArray[np.int64]]:
    """Put equal lines together, so that the same text is composed once."""
    if not len(count):
        return codes, count
    key = mixed_radix([column.astype(np.int64) for column in codes], widths, len(count))
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    together = np.bincount(index.reshape(-1), weights=count).astype(np.int64)
    return [column[first] for column in codes], together
