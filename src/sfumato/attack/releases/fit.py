"""People of a public table and the released classes they fit.

A person fits a class when, on every quasi-identifier both tables have, the released label
may stand for that person's value. Classes are put into a tree, one attribute per level, and
people walk down it in sorted order, so that people who share a beginning share the way;
the cost grows with the fits there are, not with people times classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.attack.releases.walk import ClassTree, Covers, walk
from sfumato.data.engines.counted import Counted
from sfumato.data.tables.sources import read
from sfumato.errors import SchemaError
from sfumato.released.covering import cover
from sfumato.released.evidence import line_keys, numbered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.data.tables.table import Table
    from sfumato.released.covering import Cover
    from sfumato.released.tables import TableView


class People:
    """A table of people, counted once for every attack that brings it to a release."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._counted: dict[tuple[str, ...], Counted] = {}

    @classmethod
    def seen(cls, view: TableView) -> People:
        """Return the people of a table whose classes are known already."""
        evidence = view.evidence
        people = cls(view.table)
        codes = tuple(np.ascontiguousarray(column, np.int32) for column in evidence.codes.T)
        known = Counted(evidence.quasi, codes, evidence.labels, evidence.sizes)
        people._counted[evidence.quasi] = known
        return people

    @property
    def rows(self) -> int:
        """Number of records."""
        known = next(iter(self._counted.values()), None)
        return self.table.rows if known is None else int(known.counts.sum())

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.table.columns

    def count(self, names: tuple[str, ...]) -> Counted:
        """Count the different people by some attributes."""
        if names not in self._counted:
            self._counted[names] = self.table.count(names)
        return self._counted[names]


