"""Rows of a database as codes, coded and counted where they are: what a synthesis asks for.

Contract: :class:`HeldRows` is a :class:`~sfumato.dp.publish.synthesis.table_codec.RowSource`. Every
pass is one query that codes each cell by itself, keeps at most m rows of each unit (the first by a
hash of the unit's own rows), and counts; nothing but counts leaves the engine. A cell that cannot
be read has the code of a missing one, as in DuckDB (:mod:`sfumato.dp.publish.synthesis.columns`),
so the same rows have the same codes everywhere. :class:`DatabaseRows` does this for a table that
`sf.read` opened in a database. Names and texts get into SQL as quoted identifiers
and literals of the dialect.

All pairs of columns are counted in one pass: a row becomes the numbers of its cells in all tables,
and these are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from sfumato.data.engines.duckdb import quoted as quoted_here
from sfumato.data.engines.spelling import literal_for
from sfumato.data.engines.spelling import quoted_for as quoted
from sfumato.data.tables.memory_rows import brought
from sfumato.dp.publish.synthesis.columns import Numbers, Texts
from sfumato.dp.publish.synthesis.table_codec import RowsOfTable, TableRows
from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from sfumato.data.tables.table import Kind as TableKind
    from sfumato.dp.publish.synthesis.columns import Coder
    from sfumato.dp.publish.synthesis.curator import AtomGroups
    from sfumato.dp.publish.synthesis.domain import Domain
    from sfumato.dp.publish.synthesis.table_codec import CodedRows

Kind: TypeAlias = Literal["integer", "real", "text", "boolean", "date"]

_TYPES: Mapping[Kind, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
}


@dataclass(frozen=True, eq=False)
class HeldRows:
    """The rows of one table of an engine; ``relation`` is its SQL, ``ask`` runs a query."""

    name: str
    dialect: str
    relation: str
    kinds: Mapping[str, Kind]
    ask: Callable[[str], list[tuple[Any, ...]]]
    kind: TableKind = "pandas"
    known_schema: None = None
    typed: bool = True

    @property
    def source(self) -> str:
        """What the table is called in messages."""
        return f"the table '{self.name}'"

    @property
    def types(self) -> dict[str, str]:
        """The types of columns, in the words of DuckDB."""
        return {name: _TYPES[kind] for name, kind in self.kinds.items()}

    def code_rows(self, coders: Mapping[str, Coder], unit: str | None, rows: int) -> HeldCodes:
        """Write the query that codes the rows; nothing is read yet."""
        codes = ", ".join(
            f"{self.code(name, coder)} AS c{place}"
            for place, (name, coder) in enumerate(coders.items())
        )
        return HeldCodes(self, f"SELECT {codes} FROM {self._kept(unit, rows)}", len(coders))

    def count_texts(self, column: str, unit: str | None, rows: int) -> list[tuple[str, int]]:
        """Count the rows of every text of a column that is not empty."""
        text = f"SELECT {self.text(column)} AS t FROM {self._kept(unit, rows)}"
        found = self.ask(f"SELECT t, COUNT(*) FROM ({text}) AS texts WHERE t <> '' GROUP BY t")
        return [(str(cell), int(count)) for cell, count in found]

    # -- cells ------------------------------------------------------------------------------

    def text(self, column: str) -> str:
        """Give the SQL of a cell's text."""
        cell, kind = quoted(column, self.dialect), self.kinds[column]
        plain = "STRING" if self.dialect == "spark" else "TEXT"
        if kind == "boolean":
            return f"CASE WHEN {cell} THEN 'true' WHEN NOT {cell} THEN 'false' END"
        if kind == "date" and self.dialect == "postgres":
            return f"TO_CHAR({cell}, 'YYYY-MM-DD')"
        return cell if kind == "text" else f"CAST({cell} AS {plain})"

    def code(self, column: str, coder: Coder) -> str:
        """Give the SQL of a cell's code."""
        if isinstance(coder, Texts):
            return self._text_code(self.text(column), coder)
        if isinstance(coder, Numbers):
            return self._number_code(column, coder)
        raise ParameterError(f"The column '{column}' cannot be coded in this engine.")

    def _text_code(self, text: str, coder: Texts) -> str:
        empty = len(coder.values) + (coder.other is not None)
        stranger = empty if coder.other is None else empty - 1
        listed = " ".join(
            f"WHEN {literal_for(value, self.dialect)} THEN {place}"
            for value, place in coder.spellings.items()
        )
        coded = f"CASE {text} {listed} ELSE {stranger} END"
        return f"CASE WHEN {text} IS NULL OR {text} = '' THEN {empty} ELSE {coded} END"

    def _number_code(self, column: str, coder: Numbers) -> str:
        number, kind = self._number(column), self.kinds[column]
        if (coder.kind == "date") != (kind == "date") or kind in {"text", "boolean"}:
            raise ParameterError(
                f"The column '{column}' is of the kind {kind}, and bounds of another kind are "
                "declared; declare its type when the session is opened."
            )
        empty = coder.bins + len(coder.special)
        special = "".join(
            f" WHEN {number} = {value!r} THEN {coder.bins + place}"
            for place, value in enumerate(coder.special)
        )
        nothing = f"{number} IS NULL"
        if kind == "real":
            nothing += f" OR {self._nan(number)}"
        return f"CASE WHEN {nothing} THEN {empty}{special} ELSE {coder.place(number)} END"

    def _number(self, column: str) -> str:
        cell = quoted(column, self.dialect)
        if self.kinds[column] == "date":
            start = "DATE '1970-01-01'"
            spark = self.dialect == "spark"
            return f"DATEDIFF({cell}, {start})" if spark else f"({cell} - {start})"
        return f"CAST({cell} AS {'DOUBLE' if self.dialect == 'spark' else 'DOUBLE PRECISION'})"

    def _nan(self, number: str) -> str:
        if self.dialect == "spark":
            return f"ISNAN({number})"
        return f"{number} = CAST('NaN' AS DOUBLE PRECISION)"

    # -- rows -------------------------------------------------------------------------------

    def _kept(self, unit: str | None, rows: int) -> str:
        """Give the relation of at most ``rows`` rows of each unit, and none that is nobody's."""
        if unit is None:
            return self.relation
        owner = quoted(unit, self.dialect)
        cells = ", ".join(f"COALESCE({self.text(name)}, '')" for name in self.kinds)
        order = f"MD5(CONCAT_WS('|', {cells}))"
        ranked = f"ROW_NUMBER() OVER (PARTITION BY {owner} ORDER BY {order}) AS sfumato_rank"
        named = f"{owner} IS NOT NULL AND {self.text(unit)} <> ''"
        inner = f"SELECT *, {ranked} FROM {self.relation} WHERE {named}"
        return f"(SELECT * FROM ({inner}) AS ranked WHERE sfumato_rank <= {int(rows)}) AS kept"

    def fenced(self, query: str) -> str:
        """Give a query as a relation whose columns are computed once, not wherever used."""
        return f"({query}{' OFFSET 0' if self.dialect == 'postgres' else ''}) AS fenced"

    def spread(self, numbers: Sequence[str]) -> str:
        """Give the SQL that makes a row of each of some numbers."""
        listed = ", ".join(numbers)
        return (
            f"EXPLODE(ARRAY({listed}))" if self.dialect == "spark" else f"UNNEST(ARRAY[{listed}])"
        )

    def looked_up(self, values: Sequence[int], place: str) -> str:
        """Give the SQL of the value at a place that counts from 0."""
        listed = ", ".join(str(int(value)) for value in values)
        if self.dialect == "spark":
            return f"ELEMENT_AT(ARRAY({listed}), {place} + 1)"
        return f"(ARRAY[{listed}])[{place} + 1]"


