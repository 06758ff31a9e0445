"""Sets from a database: a column of arrays, or a row per person and item, in Postgres or DuckDB.

``postgresql://host/database?table=sales.baskets`` and ``shop.duckdb::baskets`` name a table. Rows
are grouped and sorted by the database and come in batches, so what is held here are numbers alone,
four bytes per item, however large the table is.
"""

from __future__ import annotations

from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from sfumato.data.engines.errors import nothing_quoted
from sfumato.data.wording import listed
from sfumato.errors import DataError, MissingExtra, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Query = Callable[[str], Iterator[tuple[Any, ...]]]

BATCH = 50_000
POSTGRES = ("postgresql://", "postgres://")
DUCKDB = ".duckdb"


def is_database(source: Any) -> bool:
    """Tell whether a text names a table of a database."""
    return isinstance(source, str) and (source.startswith(POSTGRES) or f"{DUCKDB}::" in source)


def stream_sets(
    source: str, *, person: str | None = None, items: str | None = None
) -> Iterator[list[str]]:
    """Give the sets of a table one after the other."""
    if source.startswith(POSTGRES):
        yield from _from_postgres(source, person, items)
    else:
        yield from _from_duckdb(source, person, items)


def _sets(
    query: Query, table: str, columns: dict[str, bool], person: str | None, items: str | None
) -> Iterator[list[str]]:
    """Give sets, whichever form the table has; `columns` tells which ones hold arrays."""
    for name in (person, items):
        if name is not None and name not in columns:
            raise ParameterError(f"There is no column '{name}'; there are {listed(columns)}.")
    arrays = [name for name, array in columns.items() if array]
    if items is None and len(arrays) == 1 and person is None:
        items = arrays[0]
    if items is None or (person is None and not columns[items]):
        if len(columns) != 2:
            raise ParameterError(
                "Say which column holds the items, with items=…, and unless it holds arrays which "
                f"holds the person, with person=…; there are {listed(columns)}."
            )
        person = person or next(name for name in columns if name != items)
        items = items or next(name for name in columns if name != person)
    if columns[items]:
        for (members,) in query(f"SELECT {_quoted(items)} FROM {table}"):
            yield [str(item) for item in members or () if _is_item(item)]
        return
    assert person is not None
    cells = f"SELECT CAST({_quoted(person)} AS VARCHAR), CAST({_quoted(items)} AS VARCHAR)"
    rows = query(f"{cells} FROM {table} ORDER BY 1")
    for key, group in groupby(rows, key=itemgetter(0)):
        members = [item for _, item in group]
        if not key:
            raise DataError(
                f"{len(members):,} row(s) name nobody in column '{person}'; remove them, or say "
                "whose they are."
            )
        yield [item for item in members if item]


def _is_item(value: object) -> bool:
    """Tell an item from what is missing: NULL, NaN and nothing."""
    return value is not None and value == value and value != ""  # noqa: PLR0124 - NaN alone is not itself


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


# -- Postgres ---------------------------------------------------------------------------


def _from_postgres(source: str, person: str | None, items: str | None) -> Iterator[list[str]]:
    try:
        import psycopg  # noqa: PLC0415 - an optional library
    except ImportError:
        raise MissingExtra("psycopg", "postgres", "Reading from Postgres") from None
    parts = urlsplit(source)
    options = dict(parse_qsl(parts.query))
    named = options.pop("table", None)
    if not named:
        raise ParameterError(
            "A Postgres source names its table: postgresql://host/database?table=baskets."
        )
    table = ".".join(_quoted(part) for part in named.split("."))
    address = urlunsplit(parts._replace(query=urlencode(options)))
    refused = f"The table {named} cannot be read from Postgres; check the address and the rights."
    with (
        nothing_quoted(lambda error: refused if isinstance(error, psycopg.Error) else None),
        psycopg.connect(address) as connection,
    ):
        connection.read_only = True
        found = connection.execute(f"SELECT * FROM {table} LIMIT 0").description or ()
        kinds = {
            row[0]: row[1]
            for row in connection.execute("SELECT oid, typelem <> 0 AND typlen = -1 FROM pg_type")
        }
        columns = {column.name: bool(kinds.get(column.type_code)) for column in found}

        def query(text: str) -> Iterator[tuple[Any, ...]]:
            with connection.cursor("sets") as cursor:  # at the server: rows come in batches
                cursor.itersize = BATCH
                cursor.execute(text)
                yield from cursor

        yield from _sets(query, table, columns, person, items)


# -- DuckDB -----------------------------------------------------------------------------


def _from_duckdb(source: str, person: str | None, items: str | None) -> Iterator[list[str]]:
    import duckdb  # noqa: PLC0415 - loaded when used

    path, _, named = source.rpartition("::")
    table = ".".join(_quoted(part) for part in named.split("."))
    refused = f"The table {named} cannot be read from {path}; check the file and the name."
    with nothing_quoted(lambda error: refused if isinstance(error, duckdb.Error) else None):
        try:
            connection = duckdb.connect(path, read_only=True)
        except duckdb.IOException:
            raise DataError(f"{path} is not a DuckDB database that can be opened.") from None
        with closing(connection):
            described = connection.execute(f"DESCRIBE {table}").fetchall()
            columns = {str(row[0]): str(row[1]).endswith("]") for row in described}

            def query(text: str) -> Iterator[tuple[Any, ...]]:
                connection.execute(text)
                while rows := connection.fetchmany(BATCH):
                    yield from rows

            yield from _sets(query, table, columns, person, items)
