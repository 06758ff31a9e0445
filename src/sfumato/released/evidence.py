"""What a released file shows: its classes and what is in them, and nothing else.

`gather` groups the file by the quasi-identifiers it has and counts. Cells are compared as
the text they are; a missing cell is the empty text, a value like any other, so no record
slips past the check. Nothing here knows how the release was made.

Where a column tells whose the records of a class are, classes and values count people: everybody
once per class, and once per class and value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.anonymize.definitions.classes import Classes, SensitiveHistogram
from sfumato.data.tables.sources import read
from sfumato.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.data.engines.counted import Counted
    from sfumato.data.hierarchies.hierarchy import Hierarchy
    from sfumato.data.schema import Schema
    from sfumato.data.tables.table import Table


_LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class Spread:
    """How one sensitive attribute is spread over the classes, zeros left out.

    Entry `i` says: `count[i]` records of class `class_[i]` have value number `value[i]`; people
    instead of records where they are known, so that a person with two values counts for both.
    `sizes` adds the counts up per class. Values stand in their natural order. Entries are sorted by
    class, then by value.
    """

    class_: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]
    values: tuple[str, ...] = field(repr=False)
    sizes: NDArray[np.int64]
    hierarchy: Hierarchy | None = None

    @cached_property
    def total(self) -> NDArray[np.int64]:
        """How many records of the whole release have each value."""
        total = np.bincount(self.value, weights=self.count, minlength=len(self.values))
        return total.astype(np.int64)

    @cached_property
    def inside(self) -> NDArray[np.float64]:
        """Share of each entry's value in its class."""
        return self.count / self.sizes[self.class_]

    @cached_property
    def overall(self) -> NDArray[np.float64]:
        """Share of each entry's value in the whole release."""
        shares: NDArray[np.float64] = self.total / self.total.sum()
        return shares[self.value]

    def dense(self, chosen: slice) -> SensitiveHistogram:
        """Return the histograms of some classes, zeros included."""
        counts = np.zeros((chosen.stop - chosen.start, len(self.values)), dtype=np.int64)
        inside = (self.class_ >= chosen.start) & (self.class_ < chosen.stop)
        counts[self.class_[inside] - chosen.start, self.value[inside]] = self.count[inside]
        return SensitiveHistogram(counts, self.total, self.values, self.hierarchy)


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The equivalence classes of a released file.

    `labels[a][codes[c, a]]` is what class `c` shows for the `a`-th quasi-identifier. `sizes` counts
    people where the column `person` tells them apart, else records; `rows` always counts records.
    """

    source: str
    columns: tuple[str, ...]
    quasi: tuple[str, ...]
    codes: NDArray[np.int64]
    labels: tuple[tuple[str, ...], ...]
    sizes: NDArray[np.int64]
    sensitive: Mapping[str, Spread]
    rows: NDArray[np.int64]
    person: str | None = None

    @property
    def records(self) -> int:
        """Number of released records."""
        return int(self.rows.sum())

    @property
    def texts(self) -> dict[str, tuple[str, ...]]:
        """The different cells of every column that was counted."""
        quasi = dict(zip(self.quasi, self.labels, strict=True))
        return quasi | {name: spread.values for name, spread in self.sensitive.items()}

    @property
    def classes(self) -> int:
        """Number of equivalence classes."""
        return len(self.sizes)

    def cells(self, c: int) -> dict[str, str]:
        """Return the generalised tuple of a class."""
        return {name: self.labels[a][int(self.codes[c, a])] for a, name in enumerate(self.quasi)}

    def classes_for(self, names: Iterable[str], chosen: slice | None = None) -> Classes:
        """Return some classes with dense histograms of some attributes, as a judge wants them."""
        part = slice(0, self.classes) if chosen is None else chosen
        views = {name: self.sensitive[name].dense(part) for name in names}
        return Classes(self.sizes[part], views)

    def sizes_on(self, names: Sequence[str]) -> NDArray[np.int64]:
        """Return for each class how many records agree with it on some of the attributes.

        Of people with records in several classes no more can be told than that they are as many as
        in the largest of them: somebody may be in all.
        """
        chosen = [self.quasi.index(name) for name in names if name in self.quasi]
        widths = [len(self.labels[a]) for a in chosen]
        number, groups = numbered([self.codes[:, a] for a in chosen], widths, self.classes)
        sizes = np.zeros(groups, dtype=np.int64)
        if self.person is None:
            np.add.at(sizes, number, self.sizes)
        else:
            np.maximum.at(sizes, number, self.sizes)
        return sizes[number]


def gather(
    source: Any,
    schema: Schema,
    judged: Iterable[str] = (),
    person: str | None = None,
    also: Iterable[str] = (),
) -> tuple[Evidence, Table]:
    """Read a release and group it; return what it shows, and the table for further looks.

    `judged` names attributes that a promise is about, sensitive or not; `person` the column that
    tells whose the records of a class are; `also` attributes that an attacker knows beside the
    quasi-identifiers.
    """
    table = read(source)
    quasi = tuple(name for name in (*schema.quasi_names, *also) if name in table.columns)
    wanted = dict.fromkeys([*schema.sensitive_names, *judged])
    taken = {*quasi, person}
    sensitive = tuple(name for name in wanted if name in table.columns and name not in taken)
    if not quasi and not sensitive:
        raise SchemaError(
            f"{table.source} has none of the quasi-identifiers and sensitive attributes that "
            f"{schema.source} names; check that the schema belongs to this release."
        )
    counted = table.count((*quasi, *sensitive, *(() if person is None else (person,))))
    return _evidence(table, counted, quasi, sensitive, schema, person), table


def _evidence(
    table: Table,
    counted: Counted,
    quasi: tuple[str, ...],
    sensitive: tuple[str, ...],
    schema: Schema,
    person: str | None,
) -> Evidence:
    columns = counted.codes[: len(quasi)]
    labels = counted.values[: len(quasi)]
    number, classes = numbered(columns, [len(v) for v in labels], len(counted.counts))
    rows = np.bincount(number, weights=counted.counts, minlength=classes).astype(np.int64)
    who = None if person is None else counted.codes[-1].astype(np.int64)
    sizes = rows if who is None else _people(number, classes, who)
    first = np.zeros(classes, dtype=np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]
    codes = np.zeros((classes, len(quasi)), dtype=np.int64)
    for a, column in enumerate(columns):
        codes[:, a] = column[first]
    spreads = {
        name: _spread(counted, len(quasi) + s, number, rows, schema, who)
        for s, name in enumerate(sensitive)
    }
    return Evidence(table.source, table.columns, quasi, codes, labels, sizes, spreads, rows, person)


def _people(group: NDArray[np.int64], groups: int, who: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count the different people of every group."""
    width = int(who.max(initial=0)) + 1
    pairs = np.unique(group * width + who)
    return np.bincount(pairs // width, minlength=groups).astype(np.int64)


def _spread(
    counted: Counted,
    column: int,
    number: NDArray[np.int64],
    rows: NDArray[np.int64],
    schema: Schema,
    who: NDArray[np.int64] | None,
) -> Spread:
    """Add up the counts per class and value, values in their natural order."""
    name, texts = counted.columns[column], counted.values[column]
    order = schema.order_of(name, texts)
    place = {text: i for i, text in enumerate(order)}
    value = np.array([place[text] for text in texts], dtype=np.int64)[counted.codes[column]]
    key = number * len(order) + value
    distinct, index = ranked(key)
    sizes = rows
    if who is None:
        count = np.bincount(index, weights=counted.counts).astype(np.int64)
    else:
        count = _people(index, len(distinct), who)
        sizes = np.bincount(distinct // len(order), weights=count, minlength=len(rows))
        sizes = sizes.astype(np.int64)
    tree = schema.sensitive_hierarchy(name, order)
    return Spread(distinct // len(order), distinct % len(order), count, order, sizes, tree)


def numbered(
    columns: Sequence[NDArray[np.integer]], widths: Sequence[int], length: int
) -> tuple[NDArray[np.int64], int]:
    """Return for each row of some code columns the number of its kind, and how many kinds."""
    distinct, number = ranked(line_keys(columns, widths, length))
    return number, len(distinct)


def line_keys(
    columns: Sequence[NDArray[np.integer]], widths: Sequence[int], length: int
) -> NDArray[np.int64]:
    """Return a number per row that rises with its codes, the first column first."""
    key = np.zeros(length, dtype=np.int64)
    largest = 1
    for column, width in zip(columns, widths, strict=True):
        if largest * width >= _LARGEST_KEY:
            distinct, key = ranked(key)
            largest = len(distinct)
        key = key * width + column
        largest *= max(width, 1)
    return key


def ranked(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct keys, which rise, and the place of each key among them.

    Lines come counted in the order of their codes, so keys often rise already, or nearly so.
    """
    if not len(keys):
        return keys, keys
    order = None
    if (keys[1:] < keys[:-1]).any():
        order = np.argsort(keys, kind="stable")  # quick where long stretches rise
        keys = keys[order]
    new = np.concatenate([[True], keys[1:] != keys[:-1]])
    places = np.cumsum(new) - 1
    if order is not None:
        sorted_places, places = places, np.empty_like(places)
        places[order] = sorted_places
    return keys[new], places