@dataclass(frozen=True, eq=False)
class HeldCodes:
    """Coded rows: a query with a column c0, c1, … for each coder."""

    rows: HeldRows
    query: str
    width: int

    def count_ones(self, domain: Domain) -> list[NDArray[np.int64]]:
        """Count the rows of every code of every column, in one pass."""
        ends = np.cumsum([0, *domain.sizes])
        numbers = [f"c{place} + {int(begin)}" for place, begin in enumerate(ends[:-1])]
        counted = self._count(self.query, numbers, int(ends[-1]))
        return [counted[a:b] for a, b in pairwise(ends)]

    def count_pairs(
        self, atoms: Sequence[NDArray[np.uint8]], grouping: AtomGroups
    ) -> NDArray[np.int64]:
        """Count the rows of all pairs of atoms, in one pass."""
        rows, sizes, offsets = self.rows, grouping.sizes, grouping.offsets()
        merged = ", ".join(
            f"{rows.looked_up(atom.tolist(), f'c{place}')} AS a{place}"
            for place, atom in enumerate(atoms)
        )
        query = f"SELECT {merged} FROM {rows.fenced(self.query)}"
        pairs = [(i, j) for i in range(self.width) for j in range(i + 1, self.width)]
        numbers = [
            f"a{i} * {int(sizes[j])} + a{j} + {int(offsets[pair])}"
            for pair, (i, j) in enumerate(pairs)
        ]
        return self._count(query, numbers, int(offsets[-1]))

    def _count(self, query: str, numbers: Sequence[str], size: int) -> NDArray[np.int64]:
        counted = np.zeros(size, dtype=np.int64)
        if not numbers:  # one column has no pairs
            return counted
        spread = f"SELECT {self.rows.spread(numbers)} AS cell FROM {self.rows.fenced(query)}"
        found = self.rows.ask(f"SELECT cell, COUNT(*) FROM ({spread}) AS cells GROUP BY cell")
        for cell, count in found:
            counted[int(cell)] = int(count)
        return counted

    def drop(self) -> None:
        """Nothing is kept in the engine."""


