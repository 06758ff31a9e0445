"""Synthetic records: people who do not exist are mixed among those who do.

A made-up record is drawn column by column. Its first value comes from a random record; each
further value from a random one of the records that resemble it in the column before: those
with the same value, or, where these are fewer than `POOL`, the nearest so many in the order of
that column. So single columns and pairs of neighbouring columns look real, and no made-up
record is a copy made on purpose. Identifiers are fresh, never somebody's. The made-up records
stand at random places among the real ones.

This carries no formal guarantee: real records are still there, unchanged. Synthetic data
with a guarantee is made in `sfumato.dp`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from sfumato.anonymize.definitions.definition import number_between
from sfumato.anonymize.tables.perturb.random_draws import below, chosen
from sfumato.anonymize.tables.perturb.records import LARGEST_NUMBER, type_range
from sfumato.data.hierarchies.hierarchy import MISSING
from sfumato.data.numbers import by_size
from sfumato.representation import Written

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.anonymize.tables.perturb.records import Column, Records
    from sfumato.data.tables.permutation import RandomWords

POOL = 10
"""From at least so many real records each value of a made-up one is drawn."""


@dataclass(frozen=True)
class AddSynthetic(Written):
    """Add made-up records, `share` × the number of real ones; no formal guarantee."""

    share: float = field(kw_only=True)

    def __post_init__(self) -> None:
        number_between("AddSynthetic: share", self.share, 0, 1)

    def __str__(self) -> str:
        return f"{self.share * 100:.3g} % synthetic records added"

    def apply(self, records: Records, words: RandomWords) -> Records:
        """Return the records with made-up ones among them."""
        real = len(records)
        count = round(self.share * real)
        identifiers = () if records.schema is None else records.schema.identifier_names
        place = np.ones(real + count, dtype=np.bool_)
        place[chosen(real + count, count, words)] = False
        changed = {}
        previous: tuple[Column, NDArray[np.int32]] | None = None
        for name, column in records.columns.items():
            if name in identifiers:
                made, new = _fresh(column, count, words)
            else:
                made, new = column, _drawn(column, previous, count, words)
                previous = column, new
            codes = np.empty(real + count, dtype=np.int32)
            codes[place], codes[~place] = column.codes, new
            changed[name] = replace(made, codes=codes)
        return records.with_columns(changed)


def _drawn(
    column: Column,
    previous: tuple[Column, NDArray[np.int32]] | None,
    count: int,
    words: RandomWords,
) -> NDArray[np.int32]:
    """Draw cells of a column from records like those drawn so far in the column before."""
    n = len(column.codes)
    if previous is None:
        return column.codes[below(np.full(count, n, dtype=np.int64), words)]
    before, drawn = previous
    rank = _ranks(before.values)
    order = np.argsort(rank[before.codes], kind="stable")
    in_order = rank[before.codes][order]
    first = np.searchsorted(in_order, rank[drawn], side="left")
    last = np.searchsorted(in_order, rank[drawn], side="right")
    lacking = np.maximum(min(POOL, n) - (last - first), 0)
    first = np.maximum(first - lacking // 2, 0)
    last = np.minimum(np.maximum(last + (lacking + 1) // 2, first + min(POOL, n)), n)
    first = np.minimum(first, last - min(POOL, n))
    drawn_from: NDArray[np.int64] = order[first + below((last - first).astype(np.int64), words)]
    return column.codes[drawn_from]


def _ranks(values: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the place of each value in the natural order: numbers by size, else as text."""
    present = [value for value in values if value != MISSING]
    ordered = by_size(present) or sorted(present)
    place = {value: i for i, value in enumerate([*ordered, MISSING])}
    return np.array([place[value] for value in values], dtype=np.int64)


def _fresh(column: Column, count: int, words: RandomWords) -> tuple[Column, NDArray[np.int32]]:
    """Return identifiers nobody has: numbers where all are, else random letters and digits.

    In a column of another type, or too narrow for new numbers, they are missing.
    """
    taken = {*column.values, MISSING}
    highest = _highest(column, count)
    if highest:
        bound = np.array([highest], dtype=np.int64)
        new = _unused(taken, count, lambda: str(int(below(bound, words)[0]) + 1))
    elif column.kind == "VARCHAR":
        new = _unused(taken, count, lambda: words.take(2).tobytes().hex())
    else:
        new = [MISSING] * count
    values = dict.fromkeys([*column.values, *new])
    place = {value: i for i, value in enumerate(values)}
    codes = np.array([place[value] for value in new], dtype=np.int32)
    return replace(column, values=tuple(values)), codes


def _highest(column: Column, count: int) -> int:
    """Return up to which number new identifiers are drawn; 0 if they cannot be numbers."""
    known = [value for value in column.values if value != MISSING]
    if not known or not all(value.isascii() and value.isdigit() for value in known):
        return 0
    needed = 2 * (len(known) + count)
    largest = max(map(int, known))
    highest = min(10 * max(largest, needed), type_range(column.kind)[1])
    return int(highest) if needed <= highest < LARGEST_NUMBER else 0


def _unused(taken: set[str], count: int, draw: Callable[[], str]) -> list[str]:
    new: list[str] = []
    while len(new) < count:
        value = draw()
        if value not in taken:
            taken.add(value)
            new.append(value)
    return new
