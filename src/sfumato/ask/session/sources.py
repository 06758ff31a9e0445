"""Where a session's rows come from, and the public facts that come with them.

Contract: :func:`source_of` recognises a source without reading its rows: whatever ``sf.read``
takes, a DuckDB file (``clinic.duckdb`` or ``clinic.duckdb::visits``), ``postgresql://…``, a Spark
table, or an engine of the user's own. ``engine`` opens it under the facts that the owner fixed.
The schema's ranges and lists of values are public facts: they bound columns and name groups.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.data.domains import Range
from sfumato.data.schema import Schema
from sfumato.errors import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sfumato.ask.engines.base import Engine
    from sfumato.ask.engines.table_facts import KindFacts

_DATABASES = {".duckdb", ".ddb", ".db"}


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """A table that can be opened, under the name it has in questions."""

    name: str
    kind: str
    given: Any
    schema: Schema | None = None
    path: Path | None = None

    @property
    def unit(self) -> str | None:
        """The unit that the schema names, if there is a schema."""
        return None if self.schema is None else self.schema.unit

    @property
    def purposes(self) -> tuple[str, ...]:
        """The purposes that the schema names."""
        return () if self.schema is None else self.schema.purposes

    @property
    def bounds(self) -> dict[str, tuple[Any, Any]]:
        """The ranges of columns that the schema declares."""
        return {
            name: (attribute.domain.low, attribute.domain.high)
            for name, attribute in self._attributes()
            if isinstance(attribute.domain, Range)
        }

    @property
    def domains(self) -> dict[str, tuple[str, ...]]:
        """The values of columns that the schema lists."""
        return {
            name: attribute.domain
            for name, attribute in self._attributes()
            if isinstance(attribute.domain, tuple)
        }

    @property
    def types(self) -> dict[str, str]:
        """The types of columns that the schema declares."""
        return {name: a.type for name, a in self._attributes() if a.type is not None}

    @property
    def public_types(self) -> bool | tuple[str, ...]:
        """Of which columns the schema says that what their cells look like may be known."""
        return False if self.schema is None else self.schema.public_types

    @property
    def outlives(self) -> bool:
        """Whether the rows are still there when this process has ended, so that its budget is."""
        return self.path is not None or self.kind in {"postgres", "spark"}

    @property
    def place(self) -> str | Path | None:
        """What the ledger is found by: a file, or the address of a table."""
        return str(self.given) if self.kind == "postgres" else self.path

    def _attributes(self) -> Sequence[tuple[str, Any]]:
        return () if self.schema is None else tuple(self.schema.attributes.items())

    def named(self, name: str) -> Source:
        """Give the same source under another name."""
        return replace(self, name=name)

    def engine(
        self,
        *,
        person: str | None,
        kinds: KindFacts,
        bounds: Mapping[str, Any],
        domains: Mapping[str, Sequence[Any]],
        public: Mapping[str, Any],
        private: Mapping[str, Any],
    ) -> Engine:
        """Open the engine that holds the rows.

        Of ``kinds``, those registered decide, whether or not the schema that declared them is given
        again. An engine of the user's own says itself of which kinds its columns are.
        """
        facts: dict[str, Any] = {
            "name": self.name,
            "person": person,
            "types": self.types,
            "kinds": kinds,
            "bounds": bounds,
            "domains": domains,
            "public": public,
            "private": private,
        }
        if self.kind == "engine":
            engine: Engine = self.given
            return engine
        if self.kind == "postgres":
            from sfumato.ask.engines.postgres import PostgresEngine  # noqa: PLC0415 - an extra

            return PostgresEngine.open(self.given, **facts)
        if self.kind == "spark":
            from sfumato.ask.engines.spark import SparkEngine  # noqa: PLC0415 - an extra

            return SparkEngine.open(self.given, **facts)
        from sfumato.ask.engines.duckdb import DuckDBEngine  # noqa: PLC0415 - loaded when used

        if self.kind == "duckdb":
            file, _, table = self.given.partition("::")
            return DuckDBEngine.open(file, table=table or self.name, **facts)
        return DuckDBEngine.open(self.given, **facts)


def source_of(
    source: Any,
    *,
    name: str | None = None,
    schema: Any = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Source:
    """Recognise a source of rows; ``delimiter`` and ``encoding`` are those of a CSV file."""
    read = schema if isinstance(schema, Schema) or schema is None else Schema.read(schema)
    if hasattr(source, "aggregate") and hasattr(source, "tables"):
        tables = [table.name for table in source.tables() if table.private]
        return Source(name or tables[0], "engine", source, read)
    if isinstance(source, str) and source.startswith(("postgresql://", "postgres://")):
        return Source(name or _table_of(source), "postgres", source, read)
    if _is_spark(source):
        return Source(_needs(name, "a Spark table"), "spark", source, read)
    if isinstance(source, (str, Path)) and _is_database(source):
        return _database(str(source), name, read)
    _check_kept(source)
    from sfumato.data.tables.sources import read as read_table  # noqa: PLC0415 - loaded when used

    table = read_table(source, schema=read, name=name, delimiter=delimiter, encoding=encoding)
    path = Path(source) if isinstance(source, (str, Path)) else _path(table)
    return Source(name or table.name, table.kind, table, table.known_schema, path)


def _check_kept(source: Any) -> None:
    """Refuse what has no place of its own: nobody would know its budget the next time."""
    text = str(source) if isinstance(source, str | Path) else ""
    if text == "-" or (set("*?[") & set(text) and not Path(text).exists()):
        raise ParameterError(
            "Questions are asked of one file, because its budget is kept beside it; write several "
            "files, or what comes through a pipe, into one file first."
        )


def _path(table: Any) -> Path | None:
    """Give the file that a table was read from."""
    return Path(table.source) if table.kind in {"csv", "parquet"} else None


def _needs(name: str | None, what: str) -> str:
    if name is None:
        raise ParameterError(f"Give {what} the name it has in questions: name='visits'.")
    return name


def _is_spark(source: Any) -> bool:
    return type(source).__module__.startswith("pyspark.") and "pyspark" in sys.modules


def _is_database(source: str | Path) -> bool:
    return Path(str(source).split("::", maxsplit=1)[0]).suffix.lower() in _DATABASES


def _database(source: str, name: str | None, schema: Schema | None) -> Source:
    file, _, table = source.partition("::")
    table = table.partition("?")[0]  # what is stated of a view is read where that is opened
    if not Path(file).is_file():
        raise DataError(f"{file} is not a file; give the path of a DuckDB database.")
    if not name and not table:
        raise ParameterError(f"Name the table of the DuckDB file: {file}::visits.")
    return Source(name or table, "duckdb", source, schema, Path(file))


def _table_of(url: str) -> str:
    from urllib.parse import parse_qs, urlsplit  # noqa: PLC0415 - used by one function

    tables = parse_qs(urlsplit(url).query).get("table")
    if not tables:
        raise ParameterError(
            "A Postgres source names its table: postgresql://host/database?table=visits."
        )
    return tables[0].rpartition(".")[2]
