"""The rows of people, coded, laid out and added up: the way from columns to bounded totals.

Contract: :func:`bounded_totals` takes pieces of columns that :func:`Shape` describes and gives the
totals of the rows that :mod:`sfumato.ask.plan.choice` keeps. People and keys become dense codes,
each different value is hashed once, and :mod:`sfumato.ask.engines.bounded_choice` walks person by
person. The pieces are given back to the engine on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.ask.engines.bounded_arrow import WholeColumn
from sfumato.ask.engines.bounded_choice import Hashes, PeopleRows, Totals, bound
from sfumato.ask.engines.bounded_codes import CodedColumn, coded
from sfumato.ask.engines.bounded_digests import digests
from sfumato.ask.engines.bounded_groups import Tuples, texts_of, tuples_of
from sfumato.ask.engines.bounded_kernels import scatter, scatter_column
from sfumato.ask.language.request import Aggregates, GroupsBound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sfumato.ask.engines.bounded_arrow import Batch, Cells
    from sfumato.ask.language.language import Kind
    from sfumato.ask.language.request import RowsBound

_ROWS_IN_BLOCK = 1 << 14  # so that the rows of a block of people stay in the second cache


@dataclass(frozen=True)
class ContributionColumns:
    """What the columns of contributions are: the person, the keys, then whole numbers.

    ``numbers`` has, for every total and then for every spread, the place of its column among the
    whole numbers, −1 for a total to which every row adds 1. The last ``spread`` columns are
    numbers of grid points. ``squared`` columns hold z and contribute z². ``wide`` says of each
    total whether it may pass 64 bits.
    """

    person: Kind
    keys: tuple[Kind, ...]
    numbers: tuple[int, ...]
    wide: tuple[bool, ...]
    spread: int = 0
    squared: frozenset[int] = frozenset()

    @property
    def columns(self) -> int:
        """How many columns of whole numbers there are."""
        return max(self.numbers, default=-1) + 1


def bounded_totals(
    pieces: Sequence[Batch],
    shape: ContributionColumns,
    limits: GroupsBound | RowsBound,
    salt: bytes,
) -> Aggregates:
    """Bound and add up rows, given in pieces that are closed on the way."""
    rows = sum(batch.rows for batch in pieces)
    seed = int.from_bytes(salt[:7], "big")
    people = _coded_column(pieces, 0, rows, seed)
    first = 1 + len(shape.keys)
    keys = [_coded_column(pieces, place, rows, seed) for place in range(1, first)]
    groups = tuples_of(keys, shape.keys, rows, seed)
    outcomes = _outcomes(pieces, groups, shape, seed)
    kept = _kept(pieces, people, groups, outcomes, shape, limits, salt)
    return _aggregates(kept, groups, outcomes, shape)


def _coded_column(pieces: Sequence[Batch], place: int, rows: int, seed: int) -> CodedColumn:
    return coded([batch.columns[place] for batch in pieces], rows, seed)


def _outcomes(
    pieces: Sequence[Batch], groups: Tuples, shape: ContributionColumns, seed: int
) -> Tuples | None:
    """Tell rows of a group apart by their grid points, where they are asked for."""
    if not shape.spread:
        return None
    rows = len(groups.codes)
    end = 1 + len(shape.keys) + shape.columns
    columns = [_coded_column(pieces, i, rows, seed) for i in range(end - shape.spread, end)]
    kinds: list[Kind] = ["integer"] * (1 + shape.spread)
    return tuples_of([groups.as_column(), *columns], kinds, rows, seed)


def _kept(
    pieces: Sequence[Batch],
    people: CodedColumn,
    groups: Tuples,
    outcomes: Tuples | None,
    shape: ContributionColumns,
    limits: GroupsBound | RowsBound,
    salt: bytes,
) -> Totals:
    rows, size = len(people.codes), len((outcomes or groups).keys)
    starts = np.concatenate(([0], np.cumsum(people.counts)))
    shift = max(0, (_ROWS_IN_BLOCK * len(people.counts) // max(rows, 1)).bit_length() - 1)
    pairs, extra, z = _laid_out(pieces, people, groups, outcomes, shape, starts, shift)
    u = digests(salt, b"p", texts_of(people, shape.person))
    g = np.ascontiguousarray(digests(salt, b"g", groups.texts).T)
    g[3] = groups.order  # the fourth number is not used by the contract: the kernel's ties are
    kept = Totals(
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros((size, len(z), 2), np.int64)
    )
    groups_kept = limits.groups if isinstance(limits, GroupsBound) else 0
    laid = PeopleRows(pairs, starts, shift, extra, z, np.array(shape.numbers, np.int64))
    bound(groups_kept, limits.rows, laid, Hashes(u, g), kept)
    return kept


def _laid_out(
    pieces: Sequence[Batch],
    people: CodedColumn,
    groups: Tuples,
    outcomes: Tuples | None,
    shape: ContributionColumns,
    starts: NDArray[np.int64],
    shift: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Lay the rows by blocks of people, and give the pieces back to the engine."""
    rows, first = len(people.codes), 1 + len(shape.keys)
    pairs = np.empty(rows, np.int64)
    extra = np.empty(rows if outcomes else 0, np.int64)
    z = np.empty((shape.columns, rows), np.int64)
    ends = starts[:-1][:: 1 << shift].copy()
    row = 0
    for batch in pieces:
        mine = slice(row, row + batch.rows)
        row += batch.rows
        places = np.empty(batch.rows, np.int64)
        scatter(people.codes[mine], groups.codes[mine], shift, ends, pairs, places)
        for column in range(shape.columns):
            numbers = _contributed(batch.columns[first + column])
            numbers = numbers * numbers if column in shape.squared else numbers
            scatter_column(numbers, places, z[column])
        if outcomes:
            scatter_column(outcomes.codes[mine].astype(np.int64), places, extra)
        batch.close()
    return pairs, extra, z


def _contributed(cells: Cells) -> NDArray[np.int64]:
    """Give the numbers rows contribute: 0 where there is none."""
    assert isinstance(cells, WholeColumn)
    return np.where(cells.present, cells.values, 0) if len(cells.present) else cells.values


def _aggregates(
    kept: Totals, groups: Tuples, outcomes: Tuples | None, shape: ContributionColumns
) -> Aggregates:
    found = np.flatnonzero(kept.rows)
    totals = tuple(_totals(kept, found, shape))
    if outcomes is None:
        return Aggregates(tuple(groups.keys[i] for i in found), kept.people[found], totals)
    split = np.array([outcomes.keys[i] for i in found], np.int64).reshape(-1, 1 + shape.spread)
    return Aggregates(
        tuple(groups.keys[i] for i in split[:, 0]),
        kept.people[found],
        totals,
        tuple(split[:, 1 + s].copy() for s in range(shape.spread)),
    )


def _totals(
    kept: Totals, found: NDArray[np.int64], shape: ContributionColumns
) -> Iterator[NDArray[Any]]:
    for column, wide in zip(shape.numbers, shape.wide, strict=False):
        if column < 0:
            yield kept.rows[found]
            continue
        high, low = kept.sums[found, column, 0], kept.sums[found, column, 1]
        if wide:
            yield high.astype(object) * 2**32 + low.astype(object)
        else:
            yield (high << 32) + low