# -- tables of a database -----------------------------------------------------------------------

_PLAIN_NUMBERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT"}


class DatabaseRows(RowsOfTable):
    """The rows of a table that `sf.read` opened in Postgres, Spark or an engine of a third party.

    They are coded from the texts of their cells (:mod:`sfumato.data.engines.base`), which are the
    same on every engine, so codes and counts are those of the same rows in DuckDB. What no other
    engine reads as DuckDB does, which is numbers and dates written as texts, brings the rows into
    this process, with a warning.
    """

    @cached_property
    def _here(self) -> TableRows:
        return TableRows(brought(self.table))

    def code_rows(self, coders: Mapping[str, Coder], unit: str | None, rows: int) -> CodedRows:
        """Code the rows where they are, if every column can be read there."""
        kinds = {name: _read_as(coder, self.types[name]) for name, coder in coders.items()}
        known = {name: kind for name, kind in kinds.items() if kind is not None}
        if len(known) < len(kinds):
            return self._here.code_rows(coders, unit, rows)
        return self._held(known, unit).code_rows(coders, unit, rows)

    def count_texts(self, column: str, unit: str | None, rows: int) -> list[tuple[str, int]]:
        """Count the rows of every text where they are."""
        return self._held({column: "text"}, unit).count_texts(column, unit, rows)

    def _held(self, kinds: Mapping[str, Kind], unit: str | None) -> HeldRows:
        """Give the rows with typed cells; a unit is known by its text."""
        engine, typed = self.table.engine, dict(kinds)
        if unit is not None:
            typed.setdefault(unit, "text")
        cells = ", ".join(f"{_typed(n, kind)} AS {quoted_here(n)}" for n, kind in typed.items())
        scan = engine.spell(f"SELECT {cells} FROM {self.table.scan}")
        return HeldRows(self.name, engine.dialect, f"({scan}) AS typed_rows", typed, self._ask)

    def _ask(self, statement: str) -> list[tuple[Any, ...]]:
        with self.table.explained():
            return self.table.engine.ask(statement)


def _read_as(coder: Coder, stored: str) -> Kind | None:
    """Tell as what a cell of a type is read to be coded; None where only DuckDB can."""
    if isinstance(coder, Texts):
        return "text"
    if not isinstance(coder, Numbers):
        return None
    if coder.kind == "date" or stored == "DATE":
        return "date" if coder.kind == stored.lower() else None
    if stored in _PLAIN_NUMBERS:
        return "integer"
    return "real" if stored == "DOUBLE" or stored.startswith("DECIMAL") else None


def _typed(name: str, kind: Kind) -> str:
    """Give the SQL, in our words, of a cell of a kind from its text; it raises for no cell."""
    text = quoted_here(name)
    if kind == "text":
        return text
    if kind == "date":  # a year before Christ or after 9999 is written otherwise, and left out
        plain = f"regexp_full_match({text}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}')"
        return f"CASE WHEN {plain} THEN CAST({text} AS DATE) END"
    return f"CAST(nullif({text}, '') AS {_TYPES[kind]})"
