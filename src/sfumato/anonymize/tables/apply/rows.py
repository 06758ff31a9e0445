"""Which way the rows of a release take, and the counts the search starts from.

Counting all released columns at once serves both search and writing, as long as the
distinct combinations are few; the rows are then never read again. Where they are too many
(free text, pseudonyms) or their order must be kept, the table is copied into the engine,
only quasi-identifiers and judged attributes are counted, and the engine writes the rows.
"""

# SQL here is built from names that `engine.quoted` quotes.
# ruff: noqa: S608

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfumato.anonymize.tables.apply.recode import released_lines
from sfumato.compiled import ACCOUNT
from sfumato.data.tables.cell_types import type_of
from sfumato.data.tables.permutation import RandomWords
from sfumato.data.tables.row_query import Dealing, dealt_query

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sfumato.anonymize.definitions.definition import Definition
    from sfumato.anonymize.tables.apply.recode import LabelledShares
    from sfumato.anonymize.tables.recoding import Recoding
    from sfumato.data.engines.counted import Counted
    from sfumato.data.tables.frequency import FrequencyTable
    from sfumato.data.tables.rows import Rows
    from sfumato.data.tables.table import Table

SAMPLE = 50_000
MOST_LINES = 1_000_000
"""Distinct combinations up to which all released columns are counted at once, whatever the rows."""

_ROWS_PER_LINE = 8
_MOST_CELLS = 50_000_000
"""More combinations are counted where so many rows share one, and where so many cells hold all."""

PLAIN_SECONDS = 5e-7
"""What shuffling and copying a row takes without compiled code."""


@dataclass(frozen=True)
class RowSettings:
    """How the rows are to be released."""

    pseudonym_key: bytes | None = None
    order: Literal["shuffle", "keep"] = "shuffle"
    seed: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class RowSource:
    """The counts for the search, and how to make rows once it has decided."""

    counted: Counted
    make: Callable[[NDArray[np.int64], FrequencyTable, LabelledShares, Recoding], Rows]

    def bind(
        self, tuple_of: NDArray[np.int64]
    ) -> Callable[[FrequencyTable, LabelledShares, Recoding], Rows]:
        """Fix which distinct tuple each combination belongs to."""

        def made(table: FrequencyTable, shares: LabelledShares, recoding: Recoding) -> Rows:
            return self.make(tuple_of, table, shares, recoding)

        return made


def released_columns(table: Table, settings: RowSettings) -> tuple[str, ...]:
    """Return the columns a release has, in the order of the data."""
    schema = table.schema
    hidden = () if settings.pseudonym_key is not None else schema.identifier_names
    return tuple(c for c in table.columns if c in schema.attributes and c not in hidden)


def release_rows(table: Table, promise: Definition, settings: RowSettings) -> RowSource:
    """Choose the way of the rows and count what the search needs."""
    columns = released_columns(table, settings)
    pseudonyms = settings.pseudonym_key is not None and bool(table.schema.identifier_names)
    if settings.order == "shuffle" and not pseudonyms and _are_few(table, columns):
        return _by_lines(table, columns, settings)
    return _by_query(table.materialize(), columns, promise, settings)


def count_people(
    table: Table, promise: Definition, settings: RowSettings, unit: str
) -> tuple[Table, Counted]:
    """Count what `release_rows` counts together with whose it is; return the table to write from.

    A table whose rows the engine must write is copied into it first.
    """
    columns = released_columns(table, settings)
    if settings.order == "shuffle" and table.about(SAMPLE) <= MOST_LINES:
        return table, table.count((*columns, unit))
    judged = [c for c in columns if c in table.schema.quasi_names or c in promise.sensitive]
    copy = table.materialize()
    return copy, copy.count((*judged, unit))


def _are_few(table: Table, columns: tuple[str, ...]) -> bool:
    """Tell whether distinct combinations are so few that rows need not be read again.

    A hundred million people may have several million: to hold these is cheaper than to copy and
    sort the rows.
    """
    most = min(table.about(SAMPLE) / _ROWS_PER_LINE, _MOST_CELLS / max(len(columns), 1))
    return expected_lines(table) <= max(MOST_LINES, most)


