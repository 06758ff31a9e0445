"""What DuckDB can read for a session, and as which kinds.

Contract: a :class:`Stored` is a relation in a DuckDB connection. :func:`kinds_of` says of which
kind each of its columns is, by what the owner declares, else by the types of a frame or Parquet
file, else (cells of a CSV file are texts) by what all of its cells look like: a whole number, a
number or a date written in the usual way; 007 is a text. An empty cell of a CSV file is NULL.
:func:`typed_cells` gives SQL that brings every cell to its kind and cannot fail: what does not fit
is NULL. Texts lose the collation of their column, so that they compare by their bytes. Whole
numbers are exact within 64 bits. People are told apart exactly, whatever their column is declared
to be: by 64-bit integers where it holds such numbers only, by dates, else by texts.

Kinds are public. Where they must not depend on the data, declare them in the schema.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.ask.engines.views import Relation, check_rows_of_one_table, split_statement
from sfumato.data.engines.duckdb import DuckDB, quoted, quoted_text, translated
from sfumato.data.tables.memory_rows import brought
from sfumato.data.tables.sources import read
from sfumato.data.wording import listed
from sfumato.errors import DataError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.ask.language.language import Kind
    from sfumato.data.tables.table import Table

_DATABASES = {".duckdb", ".ddb", ".db"}
_WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
_UNSIGNED = {"UBIGINT", "UHUGEINT"}
_WIDE = {*_UNSIGNED, "HUGEINT"}
_ENDLESS = "BIGNUM"  # whose casts to numbers fail, a try_cast too; its texts do not
_REAL = {"FLOAT", "DOUBLE"}
_MOST, _MOST_DOUBLE = 2**63 - 1, 2**63 - 1024
"""The largest whole number of 64 bits, and the largest that is a double."""

_PLAIN = 2**53
"""Up to here a double is one whole number and no other."""
_LOOKS: Mapping[Kind, str] = {
    "integer": r"-?(0|[1-9][0-9]{0,17})",
    "real": r"(-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?)|[nN]a[nN]|-?[iI]nf(inity)?",
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
}
_SQL: Mapping[Kind, str] = {
    "integer": "BIGINT",
    "real": "DOUBLE",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
}


@dataclass(frozen=True, eq=False)
class ScannedRelation:
    """A relation that DuckDB can scan."""

    engine: DuckDB
    scan: str
    types: Mapping[str, str]
    source: str
    texts: bool = False  # cells are the texts of a CSV file
    path: Path | None = None
    table: Table | None = None  # kept, since it owns what the scan reads

    def size(self) -> int:
        """Estimate the bytes of the rows in memory."""
        if self.texts and self.path is not None:
            return self.path.stat().st_size
        if self.path is None:
            return 0  # a frame, which is in memory already
        with translated(self.source):
            return self.engine.rows(self.scan) * len(self.types) * 12


def stored(source: Any, table: str | None = None, *, private: bool = True) -> ScannedRelation:
    """Find out how to scan a source: a table, a path, a frame or a mapping of columns."""
    if isinstance(source, (str, Path)) and Path(source).suffix.lower() in _DATABASES:
        return _database(Path(source), table, private=private)
    if table is not None:
        raise SchemaError(f"A table name belongs to a database file, and '{table}' was given.")
    found = brought(read(source))
    path = Path(found.source) if found.kind in {"csv", "parquet"} else None
    return ScannedRelation(
        found.engine.local, found.scan, found.types, found.source, found.kind == "csv", path, found
    )


def _database(path: Path, table: str | None, *, private: bool) -> ScannedRelation:
    table, is_stated = (None, False) if table is None else split_statement(table)
    if not path.is_file():
        raise DataError(f"{path} is not a file; give the path of a DuckDB database.")
    engine = DuckDB()
    with translated(str(path)):
        engine.run(f"ATTACH {quoted_text(str(path))} AS source (READ_ONLY)")
        names = [
            (str(schema), str(name))
            for schema, name in engine.run(
                "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'source'"
                " UNION ALL SELECT schema_name, view_name FROM duckdb_views() "
                "WHERE database_name = 'source' AND NOT internal"
            )
        ]
        chosen = [
            pair for pair in names if table is None or table in {pair[1], f"{pair[0]}.{pair[1]}"}
        ]
        if len(chosen) != 1:
            raise SchemaError(
                f"{path} has the tables {listed([name for _, name in names])}; say which one is "
                "asked about with table=…"
            )
        if private and not is_stated:
            first = _relation(engine, *chosen[0])
            assert first is not None
            schema = chosen[0][0]
            check_rows_of_one_table(
                first, lambda named, name: _found(engine, schema, named, name), "duckdb"
            )
        scan = f"source.{quoted(chosen[0][0])}.{quoted(chosen[0][1])}"
        return ScannedRelation(engine, scan, engine.types(scan), str(path), path=path)


def _found(engine: DuckDB, schema: str, named: str, name: str) -> Relation | None:
    """Find what a view of a schema reads: where no schema is named, its own is looked at first."""
    for place in (named,) if named else (schema, "main"):
        found = _relation(engine, place, name)
        if found is not None:
            return found
    return None


def _relation(engine: DuckDB, schema: str, name: str) -> Relation | None:
    """Describe a table or a view of the attached file."""
    scan = f"source.{quoted(schema)}.{quoted(name)}"
    for kind, definition in (("table", "NULL"), ("view", "sql")):
        found = engine.run(
            f"SELECT {definition} FROM duckdb_{kind}s() WHERE database_name = 'source' "
            f"AND lower(schema_name) = lower({quoted_text(schema)}) "
            f"AND lower({kind}_name) = lower({quoted_text(name)})"
        )
        if found:
            return Relation(f"{schema}.{name}", kind == "table", found[0][0], engine.types(scan))
    return None


def kinds_of(
    stored: ScannedRelation,
    declared: Mapping[str, Kind],
    person: str | None,
    *,
    by_text: bool = False,
) -> tuple[dict[str, Kind], tuple[str, ...]]:
    """Give the kinds of columns, and the columns that have none.

    ``by_text`` says that people are told apart by texts, as they are where one of the tables is a
    CSV file.
    """
    looks = _looks(stored, [c for c in stored.types if c not in declared]) if stored.texts else {}
    kinds: dict[str, Kind] = {}
    for column, type_ in stored.types.items():
        kind = declared.get(column) or looks.get(column) or _kind(type_)
        if column == person and kind is not None:
            told = _person_kind(stored, column, type_, kind)
            kind = "text" if by_text else told
        if kind is not None:
            kinds[column] = kind
    return kinds, tuple(column for column in stored.types if column not in kinds)


def _kind(type_: str) -> Kind | None:
    if type_ in _WHOLE or type_ in _WIDE:
        return "integer"
    if type_ in _REAL:
        return "real"
    if type_.startswith("DECIMAL("):
        return "integer" if _small(type_) else "real"
    if type_ in {"VARCHAR", "UUID"} or type_.startswith("ENUM("):
        return "text"
    if type_ == "DATE" or type_.startswith("TIMESTAMP"):
        return "date" if type_ != "TIMESTAMP WITH TIME ZONE" else None
    return "boolean" if type_ == "BOOLEAN" else None


def _small(type_: str) -> bool:
    """Tell whether a decimal is a whole number of at most 18 digits, which 64 bits hold."""
    if not type_.startswith("DECIMAL("):
        return False
    precision, scale = (int(part) for part in type_[8:-1].split(","))
    return scale == 0 and precision <= 18


def _person_kind(stored: ScannedRelation, column: str, type_: str, kind: Kind) -> Kind:
    """Tell people apart exactly, by the type alone: what one cell holds must not show.

    Numbers too wide and doubles are told apart by their text, a whole double by its digits.
    """
    exact = _kind(type_)
    if exact is None and ("(" in type_ or "[" in type_):
        raise SchemaError(
            f"The person '{column}' of {stored.source} is of the type {type_}, whose values have "
            "no text of their own by which people could be told apart; name another column."
        )
    if exact in {None, "text"}:  # read as a number, as declared, 7 and 07 would be one person
        return "text"
    if type_ in _WIDE or type_.startswith("TIMESTAMP") or (exact == "real" and type_ not in _REAL):
        return "text"
    return "text" if exact == "real" else kind


def named_by_text(stored: ScannedRelation, person: str | None) -> bool:
    """Tell whether people are told apart by texts, as then those of all tables are."""
    return stored.texts or (person is not None and stored.types.get(person) in _REAL)


def _looks(stored: ScannedRelation, columns: list[str]) -> dict[str, Kind]:
    """Find out, in one pass, what the cells of text columns look like."""
    tests = [(column, kind) for column in columns for kind in _LOOKS]
    if not tests:
        return {}
    chosen = []
    for column, kind in tests:
        name = quoted(column)
        fits = f"regexp_full_match({name}, {quoted_text(_LOOKS[kind])})"
        if kind == "date":
            fits = f"({fits} AND try_cast({name} AS DATE) IS NOT NULL)"
        chosen.append(f"bool_and({fits}) FILTER (WHERE {name} <> '')")
    with translated(stored.source):
        verdicts = stored.engine.run(f"SELECT {', '.join(chosen)} FROM {stored.scan}")[0]
    found: dict[str, Kind] = {}
    for (column, kind), verdict in zip(tests, verdicts, strict=True):
        if verdict:
            found.setdefault(column, kind)
    return found


def typed_cells(stored: ScannedRelation, kinds: Mapping[str, Kind], person: str | None) -> str:
    """Give the SELECT list that brings cells to their kinds; what does not fit becomes NULL."""
    return ", ".join(
        f"{_typed(column, stored, kind, person=column == person)} AS {quoted(column)}"
        for column, kind in kinds.items()
    )


def _typed(column: str, stored: ScannedRelation, kind: Kind, *, person: bool) -> str:
    name, type_ = quoted(column), stored.types[column]
    cell = f"nullif({name}, '')" if stored.texts else name
    cell = f"CAST({name} AS VARCHAR)" if type_ == _ENDLESS else cell
    if person and type_ in _REAL:
        return _named_by_double(f"CAST({name} AS DOUBLE)")
    if kind == "integer" and (type_ in _WIDE or type_ in _REAL or type_.startswith("DECIMAL(")):
        return _whole(name, type_)
    if kind == "real":
        number = f"try_cast({cell} AS DOUBLE)"
        return f"CASE WHEN NOT isnan({number}) THEN {number} END"
    if kind == "text":  # a column of a database may have a collation, which would tell texts alike
        return f'try_cast({cell} AS VARCHAR) COLLATE "binary"'
    return f"try_cast({cell} AS {_SQL[kind]})"


def _whole(name: str, type_: str) -> str:
    """Read numbers as whole ones of 64 bits; those beyond are as large as these can be."""
    if _small(type_):
        return f"CAST({name} AS BIGINT)"
    wide = "DOUBLE" if type_ in _REAL else "UHUGEINT" if type_ in _UNSIGNED else "HUGEINT"
    most = _MOST_DOUBLE if type_ in _REAL else _MOST
    least = 0 if type_ in _UNSIGNED else -most
    near = (  # all three of one type, since finding a common one is a cast that may fail
        f"least(greatest(CAST({name} AS {wide}), CAST({least} AS {wide})), CAST({most} AS {wide}))"
    )
    whole = f"CASE WHEN {name} IS NOT NULL THEN try_cast({near} AS BIGINT) END"
    return f"CASE WHEN NOT isnan({name}) THEN {whole} END" if type_ in _REAL else whole


def _named_by_double(number: str) -> str:
    """Name a person by a double: a whole number as its digits; NaN names nobody."""
    plain = f"abs({number}) <= {_PLAIN} AND {number} = floor({number})"
    whole = f"CASE WHEN {plain} THEN try_cast({number} AS BIGINT) END"
    other = f"CASE WHEN NOT isnan({number}) THEN CAST({number} AS VARCHAR) END"
    return f'coalesce(CAST({whole} AS VARCHAR), {other}) COLLATE "binary"'


def memory() -> int:
    """Give the bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