@dataclass(frozen=True, eq=False)
class Fits:
    """What one walk of everybody added up.

    Per kind of person: how many classes fit, the sum of the first figure over them, the
    largest second figure and its class (−1 for none). Per class: people who fit.
    """

    classes: NDArray[np.int64]
    total: NDArray[np.float64]
    best: NDArray[np.float64]
    where: NDArray[np.int64]
    people: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Fitting:
    """People and classes, brought together on the attributes both tables have.

    People with the same quasi-identifiers are one kind; `public.counts` says how many they
    are. Classes that look alike on the shared attributes are one group: `group[c]` is the
    group of class `c`, `sizes` counts the records of a group.
    """

    names: tuple[str, ...]
    table: Table
    public: Counted
    labels: tuple[tuple[str, ...], ...]
    codes: NDArray[np.int64]
    group: NDArray[np.int64]
    sizes: NDArray[np.int64]
    covers: tuple[Cover, ...]

    @property
    def kinds(self) -> int:
        """Number of different people."""
        return len(self.public.counts)

    @property
    def total(self) -> int:
        """Number of people."""
        return int(self.public.counts.sum())

    @property
    def unread(self) -> dict[str, int]:
        """Labels per attribute that had to be taken for anything."""
        return {n: c.unread for n, c in zip(self.names, self.covers, strict=True) if c.unread}

    def person(self, kind: int) -> dict[str, str]:
        """Return the quasi-identifiers of a kind of person."""
        return {
            name: self.public.values[a][int(self.public.codes[a][kind])]
            for a, name in enumerate(self.names)
        }

    def cells(self, group: int) -> dict[str, str]:
        """Return what a group of classes shows on the shared attributes."""
        return {
            name: self.labels[a][int(self.codes[group, a])] for a, name in enumerate(self.names)
        }

    def groups_of(self, kind: int) -> NDArray[np.int64]:
        """Return the groups of classes a kind of person fits."""
        fits = np.ones(len(self.sizes), dtype=np.bool_)
        for a, covering in enumerate(self.covers):
            covered = np.zeros(len(self.labels[a]), dtype=np.bool_)
            covered[covering.of(int(self.public.codes[a][kind]))] = True
            fits &= covered[self.codes[:, a]]
        return np.flatnonzero(fits)

    @cached_property
    def _order(self) -> list[int]:
        return sorted(range(len(self.names)), key=lambda a: self.covers[a].selectivity)

    @cached_property
    def _tree(self) -> tuple[NDArray[np.int64], ...]:
        """Return the classes as a tree: children per node and the label of each node."""
        codes = self.codes[:, self._order]
        rank = _lines_rising(list(codes.T), [len(self.labels[a]) for a in self._order])
        codes = codes[rank]
        begins, labels, offsets = [], [np.zeros(1, dtype=np.int64)], [0]
        starts = np.zeros(1, dtype=np.int64)
        new = np.zeros(len(codes), dtype=np.bool_)
        for depth in range(codes.shape[1]):
            new[0] = True
            new[1:] |= codes[1:, depth] != codes[:-1, depth]
            deeper = np.flatnonzero(new)
            begins.append(np.append(np.searchsorted(deeper, starts), len(deeper)))
            labels.append(codes[deeper, depth])
            offsets.append(offsets[-1] + len(begins[-1]))
            starts = deeper
        begin = np.concatenate(begins).astype(np.int64)
        label_offsets = np.cumsum([0, *(len(level) for level in labels)])
        return (
            begin,
            np.array(offsets, dtype=np.int64),
            np.concatenate(labels).astype(np.int64),
            label_offsets.astype(np.int64),
            rank.astype(np.int64),
        )

    @cached_property
    def _walkers(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the kinds of people in the order in which they walk, and their values."""
        columns = [self.public.codes[a] for a in self._order]
        order = _lines_rising(columns, [len(self.public.values[a]) for a in self._order])
        values = np.stack([column[order] for column in columns], axis=1)
        return order, np.ascontiguousarray(values, dtype=np.int32)

    @cached_property
    def _covered(self) -> tuple[NDArray[np.int64], ...]:
        """Return all covers in one row, with where each attribute begins."""
        chosen = [self.covers[a] for a in self._order]
        first = np.cumsum([0, *(len(covering.starts) for covering in chosen)]).astype(np.int64)
        shift = np.cumsum([0, *(len(covering.labels) for covering in chosen)]).astype(np.int64)
        starts = [covering.starts + shift[i] for i, covering in enumerate(chosen)]
        labels = [covering.labels for covering in chosen]
        return first, np.concatenate(starts), np.concatenate(labels).astype(np.int64)

    def add_up(self, first: NDArray[Any], second: NDArray[Any]) -> Fits:
        """Walk everybody down: sum a figure of the groups that fit, find the largest of another."""
        order, values = self._walkers
        begin, begin_at, label, label_at, rank = self._tree
        sums = np.ascontiguousarray(first, dtype=np.float64)[rank]
        scores = np.ascontiguousarray(second, dtype=np.float64)[rank]
        found = walk(
            values, self.public.counts[order],
            ClassTree(begin, begin_at, label, label_at), Covers(*self._covered), sums, scores,
        )  # fmt: skip
        fits, total, best, where, people = found
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        groups = np.where(where >= 0, rank[where], -1)
        counted = np.zeros_like(people)
        counted[rank] = people
        return Fits(fits[back], total[back], best[back], groups[back], counted)


def _lines_rising(
    columns: Sequence[NDArray[np.integer]], widths: Sequence[int]
) -> NDArray[np.int64]:
    """Return the order of lines by their codes, the first column first.

    One number per line, where it fits, sorts faster than a line does.
    """
    return np.argsort(line_keys(columns, widths, len(columns[0])), kind="stable").astype(np.int64)


def fit(view: TableView, public: Any, *, on: Sequence[str] | None = None) -> Fitting:
    """Bring a public table and a release together; `on` limits the attributes compared."""
    evidence = view.evidence
    people = public if isinstance(public, People) else People(read(public))
    table = people.table
    wanted = evidence.quasi if on is None else tuple(on)
    names = tuple(name for name in wanted if name in table.columns and name in evidence.quasi)
    if on is not None and len(names) < len(wanted):
        lacking = ", ".join(name for name in wanted if name not in names)
        raise SchemaError(
            f"{lacking} is not a quasi-identifier of both tables; compare on attributes that "
            f"the release and {table.source} have."
        )
    if not names:
        raise SchemaError(
            f"{table.source} shares none of the quasi-identifiers of the release "
            f"({', '.join(evidence.quasi) or 'it has none'}), so nobody can be compared."
        )
    places = [evidence.quasi.index(name) for name in names]
    labels = tuple(evidence.labels[a] for a in places)
    codes = evidence.codes[:, places]
    group, groups = numbered(list(codes.T), [len(texts) for texts in labels], evidence.classes)
    first = np.zeros(groups, dtype=np.int64)
    first[group[::-1]] = np.arange(len(group))[::-1]
    sizes = np.bincount(group, weights=evidence.sizes, minlength=groups).astype(np.int64)
    counted = people.count(names)
    covers = tuple(
        cover(labels[a], counted.values[a], name, view.schema, blind=view.blind)
        for a, name in enumerate(names)
    )
    return Fitting(names, table, counted, labels, codes[first], group, sizes, covers)


def one_person(person: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return a person's attributes as a table of one record."""
    return {name: [value] for name, value in person.items()}
