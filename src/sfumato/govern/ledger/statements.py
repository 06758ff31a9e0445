"""Statements that run often, compiled once per database and handed to its driver directly.

Contract: a :class:`Statement` is written with SQLAlchemy and means the same on SQLite and Postgres.
It runs inside the transaction of the connection it is given; values are always parameters, never
part of the text. What SQLAlchemy does per execution costs more than a charge may cost.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection
    from sqlalchemy.sql.elements import ClauseElement


_KEPT = "sfumato_cursor"


@contextmanager
def batched(connection: Connection) -> Iterator[None]:
    """Send statements without waiting for each; what fails is raised when the block ends."""
    if connection.dialect.name != "postgresql":
        yield
        return
    driver: Any = connection.connection.driver_connection
    with driver.pipeline():
        yield


class Statement:
    """One statement with named parameters."""

    def __init__(self, clause: ClauseElement) -> None:
        self._clause = clause
        self._texts: dict[str, str] = {}

    def run(self, connection: Connection, **parameters: object) -> list[Sequence[Any]]:
        """Run it; give its rows, if it has any."""
        cursor = _cursor(connection)
        cursor.execute(self._text(connection), parameters)
        return list(cursor.fetchall()) if cursor.description else []

    def first(self, connection: Connection, **parameters: object) -> Any:
        """Run it; give the first value of its first row, or None."""
        rows = self.run(connection, **parameters)
        return rows[0][0] if rows else None

    def _text(self, connection: Connection) -> str:
        name = connection.dialect.name
        if name not in self._texts:
            self._texts[name] = str(self._clause.compile(dialect=connection.dialect))
        return self._texts[name]


def _cursor(connection: Connection) -> Any:
    """Give the one cursor that this connection keeps; making one takes as long as using it."""
    kept = connection.info
    if _KEPT not in kept:
        kept[_KEPT] = connection.connection.cursor()
    return kept[_KEPT]