def expected_lines(table: Table) -> float:
    """Estimate the number of distinct combinations; few records cannot have many.

    Otherwise it is read off the growth in two samples.

    Distinct counts grow like a power of the number of records (Heaps); the power is read off
    between half a sample and the whole.
    """
    records = table.about(SAMPLE)
    if records <= MOST_LINES:
        return records
    columns = [c for c in table.columns if c in table.schema.attributes]
    chosen = ", ".join(table.text(c) for c in columns) or "1"
    counts = []
    with table.engine.in_order():  # the same sample every time
        for size in (SAMPLE // 2, SAMPLE):
            scan = f"(SELECT * FROM {table.scan} LIMIT {size})"
            query = f"SELECT count(*), count(DISTINCT ({chosen})) FROM {scan}"
            counts.append(table.run(query)[0])
    (_, half), (rows, whole) = counts
    if rows < SAMPLE:
        return float(whole)
    power = math.log2(max(whole, 1) / max(half, 1))
    return float(whole * math.pow(records / SAMPLE, max(power, 0.0)))


def _by_lines(table: Table, columns: tuple[str, ...], settings: RowSettings) -> RowSource:
    counted = table.count(columns)
    ACCOUNT.foresee(PLAIN_SECONDS * int(counted.counts.sum()))

    def make(
        tuple_of: NDArray[np.int64],
        frequencies: FrequencyTable,
        shares: LabelledShares,
        recoding: Recoding,
    ) -> Rows:
        return released_lines(
            counted,
            tuple_of,
            shares,
            frequencies.quasi_names,
            types=kept_types(table, recoding, counted),
            words=RandomWords(settings.seed),
        )

    return RowSource(counted, make)


def _by_query(
    table: Table, columns: tuple[str, ...], promise: Definition, settings: RowSettings
) -> RowSource:
    judged = [c for c in columns if c in table.schema.quasi_names or c in promise.sensitive]
    counted = table.count(judged)
    words = RandomWords(settings.seed)

    def make(
        tuple_of: NDArray[np.int64],
        frequencies: FrequencyTable,
        shares: LabelledShares,
        recoding: Recoding,
    ) -> Rows:
        return dealt_query(
            table,
            columns,
            _dealing(counted, tuple_of, frequencies, shares),
            replacements=_pseudonyms(table, settings),
            types=kept_types(table, recoding),
            key=words.key(),
            keep=settings.order == "keep",
        )

    return RowSource(counted, make)


def _dealing(
    counted: Counted,
    tuple_of: NDArray[np.int64],
    frequencies: FrequencyTable,
    shares: LabelledShares,
) -> Dealing:
    """Spell out the shares as texts to match and texts to give."""
    combination = np.empty(frequencies.distinct, dtype=np.int64)
    combination[tuple_of] = np.arange(len(tuple_of))
    of_share = combination[shares.tuple_]
    match: dict[str, Any] = {
        name: np.array(values, dtype=object)[codes[of_share]]
        for name, codes, values in zip(counted.columns, counted.codes, counted.values, strict=True)
    }
    texts: dict[str, Any] = {
        name: np.array(labels, dtype=object)[codes]
        for name, codes, labels in zip(
            frequencies.quasi_names, shares.codes, shares.labels, strict=True
        )
    }
    ends = np.cumsum(shares.count)
    first = np.searchsorted(shares.tuple_, shares.tuple_, side="left")
    before = (ends - shares.count)[first] if len(first) else ends
    last = ends - before
    begin = last - shares.count + 1
    whole = (begin == 1) & (last == frequencies.counts[shares.tuple_])
    return Dealing(match, texts, begin, last, shared=not bool(whole.all()))


def _pseudonyms(table: Table, settings: RowSettings) -> dict[str, dict[str, str]]:
    """Return the pseudonym of every value of every identifier."""
    if settings.pseudonym_key is None:
        return {}
    from sfumato.data.tables.pseudonyms import pseudonyms  # noqa: PLC0415 - rarely needed

    replaced = {}
    for name in table.schema.identifier_names:
        found = table.run(f"SELECT DISTINCT {table.text(name)} FROM {table.scan}")
        values = [str(row[0]) for row in found]
        hidden = pseudonyms(values, settings.pseudonym_key, name)
        replaced[name] = dict(zip(values, hidden, strict=True))
    return replaced


def kept_types(table: Table, recoding: Recoding, counted: Counted | None = None) -> dict[str, str]:
    """Return the SQL types of columns whose cells are still what they were.

    Cells of a CSV file are text; their type is the declared one, or found out from the values.
    """
    schema = table.schema
    levels = getattr(recoding, "levels", None)
    untouched = {*schema.sensitive_names, *schema.insensitive_names}
    if levels is not None:
        pairs = zip(schema.quasi_names, levels, strict=True)
        untouched |= {name for name, level in pairs if level == 0}
    types = {name: table.types[name] for name in untouched}
    if table.kind == "csv":
        types |= {name: kind for name, kind in table.declared.items() if name in untouched}
        for name in untouched - set(table.declared):
            if counted is not None and name in counted.columns:
                types[name] = type_of(counted.values[counted.columns.index(name)])
    return types
