"""Swapping: values change places between records.

Every distribution stays exactly as it was, because no value is invented or lost; what is
broken is the tie between a value and its record. Plain swapping exchanges the values of randomly
chosen pairs (Dalenius and Reiss, Data-swapping, 1982). Rank swapping (Moore, Controlled
data-swapping techniques for masking public use microdata sets, 1996) exchanges only numbers
that are close in rank, so relations between columns suffer less.

This carries no formal guarantee: most swapped values still belong to somebody like the record.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.definition import number_between
from sfumato.anonymize.tables.perturb.column_names import names_of
from sfumato.anonymize.tables.perturb.random_draws import chosen
from sfumato.compiler import njit
from sfumato.errors import ParameterError
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.perturb.records import Records
    from sfumato.data.tables.permutation import RandomWords


@dataclass(frozen=True)
class Swap(Written):
    """Exchange the values of a column between records; no formal guarantee.

    `share` of the records take part. Several columns are exchanged together, so that what
    they say about each other stays. With `window` a number changes places only with one at
    most `window` × (records that take part) ranks away. Missing cells do not take part.
    """

    columns: str | Sequence[str]
    share: float = field(kw_only=True)
    window: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", names_of(self.columns, self))
        number_between("Swap: share", self.share, 0, 1)
        if self.window is not None:
            number_between("Swap: window", self.window, 0, 1, open_low=True)
            if len(self.columns) > 1:
                raise ParameterError(
                    "Swap: rank swapping needs a single column, whose numbers give the ranks; "
                    f"{len(self.columns)} were given. Swap them one by one, or leave window out."
                )

    def __str__(self) -> str:
        ranks = "" if self.window is None else f", at most {self.window:.3g} of the ranks away"
        names = ", ".join(self.columns)
        return f"{self.share * 100:.3g} % of the values of {names} swapped between records{ranks}"

    def apply(self, records: Records, words: RandomWords) -> Records:
        """Return the records with values exchanged."""
        columns = {name: records.column(name, self) for name in self.columns}
        complete = ~np.any([column.missing for column in columns.values()], axis=0)
        taking_part = np.flatnonzero(complete)
        count = round(self.share * len(taking_part))
        rows = taking_part[chosen(len(taking_part), count, words)]
        if self.window is None:
            first, second = rows[0 : count - 1 : 2], rows[1:count:2]
        else:
            numbers = records.numbers(self.columns[0], self).values[rows]
            by_rank = rows[np.argsort(numbers, kind="stable")]
            first, second = _ranked_pairs(by_rank, max(int(self.window * count), 1), words)
        return records.with_columns(
            {
                name: replace(column, codes=_exchanged(column.codes, first, second))
                for name, column in columns.items()
            }
        )


def _exchanged(
    codes: NDArray[np.int32], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.int32]:
    changed = codes.copy()
    changed[first], changed[second] = codes[second], codes[first]
    return changed


def _ranked_pairs(
    by_rank: NDArray[np.int64], reach: int, words: RandomWords
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pair each record with a random free one at most `reach` ranks above it."""
    partner = np.full(len(by_rank), -1, dtype=np.int64)
    rank = 0
    while rank < len(by_rank):
        rank = int(_pair_up(partner, rank, reach, words.take(4 * len(by_rank) + 64)))
    low = np.flatnonzero(partner > np.arange(len(by_rank)))
    return by_rank[low], by_rank[partner[low]]


@njit(cache=True)
def _pair_up(partner, rank, reach, words):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    """Pair ranks from `rank` on while words last; return the first rank not decided.

    A partner is drawn among the next `reach` ranks and drawn again if it is taken, so that all
    free ones are equally likely; if all are taken, the record keeps its value.
    """
    n = len(partner)
    used = 0
    while rank < n:
        last = min(rank + reach, n - 1)
        free = False
        if partner[rank] < 0:
            for j in range(last, rank, -1):
                if partner[j] < 0:
                    free = True
                    break
        if not free:
            rank += 1
            continue
        bound = np.uint64(last - rank)
        remainder = (np.uint64(0) - bound) % bound
        while True:
            if used == len(words):
                return rank
            word = words[used]
            used += 1
            other = rank + 1 + np.int64(word % bound)
            if word >= remainder and partner[other] < 0:
                partner[rank] = other
                partner[other] = rank
                break
        rank += 1
    return rank
