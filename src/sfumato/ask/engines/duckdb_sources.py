"""What DuckDB can read for a session, and as which kinds.

Contract: a :class:`Stored` is a relation in a DuckDB connection. :func:`kinds_of` says of which
kind each of its columns is: as the owner declares, as the catalogue of a database says, as follows
from bounds and lists of values; and only where the owner says that it may be known, as the cells
are, by the type of a frame's or a Parquet file's column, or by what all cells of a CSV file look
like: a whole number, a number or a date written in the usual way; 007 is a text. An empty cell of a
CSV file is NULL. :func:`typed_cells` gives SQL that reads every cell alone: what it becomes depends
on its value and the kind, not on the type it is stored in, so not on other cells; it cannot fail,
and what does not fit is NULL. Texts lose the collation of their column, so that they compare by
their bytes. Whole numbers are exact within 64 bits. People are told apart exactly, whatever their
column is declared to be: by texts, or in a database by 64-bit integers or dates where its catalogue
says that there are such only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.ask.engines.table_facts import (
    DATE_FORM,
    FIRST_DATE,
    LAST_DATE,
    MOST_BYTES,
    NUMBER_BYTES,
    NUMBER_FORM,
)
from sfumato.ask.engines.views import Relation, check_rows_of_one_table, split_statement
from sfumato.data.engines.duckdb import DuckDB, decimal_text, quoted, quoted_text, translated
from sfumato.data.tables.memory_rows import brought
from sfumato.data.tables.sources import read
from sfumato.data.wording import listed
from sfumato.errors import DataError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sfumato.ask.engines.table_facts import KindFacts
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

    @property
    def catalogued(self) -> bool:
        """Whether the types of columns are declared in a database, and no matter of its cells."""
        return self.table is None or self.table.kind in {"duckdb", "postgres", "spark"}

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


_UNSEEN: Any = "what the cells are"


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
    found: Callable[[str, Kind | None], Kind | None] = lambda _, cells: cells,
    by_text: bool = False,
) -> dict[str, Kind | None]:
    """Give the kinds of columns; None of those that have none, or none that may be known.

    ``found`` says what a column is that nothing declares, given what its cells are. ``by_text``
    says that people are told apart by texts, as they are where one of the tables is a file.
    """
    unsaid = [c for c in stored.types if c not in declared and found(c, _UNSEEN) == _UNSEEN]
    looks = _looks(stored, unsaid) if stored.texts else {}
    kinds: dict[str, Kind | None] = {}
    for column, type_ in stored.types.items():
        natural = looks.get(column) or _kind(type_)
        kind = declared.get(column) or (natural if stored.catalogued else found(column, natural))
        if column == person and (kind or natural) is not None:
            told = _person_kind(stored, column, type_, kind or natural or "text")
            kind = "text" if by_text else told
        kinds[column] = kind
    return kinds


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
        return "date"
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


def named_by_text(stored: ScannedRelation, person: str | None, kinds: KindFacts) -> bool:
    """Tell whether people are told apart by texts, as then those of all tables are.

    They are in files and frames, unless the owner says that the type of their column may be known.
    """
    if stored.texts or (person is not None and stored.types.get(person) in _REAL):
        return True
    return not (person is None or stored.catalogued or kinds.guess is True)


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


def typed_cells(
    stored: ScannedRelation, kinds: Mapping[str, Kind], person: str | None, zone: str = "UTC"
) -> str:
    """Give the SELECT list that brings cells to their kinds; what does not fit becomes NULL."""
    return ", ".join(
        f"{_typed(column, stored, kind, zone, person=column == person)} AS {quoted(column)}"
        for column, kind in kinds.items()
    )


def _typed(column: str, stored: ScannedRelation, kind: Kind, zone: str, *, person: bool) -> str:
    name, type_ = quoted(column), stored.types[column]
    cell = f"nullif({name}, '')" if stored.texts else name
    if type_ == _ENDLESS:
        cell, type_ = f"CAST({name} AS VARCHAR)", "VARCHAR"
    if kind == "text":  # a column of a database may have a collation, which would tell texts alike
        return f'{_text(cell, type_, zone, person=person)} COLLATE "binary"'
    if kind == "date":
        return _date(cell, type_, zone)
    return _number(cell, type_, kind)


def _text(cell: str, type_: str, zone: str, *, person: bool) -> str:
    """Give the text of a value, which is the same whatever type it is stored in."""
    if type_ in _REAL:
        return _named_by_double(f"CAST({cell} AS DOUBLE)" if person else cell)
    if type_.startswith("DECIMAL("):
        return decimal_text(cell, type_)
    if type_.startswith("TIMESTAMP") and not person:
        moment = _local(cell, type_, zone)
        day = f"CASE WHEN {moment} = CAST({moment} AS DATE) THEN CAST(CAST({moment} AS DATE) AS "
        return f"coalesce({day}VARCHAR) END, CAST({moment} AS VARCHAR))"
    text = f"try_cast({cell} AS VARCHAR)"
    long = type_ in _WHOLE or type_ in {*_WIDE, "BOOLEAN", "DATE", "UUID"}
    return text if long else f"CASE WHEN strlen({text}) <= {MOST_BYTES} THEN {text} END"


def _local(cell: str, type_: str, zone: str) -> str:
    """Give the time of an instant where the dataset is; a time without a zone stays as it is."""
    if type_ != "TIMESTAMP WITH TIME ZONE":
        return f"CAST({cell} AS TIMESTAMP)" if type_ != "TIMESTAMP" else cell
    if zone == "UTC":
        return f"make_timestamp(epoch_us({cell}))"
    # Near the ends of all instants the local time has none of 64 bits, and would be an error.
    ends = f"TIMESTAMPTZ '{FIRST_DATE} 00:00:00+00' AND TIMESTAMPTZ '{LAST_DATE} 00:00:00+00'"
    return f"CASE WHEN {cell} BETWEEN {ends} THEN timezone({quoted_text(zone)}, {cell}) END"


def _date(cell: str, type_: str, zone: str) -> str:
    if type_.startswith("TIMESTAMP"):
        moment = _local(cell, type_, zone)
        ends = f"TIMESTAMP '{FIRST_DATE}' AND TIMESTAMP '{LAST_DATE} 23:59:59.999999'"
        return f"CASE WHEN {moment} BETWEEN {ends} THEN CAST({moment} AS DATE) END"
    if type_ == "DATE":
        ends = f"DATE '{FIRST_DATE}' AND DATE '{LAST_DATE}'"
        return f"CASE WHEN {cell} BETWEEN {ends} THEN {cell} END"
    text = f"try_cast({cell} AS VARCHAR)"
    form = f"regexp_matches({text}, {quoted_text(DATE_FORM)}) AND {text} >= '{FIRST_DATE}'"
    return f"CASE WHEN {form} THEN try_cast(substr({text}, 1, 10) AS DATE) END"


def _number(cell: str, type_: str, kind: Kind) -> str:
    """Read a number, or a truth value as 1 or 0; for a whole number, one that is whole."""
    if type_ in _WHOLE or _small(type_):
        number, whole = f"try_cast({cell} AS BIGINT)", True
    elif type_ in _WIDE:
        number, whole = _within(cell, "UHUGEINT" if type_ in _UNSIGNED else "HUGEINT"), True
    elif type_ == "BOOLEAN":
        number, whole = f"try_cast({cell} AS BIGINT)", True
    elif type_ in _REAL or type_.startswith("DECIMAL("):
        number, whole = f"try_cast({cell} AS DOUBLE)", False
    else:
        return _read(f"try_cast({cell} AS VARCHAR)", kind)
    if kind == "real":
        real = f"CAST({number if not whole or type_ not in _WIDE else cell} AS DOUBLE)"
        return real if whole else f"CASE WHEN NOT isnan({real}) THEN {real} END"
    if kind == "integer" and type_.startswith("DECIMAL(") and not whole:
        return f"CASE WHEN trunc({cell}) = {cell} THEN {_within(cell, 'HUGEINT')} END"
    if kind == "integer":
        return number if whole else _whole(number)
    return f"CASE {number} WHEN 1 THEN true WHEN 0 THEN false END"


def _read(text: str, kind: Kind) -> str:
    """Read a text as a number by how it is written, the same on every engine."""
    short = f"strlen({text}) <= {NUMBER_BYTES}"
    is_number = f"{short} AND regexp_matches({text}, {quoted_text(NUMBER_FORM)})"
    truth = f"CASE lower({text}) WHEN 'true' THEN 1 WHEN 'false' THEN 0 END"
    double = f"try_cast(trim({text}) AS DOUBLE)"
    if kind == "real":
        endless = f"regexp_matches({text}, '^[-+]?[iI]nf(inity)?$')"
        return f"CASE WHEN {is_number} OR {endless} THEN {double} ELSE {truth} END"
    digits = f"try_cast(trim({text}) AS HUGEINT)"
    plain = f"regexp_matches({text}, '^[ ]*[-+]?[0-9]{{1,38}}[ ]*$')"
    whole = f"CASE WHEN {plain} THEN {_within(digits, 'HUGEINT')} ELSE {_whole(double)} END"
    number = f"CASE WHEN {is_number} THEN {whole} ELSE {truth} END"
    if kind == "integer":
        return f"CAST({number} AS BIGINT)"
    return f"CASE {number} WHEN 1 THEN true WHEN 0 THEN false END"


def _within(number: str, wide: str) -> str:
    """Bring a wide whole number to 64 bits; those beyond are as large as these can be."""
    least = 0 if wide == "UHUGEINT" else -_MOST
    near = (  # all three of one type, since finding a common one is a cast that may fail
        f"least(greatest(CAST({number} AS {wide}), CAST({least} AS {wide})), "
        f"CAST({_MOST} AS {wide}))"
    )
    return f"CASE WHEN {number} IS NOT NULL THEN try_cast({near} AS BIGINT) END"


def _whole(number: str) -> str:
    """Bring a double that is whole to 64 bits; a fraction is no whole number, and NaN is none."""
    near = f"least(greatest({number}, -{_MOST_DOUBLE}.0::DOUBLE), {_MOST_DOUBLE}.0::DOUBLE)"
    is_whole = f"NOT isnan({number}) AND floor({near}) = {near}"
    return f"CASE WHEN {is_whole} THEN try_cast({near} AS BIGINT) END"


def _named_by_double(number: str) -> str:
    """Name a person by a double: a whole number as its digits; NaN names nobody."""
    plain = f"abs({number}) <= {_PLAIN} AND {number} = floor({number})"
    whole = f"CASE WHEN {plain} THEN try_cast({number} AS BIGINT) END"
    other = f"CASE WHEN NOT isnan({number}) THEN CAST({number} AS VARCHAR) END"
    return f"coalesce(CAST({whole} AS VARCHAR), {other})"


def memory() -> int:
    """Give the bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
